"""The description of a result: its location, its snippet, and why it was found."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from engine.search import schema
from engine.search.described import Chosen, counted, describe, explain_shares, listed
from engine.search.results import Share, ShareName
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


def chosen(chunk: int = 1, **values: Any) -> Chosen:
    return Chosen(chunk, ("conversations/a.md", "conversation"), 0.5, 1, None, None)._replace(**values)


def shares(**values: float) -> tuple[Share, ...]:
    names: dict[ShareName, float] = values  # type: ignore[assignment]
    return tuple(Share(name, value) for name, value in names.items())


def why(connection: apsw.Connection, terms: tuple[str, ...], one: Chosen, depth: int = 50) -> str:
    (result,) = describe(engine_of(connection), [one], terms, depth)
    return result.why


def test_a_result_has_the_fields_of_its_chunk(connection: apsw.Connection) -> None:
    parts = shares(words=0.4, meaning=0.1)
    second, first = describe(
        engine_of(connection),
        [chosen(2, score=1.0), chosen(1, shares=parts, vector_rank=3)],
        ("heron",),
        50,
    )
    assert (second.path, second.start_line, second.text, second.speaker) == (
        "conversations/a.md",
        20,
        "A trout.",
        "agent",
    )
    assert (first.start_line, first.end_line, first.category, first.date) == (
        10,
        11,
        "conversation",
        "2026-02-16",
    )
    assert (first.heading, first.speaker, first.source) == ("10:00 — user", "user Ann", "index")
    assert first.snippet == "Ann: The heron stands. It waits."
    assert (first.score, first.lexical_rank, first.vector_rank, first.shares) == (0.5, 1, 3, parts)


def test_the_short_form_omits_snippet_and_reason(connection: apsw.Connection) -> None:
    (full,) = describe(engine_of(connection), [chosen()], ("heron",), 50)
    (short,) = describe(engine_of(connection), [chosen()], ("heron",), 50, in_full=False)
    assert (short.snippet, short.why) == ("", "")
    assert (short.text, short.score, short.path) == (full.text, full.score, full.path)


@pytest.mark.parametrize(
    ("terms", "one", "expected"),
    [
        (("herons",), {}, "Contains 1 of 1 word: herons, rank 1 by words."),
        (
            ("heron", "river", "walrus"),
            {"lexical_rank": 4},
            "Contains 2 of 3 words: heron, river (river in its heading or file), rank 4 by words.",
        ),
        (("heron",), {"lexical_rank": None}, "Contains 1 of 1 word: heron, below the top 50 by words."),
        (("walrus",), {"lexical_rank": None}, "Contains none of the words."),
        (
            ("walrus",),
            {"cosine": 0.256, "vector_rank": 2},
            "Contains none of the words; rank 2 by meaning (similarity 0.26).",
        ),
        (
            ("walrus",),
            {"cosine": -0.1},
            "Contains none of the words; below the top 50 by meaning (similarity -0.10).",
        ),
        (
            ("heron",),
            {"shares": shares(words=0.6, session=0.3, meaning=0.2, recency=-0.4)},
            "Contains 1 of 1 word: heron, rank 1 by words; boosted by its file as a whole.",
        ),
        (
            ("heron",),
            {"shares": shares(speaker=0.6, neighbours=0.3, use=0.1, date=0.05)},
            "Contains 1 of 1 word: heron, rank 1 by words; boosted by its speaker, its neighbours and its"
            " past use.",
        ),
    ],
)  # fmt: skip
def test_why_is_one_sentence(
    terms: tuple[str, ...], one: dict[str, Any], expected: str, connection: apsw.Connection
) -> None:
    assert why(connection, terms, chosen(**one)) == expected


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
@pytest.mark.parametrize("in_full", [True, False])
def test_an_altered_chunk_is_reported_as_damage(
    damage: str, in_full: bool, connection: apsw.Connection
) -> None:
    connection.execute("DROP TRIGGER chunk_removed")
    connection.pragma("foreign_keys", False)
    connection.execute(damage)
    with pytest.raises(apsw.CorruptError, match="chunk 1 differs from what was written"):
        describe(engine_of(connection), [chosen(1)], ("heron",), 50, in_full=in_full)


def test_no_chosen_chunks_give_no_results(connection: apsw.Connection) -> None:
    assert describe(engine_of(connection), [], ("heron",), 50) == []


def test_only_the_first_of_many_words_are_listed() -> None:
    assert listed([f"w{number}" for number in range(6)]) == "w0, w1, w2, w3, w4, w5"
    assert listed([f"w{number}" for number in range(8)]) == "w0, w1, w2, w3, w4, w5 and 2 more"
    assert (counted(1, 1), counted(0, 2)) == ("1 of 1 word", "0 of 2 words")
