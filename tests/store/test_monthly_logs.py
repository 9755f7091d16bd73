"""Append-only logs, one file per month."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engine.errors import DocumentError
from engine.store import monthly
from engine.store.files import Files


def test_lines_of_earlier_months_are_not_lost_when_a_later_file_cannot_be_read(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    for month in (1, 2):
        files.append(f"logs/use-2031-0{month}.jsonl", f'{{"n": {month}}}\n'.encode())
    log = monthly.MonthlyLog(files, "use", lambda: datetime(2031, 2, 1, tzinfo=UTC))
    marks: dict[str, monthly.Mark] = {}
    opened = monthly.open_month

    def failing(files: Files, name: str) -> int:
        if name.endswith("02.jsonl"):
            raise DocumentError("cannot be read", where=name)
        return opened(files, name)

    with monkeypatch.context() as patch:
        patch.setattr(monthly, "open_month", failing)
        with pytest.raises(DocumentError):
            log.added(marks, 2)
    assert log.added(marks, 2) == [b'{"n": 1}\n', b'{"n": 2}\n']
    assert log.added(marks, 2) == []
