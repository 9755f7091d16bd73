"""File changes that are planned first and made later, each as one commit (design 3.12, 6.2).

A change is a list of steps: lines added, dropped or replaced, a file rewritten or moved. Repeating a step
changes nothing, so an interrupted change is completed by making it again. Lines that move to another file are
added there before they are dropped here.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from engine.errors import ChangeRefused, PathRefused
from engine.knowledge.category_files import Entry, entries, refuse_broken
from engine.knowledge.journal import Journal
from engine.knowledge.pages import refuse_full, with_line_count
from engine.store import descriptors
from engine.store.entry_files import KNOWLEDGE, folder_of
from engine.store.header import locate
from engine.store.markdown import with_line
from engine.store.paths import shown, split_relative
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.change import Commit
    from engine.store.files import Files

PLACES = ("knowledge/", "archive/", "topics/", "presets/", ".library/")
"""Folders in which files may be changed."""
MAX_BYTES = 512 * 1024
"""Maximum size of a change as JSON."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a change."""

    kind: Literal["add", "drop", "swap", "write", "move"]
    """``add``: add lines at the end of a section unless the file has them. ``drop``: remove an entry.
    ``swap``: replace a line wherever it occurs. ``write``: replace the whole text. ``move``: rename the
    file."""
    path: str  # workspace-relative
    text: str = ""
    """The lines to add, drop or swap in, or the whole text; of a move, the new path."""
    section: str = ""  # of ``add``: the heading, without ``#``; empty for the end of the file
    level: int = 2  # of ``add``: the level of the heading if it is new
    title: str = ""  # of ``add``: start of the file if it is new; empty if it must exist
    old: str = ""
    """Of ``swap``: the old line; of ``write``: the SHA-256 of the old content, empty if there is no file."""
    left: int = 0  # of ``drop``: number of entries with the same lines to keep, the last ones


