"""How often each file was of use (spec 6.3, ``reference_count``), kept so that ranking never reads the log.

The counts are kept under ``scratch/`` together with how far each month's file was read. Where the log only
grew, what was added is read; where a file is another than it was, or is gone, the counts are made anew. Of
the log only the notes are taken apart.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import AutopoiesisError
from engine.injections.model import UseNote, entry_of
from engine.store.monthly import (
    Added,
    AnotherFile,
    LogStamp,
    Mark,
    MonthlyLog,
    marks_in,
    number_in,
    record_of,
)

if TYPE_CHECKING:
    from engine.store.files import Files

REFERENCES_PATH = "scratch/references.json"

_FORM = 2
_LIMIT = 64 * 1024 * 1024
_LOCK_WAIT_S = 0.05
_UNKEPT_LIMIT = 256 * 1024
"""Bytes read beyond what is kept from which it is kept anew: reading them costs less than a synced write."""
_MARK = b'"was_useful"'


class _Counted(NamedTuple):
    """In how many prompts each file was of use, and which part of the log says so."""

    marks: dict[str, Mark]
    uses: Counter[str]


class References:
    """Counts them. Safe to use from several threads."""

    def __init__(self, files: Files, months: MonthlyLog) -> None:
        self._files = files
        self._log = months
        self._guard = threading.Lock()
        self._stamp: LogStamp | None = None
        self._counted: _Counted | None = None
        self._counts: Mapping[str, int] = MappingProxyType({})

    def counts(self) -> Mapping[str, int]:
        """Useful references by workspace-relative path; the same object until the log changes.

        Never raises. A month's file that cannot be read counts as if it were not there.
        """
        with self._guard:
            stamp = self._log.stamp()
            if stamp != self._stamp:
                self._update(stamp)
                self._stamp = stamp
            return self._counts

    def _update(self, stamp: LogStamp) -> None:
        known = self._kept() if self._counted is None else self._counted
        found = self._grown(stamp, known)
        read = sum(mark.end for mark in found.marks.values())
        kept = sum(mark.end for mark in known.marks.values())
        self._counted = found
        self._counts = MappingProxyType(found.uses)
        if not 0 <= read - kept < _UNKEPT_LIMIT or known.marks.keys() - found.marks.keys():
            self._keep(found)

    def _grown(self, stamp: LogStamp, known: _Counted) -> _Counted:
        """What the log says now: what is known with what was added, or everything, where that cannot be."""
        if known.marks.keys() - {month.name for month in stamp}:
            known = _Counted({}, Counter())
        marks, uses = dict(known.marks), known.uses.copy()
        for month in stamp:
            mark = marks.get(month.name)
            if mark is not None and mark.is_of(month):
                continue
            try:
                added = Added(self._files, month, mark or Mark())
                for line in added:
                    if _MARK in line:
                        _take(uses, line)
                marks[month.name] = added.mark
            except AnotherFile:
                return self._grown(stamp, _Counted({}, Counter()))
            except (OSError, AutopoiesisError):
                # Nothing it said may stay counted, or it would count twice once it can be read again.
                others = tuple(other for other in stamp if other != month)
                return self._grown(others, known if mark is None else _Counted({}, Counter()))
        return _Counted(marks, uses)

    def _kept(self) -> _Counted:
        """What was kept the last time; nothing when there is nothing, or it is damaged."""
        try:
            tree = json.loads(self._files.read(REFERENCES_PATH, limit=_LIMIT))
            if tree["form"] == _FORM:
                uses = {path: number_in(times) for path, times in tree["uses"].items()}
                return _Counted(marks_in(tree["read"]), Counter(uses))
        except (OSError, AutopoiesisError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # It is a cache: what cannot be read of it is counted anew.
            pass
        return _Counted({}, Counter())

    def _keep(self, counted: _Counted) -> None:
        if self._files.read_only:
            return
        tree = {"form": _FORM, "read": counted.marks, "uses": counted.uses}
        try:
            with self._files.lock(timeout=_LOCK_WAIT_S):
                self._files.replace(REFERENCES_PATH, json.dumps(tree, separators=(",", ":")).encode())
        except AutopoiesisError:
            # The next look reads what this one has read.
            return


def _take(uses: Counter[str], line: bytes) -> None:
    record = record_of(line)
    entry = None if record is None else entry_of(record)
    if isinstance(entry, UseNote):
        uses.update(set(entry.paths))
        for path in set(entry.gone):
            uses[path] -= 1
            if uses[path] < 1:
                del uses[path]
