"""``notes``: notes about single files, which follow renames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.store.commit_message import commit_message
from engine.store.spelling import on_disk
from tui.cli.base import commit_text, emit, emit_json, invocation, table, verb
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.notes import NoteFiles, Rebinding


@verb(
    "autopoiesis notes",
    "autopoiesis notes src/client.py",
    'autopoiesis notes src/client.py --add "The retry counts from 0."',
    "autopoiesis notes src/old.py --move-to src/new.py",
    name="notes",
)
@click.argument("path", required=False)
@click.option("--add", "text", metavar="TEXT", help="Add a note about the file.")
@click.option("--move-to", "target", metavar="NEW", help="Reassign the notes of PATH to NEW.")
def notes(path: str | None, text: str | None, target: str | None, as_json: bool) -> int:
    """Show the notes of a file, or which files have notes; add one; or reassign them.

    Notes are kept in knowledge/files/. They follow a renamed file if the rename is certain; otherwise they
    belong to no file until you reassign them with --move-to.
    """
    if path is None and (text is not None or target is not None):
        raise click.UsageError("name a file")
    with invocation().engine() as engine:
        found = engine.knowledge.notes
        if path is None:
            return _print_all(found, as_json)
        if target is not None:
            moved = found.rebind(path, _from_here(target))
            emit(f"{moved.notes}: now the notes of {moved.path}")
            _commit(engine, moved.notes, f"the notes of {path} belong to {moved.path}")
        if text is not None:
            done = found.add(_from_here(path), text)
            emit(f"{done.path}:{done.line}")
            _commit(engine, done.path, f"a note about {path}")
        return 0 if text is not None or target is not None else _print_one(found, path, as_json)


def _from_here(path: str) -> str:
    """A path as the shell means it; otherwise it is relative to the workspace, or as in the notes."""
    place = on_disk(Path(path).absolute())
    return str(place) if place.is_file() else path


def _commit(engine: Engine, path: str, what: str) -> None:
    commit = engine.knowledge.commit([path], commit_message("memory", what))
    emit(commit_text(commit.revision, commit.why))


def _print_all(found: NoteFiles, as_json: bool) -> int:
    files, questions = found.all(), found.questions()
    if as_json:
        emit_json({"files": files, "questions": questions})
        return 0
    if not files:
        emit('no file has notes yet: autopoiesis notes PATH --add "…"')
        return 0
    table(
        [
            [
                each.path,
                plural(len(each.entries), "note"),
                "" if each.is_here else "file not found",
                each.notes,
            ]
            for each in files
        ]
    )
    for question in questions:
        _emit_question(question)
    return 0


def _print_one(found: NoteFiles, path: str, as_json: bool) -> int:
    known = found.of(_from_here(path))
    question = found.question(_from_here(path)) if known is None else None
    if as_json:
        emit_json({"notes": known, "question": question})
    elif question is not None:
        _emit_question(question)
    elif known is None:
        emit(f"{path} has no notes")
    else:
        if known.renamed_from:
            emit(f"{known.renamed_from} was renamed to {known.path}")
        for entry in known.entries:
            emit(f"{known.notes}:{entry.number}  {entry.text}")
    return 0


def _emit_question(question: Rebinding) -> None:
    emit(f"? {question.path}: {question.why}")
    for each in question.candidates:
        hint = f"autopoiesis notes {question.path} --move-to {each.absolute}"
        emit(f"    possibly {each.path} ({each.why}): {hint}")
