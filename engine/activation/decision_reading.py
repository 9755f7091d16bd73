"""Reads the decision log forwards and backwards, and joins labels to decisions (spec 5.5).

Forwards, what was read once is not read again: the log only grows. Backwards, no more is read than is asked
for; a label stands behind its decision, so going backwards it is met before it.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.activation.decision import LABELLERS, Decision, Label, entry_of
from engine.records import dataclass
from engine.store.monthly import Added, AnotherFile, LogStamp, Mark, MonthlyLog, lines_backwards, open_month

if TYPE_CHECKING:
    from engine.store.files import Files

KIND = "decisions/"

_BY_RANK = LABELLERS[:0:-1]

Labels = dict[tuple[str, str], bool | None]
"""What was said last, by decision and labeller; ``None``: taken back."""


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """The log, read."""

    decisions: tuple[Decision, ...]
    """In the order in which they were first logged; one per id, as it was logged last, with its label."""
    broken: int  # lines that could not be read


def joined(decision: Decision, labels: Labels) -> Decision:
    """A decision with what the labeller of the highest rank says of it, and with nothing else."""
    for by in _BY_RANK:
        useful = labels.get((decision.id, by))
        if useful is not None:
            return decision._replace(useful=useful, labelled_by=by)
    return decision if decision.useful is None else decision._replace(useful=None, labelled_by="")


class DecisionReading:
    """The log as far as it was read. Not safe to use from several threads at once."""

    def __init__(self, files: Files, months: MonthlyLog) -> None:
        self._files = files
        self._months = months
        self._forget()

    def update(self) -> DecisionHistory:
        """Reads what was added since the last time; everything, when a file is not the one it was.

        100,000 decisions take about a second the first time.

        Raises:
            DocumentError, PathRefused: A file cannot be read.
        """
        stamp = self._months.stamp()
        with uncollected():
            try:
                try:
                    self._read_on(stamp)
                except AnotherFile:
                    self._forget()
                    self._read_on(stamp)
            except BaseException:
                self._forget()
                raise
            found = self._stale & self._decisions.keys()
            for name in found:
                self._decisions[name] = joined(self._decisions[name], self._labels)
            # A label may stand before its decision, where that was logged again or copied together.
            self._stale -= found
        return DecisionHistory(tuple(self._decisions.values()), self._broken)

    def _forget(self) -> None:
        self._marks: dict[str, Mark] = {}
        self._decisions: dict[str, Decision] = {}
        self._labels: Labels = {}
        self._stale: set[str] = set()
        self._broken = 0

    def _read_on(self, stamp: LogStamp) -> None:
        """Takes the lines behind what was read.

        Raises:
            AnotherFile: A file is not the one that was read, or is gone; or one has come before others.
        """
        known = self._marks
        names = [month.name for month in stamp]
        # Labels of a month count after those of the months before it, so nothing may come in between.
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
    """Decisions newest first, of those in whose lines ``holding`` occurs, each with its label.

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
def uncollected() -> Iterator[None]:
    """While hundreds of thousands of values are made and kept, looking for garbage among them is a third."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
