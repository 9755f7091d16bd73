"""Reads the decision log forwards and backwards, and joins labels to decisions (spec 5.5).

Forwards, only what was added is read, since the log only grows. Backwards, no more is read than requested;
labels come after their decisions in the log, so they are seen first.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.activation.decision import LABELLERS, Decision, Label, entry_of
from engine.startup.records import dataclass
from engine.store.monthly import Added, AnotherFile, LogStamp, Mark, MonthlyLog, lines_backwards, open_month

if TYPE_CHECKING:
    from engine.store.files import Files

KIND = "decisions/"

_BY_RANK = LABELLERS[:0:-1]

Labels = dict[tuple[str, str], bool | None]
"""The last labels by decision and labeller; ``None`` for a removed one."""


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """The contents of the log."""

    decisions: tuple[Decision, ...]
    """In order of first logging, one per id, in the last logged version, with labels."""
    broken: int  # unreadable lines


def joined(decision: Decision, labels: Labels) -> Decision:
    """A decision with the label of the highest rank only."""
    for by in _BY_RANK:
        useful = labels.get((decision.id, by))
        if useful is not None:
            return decision._replace(useful=useful, labelled_by=by)
    return decision if decision.useful is None else decision._replace(useful=None, labelled_by="")


class DecisionReading:
    """An incremental reader of the log. Not thread-safe."""

    def __init__(self, files: Files, months: MonthlyLog) -> None:
        self._files = files
        self._months = months
        self._reset()

    def update(self) -> DecisionHistory:
        """Reads what was added since the last update, or everything if a file was replaced.

        100,000 decisions take about a second the first time.

        Raises:
            DocumentError, PathRefused: A file cannot be read.
        """
        stamp = self._months.stamp()
        with gc_paused():
            try:
                try:
                    self._read_added(stamp)
                except AnotherFile:
                    self._reset()
                    self._read_added(stamp)
            except BaseException:
                self._reset()
                raise
            found = self._stale & self._decisions.keys()
            for name in found:
                self._decisions[name] = joined(self._decisions[name], self._labels)
            # A label may precede its decision if that was logged again or files were concatenated.
            self._stale -= found
        return DecisionHistory(tuple(self._decisions.values()), self._broken)

    def _reset(self) -> None:
        self._marks: dict[str, Mark] = {}
        self._decisions: dict[str, Decision] = {}
        self._labels: Labels = {}
        self._stale: set[str] = set()
        self._broken = 0

    def _read_added(self, stamp: LogStamp) -> None:
        """Reads the lines after those already read.

        Raises:
            AnotherFile: A file was replaced or removed, or a new one precedes others.
        """
        known = self._marks
        names = [month.name for month in stamp]
        # Later labels override earlier ones, so months must be read in order.
        if names[: len(known)] != list(known):
            raise AnotherFile
        for month in stamp:
            mark = known.get(month.name, Mark())
            if mark.is_of(month):
                continue
            if 0 < mark.size == month.size:
                raise AnotherFile
            added = Added(self._files, month, mark)
            for line in added:
                if line != b"\n":
                    self._take(line)
            known[month.name] = added.mark

    def _take(self, line: bytes) -> None:
        entry = entry_of(line)
        if isinstance(entry, Decision):
            if entry.id in self._decisions:
                self._stale.add(entry.id)
            self._decisions[entry.id] = entry
        elif isinstance(entry, Label):
            self._labels[entry.decision, entry.by] = entry.useful
            self._stale.add(entry.decision)
        else:
            self._broken += 1


def backwards(files: Files, months: MonthlyLog, holding: bytes = b"") -> Iterator[Decision]:
    """The decisions whose lines contain ``holding``, newest first, with labels.

    Raises:
        DocumentError, PathRefused: A file cannot be read.
    """
    labels: Labels = {}
    seen: set[str] = set()
    for month in reversed(months.stamp()):
        descriptor = open_month(files, month.name)
        try:
            for line in lines_backwards(descriptor):
                if holding not in line and b'"label"' not in line:
                    continue
                entry = entry_of(line)
                if isinstance(entry, Label):
                    labels.setdefault((entry.decision, entry.by), entry.useful)
                elif isinstance(entry, Decision) and entry.id not in seen:
                    seen.add(entry.id)
                    yield joined(entry, labels)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Disables garbage collection, which takes a third of the time while building many long-lived objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
