"""Finds damage that nobody notices while the index answers queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, cast

import apsw

from engine.search import database, schema, vectors
from engine.search.facts import facts_of, numbers_in
from engine.search.terms import Terms, number_of
from engine.search.writer import file_digest

if TYPE_CHECKING:
    from engine.search.state import State

_BATCH = 4_096


def problems(connection: apsw.Connection, state: State) -> list[str]:
    """The first problem of a memory.db, in one clause; one is enough for a rebuild.

    The connection must be able to write, and the database must have the newest schema.
    """
    held: Counter[int] = Counter()
    checks = chain(_pages(connection), rows(state, held), _words(connection, held), _vectors(connection))
    try:
        return list(islice(checks, 1))
    except database.FAULTS as error:
        if not database.is_damage(error):
            raise
        return [f"reading it failed ({error})"]


def rows(state: State, held: Counter[int]) -> Iterator[str]:
    """The problems of the files and chunks of any index, and of what is counted of them.

    Args:
        held: Filled with the number of chunks by term.
    """
    (strays,) = state.query("SELECT count(*) FROM chunks WHERE file_id NOT IN (SELECT id FROM files)")[0]
    if strays:
        yield f"{strays} chunks belong to no file"
    terms, totals = Terms(), [0, 0, 0]
    for file, count, extent, digest, is_ours, *fields in state.query(state.FILES):
        stored = state.stored(file)
        length = 0
        for row in stored:
            held.update(numbers_in(row[14]))
            length += row[8]
        is_same = (len(stored), length) == (count, extent)
        if is_ours and is_same:
            facts = facts_of(terms, [row[3:8] for row in stored])
            is_same = digest == file_digest(fields, [row[:8] for row in stored]) and all(
                tuple(each) == row[8:] for (each, _), row in zip(facts, stored, strict=True)
            )
        if not is_same:
            yield f"the chunks of {fields[0]} differ from what was written"
            return
        totals = [old + new for old, new in zip(totals, (count, length, count > 0), strict=True)]
    if state.query("SELECT chunks, length, files FROM totals") != [tuple(totals)]:
        yield "its totals differ from what was written"
    if dict(state.query("SELECT CAST(term AS bigint) & 4294967295, chunks FROM terms")) != held:
        yield "the counts of its words differ from what was written"


def _pages(connection: apsw.Connection) -> Iterator[str]:
    for (message,) in connection.execute("PRAGMA integrity_check(1)"):
        if message != "ok":
            yield str(message)


def _words(connection: apsw.Connection, held: Mapping[int, int]) -> Iterator[str]:
    """Compare the full-text index with the chunks by how many contain each word."""
    connection.execute("INSERT INTO chunk_words (chunk_words) VALUES ('integrity-check')")
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, chunk_words, row)")
    found: dict[int, int] = {}
    shared = set()  # numbers of several words
    for term, chunks in connection.execute("SELECT term, doc FROM words"):
        number = number_of(str(term))
        if number in found:
            shared.add(number)
        found[number] = chunks
    connection.execute("DROP TABLE temp.words")
    if found.keys() != held.keys() or any(found[each] != held[each] for each in held if each not in shared):
        yield "the word index differs from the chunks"


def _vectors(connection: apsw.Connection) -> Iterator[str]:
    dimensions = int(schema.get_meta(connection, "dimensions") or 0)
    count = stored = 0
    for number, (chunk, vector, expected) in enumerate(
        connection.execute("SELECT chunk, vector, sum FROM vectors"), 1
    ):
        if not isinstance(vector, bytes) or vectors.sum_of(vector) != expected:
            yield f"the vector of chunk {chunk} differs from what was written"
            return
        if vector and len(vector) != dimensions:
            yield f"its vectors have {len(vector)} dimensions instead of {dimensions or 'none'}"
            return
        count, stored = number, stored + bool(vector)
    if (count,) != connection.execute("SELECT vectors FROM totals").fetchone():
        yield "its totals differ from what was written"
    if dimensions and database.load_vectors(connection) == "":
        signs = dict(
            cast("Iterator[tuple[int, bytes]]", connection.execute("SELECT chunk, signs FROM chunk_signs"))
        )
        if len(signs) != stored or any(signs.get(each) != of for each, of in _signs(connection)):
            yield f"it contains {len(signs)} vectors for {stored} chunks, or others than were written"


def _signs(connection: apsw.Connection) -> Iterator[tuple[int, bytes]]:
    """The signs that each chunk with a vector should have."""
    rows = connection.execute("SELECT chunk, vector FROM vectors WHERE sum >= 0")
    while batch := list(islice(rows, _BATCH)):
        found = vectors.packed_signs([vector for _, vector in batch])
        yield from ((chunk, signs) for (chunk, _), signs in zip(batch, found, strict=True) if signs)
