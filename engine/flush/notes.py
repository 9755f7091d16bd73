"""Notes as lines of memory's files: added below a heading of their own, once, and nothing else changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.context.fixed import JOURNAL, MEMORY
from engine.errors import AutopoiesisError
from engine.store.section_lines import with_line

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.paths import Workspace

HEADING = "Notes from sessions"
MEMORY_LINES = 200
MEMORY_BYTES = 25 * 1024
"""What MEMORY.md may never exceed (design 3.11): an agent reads no further."""

_CONTEXT = "context.md"


@dataclass(frozen=True, slots=True)
class NoteLine:
    """A note as it will stand in a file.

    Attributes:
        path: Workspace-relative path.
        to: What the model called the place.
        said: The note without date and provenance.
        text: The whole line, without a line end.
    """

    path: str
    to: str
    said: str
    text: str

    @property
    def id(self) -> str:
        """Identifies the note: its place and its line."""
        return hashlib.sha256(f"{self.path}\n{self.text}".encode("utf-8", "replace")).hexdigest()[:12]


class NoteRefused(AutopoiesisError):
    """A note cannot stand where it is meant to."""


def line_for(to: str, said: str, *, day: str, session: str, first: int, last: int) -> NoteLine:
    """A note as a line with its date and where it comes from.

    Args:
        to: ``journal``, ``memory`` or ``project:<name>``.
        said: One plain line.
        day: The day of the turns, ``YYYY-MM-DD``.
        session: The session, or the conversation's name where it has none.
        first, last: Numbers of the turns.
    """
    turns = f"turn {first}" if first == last else f"turns {first}–{last}"
    kind, _, name = to.partition(":")
    match kind:
        case "journal":
            path = f"{JOURNAL}/{day}.md"
        case "memory":
            path = MEMORY
        case _:
            path = f"knowledge/projects/{name}/{_CONTEXT}"
    return NoteLine(path, to, said, f"- {day}: {said} (session {session}, {turns})")


def projects(workspace: Workspace) -> list[str]:
    """The projects that notes can go to: those with a ``context.md``, by name."""
    if not workspace.holds("knowledge/projects"):
        return []
    try:
        folders = [
            folder.name for folder in workspace.projects.iterdir() if folder.joinpath(_CONTEXT).is_file()
        ]
    except OSError:
        return []
    return sorted(name for name in folders if name.isprintable() and not name.startswith((".", "_")))


def add(files: Files, note: NoteLine, day: str) -> int:
    """Adds a note to its file; one that stands there already is left alone.

    Args:
        files: The workspace's write path.
        note: The note.
        day: The day of a journal that does not exist yet.

    Returns:
        The 1-based line on which it stands.

    Raises:
        NoteRefused: MEMORY.md would exceed its limits, or the file is no text.
        WriteFailed, ReadOnly, PathRefused, DocumentError: As ``Files.update``.
    """
    if files.update(note.path, _adding(note, day)) is None:
        raise NoteRefused("there is no such file any more", where=note.path)
    return line_of(files, note)


def line_of(files: Files, note: NoteLine) -> int:
    """The 1-based line on which a note stands in its file; 0 when it does not."""
    try:
        lines = files.read(note.path).split(b"\n")
    except FileNotFoundError:
        return 0
    wanted = note.text.encode("utf-8")
    return next((number for number, line in enumerate(lines, 1) if line.rstrip(b"\r") == wanted), 0)


def _adding(note: NoteLine, day: str) -> Callable[[bytes | None], bytes | None]:
    def change(old: bytes | None) -> bytes | None:
        if old is None:
            if note.path != MEMORY and not note.path.startswith(f"{JOURNAL}/"):
                return None
            old = _new_file(note.path, day)
        if any(line.rstrip(b"\r") == note.text.encode("utf-8") for line in old.split(b"\n")):
            return old
        new = _with_line(old, note)
        if note.path == MEMORY:
            lines = new.count(b"\n") + (not new.endswith(b"\n"))
            if lines > MEMORY_LINES or len(new) > MEMORY_BYTES:
                raise NoteRefused(
                    f"would have {lines} lines and {len(new) / 1024:.1f} KB, more than {MEMORY_LINES} lines"
                    f" or {MEMORY_BYTES // 1024} KB",
                    where=MEMORY,
                    cure="move older entries elsewhere",
                )
        return new

    return change


def _new_file(path: str, day: str) -> bytes:
    if path == MEMORY:
        return b"---\ntype: memory\n---\n\n# Core Memory\n"
    return f"---\ntype: journal\ndate: {day}\n---\n\n## {day}\n".encode()


def _with_line(data: bytes, note: NoteLine) -> bytes:
    """The file with the line at the end of the section of notes; where there is none, it is made at the end.

    No byte that was there changes.
    """
    level = 3 if note.path.startswith(f"{JOURNAL}/") else 2
    try:
        return with_line(data, note.text, HEADING, level, strict=True)
    except UnicodeDecodeError as error:
        raise NoteRefused("is not UTF-8 text", where=note.path, cure="save it as UTF-8") from error
