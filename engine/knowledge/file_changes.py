"""Changes of files that are decided first and made later, as often as it takes (design 3.12, 6.2).

A change is a list of steps: lines added, dropped or replaced, a text written anew, a file moved. A step that
was taken already changes nothing, so a change that a kill has cut short is made whole by making it again.
What leaves one file for another is added there before it is dropped here.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from engine.errors import ChangeRefused, PathRefused
from engine.knowledge.category_files import refuse_broken
from engine.knowledge.session_notes import counted, refuse_full
from engine.store import descriptors
from engine.store.header import locate
from engine.store.paths import shown, split_relative
from engine.store.section_lines import with_line
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.files import Files

PLACES = ("knowledge/", "archive/", "topics/", "presets/", ".library/")
"""Where a change may change anything; only Markdown is."""
MOST_BYTES = 512 * 1024
"""Size of a change as JSON; a larger one is not made."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a change."""

    kind: Literal["add", "drop", "swap", "write", "move"]
    """``add``: lines at the end of a section, unless they stand in the file. ``drop``: lines go. ``swap``: a
    line is replaced wherever it stands. ``write``: the file gets another text. ``move``: it gets another
    name."""
    path: str  # workspace-relative
    text: str = ""
    """The lines added, dropped or put in place, or the whole text; of a move the new path."""
    section: str = ""  # of ``add``: the heading above, without ``#``; empty for the file's end
    level: int = 2  # of ``add``: that of a heading that has to be made
    title: str = ""  # of ``add``: what the file begins with if it is not there; empty if it has to be
    old: str = ""
    """Of ``swap`` the line that goes; of ``write`` the sha256 of the bytes it was made for; empty: no
    file."""
    left: int = 0  # of ``drop``: how often the lines stand in the file afterwards


