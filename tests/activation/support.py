"""Small topics and a simple matcher for tests of the stages after tier 1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.activation.trace import Message, TriggerHit
from engine.errors import Problem
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.topics.model import Topic, Trigger

PR_INSTRUCTIONS = """
When a pull request arrives:
1. Read the description and the linked issue before the diff.
2. Check that tests cover the change, and that the suite is green.
3. Look for secrets, migrations and changes of public interfaces.
4. Comment per file, most important first; approve or request changes.
Never merge on behalf of the author.
"""


def topic(name: str = "t", instructions: str = "", **fields: Any) -> Topic:
    """A topic with defaults for all fields irrelevant to a test."""
    return Topic(
        name=name,
        path=f"topics/{name}.md",
        title=fields.pop("title", ""),
        description=fields.pop("description", ""),
        instructions=instructions,
        **fields,
    )


def pattern(match: str, **fields: Any) -> Trigger:
    """A pattern trigger."""
    return Trigger(type="pattern", match=match, **fields)


def pr_topic(**fields: Any) -> Topic:
    """An ordinary playbook for reviewing pull requests."""
    return topic(
        "github-pr-review",
        PR_INSTRUCTIONS,
        title="GitHub PR review",
        description="How pull requests are reviewed here.",
        triggers=(pattern("PR|pull request|review"),),
        **{"priority": "high", **fields},
    )


@dataclass
class PlainMatcher:
    """Tier 1 reduced to regular expressions and events."""

    known: dict[str, Topic] = field(default_factory=dict)
    updates: int = 0
    seen: list[Message] = field(default_factory=list)
    problems: tuple[Problem, ...] = ()

    def update(self, changed: Iterable[Topic], removed: Iterable[str] = ()) -> None:
        for name in removed:
            del self.known[name]
        self.known.update({known.name: known for known in changed})
        self.updates += 1

    def match(self, message: Message) -> dict[str, tuple[TriggerHit, ...]]:
        self.seen.append(message)
        hits = {known.name: tuple(self._hits(known, message)) for known in self.known.values()}
        return {name: found for name, found in hits.items() if found}

    @staticmethod
    def _hits(known: Topic, message: Message) -> list[TriggerHit]:
        hits = []
        for index, trigger in enumerate(known.triggers):
            if trigger.type == "webhook" and message.event is not None:
                hits.append(TriggerHit(index, "webhook", f"{message.event.source} {message.event.event}"))
            for found in re.finditer(trigger.match, message.text, re.IGNORECASE) if trigger.match else ():
                hits.append(TriggerHit(index, trigger.type, found[0], found.start(), found.end()))
        return hits


@dataclass
class Topics:
    """A source of topics that a test can change."""

    topics: tuple[Topic, ...] = ()


def workspace_files(root: Path, *, read_only: bool = False) -> Files:
    """The files of an empty workspace."""
    (root / "memory-config.yaml").touch()
    return Files(Workspace.open(root), read_only=read_only)
