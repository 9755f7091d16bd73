"""``knowledge``, ``digest`` and ``notes``: entries and skills, the summary in prompts, and file notes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.store.change import commit_message
from engine.store.spelling import on_disk
from tui.cli.base import (
    commit_text,
    emit,
    emit_json,
    emit_problems,
    emit_prompt,
    emitted_json,
    group,
    invocation,
    plain,
    table,
    verb,
)
from tui.render.figures import kilobytes, plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.entries import Entry, EntryScan
    from engine.knowledge.links import Link
    from engine.knowledge.notes import NoteFiles, Rebinding


_SHOWN_LINKS = 8


@group("list", "check")
def knowledge() -> None:
    """Manage the agent's knowledge entries and skills, which the prompt's catalogs list."""


@knowledge.verb("info")
def knowledge_info(engine: Engine, as_json: bool) -> None:
    """Print the catalog, as the agents' tool `knowledge` returns it."""
    text = engine.knowledge_entries.info()
    emit_json({"text": text}) if as_json else emit_prompt(text)


@knowledge.verb("list", "", "--json")
def knowledge_list(engine: Engine, as_json: bool) -> None:
    """List entries and skills, nested ones under their index."""
    scan = engine.knowledge_entries.scan()
    archived = engine.knowledge_entries.archived()
    if emitted_json(as_json, {"entries": scan.entries, "archived": archived}):
        return
    if not scan.entries:
        emit("no entries yet: write knowledge/NAME/KNOWLEDGE.md with name and description in its header")
    else:
        rows = [
            [
                f"{'  ' * depth}{entry.name}",
                entry.kind,
                entry.version or "–",
                f"{entry.lines:,}",
                f"{kilobytes(entry.size)} KB",
                plural(len(entry.problems), "problem") if entry.problems else "",
                _place(entry),
            ]
            for depth, entry in _in_order(scan)
        ]
        table(rows, ["name", "kind", "version", "lines", "size", "", "in"])
    if archived:
        emit(f"archived: {', '.join(archived)}")


@knowledge.verb("show", "tidemark-incidents")
@click.argument("name")
def knowledge_show(engine: Engine, name: str, as_json: bool) -> None:
    """Show an entry by NAME, folder or location: its header, its references and its text."""
    scan = engine.knowledge_entries.scan()
    entry = scan.find(name)
    links = engine.knowledge_entries.links(scan)
    incoming, outgoing = links.to(entry.folder), links.of(entry.location)
    problems = [
        problem
        for problem in dict.fromkeys((*entry.problems, *links.problems))
        if problem.path == entry.location
    ]
    text = engine.files.read(entry.location).decode("utf-8", "replace")
    if as_json:
        tree = plain(entry)
        emit_json({**tree, "problems": problems, "incoming": incoming, "outgoing": outgoing, "text": text})
        return
    rows = [
        ["name", f"{entry.name} ({entry.kind}{f', {entry.version}' if entry.version else ''})"],
        ["about", entry.description or "–"],
        ["location", entry.location],
        ["size", f"{kilobytes(entry.size)} KB in {plural(entry.files, 'file')}"],
    ]
    if entry.parent:
        rows.append(["nested in", entry.parent])
    rows += [["index of" if not number else "", each] for number, each in enumerate(entry.children)]
    rows += _link_rows("referred to by", incoming, lambda link: f"{link.source}:{link.line}")
    rows += _link_rows("refers to", outgoing, lambda link: f"{link.target} (line {link.line})")
    table(rows)
    emit()
    emit(text.rstrip("\n"))
    emit_problems(problems)


@knowledge.verb("links", "knowledge/people/maren.md", "maren")
@click.argument("file")
def knowledge_links(engine: Engine, file: str, as_json: bool) -> None:
    """Show what FILE refers to, what refers to it, and broken references.

    FILE is a path, or a name as written in double brackets: of an entry, a person, a project or any file,
    with parent folders where the name is ambiguous. Case is ignored.
    """
    links = engine.knowledge_entries.links(engine.knowledge_entries.scan())
    path = links.find(file)
    incoming, outgoing = links.to(path), links.of(path)
    problems = [each for each in links.problems if each.path == path]
    if as_json:
        emit_json({"path": path, "incoming": incoming, "outgoing": outgoing, "problems": problems})
        return
    emit(path)
    rows = _link_rows("refers to", outgoing, lambda link: f"{link.target} (line {link.line})", limit=None)
    rows += _link_rows("referred to by", incoming, lambda link: f"{link.source}:{link.line}", limit=None)
    table(rows) if rows else emit("no references to or from it")
    emit_problems(problems)


@knowledge.verb("check")
def knowledge_check(engine: Engine, as_json: bool) -> int:
    """Check entries, skills and references. Exit 1 if there is an error."""
    problems = engine.knowledge_entries.problems()
    if as_json:
        emit_json(problems)
    elif problems:
        for problem in problems:
            emit(f"{problem.severity}: {problem}")
    else:
        emit(f"{plural(len(engine.knowledge_entries.scan().entries), 'entry', 'entries')}, no problems")
    return 1 if any(problem.severity == "error" for problem in problems) else 0