@dataclass(frozen=True, slots=True)
class FileChange:
    """Steps that are taken together, and one line on each matter that they settle."""

    steps: tuple[Step, ...]
    about: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it touches, in the order of its steps."""
        both = (name for step in self.steps for name in (step.path, _target(step)) if name)
        return tuple(dict.fromkeys(both))

    @property
    def moving(self) -> int:
        """How many files get another name."""
        return sum(step.kind == "move" for step in self.steps)

    @property
    def id(self) -> str:
        """Equal for equal steps."""
        said = json.dumps([asdict(step) for step in self.steps], sort_keys=True)
        return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:12]


def change_of(tree: object) -> FileChange | None:
    """The change that a record holds; ``None`` where it holds none that may be made."""
    try:
        found = typed(FileChange, tree)  # type: ignore[arg-type]
        is_fit = found.steps and all(_is_place(name) for name in found.paths)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, PathRefused):
        return None
    return found if is_fit else None


def tree_of(change: FileChange) -> dict[str, Any]:
    """A change as a record holds it, without what is as it is by default."""
    blank = asdict(Step("add", ""))
    steps = [
        {name: value for name, value in asdict(step).items() if name == "kind" or value != blank[name]}
        for step in change.steps
    ]
    return {"steps": steps, "about": list(change.about)}


def digest(data: bytes | None) -> str:
    """What ``Step.old`` says of a text that is written anew; empty for an empty file as for none."""
    return hashlib.sha256(data).hexdigest() if data else ""


def outcome(files: Files, change: FileChange) -> dict[str, tuple[bytes, bytes]]:
    """What every file that changes holds before and after, without anything being written; moves left out.

    Raises:
        ChangeRefused: The files are not what the change was made for.
        DocumentError: A file cannot be changed.
    """
    found: dict[str, tuple[bytes, bytes]] = {}
    for path, steps in _by_path(change):
        before = _read(files, path)
        refuse_stale(before, steps)
        after = _after(before, steps)
        if after != before:
            found[path] = (before or b"", after)
    return found


def diff(files: Files, change: FileChange) -> list[str]:
    """A change as a unified difference, line by line; moves as ``path → new path``.

    Raises:
        ChangeRefused, DocumentError: As ``outcome``.
    """
    lines = [f"{step.path} → {step.text}" for step in change.steps if step.kind == "move"]
    for path, (before, after) in outcome(files, change).items():
        one, other = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
        lines += difflib.unified_diff(one, other, path, path, lineterm="", n=1)
    return lines


def refuse_unfit(files: Files, change: FileChange) -> None:
    """Checks that every step can be taken now.

    Raises:
        ChangeRefused: A file is not what the change was made for, or a name is taken.
        DocumentError: A file cannot be changed.
    """
    if len(json.dumps(tree_of(change))) > MOST_BYTES:
        raise ChangeRefused(f"is larger than {MOST_BYTES // 1024} KB", hint="make smaller ones of it")
    outcome(files, change)
    root = files.workspace.root
    for step in change.steps:
        if step.kind != "move":
            continue
        for name in (step.path, step.text):
            files.workspace.resolve(name)
        if not root.joinpath(step.path).is_file() or root.joinpath(step.path).is_symlink():
            raise ChangeRefused("is not there any more, or no regular file", where=shown(step.path))
        if os.path.lexists(root / step.text):
            raise ChangeRefused("exists already", where=shown(step.text), hint="move it away first")


def refuse_stale(data: bytes | None, steps: Sequence[Step]) -> None:
    """Checks that a file is what steps were made for.

    Raises:
        ChangeRefused: It has changed since.
    """
    for step in steps:
        is_other = step.kind == "write" and digest(data) != step.old
        is_gone = step.kind == "drop" and _count(data or b"", step.text) <= step.left
        if is_other or is_gone:
            raise ChangeRefused(
                "has changed since this was proposed", where=shown(step.path), hint="have it proposed again"
            )


def carry_out(files: Files, change: FileChange, on_problem: Callable[[str], None]) -> tuple[str, ...]:
    """Takes every step that was not taken yet; gives the files that it is about. The lock is held.

    A step that cannot be taken any more, because a person changed the file while it was being made, is told
    and passed over.

    Raises:
        WriteFailed, ReadOnly: Something was not written; made again, the change is whole.
    """
    root = files.workspace.root
    for step in change.steps:
        if (
            step.kind == "move"
            and root.joinpath(step.path).is_file()
            and not os.path.lexists(root / step.text)
        ):
            files.move(step.path, step.text)
            remove_empty(files, step.path.rpartition("/")[0])
    for path, steps in _by_path(change):
        files.update(path, lambda old, steps=steps: _kept(old, steps, on_problem))  # type: ignore[misc]
    return change.paths


def remove_empty(files: Files, folder: str, least: int = 2) -> None:
    """Removes a folder and those above it that hold nothing any more, as long as so many are above them."""
    while folder.count("/") >= least:
        above, _, name = folder.rpartition("/")
        try:
            with descriptors.open_folder(files.workspace.root, above.split("/")) as descriptor:
                os.rmdir(name, dir_fd=descriptor)
        except OSError:
            return
        folder = above


def _by_path(change: FileChange) -> Iterator[tuple[str, tuple[Step, ...]]]:
    steps = [step for step in change.steps if step.kind != "move"]
    for path in dict.fromkeys(step.path for step in steps):
        yield path, tuple(step for step in steps if step.path == path)


def _target(step: Step) -> str:
    return step.text if step.kind == "move" else ""


def _is_place(path: str) -> bool:
    return path.startswith(PLACES) and path.endswith(".md") and "/".join(split_relative(path)) == path


def _read(files: Files, path: str) -> bytes | None:
    try:
        return files.read(path)
    except FileNotFoundError:
        return None


def _kept(data: bytes | None, steps: Sequence[Step], on_problem: Callable[[str], None]) -> bytes | None:
    """What a file holds after steps; what it holds already where they cannot be taken."""
    try:
        return _after(data, steps)
    except ChangeRefused as error:
        on_problem(str(error))
        return data


def _after(data: bytes | None, steps: Sequence[Step]) -> bytes:
    for step in steps:
        if data is None:
            if step.kind == "write" and not step.old:
                data = b""
            elif not step.title:
                raise ChangeRefused("is not there any more", where=shown(step.path))
            else:
                data = f"{step.title}\n".encode()
        before, data = data, _taken(data, step)
        if data.count(b"\n") > before.count(b"\n"):
            refuse_full(step.path, data)
    assert data is not None
    return counted(steps[0].path, data)


def _taken(data: bytes, step: Step) -> bytes:
    """A file's bytes after a step; the same where it was taken before."""
    if step.kind == "write":
        text = step.text.encode("utf-8")
        if data != text and digest(data) != step.old:
            raise ChangeRefused("was changed meanwhile and is left as it is", where=shown(step.path))
        return text
    refuse_broken(data, step.path)
    if step.kind == "add":
        if _count(data, step.text):
            return data
        return with_line(data, step.text.replace("\n", locate(data).newline), step.section, step.level)
    lines = data.split(b"\n")
    if step.kind == "drop":
        gone = step.text.encode("utf-8").split(b"\n")
        places = _places(lines, gone)
        while len(places) > step.left:
            at = places.pop()
            del lines[at : at + len(gone)]
        return b"\n".join(lines)
    old, new = step.old.encode("utf-8"), step.text.encode("utf-8")
    return b"\n".join(
        new + line[len(line.rstrip(b"\r")) :] if line.rstrip(b"\r") == old else line for line in lines
    )


def _count(data: bytes, text: str) -> int:
    """How often lines stand in a file, one behind the other."""
    return len(_places(data.split(b"\n"), text.encode("utf-8").split(b"\n")))


def _places(lines: Sequence[bytes], wanted: Sequence[bytes]) -> list[int]:
    plain = [line.rstrip(b"\r") for line in lines]
    found: list[int] = []
    at = 0
    while at + len(wanted) <= len(plain):
        if plain[at : at + len(wanted)] == list(wanted):
            found.append(at)
            at += len(wanted)
        else:
            at += 1
    return found
