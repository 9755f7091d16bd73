"""Held-out scores of labelled messages, to prove the scores of topics (design 3.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from engine.activation.labelled import Labelled
from engine.activation.proof import LEAST_LABELS, Proof
from engine.activation.similarity import deciding_value

if TYPE_CHECKING:
    from engine.activation.similarity import Scorer
    from engine.topics.model import Topic

FOLDS = 4
"""Number of folds of labelled messages; tier 2 is fitted once without each."""


def prove(
    topics: Sequence[Topic],
    labelled: Mapping[str, Labelled],
    fitted: Callable[[Mapping[str, Labelled]], Scorer],
) -> dict[str, Proof]:
    """What labels prove about the scores of topics.

    Messages count on which none of the topic's triggers fired and that are not examples in its file. If no
    topic has enough of them nothing is fitted; otherwise it takes ``FOLDS`` fits. Equal labels give equal
    proofs.

    Args:
        labelled: By topic.
        fitted: Returns tier 2 fitted to the topics and some of these labels.
    """
    counted = {
        topic.name: _counted(topic, labelled[topic.name]) for topic in topics if topic.name in labelled
    }
    useful = {name: sum(of.values()) for name, of in counted.items()}
    tried = {name: of for name, of in counted.items() if useful[name] >= LEAST_LABELS}
    held: dict[str, list[tuple[float, bool]]] = {name: [] for name in tried}
    parts = {text: _part(text) for of in tried.values() for text in of}
    for part in sorted(set(parts.values())):
        scorer = fitted({name: _without(of, part) for name, of in labelled.items()})
        for text in sorted(text for text, of_part in parts.items() if of_part == part):
            scores = scorer.score(text, {})
            for name, of in tried.items():
                if text in of:
                    held[name].append((deciding_value(scores[name], scorer.deciding), of[text]))
    return {name: Proof(useful[name], tuple(held.get(name, ()))) for name in counted}


def _counted(topic: Topic, labelled: Labelled) -> dict[str, bool]:
    """The messages that count for a topic, and whether it was useful; without duplicates, ignoring case."""
    known = {_plain(text) for text in (*topic.examples, *labelled.matched)}
    found: dict[str, tuple[str, bool]] = {}
    for texts, useful in ((labelled.useful, True), (labelled.noise, False)):
        for text in texts:
            if _plain(text) not in known:
                found[_plain(text)] = (text, useful)
    return dict(found.values())


def _without(labelled: Labelled, part: int) -> Labelled:
    return Labelled(
        tuple(text for text in labelled.useful if _part(text) != part),
        tuple(text for text in labelled.noise if _part(text) != part),
        labelled.matched,
    )


def _part(text: str) -> int:
    """The fold of a message, independent of case and white space."""
    return hashlib.sha256(_plain(text).encode("utf-8", "surrogatepass")).digest()[0] % FOLDS


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