@dataclass(frozen=True, slots=True)
class FileChange:
    """Steps that belong together, and one line on each issue that they settle."""

    steps: tuple[Step, ...]
    about: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files it touches, in the order of the steps."""
        both = (name for step in self.steps for name in (step.path, _target(step)) if name)
        return tuple(dict.fromkeys(both))

    @property
    def moving(self) -> int:
        """Number of files moved."""
        return sum(step.kind == "move" for step in self.steps)

    @property
    def id(self) -> str:
        """A hash of the steps."""
        text = json.dumps([asdict(step) for step in self.steps], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def change_of(tree: object) -> FileChange | None:
    """The change in a record; ``None`` if it is not valid or not allowed."""
    try:
        found = typed(FileChange, tree)  # type: ignore[arg-type]
        is_valid = found.steps and all(map(_is_allowed, found.steps))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, PathRefused):
        return None
    return found if is_valid else None


def tree_of(change: FileChange) -> dict[str, Any]:
    """A change as a record, without default values."""
    blank = asdict(Step("add", ""))
    steps = [
        {name: value for name, value in asdict(step).items() if name == "kind" or value != blank[name]}
        for step in change.steps
    ]
    return {"steps": steps, "about": list(change.about)}


def digest(data: bytes | None) -> str:
    """The value of ``Step.old`` for a file to be rewritten; empty for an empty or missing file."""
    return hashlib.sha256(data).hexdigest() if data else ""


def outcome(files: Files, change: FileChange) -> dict[str, tuple[bytes, bytes]]:
    """The content of each changed file before and after, without writing anything and without moves.

    Raises:
        ChangeRefused: The files have changed since the change was planned.
        DocumentError: A file cannot be changed.
    """
    found: dict[str, tuple[bytes, bytes]] = {}
    for path, steps in _by_path(change):
        before = files.find(path)
        refuse_stale(before, steps)
        after = _after(before, steps)
        if after != before:
            found[path] = (before or b"", after)
    return found


def diff(files: Files, change: FileChange) -> list[str]:
    """A change as lines of a unified diff; moves as ``path → new path``. Raises as ``outcome``."""
    lines = [f"{step.path} → {step.text}" for step in change.steps if step.kind == "move"]
    for path, (before, after) in outcome(files, change).items():
        one, other = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
        lines += difflib.unified_diff(one, other, path, path, lineterm="", n=1)
    return lines


def refuse_unfit(files: Files, change: FileChange) -> None:
    """Checks that every step can be made now.

    Raises:
        ChangeRefused: A file has changed since, the change is too large, or a target path exists.
        DocumentError: A file cannot be changed.
    """
    if len(json.dumps(tree_of(change))) > MAX_BYTES:
        raise ChangeRefused(f"is larger than {MAX_BYTES // 1024} KB", hint="split it into smaller changes")
    outcome(files, change)
    root = files.workspace.root
    for step in change.steps:
        if step.kind != "move":
            continue
        for name in (step.path, step.text):
            files.workspace.resolve(name)
        if not root.joinpath(step.path).is_file() or root.joinpath(step.path).is_symlink():
            raise ChangeRefused("no longer exists, or is not a regular file", where=shown(step.path))
        if os.path.lexists(root / step.text):
            raise ChangeRefused("already exists", where=shown(step.text), hint="move it away first")


def refuse_stale(data: bytes | None, steps: Sequence[Step]) -> None:
    """Raises ``ChangeRefused`` if a file has changed since the steps were planned."""
    for step in steps:
        is_other = step.kind == "write" and digest(data) != step.old
        is_gone = step.kind == "drop" and len(_same_entries(data or b"", step)) <= step.left
        if is_other or is_gone:
            raise ChangeRefused(
                "has changed since this was proposed", where=shown(step.path), hint="request a new proposal"
            )


def carry_out(files: Files, change: FileChange, on_problem: Callable[[str], None]) -> tuple[str, ...]:
    """Makes every step that is not done yet, and returns the files involved. The caller holds the lock.

    A step that is no longer possible because a person has changed the file is reported and skipped.

    Raises:
        WriteFailed, ReadOnly: Something was not written; making the change again completes it.
    """
    root = files.workspace.root
    for step in change.steps:
        if (
            step.kind == "move"
            and root.joinpath(step.path).is_file()
            and not os.path.lexists(root / step.text)
        ):
            files.move(step.path, step.text)
            remove_empty(files, folder_of(step.path))
    for step in change.steps:
        if step.kind == "move" and step.path.endswith(f"/{KNOWLEDGE.marker}"):
            remove_empty(files, folder_of(step.path), least=1)  # the folder was that of the entry alone
    for path, steps in _by_path(change):
        files.update(path, lambda old, steps=steps: _after_or_unchanged(old, steps, on_problem))  # type: ignore[misc]
    return change.paths


def remove_empty(files: Files, folder: str, least: int = 2) -> None:
    """Removes a folder and its parents while they are empty and have at least ``least`` folders above
    them."""
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


def _is_allowed(step: Step) -> bool:
    """Whether a step stays in ``PLACES``, and changes only Markdown; an entry's other files can be moved."""
    names = (step.path, step.text) if step.kind == "move" else (step.path,)
    is_text = step.kind == "move" or step.path.endswith(".md")
    return is_text and all(
        name.startswith(PLACES) and "/".join(split_relative(name)) == name for name in names
    )


def _after_or_unchanged(
    data: bytes | None, steps: Sequence[Step], on_problem: Callable[[str], None]
) -> bytes | None:
    """A file's content after the steps; unchanged, with a report, if they are not possible."""
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
                raise ChangeRefused("no longer exists", where=shown(step.path))
            else:
                data = f"{step.title}\n".encode()
        before, data = data, _after_step(data, step)
        if data.count(b"\n") > before.count(b"\n"):
            refuse_full(step.path, data)
    assert data is not None
    return with_line_count(steps[0].path, data)


