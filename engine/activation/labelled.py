"""Labelled messages by topic, for tier 2 to learn from (design 4).

A process that scores one message must not read the whole decision log. So the result is cached under
``scratch/`` with the position up to which the log was read, and the log is only read again if there is a
label after that position, or if its files were replaced.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.startup.records import dataclass
from engine.store import checked
from engine.store.monthly import AnotherFile, LogStamp, Mark, mark_of, marks_in
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.activation.decisions import Decision, DecisionLog
    from engine.store.files import Files

LABELLED_PATH = "scratch/labelled.json"
MESSAGES_LIMIT = 64
"""The latest messages kept, for each topic and kind."""

OPENED_LIMIT = 16
"""The latest messages kept for each topic on which the agent opened it: a topic's file has about as many."""

_FORM = 3
_UNREAD_LIMIT = 1024 * 1024
"""Bytes added to the log after which the stored position is moved on."""
_ANSWERED = b'"provider":"ask"'


@dataclass(frozen=True, slots=True)
class Labelled:
    """The messages labelled by a person for one topic, oldest first, cut to 500 characters as in the log."""

    useful: tuple[str, ...] = ()
    noise: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()  # not labelled, but the agent opened the topic, which it was offered


class LabelledMessages:
    """Finds the labelled messages, once per change."""

    def __init__(self, log: DecisionLog, files: Files) -> None:
        self._log = log
        self._files = files

    def __call__(self) -> dict[str, Labelled]:
        """The labelled messages by topic, including a person's answers to the gate.

        Labels of other gates or from use do not count, or tier 2 would learn from itself. What an agent
        opened in a session does not count either if that is more than two thirds of what it was offered:
        about one offer in three is right, so it did not choose. If the log cannot be read, the cached
        messages are returned.
        """
        marks, found = self._cached() or ({}, {})
        try:
            stamp = self._log.months.stamp()
            if not stamp:
                return {}
            if not marks or not self._is_current(marks):
                found = self._gather()
            elif (
                sum(month.size for month in stamp) - sum(mark.end for mark in marks.values()) < _UNREAD_LIMIT
            ):
                return found
            self._save(stamp, found)
        except (OSError, AutopoiesisError):
            pass
        return found

    def _is_current(self, marks: Mapping[str, Mark]) -> bool:
        """Whether the log still begins with the part already read, and has no labels after it."""
        try:
            added = self._log.months.added(dict(marks))
        except AnotherFile:
            return False
        return not any(b'"label"' in line or _ANSWERED in line for line in added)

    def _gather(self) -> dict[str, Labelled]:
        useful: dict[str, list[str]] = {}
        noise: dict[str, list[str]] = {}
        chosen: list[Decision] = []
        offers, opens = Counter[str](), Counter[str]()
        for decision in self._log.read():
            if decision.direction != "input" or not decision.message.strip():
                continue
            offers[decision.session_id] += decision.verdict == "offered"
            opens[decision.session_id] += decision.opened
            is_useful, by = decision.label
            if decision.opened:
                chosen.append(decision)
            elif is_useful is not None and by == "person":
                (useful if is_useful else noise).setdefault(decision.topic, []).append(decision.message)
        opened: dict[str, list[str]] = {}
        for decision in chosen:
            name = decision.session_id
            judged = (*useful.get(decision.topic, ()), *noise.get(decision.topic, ()))
            if decision.message not in judged and (opens[name] == 1 or 3 * opens[name] <= 2 * offers[name]):
                opened.setdefault(decision.topic, []).append(decision.message)
        return {
            topic: Labelled(
                _latest(useful.get(topic, ())),
                _latest(noise.get(topic, ())),
                _latest(opened.get(topic, ()), OPENED_LIMIT),
            )
            for topic in sorted({*useful, *noise, *opened})
        }

    def _cached(self) -> tuple[dict[str, Mark], dict[str, Labelled]] | None:
        """The cached result; ``None`` if it is missing or damaged."""
        data = checked.load(self._files, LABELLED_PATH)
        if data is None:
            return None
        try:
            tree = json.loads(data[checked.SUM :])
            if tree["form"] != _FORM:
                return None
            marks = marks_in(tree["read"])
            found = {topic: typed(Labelled, of) for topic, of in tree["topics"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return marks, found

    def _save(self, stamp: LogStamp, found: Mapping[str, Labelled]) -> None:
        tree = {
            "form": _FORM,
            "read": {month.name: mark_of(self._files, month) for month in stamp},
            "topics": {topic: asdict(of) for topic, of in found.items()},
        }
        checked.save(self._files, LABELLED_PATH, json.dumps(tree).encode())


def _latest(messages: Sequence[str], limit: int = MESSAGES_LIMIT) -> tuple[str, ...]:
    latest = list(dict.fromkeys(reversed(messages)))[:limit]
    return tuple(reversed(latest))
