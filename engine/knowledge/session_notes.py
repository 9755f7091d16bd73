"""Session notes: lines in the journal, MEMORY.md and projects, below their own heading (spec 6.4).

Notes of a flush are written there at once, and held ones after a person has accepted them.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.context.fixed import JOURNAL
from engine.context.sources import MEMORY
from engine.errors import DocumentError
from engine.knowledge.category_files import plain
from engine.knowledge.item import Edit, Item, Origin, item_id
from engine.store.header import locate

if TYPE_CHECKING:
    from engine.store.paths import Workspace

HEADING = "Notes from sessions"
MEMORY_LINES = 200
MEMORY_BYTES = 25 * 1024
"""Limits of MEMORY.md (design 3.11): agents read no further."""

OLD_JOURNALS = "archive/journal"
"""Folder of old journals; late notes about their days go there."""

_PROJECTS = "knowledge/projects"
_CONTEXT = "context.md"
_DAY = re.compile(rf"(?:{JOURNAL}|{OLD_JOURNALS})/\d{{4}}-\d\d-\d\d\.md")
_PROJECT = re.compile(rf"{_PROJECTS}/([^/.][^/]*)/{re.escape(_CONTEXT)}")
_COUNT = re.compile(rb"^(line_count:[ \t]*)\d+", re.MULTILINE)


def path_of(to: str, day: str) -> str:
    """The file of a target for notes: ``journal``, ``memory`` or ``project:<name>``.

    ``day`` is that of the journal, ``YYYY-MM-DD``.
    """
    kind, _, name = to.partition(":")
    match kind:
        case "journal":
            return f"{JOURNAL}/{day}.md"
        case "memory":
            return MEMORY
        case _:
            return f"{_PROJECTS}/{name}/{_CONTEXT}"


def place_of(path: str) -> str:
    """The target of a file, as for ``path_of``; empty if notes do not go there."""
    if path == MEMORY:
        return "memory"
    if _DAY.fullmatch(path):
        return "journal"
    project = _PROJECT.fullmatch(path)
    return f"project:{project[1]}" if project is not None else ""


def projects(workspace: Workspace) -> list[str]:
    """The projects that can have notes: those with a ``context.md``, by name."""
    if not workspace.holds(_PROJECTS):
        return []
    try:
        folders = [
            folder.name for folder in workspace.projects.iterdir() if folder.joinpath(_CONTEXT).is_file()
        ]
    except OSError:
        return []
    return sorted(name for name in folders if name.isprintable() and not name.startswith((".", "_")))


def edit_for(item: Item, origin: Origin) -> Edit:
    """The edit for a note, with its day and origin."""
    turns = ""
    if origin.turns is not None:
        first, last = origin.turns
        turns = f", turn {first}" if first == last else f", turns {first}–{last}"
    line = plain(f"{origin.day}: {item.text} (session {origin.name}{turns})")
    title = _title(item.path)
    return Edit(item_id(item, origin.name), "notes", "append", item.path, HEADING, f"- {line}", title)


def text_of(line: str) -> str:
    """The text of a note's line, without day and session."""
    return line.partition(": ")[2].rpartition(" (session ")[0] or line


def level_of(path: str) -> int:
    """The level of the heading for notes in a file; in a journal, one below the day's."""
    return 3 if _DAY.fullmatch(path) else 2


def refuse_full(path: str, data: bytes) -> None:
    """Raises ``DocumentError`` if MEMORY.md would exceed its limits."""
    lines = _lines(data)
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
    return _COUNT.sub(rb"\g<1>%d" % _lines(data), data[:body], count=1) + data[body:]


def _lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n"))


def _title(path: str) -> str:
    """The start of a new file; empty for a project's context, which may not be created."""
    if path == MEMORY:
        return "---\ntype: memory\n---\n\n# Core Memory"
    if not _DAY.fullmatch(path):
        return ""
    day = PurePosixPath(path).stem
    return f"---\ntype: journal\ndate: {day}\n---\n\n## {day}"