def _after_step(data: bytes, step: Step) -> bytes:
    """A file's content after a step; unchanged if the step was made before."""
    if step.kind == "write":
        text = step.text.encode("utf-8")
        if data != text and digest(data) != step.old:
            raise ChangeRefused("changed in the meantime and is left as is", where=shown(step.path))
        return text
    refuse_broken(data, step.path)
    if step.kind == "add":
        if _count(data, step.text):
            return data
        return with_line(data, step.text.replace("\n", locate(data).newline), step.section, step.level)
    lines = data.split(b"\n")
    if step.kind == "drop":
        found = _same_entries(data, step)
        for entry in reversed(found[: max(len(found) - step.left, 0)]):
            del lines[entry.number - 1 : entry.last]
        return b"\n".join(lines)
    old, new = step.old.encode("utf-8"), step.text.encode("utf-8")
    return b"\n".join(
        new + line[len(line.rstrip(b"\r")) :] if line.rstrip(b"\r") == old else line for line in lines
    )


def _same_entries(data: bytes, step: Step) -> list[Entry]:
    """The entries with the lines of a step. One with more lines nested below is another entry."""
    return [entry for entry in entries(data, step.path) if "\n".join(entry.lines) == step.text]


def _count(data: bytes, text: str) -> int:
    """Number of occurrences of consecutive lines in a file."""
    return len(_occurrences(data.split(b"\n"), text.encode("utf-8").split(b"\n")))


def _occurrences(lines: Sequence[bytes], wanted: Sequence[bytes]) -> list[int]:
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


JOURNALS = "scratch/changes"
"""Folder of the journals of changes in progress."""


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The result of a change."""

    paths: tuple[str, ...]
    commit: str = ""  # hash; empty if there is no commit
    uncommitted: str = ""  # why there is no commit


@dataclass(frozen=True, slots=True)
class _Begun:
    """The content of a journal."""

    change: FileChange
    message: str
    is_made: bool = False  # only its commit is missing


@dataclass(eq=False)
class FileChanges:
    """Makes changes, each as one commit. Safe to use from several processes."""

    files: Files
    commit: Commit
    on_problem: Callable[[str], None]

    @cached_property
    def _journal(self) -> Journal[_Begun]:
        lost = "the change will be proposed again"
        return Journal(self.files, JOURNALS, _begun_in, lost, self.on_problem, _tree_of_begun)

    def make(self, change: FileChange, message: str) -> ChangeResult:
        """Makes a change.

        Raises:
            ChangeRefused: The files have changed since; nothing was changed.
            DocumentError, PathRefused: A file cannot be changed; nothing was changed.
            WriteFailed, ReadOnly: It was not made completely; ``recover`` does the rest.
        """
        with self.files.lock():
            self.recover()
            refuse_unfit(self.files, change)
            work = _Begun(change, message)
            self._journal.keep(change.id, work)
            return self._settle(change.id, work)

    def recover(self) -> tuple[ChangeResult, ...]:
        """Finishes changes that were interrupted.

        Raises:
            WriteFailed: One cannot be finished now; its journal is kept.
        """
        return tuple(self._journal.finish(self._settle))

    def _settle(self, name: str, work: _Begun) -> ChangeResult:
        paths = work.change.paths
        if not work.is_made:
            carry_out(self.files, work.change, self.on_problem)
        done = self.commit(paths, work.message)
        if done.failed:
            # Only the commit is retried, so later changes by a person are kept.
            self._journal.keep(name, replace(work, is_made=True))
        else:
            self._journal.drop(name)
        return ChangeResult(paths, done.revision, done.why)


def _tree_of_begun(work: _Begun) -> dict[str, Any]:
    return {"message": work.message, "is_made": work.is_made, **tree_of(work.change)}


def _begun_in(tree: Any) -> _Begun:
    if (change := change_of(tree)) is None:
        raise ValueError("not a change that may be made")
    return typed(_Begun, {**tree, "change": tree_of(change)})
