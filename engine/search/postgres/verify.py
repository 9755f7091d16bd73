"""Finds rows of a shared index that are not what was written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.search import vectors
from engine.search.changes import file_digest
from engine.search.facts import facts_of
from engine.search.postgres.engine import signed_all
from engine.search.postgres.writer import FORM
from engine.search.terms import Terms

if TYPE_CHECKING:
    from engine.search.postgres.schema import Server

_MOST = 8
"""Maximum number of files listed; one is enough for a rebuild."""


def problems(server: Server, workspace: int) -> Iterator[str]:
    """The problems of a workspace, one clause each; of other versions' contents only the counts."""
    terms, held, wrong, chunks, length = Terms(), Counter[int](), 0, 0, 0
    contents = server.execute(
        "SELECT id, path, category, chunks, extent, digest, form FROM contents WHERE workspace = %s",
        (workspace,),
    ).fetchall()
    for content, path, category, count, extent, digest, form in contents:
        rows = server.execute(
            "SELECT position, start_line, end_line, speaker, date, heading, about, text,"
            " length, size, day, name, kind, is_person, terms, counts FROM chunks WHERE content = %s"
            " ORDER BY position",
            (content,),
            binary=True,
        ).fetchall()
        held.update(term for row in rows for term in row[14])
        chunks, length = chunks + len(rows), length + sum(row[8] for row in rows)
        facts = facts_of(terms, [row[3:8] for row in rows])
        is_same = (count, extent) == (len(rows), sum(row[8] for row in rows)) and (
            form != FORM
            or (
                digest == file_digest((path, category), [row[:8] for row in rows])
                and all(
                    (*each[:6], signed_all(each[6]), each[7]) == row[8:]
                    for (each, _), row in zip(facts, rows, strict=True)
                )
            )
        )
        wrong += not is_same
        if not is_same and wrong <= _MOST:
            yield f"the chunks of {path} differ from what was written"
    row = server.execute(
        "SELECT chunks, length, files FROM totals WHERE workspace = %s", (workspace,)
    ).fetchone()
    if row != (chunks, length, sum(content[3] > 0 for content in contents)):
        yield "its totals differ from what was written"
    if dict(server.execute("SELECT term, chunks FROM terms WHERE workspace = %s", (workspace,))) != held:
        yield "the counts of its words differ from what was written"
    for model, rows, dimensions in server.execute(
        "SELECT id, rows, dimensions FROM models WHERE workspace = %s", (workspace,)
    ).fetchall():
        found = server.execute("SELECT sum, vector FROM vectors WHERE model = %s", (model,), binary=True)
        stored = found.fetchall()
        if len(stored) != rows or any(
            vectors.sum_of(vector) != total or len(vector) not in (0, dimensions) for total, vector in stored
        ):
            yield "its vectors differ from what was written"
