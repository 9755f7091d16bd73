"""How often each file was useful (spec 6.3, ``reference_count``), cached to spare ranking the log.

The cache under ``scratch/`` holds the counts and how far each month's file was read. If the log has only
grown, only the added lines are read; if a file was replaced or removed, everything is counted again.
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
_UNSAVED_LIMIT = 256 * 1024
"""Bytes read beyond the cache before it is saved again: reading them is cheaper than a synced write."""
_MARK = b'"was_useful"'


class _Counted(NamedTuple):
    """In how many prompts each file was useful, and how far the log was read for it."""

    marks: dict[str, Mark]
    uses: Counter[str]


class References:
    """The counts. Safe to use from several threads."""

    def __init__(self, files: Files, months: MonthlyLog) -> None:
        self._files = files
        self._log = months
        self._guard = threading.Lock()
        self._stamp: LogStamp | None = None
        self._counted: _Counted | None = None
        self._counts: Mapping[str, int] = MappingProxyType({})

    def counts(self) -> Mapping[str, int]:
        """Counts by workspace-relative path; the same object until the log changes.

        Never raises. A month's file that cannot be read is ignored.
        """
        with self._guard:
            stamp = self._log.stamp()
            if stamp != self._stamp:
                self._update(stamp)
                self._stamp = stamp
            return self._counts

    def _update(self, stamp: LogStamp) -> None:
        known = self._load() if self._counted is None else self._counted
        found = self._read(stamp, known)
        read = sum(mark.end for mark in found.marks.values())
        saved = sum(mark.end for mark in known.marks.values())
        self._counted = found
        self._counts = MappingProxyType(found.uses)
        if not 0 <= read - saved < _UNSAVED_LIMIT or known.marks.keys() - found.marks.keys():
            self._save(found)

    def _read(self, stamp: LogStamp, known: _Counted) -> _Counted:
        """The current counts: the known ones with what was added, or a full count if files changed."""
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
                        _count(uses, line)
                marks[month.name] = added.mark
            except AnotherFile:
                return self._read(stamp, _Counted({}, Counter()))
            except (OSError, AutopoiesisError):
                # Drop its counts, or they would be counted twice once it can be read again.
                others = tuple(other for other in stamp if other != month)
                return self._read(others, known if mark is None else _Counted({}, Counter()))
        return _Counted(marks, uses)

    def _load(self) -> _Counted:
        """The cached counts; empty if there are none, or the cache is damaged."""
        try:
            tree = json.loads(self._files.read(REFERENCES_PATH, limit=_LIMIT))
            if tree["form"] == _FORM:
                uses = {path: number_in(times) for path, times in tree["uses"].items()}
                return _Counted(marks_in(tree["read"]), Counter(uses))
        except (OSError, AutopoiesisError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # A damaged cache is rebuilt from the log.
            pass
        return _Counted({}, Counter())

    def _save(self, counted: _Counted) -> None:
        if self._files.read_only:
            return
        tree = {"form": _FORM, "read": counted.marks, "uses": counted.uses}
        try:
            with self._files.lock(timeout=_LOCK_WAIT_S):
                self._files.replace(REFERENCES_PATH, json.dumps(tree, separators=(",", ":")).encode())
        except AutopoiesisError:
            return  # the next call reads the same part of the log again


def _count(uses: Counter[str], line: bytes) -> None:
    record = record_of(line)
    entry = None if record is None else entry_of(record)
    if isinstance(entry, UseNote):
        uses.update(set(entry.paths))
        for path in set(entry.gone):
            uses[path] -= 1
            if uses[path] < 1:
                del uses[path]
