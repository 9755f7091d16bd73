"""The messages that people labelled, by topic: what tier 2 learns from (design 4).

The decision log grows with every message, and a process that scores one message must not read all of it. So
what was found is kept under ``scratch/`` together with how far the log had been read, and the log is only
read again when a label stands behind that place, or when it is not the log that was read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.records import dataclass
from engine.store.monthly import Added, AnotherFile, LogStamp, Mark, mark_of, marks_in

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.store.files import Files

LABELLED_PATH = "scratch/labelled.json"
MESSAGES_LIMIT = 64
"""Messages kept of each kind and topic: the latest."""

_FORM = 2
_LIMIT = 64 * 1024 * 1024
_LOCK_WAIT_S = 1.0
_UNREAD_LIMIT = 1024 * 1024
"""Bytes of the log behind the last look at it from which the place is moved on."""
_ANSWERED = b'"provider":"ask"'


@dataclass(frozen=True, slots=True)
class Labelled:
    """The messages of one topic that a person labelled, oldest first; as the log holds them, cut to 500
    characters.
    """

    useful: tuple[str, ...] = ()  # where the topic was right
    noise: tuple[str, ...] = ()  # where it was not
    matched: tuple[str, ...] = ()  # those of either on which one of its triggers had fired


class LabelledMessages:
    """Gathers them, once per change."""

    def __init__(self, log: DecisionLog, files: Files) -> None:
        self._log = log
        self._files = files

    def __call__(self) -> dict[str, Labelled]:
        """The labelled messages by topic; a person's answer to the gate is a label too. One of another gate,
        or from use, does not count: what tier 2 finds would come back to it as proof.

        Where the log cannot be read, those that were found before.
        """
        marks, found = self._kept() or ({}, {})
        try:
            stamp = self._log.stamp()
            if not stamp:
                return {}
            if not marks or not self._holds(marks, stamp):
                found = self._gather()
            elif (
                sum(month.size for month in stamp) - sum(mark.end for mark in marks.values()) < _UNREAD_LIMIT
            ):
                return found
            self._keep(stamp, found)
        except (OSError, AutopoiesisError):
            pass
        return found

    def _holds(self, marks: Mapping[str, Mark], stamp: LogStamp) -> bool:
        """Whether the log begins with what was read of it, and no label stands behind that."""
        if marks.keys() - {month.name for month in stamp}:
            return False
        for month in stamp:
            mark = marks.get(month.name)
            if mark is None and month.name < max(marks):
                return False
            if mark is not None and mark.size == month.size:
                if not mark.is_of(month):
                    return False
                continue
            try:
                added = Added(self._files, month, mark or Mark())
                if any(b'"label"' in line or _ANSWERED in line for line in added):
                    return False
            except AnotherFile:
                return False
        return True

    def _gather(self) -> dict[str, Labelled]:
        useful: dict[str, list[str]] = {}
        noise: dict[str, list[str]] = {}
        matched: dict[str, set[str]] = {}
        for decision in self._log.read().decisions:
            said, by = decision.label
            if said is None or by != "person" or decision.direction != "input":
                continue
            if decision.message.strip():
                (useful if said else noise).setdefault(decision.topic, []).append(decision.message)
                if decision.hits:
                    matched.setdefault(decision.topic, set()).add(decision.message)
        found = {}
        for topic in sorted({*useful, *noise}):
            right, wrong = _latest(useful.get(topic, ())), _latest(noise.get(topic, ()))
            hit = matched.get(topic, set())
            found[topic] = Labelled(right, wrong, tuple(text for text in (*right, *wrong) if text in hit))
        return found

    def _kept(self) -> tuple[dict[str, Mark], dict[str, Labelled]] | None:
        """What was found the last time; ``None`` when there is nothing, or it is damaged."""
        try:
            tree = json.loads(self._files.read(LABELLED_PATH, limit=_LIMIT))
            if tree["form"] != _FORM:
                return None
            marks = marks_in(tree["read"])
            found = {
                topic: Labelled(_texts(of["useful"]), _texts(of["noise"]), _texts(of["matched"]))
                for topic, of in tree["topics"].items()
            }
        except (OSError, AutopoiesisError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return marks, found

    def _keep(self, stamp: LogStamp, found: Mapping[str, Labelled]) -> None:
        if self._files.read_only:
            return
        tree = {
            "form": _FORM,
            "read": {month.name: mark_of(self._files, month) for month in stamp},
            "topics": {topic: asdict(of) for topic, of in found.items()},
        }
        with self._files.lock(timeout=_LOCK_WAIT_S):
            self._files.replace(LABELLED_PATH, json.dumps(tree).encode())


def _latest(messages: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    latest = list(dict.fromkeys(reversed(messages)))[:MESSAGES_LIMIT]
    return tuple(reversed(latest))


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError
    return tuple(value)
