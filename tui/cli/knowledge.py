"""``knowledge``: private entries and skills, their references, their footprint, and the archive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

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
)
from tui.render.figures import kilobytes, plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.archive import ArchiveReport, EntryMove
    from engine.knowledge.entries import Entry, EntryScan
    from engine.knowledge.links import Link

_SHOWN_LINKS = 8


@group("autopoiesis knowledge list", "autopoiesis knowledge check")
def knowledge() -> None:
    """Manage the agent's knowledge entries and skills, which the prompt's catalogs list."""


@knowledge.verb("info", "autopoiesis knowledge info")
def knowledge_info(engine: Engine, as_json: bool) -> None:
    """Print the catalog, as the agents' tool `knowledge` returns it."""
    text = engine.knowledge_entries.info()
    emit_json({"text": text}) if as_json else emit_prompt(text)


@knowledge.verb("list", "autopoiesis knowledge list", "autopoiesis knowledge list --json")
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


@knowledge.verb("show", "autopoiesis knowledge show tidemark-incidents")
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


@knowledge.verb(
    "links", "autopoiesis knowledge links knowledge/people/maren.md", "autopoiesis knowledge links maren"
)
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


@knowledge.verb("check", "autopoiesis knowledge check")
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


@knowledge.verb("footprint", "autopoiesis knowledge footprint")
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


@knowledge.verb(
    "archive",
    "autopoiesis knowledge archive mail-context",
    "autopoiesis knowledge archive mail-context --apply",
)
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--apply", is_flag=True, help="Move them; without it, only show what would move and break.")
def knowledge_archive(names: tuple[str, ...], apply: bool, as_json: bool) -> None:
    """Move entries and their folders to knowledge/archive/, where no catalog lists them.

    --apply is recorded as your consent; `restore` moves entries back. Without NAME, --apply finishes an
    interrupted run.
    """
    if not names and not apply:
        raise click.UsageError("name the entries; see `autopoiesis knowledge list`")
    with invocation().engine() as engine:
        report = engine.knowledge_entries.archive(names, apply=apply, consent=apply)
    if emitted_json(as_json, report):
        return
    for move in report.moves:
        _print_move(move, applied=report.applied)
    for name in report.already:
        emit(f"{name}: already archived")
    _print_outcome(report)
    if report.moves and not apply:
        emit(f"nothing was moved; to do it: autopoiesis knowledge archive {' '.join(names)} --apply")


@knowledge.verb("restore", "autopoiesis knowledge restore mail-context")
@click.argument("name")
def knowledge_restore(engine: Engine, name: str, as_json: bool) -> None:
    """Move an archived entry back."""
    report = engine.knowledge_entries.restore(name)
    if emitted_json(as_json, report):
        return
    for move in report.moves:
        emit(f"{move.source} → {move.target} ({plural(move.files, 'file')}, {move.size:,} bytes)")
    for each in report.already:
        emit(f"{each}: not archived")
    _print_outcome(report)


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


def _print_move(move: EntryMove, *, applied: bool) -> None:
    nested = f", {plural(move.entries - 1, 'nested entry', 'nested entries')}" if move.entries > 1 else ""
    emit(f"{move.source} → {move.target} ({plural(move.files, 'file')}, {move.size:,} bytes{nested})")
    for link in move.incoming:
        breaks = "is now broken" if applied else "would break"
        emit(f"  {link.source}:{link.line}: {link.reference.target} {breaks}")
    if move.outgoing:
        count = plural(len(move.outgoing), "relative reference")
        emit(f"  {count} in it cannot be followed while it is archived")


def _print_outcome(report: ArchiveReport) -> None:
    if report.finished:
        emit(f"finished an interrupted run: {', '.join(report.finished)}")
    if report.applied and report.moves:
        emit(f"{commit_text(report.commit, report.why)}; recorded in logs/cleanup.jsonl")
    elif report.applied and not report.finished and not report.already:
        emit("nothing to finish")
