"""Pages: knowledge files with a header, sections, and one item per line (spec 2.2).

A flush adds session notes to the journal, MEMORY.md and the pages of projects, below their own heading (spec
6.4); an extraction adds items to all pages.

========================================  ======================  ==============================
File                                      ``type`` in the header  lines start with the day
========================================  ======================  ==============================
``knowledge/memory/MEMORY.md``            ``memory``              yes
``knowledge/journal/YYYY-MM-DD.md``       ``journal``             no: one file per day, later moved to
                                                                  ``archive/journal``
``knowledge/projects/NAME/context.md``    ``project_context``     yes
``knowledge/projects/NAME/commands.md``   ``procedure``           no
``knowledge/people/NAME.md``              ``person``              no
``knowledge/procedures/NAME.md``          ``procedure``           no
``knowledge/reference/NAME.md``           ``reference``           no
========================================  ======================  ==============================

Every line ends with its provenance, as in the category files. Apart from added lines, only the date of the
last change in the header is updated.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.context.fixed import COMMANDS, JOURNAL
from engine.context.sources import MEMORY
from engine.errors import DocumentError
from engine.knowledge.category_files import line_for, plain
from engine.knowledge.item import Edit, Item, Origin, item_id
from engine.store.documents import edit_header
from engine.store.header import locate

if TYPE_CHECKING:
    from engine.store.paths import Workspace

HEADING = "Notes from sessions"
MEMORY_LINES = 200
MEMORY_BYTES = 25 * 1024
"""Limits of MEMORY.md (design 3.11): agents read no further."""

OLD_JOURNALS = "archive/journal"
"""Folder of old journals; late notes about their days go there."""
PEOPLE = "knowledge/people"
PROCEDURES = "knowledge/procedures"
REFERENCE = "knowledge/reference"
PROJECTS = "knowledge/projects"

_TYPES = {PEOPLE: "person", PROCEDURES: "procedure", REFERENCE: "reference"}
_NAMED = re.compile(rf"({PEOPLE}|{PROCEDURES}|{REFERENCE})/[^/._-][^/]*\.md")
_CONTEXT = re.compile(rf"{PROJECTS}/([^/._][^/]*)/context\.md")
_COMMANDS = re.compile(rf"{PROJECTS}/[^/._][^/]*/commands\.md")
_DAY = re.compile(rf"(?:{JOURNAL}|{OLD_JOURNALS})/(\d{{4}}-\d\d-\d\d)\.md")
_DATED = re.compile(r"\A\d{4}-\d\d-\d\d: ")
_PLAIN = re.compile(r"[\w ./@'’()+-]{1,120}")
_COUNT = re.compile(rb"^(line_count:[ \t]*)\d+", re.MULTILINE)


def is_page(path: str) -> bool:
    """True if a path is that of a page."""
    return path == MEMORY or any(kind.fullmatch(path) for kind in (_NAMED, _CONTEXT, _COMMANDS, _DAY))


def context_of(project: str) -> str:
    """The page of a project, by its slug."""
    return f"{PROJECTS}/{project}/context.md"


def commands_page(project: str) -> str:
    """The page of the commands that work in a project, by its slug."""
    return f"{PROJECTS}/{project}/{COMMANDS}"


def path_of(to: str, day: str) -> str:
    """The file of a target for notes: ``journal`` (of ``day``, ``YYYY-MM-DD``), ``memory`` or
    ``project:<name>``."""
    if to == "memory":
        return MEMORY
    return f"{JOURNAL}/{day}.md" if to == "journal" else context_of(to.partition(":")[2])


def place_of(path: str) -> str:
    """The target of a file, as for ``path_of``; empty if notes do not go there."""
    if path == MEMORY:
        return "memory"
    if _DAY.fullmatch(path):
        return "journal"
    project = _CONTEXT.fullmatch(path)
    return f"project:{project[1]}" if project is not None else ""


def projects(workspace: Workspace) -> list[str]:
    """The projects that can have notes: those with a ``context.md``, by name."""
    if not workspace.holds(PROJECTS):
        return []
    try:
        names = [each.name for each in workspace.projects.iterdir() if (each / "context.md").is_file()]
    except OSError:
        return []
    return sorted(name for name in names if name.isprintable() and not name.startswith((".", "_")))


def note_edit(item: Item, origin: Origin) -> Edit:
    """The edit for a session note, with its day and origin; a project's page must exist."""
    turns = ""
    if origin.turns is not None:
        first, last = origin.turns
        turns = f", turn {first}" if first == last else f", turns {first}–{last}"
    line = plain(f"{origin.day}: {item.text} (session {origin.name}{turns})")
    title = "" if _CONTEXT.fullmatch(item.path) else _head(item, origin.day)
    return Edit(item_id(item, origin.name), "notes", "append", item.path, HEADING, f"- {line}", title)


