"""Journal of the thresholds written to topic files, so that the last change can be undone (spec 5.5).

``logs/tuning/YYYY-MM.jsonl``, append-only. A change is recorded before the file is written; another record
says that it was undone or never happened.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engine.activation.tuning.own import OwnThresholds
from engine.store.monthly import line_of

if TYPE_CHECKING:
    from engine.store.files import Files

JOURNAL_FOLDER = "logs/tuning"

_MONTH = re.compile(r"\d{4}-\d{2}\.jsonl")


@dataclass(frozen=True, slots=True)
class Change:
    """Thresholds written to a topic's file."""

    id: str
    topic: str
    path: str
    before: OwnThresholds
    after: OwnThresholds
    header: str  # the header before the change, bytes as Latin-1, so that undoing restores every byte
    digest: str  # sha256 of the whole file after the change


class TuningJournal:
    """Records changes and finds the last one."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._clock = clock

    def record(
        self,
        topic: str,
        path: str,
        before: OwnThresholds,
        after: OwnThresholds,
        *,
        header: bytes,
        digest: str,
    ) -> str:
        """Records a change that is about to be made and returns its id.

        Raises:
            WriteFailed, ReadOnly: It was not recorded; the change must not be made.
        """
        change = Change(secrets.token_hex(8), topic, path, before, after, header.decode("latin-1"), digest)
        self._append(asdict(change))
        return change.id

    def close(self, change_id: str) -> None:
        """Records that a change was undone, or never reached the file.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        self._append({"closed": change_id})

    def begin(self, change_id: str) -> None:
        """Records that a change is about to be undone.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        self._append({"undoing": change_id})

    def is_begun(self, change_id: str) -> bool:
        """Whether ``begin`` was recorded for a change."""
        return any(record.get("undoing") == change_id for record in self._backwards())

    def last(self) -> Change | None:
        """The last change that is not closed; unreadable lines are skipped."""
        closed: set[str] = set()
        for record in self._backwards():
            if isinstance(record.get("closed"), str):
                closed.add(record["closed"])
                continue
            change = _change(record)
            if change is not None and change.id not in closed:
                return change
        return None

    def _append(self, record: dict[str, object]) -> None:
        now = self._clock()
        self._files.append(f"{JOURNAL_FOLDER}/{now:%Y-%m}.jsonl", line_of({"at": now.isoformat(), **record}))

    def _backwards(self) -> Iterator[dict[str, Any]]:
        folder = self._files.workspace.root / JOURNAL_FOLDER
        is_there = folder.is_dir() and self._files.workspace.holds(JOURNAL_FOLDER)
        names = [entry.name for entry in folder.iterdir()] if is_there else []
        for name in sorted(filter(_MONTH.fullmatch, names), reverse=True):
            for line in reversed(self._files.read(f"{JOURNAL_FOLDER}/{name}").splitlines()):
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(record, dict):
                    yield record


def _change(record: dict[str, Any]) -> Change | None:
    try:
        texts = [record[name] for name in ("id", "topic", "path", "header", "digest")]
        before, after = (_own(record[name]) for name in ("before", "after"))
    except (KeyError, TypeError):
        return None
    if not all(isinstance(text, str) for text in texts):
        return None
    name, topic, path, header, digest = texts
    return Change(name, topic, path, before, after, header, digest)


def _own(record: dict[str, Any]) -> OwnThresholds:
    values = [record["similarity_threshold"], record["activation_threshold"]]
    if not all(value is None or isinstance(value, int | float) for value in values):
        raise TypeError("a threshold is a number")
    lower, upper = (None if value is None else float(value) for value in values)
    return OwnThresholds(lower, upper)
