"""Edits of the files of knowledge, applied as often as it takes (design 6.2, robustness L4).

Each file is read, changed and replaced as one step under the workspace's lock; every byte outside the edit
stays. What that guarantees, and what not:

- Two engines never lose each other's lines.
- An editor that saves while an edit is under way is seen up to the moment before the rename: what it saved is
  read anew and gets the line. One that saves in the instant between that look and the rename is overwritten,
  as no system call compares and renames at once; its text is in the history if it was committed.
- An editor that saves a stale text afterwards takes the line away again. Nobody can keep it from doing so:
  whoever needs the line to stand asks ``is_there``, which reads the path anew, and applies the edit again.
- A line that the person has reworded is not known again; the edit adds it a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.knowledge.bindings import load_sightings, new_notes
from engine.knowledge.category_files import CATEGORY_FILES, DONE, Entry, entries, refuse_broken
from engine.store.header import locate
from engine.store.section_lines import with_line

if TYPE_CHECKING:
    from engine.knowledge.edit import Edit
    from engine.store.files import Files

Status = Literal["written", "there", "moved"]


@dataclass(frozen=True, slots=True)
class Applied:
    """What an edit came to.

    Attributes:
        status: ``there`` changed nothing; ``moved`` took an open task to the done ones.
        path: The file, workspace-relative.
        line: Where the line stands, from 1.
    """

    status: Status
    path: str
    line: int


def apply(files: Files, edit: Edit) -> Applied:
    """Applies an edit; one that has been applied changes nothing.

    A line that stands anywhere in its file is there: the person may have moved it to another section. A task
    that is to be moved and stands nowhere any more is added to the done ones.

    Raises:
        DocumentError: The file is no UTF-8 text, holds the marks of a merge, or ends inside a code block.
        WriteFailed, ReadOnly, PathRefused: As ``Files.update``.
    """
    status: Status = "there"

    def change(old: bytes | None) -> bytes:
        nonlocal status
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
        if not data[locate(data).body :].strip():
            data += _new_file(files, edit)
        return with_line(data, edit.line, edit.section)

    now = files.update(edit.path, change)
    return Applied(status, edit.path, _line_of(now or b"", edit))


def is_there(files: Files, edit: Edit) -> int:
    """The 1-based line on which an edit stands in the file that is at its path now; 0 when it does not.

    Raises:
        PathRefused, DocumentError: As ``Files.read``.
    """
    try:
        return _line_of(files.read(edit.path), edit)
    except FileNotFoundError:
        return 0


def _line_of(data: bytes, edit: Edit) -> int:
    if edit.kind == "done" and _open_task(data, edit) is not None:
        return 0
    return _last_line(data, edit.line)


def _last_line(data: bytes, line: str) -> int:
    wanted = line.encode("utf-8", "replace")
    lines = enumerate(data.split(b"\n"), 1)
    return max((number for number, found in lines if found.rstrip(b"\r") == wanted), default=0)


def _open_task(data: bytes, edit: Edit) -> Entry | None:
    """The task in its place among the open ones."""
    there = (entry for entry in entries(data, edit.path) if entry.raw == edit.line)
    return next((entry for entry in there if entry.section != DONE), None)


def _moved(data: bytes, task: Entry) -> bytes:
    """The file with a task and what belongs to it at the end of the done ones."""
    lines = data.split(b"\n")
    taken = lines[task.number - 1 : task.last]
    newline = locate(data).newline
    rest = b"\n".join(lines[: task.number - 1] + lines[task.last :])
    if _last_line(rest, task.raw):
        return rest
    text = newline.join(line.rstrip(b"\r").decode("utf-8") for line in taken)
    return with_line(rest, text, DONE)


def _new_file(files: Files, edit: Edit) -> bytes:
    """What a file holds before its first line."""
    if edit.kind == "note":
        seen = load_sightings(files).get(edit.path)
        is_its = seen is not None and edit.title == f"# {seen.key}"
        return new_notes(files.workspace, edit.title, Path(seen.absolute) if seen and is_its else None)
    known = next((file for file in CATEGORY_FILES if file.path == edit.path), None)
    if known is not None:
        return known.new
    return f"{edit.title}\n".encode()
