"""Reads the decision log forwards and backwards, and joins labels to decisions (spec 5.5).

Forwards, what was read once is not read again: the log only grows. Backwards, no more is read than is asked
for; a label stands behind its decision, so going backwards it is met before it.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.activation.decision import LABELLER_RANK, Decision, Label, entry_of
from engine.store.monthly import LogStamp, MonthlyLog, lines_backwards, open_month

if TYPE_CHECKING:
    from engine.store.files import Files

KIND = "decisions/"

_BLOCK = 256 * 1024
_BY_RANK = sorted(LABELLER_RANK, key=lambda by: -LABELLER_RANK[by])

Labels = dict[tuple[str, str], bool | None]
"""What was said last, by decision and labeller; ``None``: taken back."""


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """The log, read."""

    decisions: tuple[Decision, ...]
    """In the order in which they were first logged; one per id, as it was logged last, with its label."""
    broken: int
    """Lines that could not be read."""


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
        if not self._goes_on(stamp):
            self._forget()
        with uncollected():
            try:
                for name, inode, _, changed in stamp:
                    self._seen[name] = (inode, self._read_from(name), changed)
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
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._decisions: dict[str, Decision] = {}
        self._labels: Labels = {}
        self._stale: set[str] = set()
        self._broken = 0

    def _goes_on(self, stamp: LogStamp) -> bool:
        """Whether every file that was read is still there and begins with what was read of it."""
        now = {name: (inode, size, changed) for name, inode, size, changed in stamp}
        for name, (inode, end, changed) in self._seen.items():
            found = now.get(name)
            if found is None or found[0] != inode or found[1] < end or end < 0:
                return False
            if found[1] == end and found[2] != changed:
                return False
        # Labels of a month count after those of the months before it, so nothing may come in between.
        return not self._seen or all(name in self._seen or name > max(self._seen) for name in now)

    def _read_from(self, name: str) -> int:
        """Takes a file's lines behind what was read; gives where to go on, -1 behind an unfinished line."""
        start = self._seen.get(name, (0, 0, 0))[1]
        end = start
        with os.fdopen(open_month(self._files, name), "rb", buffering=_BLOCK) as file:
            file.seek(start)
            for line in file:
                end += len(line)
                if line != b"\n":
                    self._take(line)
                if not line.endswith(b"\n"):
                    return -1
        return end

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