def note_text(line: str) -> str:
    """The text of a note's line, without day and session."""
    return line.partition(": ")[2].rpartition(" (session ")[0] or line


def level_of(path: str) -> int:
    """The level of the headings in a page; in a journal, one below the day's."""
    return 3 if _DAY.fullmatch(path) else 2


def refuse_full(path: str, data: bytes) -> None:
    """Raises ``DocumentError`` if MEMORY.md would exceed its limits."""
    lines = line_count(data)
    if path == MEMORY and (lines > MEMORY_LINES or len(data) > MEMORY_BYTES):
        raise DocumentError(
            f"would have {lines} lines and {len(data) / 1024:.1f} KB, more than {MEMORY_LINES} lines"
            f" or {MEMORY_BYTES // 1024} KB",
            where=MEMORY,
            hint="move older entries elsewhere",
        )


def with_line_count(path: str, data: bytes) -> bytes:
    """A file's content, with the line count in MEMORY.md's header (spec 2.3) updated."""
    if path != MEMORY:
        return data
    body = locate(data).body
    return _COUNT.sub(rb"\g<1>%d" % line_count(data), data[:body], count=1) + data[body:]


def line_count(data: bytes) -> int:
    """The number of lines of a file."""
    return data.count(b"\n") + (not data.endswith(b"\n"))


def edit_for(item: Item, origin: Origin) -> Edit:
    """The edit for an item of a page."""
    text = f"{origin.day}: {item.text}" if _is_dated(item.path) else item.text
    # ``line_for`` needs a category without a path.
    line = line_for(replace(item, category="facts", path="", text=text), origin)
    return Edit(
        item_id(item, origin.name),
        "pages",
        "append",
        item.path,
        plain(item.section),
        line,
        _head(item, origin.day),
        origin.day,
        origin.session,
    )


def item_of(edit: Edit) -> Item:
    """The item in an edit of a page."""
    text = edit.line.removeprefix("- ").rpartition(" [from:")[0] or edit.line
    subject = edit.title.rpartition("\n# ")[2] if edit.title else ""
    return Item("pages", without_day(text), edit.path, section=edit.section, subject=subject)


def without_day(text: str) -> str:
    """A line without its leading day."""
    return _DATED.sub("", text)


def with_header(data: bytes, edit: Edit) -> bytes:
    """A page with ``updated`` and ``sessions`` in its header, where present, updated for an applied edit. An
    uneditable header is left as it is.
    """
    found = locate(data).mapping
    if found is None:
        return data
    changes: dict[str, object | None] = {}
    updated, sessions = found.get("updated"), found.get("sessions")
    if isinstance(updated, str) and updated[:10] < edit.day:
        changes["updated"] = edit.day
    if isinstance(sessions, list) and edit.session and edit.session not in sessions:
        changes[f"sessions.{len(sessions)}"] = edit.session
    try:
        return edit_header(data, changes, edit.path) if changes else data
    except DocumentError:
        return data


def _is_dated(path: str) -> bool:
    return path == MEMORY or _CONTEXT.fullmatch(path) is not None


def _head(item: Item, day: str) -> str:
    """The start of a new page."""
    path = item.path
    subject = " ".join(plain(item.subject).split()) or PurePosixPath(path).stem.replace("-", " ").capitalize()
    if path == MEMORY:
        return f"---\ntype: memory\nupdated: {day}\n---\n\n# Core Memory"
    if journal := _DAY.fullmatch(path):
        return f"---\ntype: journal\ndate: {journal[1]}\nsessions: []\n---\n\n## {journal[1]}"
    if project := _CONTEXT.fullmatch(path):
        title = item.subject or project[1]
        head = f"type: project_context\nproject: {project[1]}\nupdated: {day}"
        return f"---\n{head}\n---\n\n# {plain(title)}"
    kind = _TYPES.get(path.rpartition("/")[0], "procedure")
    name = f'name: "{subject}"\n' if kind == "person" and _PLAIN.fullmatch(subject) else ""
    return f"---\ntype: {kind}\n{name}updated: {day}\n---\n\n# {subject}"
