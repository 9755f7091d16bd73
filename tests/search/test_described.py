"""What is told of a result: its text, and what its score is made of."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from engine.search import schema
from engine.search.results import Share, ShareName, explain_shares
from engine.search.sqlite import State


@pytest.fixture
def connection() -> apsw.Connection:
    """An index of one file with two turns."""
    connection = apsw.Connection(":memory:")
    schema.create(connection)
    file: dict[str, str | int] = {
        "path": "conversations/a.md",
        "category": "conversation",
        "date": "2026-02-16",
    }
    for name in ("sha256", "skipped", "digest"):
        file[name] = ""
    for name in ("size", "mtime_ns", "ctime_ns", "read_ns", "chunk_count", "extent", "stamp"):
        file[name] = 0
    columns, marks = ", ".join(file), ", ".join("?" * len(file))
    connection.execute(f"INSERT INTO files (id, {columns}) VALUES (1, {marks})", [*file.values()])
    for number, text in enumerate(("Ann: The heron stands.\nIt waits.", "A trout."), 1):
        connection.execute(
            "INSERT INTO chunks VALUES (?, 1, ?, ?, ?, 5, 9, 0, 0, 0, 0, x'', x'', ?,"
            " '2026-02-16', '10:00 — user', 'river bird', ?)",
            (number, number - 1, number * 10, number * 10 + 1, "user Ann" if number == 1 else "agent", text),
        )
    return connection


def engine_of(connection: apsw.Connection) -> State:
    home: Any = None  # which only knows of models and past sessions
    return State(home, connection)


def shares(**values: float) -> tuple[Share, ...]:
    names: dict[ShareName, float] = values  # type: ignore[assignment]
    return tuple(Share(name, value) for name, value in names.items())


def test_shares_are_explained_with_their_sign() -> None:
    assert explain_shares(shares(words=0.5, session=0.123, recency=-0.04, use=0.004)) == (
        "found by its words +0.50, its file as a whole +0.12, its age -0.04"
    )
    assert explain_shares(()) == explain_shares(shares(use=0.001)) == ""


def test_every_share_has_its_own_name() -> None:
    names: tuple[ShareName, ...] = (
        *("words", "meaning", "neighbours", "session", "speaker", "date", "recency", "use"),
    )
    expected = [explain_shares([Share(name, 1.0)]) for name in names]
    assert len(set(expected)) == len(names)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM chunks WHERE id = 1",
        "UPDATE chunks SET text = x'ff' WHERE id = 1",
        "UPDATE chunks SET heading = x'' WHERE id = 1",
        "UPDATE chunks SET speaker = x'00' WHERE id = 1",
        "UPDATE chunks SET start_line = 'one' WHERE id = 1",
    ],
)
def test_an_altered_chunk_is_reported_as_damage(damage: str, connection: apsw.Connection) -> None:
    connection.execute("DROP TRIGGER chunk_removed")
    connection.pragma("foreign_keys", False)
    assert engine_of(connection).texts([1])[1].text == "Ann: The heron stands.\nIt waits."
    connection.execute(damage)
    with pytest.raises(apsw.CorruptError, match="chunk 1 differs from what was written"):
        engine_of(connection).texts([1])