@knowledge.verb("footprint")
def knowledge_footprint(engine: Engine, as_json: bool) -> None:
    """Show the size of entries, when they last changed, and how often they are referred to."""
    found = engine.knowledge_entries.footprint()
    if emitted_json(as_json, found):
        return
    nested = f", {plural(found.nested, 'entry', 'entries')} nested in them" if found.nested else ""
    entries = plural(found.entries, "entry", "entries")
    emit(f"{entries}{nested}; {plural(found.files, 'file')}, {found.size:,} bytes")
    if found.top:
        rows = [
            [
                row.name,
                f"{row.size:,}",
                f"{row.files:,}",
                (f"{row.changed:%Y-%m-%d}" + ("" if row.in_history else " (file)")) if row.changed else "–",
                plural(row.references, "reference") if row.references else "none",
            ]
            for row in found.top
        ]
        table(rows, ["entry", "bytes", "files", "changed", "referred to by"])
    if found.entries > len(found.top):
        emit(f"the {len(found.top)} largest of {found.entries:,}")
    if found.recorded:
        emit("recorded in logs/cleanup.jsonl; nothing was changed")
    else:
        emit(f"not recorded: {found.why}")


def _in_order(scan: EntryScan) -> list[tuple[int, Entry]]:
    """Entries with their depth, each index before its nested entries."""
    by_location = {entry.location: entry for entry in scan.entries}
    found: list[tuple[int, Entry]] = []
    waiting = [(0, entry) for entry in reversed(scan.entries) if entry.parent not in by_location]
    while waiting:
        depth, entry = waiting.pop()
        found.append((depth, entry))
        children = [by_location[each] for each in entry.children if each in by_location]
        waiting += [(depth + 1, each) for each in reversed(children)]
    return found


def _place(entry: Entry) -> str:
    """The entry's folder, unless the line above shows it."""
    above, _, name = entry.folder.rpartition("/")
    if entry.parent and above == entry.parent.rpartition("/")[0]:
        return "" if name == entry.name else f"{name}/"
    return f"{above}/" if name == entry.name else f"{entry.folder}/"


def _link_rows(
    title: str, links: tuple[Link, ...], text: Callable[[Link], str], *, limit: int | None = _SHOWN_LINKS
) -> list[list[str]]:
    rows = [[title if not number else "", text(link)] for number, link in enumerate(links[:limit])]
    if len(links) > len(rows):
        rows.append(["", f"and {len(links) - len(rows)} more"])
    return rows


@group("show", "regenerate")
def digest() -> None:
    """Show or build the digest (knowledge/digest.md), which is part of every prompt while the file exists."""


@digest.verb("show")
def digest_show(engine: Engine, as_json: bool) -> int:
    """Print the digest."""
    view = engine.digest()
    if as_json:
        emit_json(view)
    elif not view.on:
        emit(view.problem or "off: no knowledge/digest.md; create it with: autopoiesis digest regenerate")
    else:
        emit_prompt(view.text)
    return 1 if view.problem else 0


@digest.verb("regenerate")
def digest_regenerate(engine: Engine) -> None:
    """Rebuild the digest from the category files; this turns it on."""
    knowledge = engine.knowledge
    if knowledge.digest.regenerate(force=True):
        knowledge.commit(knowledge.digest.paths, commit_message("memory", "digest regenerated"))
    view = engine.digest()
    emit(
        f"{view.size:,} of {view.limit:,} bytes: {knowledge.digest.path}"
        if view.on
        else "no knowledge to digest yet"
    )


@digest.verb("off")
def digest_off(engine: Engine) -> None:
    """Delete the digest; prompts do without it until you regenerate it."""
    knowledge = engine.knowledge
    if knowledge.digest.turn_off():
        knowledge.commit(knowledge.digest.paths, commit_message("memory", "digest turned off"))
        emit("off; turn it on with: autopoiesis digest regenerate")
    else:
        emit("already off")


@verb("", "src/client.py", 'src/client.py --add "The retry counts from 0."',
      "src/old.py --move-to src/new.py", name="notes")  # fmt: skip
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
            _commit_notes(engine, moved.notes, f"the notes of {path} belong to {moved.path}")
        if text is not None:
            done = found.add(_from_here(path), text)
            emit(f"{done.path}:{done.line}")
            _commit_notes(engine, done.path, f"a note about {path}")
        return 0 if text is not None or target is not None else _print_one(found, path, as_json)


def _from_here(path: str) -> str:
    """A path as the shell means it; otherwise it is relative to the workspace, or as in the notes."""
    place = on_disk(Path(path).absolute())
    return str(place) if place.is_file() else path


def _commit_notes(engine: Engine, path: str, what: str) -> None:
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
    emit(f"? {question.path}: {question.why}: autopoiesis notes {question.path} --move-to NEW")
