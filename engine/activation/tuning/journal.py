"""Journal of the thresholds written to topic files, so that the last change can be undone (spec 5.5).

``logs/tuning/YYYY-MM.jsonl``, append-only. A change is recorded before the file is written; another record
says that it was undone or never happened.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from engine.activation.tuning.own import OwnThresholds
from engine.store.monthly import MonthlyLog, text_in

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.monthly import Record

KIND = "tuning/"


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
        self._clock = clock
        self._months = MonthlyLog(files, KIND, clock)

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
        self._months.append({"at": self._clock().isoformat(), **asdict(change)})
        return change.id

    def close(self, change_id: str) -> None:
        """Records that a change was undone, or never reached the file.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        self._months.append({"at": self._clock().isoformat(), "closed": change_id})

    def last(self) -> Change | None:
        """The last change that is not closed; unreadable lines are skipped."""
        closed: set[str] = set()
        for record in self._months.backwards():
            if isinstance(record.get("closed"), str):
                closed.add(record["closed"])
            elif (change := _change(record)) is not None and change.id not in closed:
                return change
        return None


def _change(record: Record) -> Change | None:
    try:
        name, topic, path, header, digest = (
            text_in(record[key]) for key in ("id", "topic", "path", "header", "digest")
        )
        before, after = (OwnThresholds.read(record[key]) for key in ("before", "after"))
    except (KeyError, TypeError, ValueError):
        return None
    return Change(name, topic, path, before, after, header, digest)
