"""Notes of sessions: lines of the journal, of MEMORY.md and of projects, below their own heading (spec 6.4).

What a flush notes and may write goes there at once, and what it holds once a person has accepted it.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.context.fixed import JOURNAL
from engine.context.sources import MEMORY
from engine.errors import DocumentError
from engine.knowledge.category_files import plain
from engine.knowledge.edit import Edit
from engine.knowledge.item import Item, Origin, item_id
from engine.store.header import locate

if TYPE_CHECKING:
    from engine.store.paths import Workspace

HEADING = "Notes from sessions"
MEMORY_LINES = 200
MEMORY_BYTES = 25 * 1024
"""What MEMORY.md may never exceed (design 3.11): an agent reads no further."""

OLD_JOURNALS = "archive/journal"
"""Where journals stand that are older than they are kept; what is learned of their days later goes there."""

_PROJECTS = "knowledge/projects"
_CONTEXT = "context.md"
_DAY = re.compile(rf"(?:{JOURNAL}|{OLD_JOURNALS})/\d{{4}}-\d\d-\d\d\.md")
_PROJECT = re.compile(rf"{_PROJECTS}/([^/.][^/]*)/{re.escape(_CONTEXT)}")
_COUNT = re.compile(rb"^(line_count:[ \t]*)\d+", re.MULTILINE)


def path_of(to: str, day: str) -> str:
    """The file of a place that notes go to.

    ``to`` is ``journal``, ``memory`` or ``project:<name>``; ``day`` is that of the journal, ``YYYY-MM-DD``.
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
    """The place that a file is, as ``path_of`` takes it; empty for a file that no note goes to."""
    if path == MEMORY:
        return "memory"
    if _DAY.fullmatch(path):
        return "journal"
    project = _PROJECT.fullmatch(path)
    return f"project:{project[1]}" if project is not None else ""


def projects(workspace: Workspace) -> list[str]:
    """The projects that notes can go to: those with a ``context.md``, by name."""
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
    """The edit that writes a note down: with its day, and where it comes from."""
    turns = ""
    if origin.turns is not None:
        first, last = origin.turns
        turns = f", turn {first}" if first == last else f", turns {first}–{last}"
    line = plain(f"{origin.day}: {item.text} (session {origin.name}{turns})")
    title = _title(item.path)
    return Edit(item_id(item, origin.name), "notes", "append", item.path, HEADING, f"- {line}", title)


def text_of(line: str) -> str:
    """What a note says, without the day and the session of its line."""
    return line.partition(": ")[2].rpartition(" (session ")[0] or line


def level_of(path: str) -> int:
    """The level of the headings of a file below which lines are added: below that of the day in a journal."""
    return 3 if _DAY.fullmatch(path) else 2


def refuse_full(path: str, data: bytes) -> None:
    """Checks that a file is not too long.

    Raises:
        DocumentError: MEMORY.md would exceed its limits.
    """
    lines = _lines(data)
    if path == MEMORY and (lines > MEMORY_LINES or len(data) > MEMORY_BYTES):
        raise DocumentError(
            f"would have {lines} lines and {len(data) / 1024:.1f} KB, more than {MEMORY_LINES} lines"
            f" or {MEMORY_BYTES // 1024} KB",
            where=MEMORY,
            hint="move older entries elsewhere",
        )


def counted(path: str, data: bytes) -> bytes:
    """A file's bytes, with the number of lines that MEMORY.md's header names (spec 2.3) as it is."""
    if path != MEMORY:
        return data
    body = locate(data).body
    return _COUNT.sub(rb"\g<1>%d" % _lines(data), data[:body], count=1) + data[body:]


def _lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n"))


def _title(path: str) -> str:
    """What a file of notes begins with; empty for a project's, which is not ours to create."""
    if path == MEMORY:
        return "---\ntype: memory\n---\n\n# Core Memory"
    if not _DAY.fullmatch(path):
        return ""
    day = PurePosixPath(path).stem
    return f"---\ntype: journal\ndate: {day}\n---\n\n## {day}"
