"""Applies edits to the knowledge files; applying one twice is harmless (design 6.2, robustness L4).

Each file is read, changed and replaced in one step under the workspace's lock; all bytes outside the edit are
kept. Guarantees and limits:

- Two engines never lose each other's lines.
- If an editor saves during an edit, its version is re-read and gets the line. If it saves in the instant
  between that check and the rename, its version is overwritten, because no system call compares and renames
  atomically; the text is in the history if it was committed.
- If an editor saves a stale version afterwards, the line is lost. That cannot be prevented: a caller that
  depends on the line checks ``is_there``, which re-reads the file, and applies the edit again.
- A line that the person has reworded is not recognised; the edit adds it a second time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError, DocumentError, ReadOnly, WriteFailed
from engine.knowledge import pages
from engine.knowledge.bindings import Sightings, new_notes
from engine.knowledge.category_files import CATEGORY_FILES, DONE, Entry, entries, refuse_broken
from engine.knowledge.item import HeldItem, Item
from engine.knowledge.proposed import REFUSED
from engine.store.header import locate
from engine.store.markdown import with_line

if TYPE_CHECKING:
    from engine.knowledge.item import Edit
    from engine.store.files import Files

Status = Literal["written", "there", "moved"]


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of an edit."""

    status: Status  # ``there``: nothing changed; ``moved``: an open task was moved to the done ones
    path: str  # workspace-relative
    line: int  # from 1


def apply(files: Files, edit: Edit) -> Applied:
    """Applies an edit; applying it again changes nothing.

    A line counts as present anywhere in its file, since the person may have moved it to another section. A
    task to be moved that no longer exists is added to the done ones.

    Raises:
        DocumentError: The file is not UTF-8 text, has conflict markers or an unclosed code block, would
        exceed
            its size limit, or no longer exists and may not be created.
        WriteFailed, ReadOnly, PathRefused: As ``Files.update``.
    """
    status: Status = "there"

    def change(old: bytes | None) -> bytes:
        nonlocal status
        if old is None and not edit.title:
            raise DocumentError("the file no longer exists", where=edit.path)
        data = old if old is not None else b""
        refuse_broken(data, edit.path)
        if _line_of(data, edit):
            status = "there"
            return data
        task = _open_task(data, edit) if edit.kind == "done" else None
        if task is not None:
            status = "moved"
            return _moved(data, task)
        status = "written"
        # Pages start with a header, so a page with only a header is not new.
        body = 0 if edit.category in ("notes", "pages") else locate(data).body
        if edit.title and not data[body:].strip():
            data += _new_file(files, edit)
        new = with_line(data, edit.line, edit.section, pages.level_of(edit.path))
        if edit.category == "pages":
            new = pages.with_header(new, edit)
        pages.refuse_full(edit.path, new)
        return pages.with_line_count(edit.path, new)

    now = files.update(edit.path, change)
    return Applied(status, edit.path, _line_of(now or b"", edit))


def write(files: Files, edit: Edit) -> Applied:
    """Applies an edit, and checks that the file at the path has the line.

    Raises:
        WriteFailed: It does not, twice: an editor keeps overwriting the file.
        DocumentError, ReadOnly, PathRefused: As ``apply``.
    """
    for _ in range(2):
        applied = apply(files, edit)
        if is_there(files, edit):
            return applied
    raise WriteFailed(
        "a line that was just written is missing",
        where=edit.path,
        hint="close the editor that has the file open, and retry",
    )


def write_all(files: Files, edits: Iterable[Edit]) -> tuple[list[Edit], list[HeldItem]]:
    """Writes edits as ``write`` does.

    Returns:
        The written edits, and the others as held items, because their files cannot be edited.

    Raises:
        WriteFailed, ReadOnly: Nothing can be written, or a line keeps disappearing. Lines written so far
        stay.
    """
    written: list[Edit] = []
    refused: list[HeldItem] = []
    for edit in edits:
        try:
            write(files, edit)
        except (WriteFailed, ReadOnly):
            raise
        except AutopoiesisError as error:
            refused.append(HeldItem(edit.id, _item(edit), f"{REFUSED}{error}"))
        else:
            written.append(edit)
    return written, refused


def is_there(files: Files, edit: Edit) -> int:
    """The 1-based line number of an edit in its file as it is now; 0 if it is not there.

    Raises:
        PathRefused, DocumentError: As ``Files.read``.
    """
    return _line_of(files.find(edit.path) or b"", edit)


def _line_of(data: bytes, edit: Edit) -> int:
    if edit.kind == "done" and _open_task(data, edit) is not None:
        return 0
    return _last_line(data, edit.line)


def _last_line(data: bytes, line: str) -> int:
    wanted = line.encode("utf-8", "replace")
    lines = enumerate(data.split(b"\n"), 1)
    return max((number for number, found in lines if found.rstrip(b"\r") == wanted), default=0)


def _open_task(data: bytes, edit: Edit) -> Entry | None:
    """The open task that an edit is about."""
    there = (entry for entry in entries(data, edit.path) if entry.raw == edit.line)
    return next((entry for entry in there if entry.section != DONE), None)


def _moved(data: bytes, task: Entry) -> bytes:
    """The file with a task and its continuation lines moved to the end of the done ones."""
    lines = data.split(b"\n")
    taken = lines[task.number - 1 : task.last]
    newline = locate(data).newline
    rest = b"\n".join(lines[: task.number - 1] + lines[task.last :])
    if _last_line(rest, task.raw):
        return rest
    text = newline.join(line.rstrip(b"\r").decode("utf-8") for line in taken)
    return with_line(rest, text, DONE)


def _item(edit: Edit) -> Item:
    """The item in an edit's line."""
    if edit.category == "pages":
        return pages.item_of(edit)
    if edit.section == pages.HEADING:
        return Item("notes", pages.note_text(edit.line), edit.path)
    return Item(edit.category, edit.line.removeprefix("- ").rpartition(" [from:")[0] or edit.line)


def _new_file(files: Files, edit: Edit) -> bytes:
    """The content of a new file before its first entry."""
    if edit.kind == "note":
        seen = Sightings(files).all().get(edit.path)
        matches = seen is not None and edit.title == f"# {seen.key}"
        return new_notes(files.workspace, edit.title, Path(seen.absolute) if seen and matches else None)
    known = next((file for file in CATEGORY_FILES if file.path == edit.path), None)
    if known is not None:
        return known.new
    return f"{edit.title}\n".encode()
