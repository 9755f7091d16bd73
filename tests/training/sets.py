"""Reads the licensed activation sets from a folder: topics, and messages with their topics."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

SETS = ("clinc150", "banking77", "nlupp")
"""CLINC150 (CC BY 3.0), BANKING77 and NLU++ (both CC BY 4.0)."""


@dataclass(frozen=True, slots=True)
class ActivationSet:
    """The training part of one set.

    Attributes:
        name: Its name.
        titles: The title of each topic, by its key.
        topics: The distinct messages of each topic.
        labels: The topics of each message.
        nowhere: Messages without a topic.
        domains: Topics by the name of their domain; empty if the set has no domains.
    """

    name: str
    titles: dict[str, str]
    topics: dict[str, tuple[str, ...]]
    labels: dict[str, frozenset[str]]
    nowhere: tuple[str, ...]
    domains: dict[str, tuple[str, ...]]

    @property
    def messages(self) -> tuple[str, ...]:
        """Every message."""
        return (*self.labels, *self.nowhere)


def read_sets(folder: Path) -> dict[str, ActivationSet]:
    """Read the sets, leaving out every message that any set reserves for validation."""
    trees = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))}
    reserved: set[str] = set()
    for tree in trees.values():
        reserved.update(text for text, _ in tree["val"])
        reserved.update(tree.get("oos_val") or ())
        reserved.update(tree.get("near_oos_val") or ())
    return {name: _read(name, trees[name], reserved) for name in SETS}


def _read(name: str, tree: dict[str, object], reserved: set[str]) -> ActivationSet:
    titles: dict[str, str] = tree["topics"]  # type: ignore[assignment]
    rows: list[tuple[str, str | list[str]]] = tree["train"]  # type: ignore[assignment]
    domains: dict[str, list[str]] = tree.get("domains") or {}  # type: ignore[assignment]
    nowhere: list[str] = tree.get("oos_train") or []  # type: ignore[assignment]
    labels: dict[str, set[str]] = {}
    topics: dict[str, dict[str, None]] = {topic: {} for topic in titles}
    for text, found in rows:
        if text in reserved:
            continue
        for topic in [found] if isinstance(found, str) else found:
            if topic in topics:
                topics[topic][text] = None
                labels.setdefault(text, set()).add(topic)
    return ActivationSet(
        name=name,
        titles=titles,
        topics={topic: tuple(texts) for topic, texts in topics.items()},
        labels={text: frozenset(of) for text, of in labels.items()},
        nowhere=tuple(text for text in nowhere if text not in reserved),
        domains={domain: tuple(of) for domain, of in domains.items()},
    )
