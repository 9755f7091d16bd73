"""Moves files, index and branch to an existing commit so that a crash loses nothing (C1).

Files are written before the branch moves: the other way round, a crash would leave files that look like local
edits undoing the whole merge, and the next commit would record them. A journal lets the next sync or commit
resume. If files were edited in between, the others are taken back, so that no half of a merge is committed as
local changes: the deletion of a moved file would win over local edits to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, RepositoryError
from engine.store import crypt, descriptors, sparse
from engine.store.commits import ABSENT_MODE, LINK_MODE, Staged, put_in_place
from engine.store.encrypted import filters_of, opened, stored
from engine.store.faults import reach
from engine.store.files import Files
from engine.store.git import Git, blob_name
from engine.store.paths import shown, split_relative
from engine.store.revisions import TreeEntry, blobs, contents
from engine.store.typed import typed
from engine.sync import JOURNAL
from engine.sync.model import SideChange

if TYPE_CHECKING:
    from engine.store.repository import Repository

_MAX_LISTED = 5


class BranchMoved(Exception):
    """Another process committed in the meantime."""


@dataclass(frozen=True, slots=True)
class _Work:
    ours: str  # the newest commit before
    commit: str


@dataclass(frozen=True, slots=True)
class _Change:
    path: str
    before: Blob | None
    after: Blob | None

    @property
    def known(self) -> set[str]:
        """Blob names that the file on disk may have; empty text for no file."""
        return {side.name if side else "" for side in (self.before, self.after)}


def apply_commit(
    files: Files, repository: Repository, ours: str, commit: str, subject: str
) -> tuple[str, ...]:
    """Moves the branch and the files to a commit.

    Args:
        ours: The branch's current commit, an ancestor of ``commit``.

    Returns:
        The changed files.

    Raises:
        RepositoryError: A file differs from both commits; nothing was changed.
        BranchMoved: The branch is no longer at ``ours``.
        WriteFailed, ReadOnly: A file was not written; the next sync resumes.
    """
    with files.lock():
        repository.recover()
        if repository.revision() != ours:
            raise BranchMoved
        wanted = _differences(repository, ours, commit)
        here = _on_disk(files, wanted)
        _refuse_edited(files, repository, here, len(ours))
        reach("sync:apply")
        files.replace(JOURNAL, json.dumps(asdict(_Work(ours, commit))).encode())
        _write(files, repository, here, len(ours))
        none = "0" * len(ours)
        staged = [
            Staged(each.path, each.after.mode, each.after.name)
            if each.after
            else Staged(each.path, ABSENT_MODE, none)
            for each in wanted
        ]
        if put_in_place(repository.git, files.workspace, staged, commit, ours, subject):
            _take_back(files, repository, _Work(ours, commit))
            files.remove(JOURNAL)
            raise BranchMoved
        files.remove(JOURNAL)
    return tuple(each.path for each in wanted)


def resume(files: Files, repository: Repository, subject: str) -> None:
    """Finishes an interrupted ``apply_commit``, or takes back what it wrote if files were edited or something
    was committed since.

    Raises:
        RepositoryError: A file is being saved right now.
        WriteFailed, ReadOnly: It cannot be finished now.
    """
    if not os.path.lexists(files.workspace.root / JOURNAL):
        return
    with files.lock(), contextlib.suppress(FileNotFoundError):
        repository.recover()
        try:
            work = typed(_Work, json.loads(files.read(JOURNAL)))
        except (ValueError, TypeError, KeyError, RecursionError):
            work = _Work("", "")
        if work.ours and _builds_on(repository, work.ours, work.commit):
            try:
                apply_commit(files, repository, work.ours, work.commit, subject)
            except (BranchMoved, RepositoryError):
                _take_back(files, repository, work)
        files.remove(JOURNAL)


def _take_back(files: Files, repository: Repository, work: _Work) -> None:
    """Restores the files that were written, except those edited or committed since."""
    head = repository.revision()
    if head is None or head == work.commit or not _builds_on(repository, work.ours, head):
        return
    length = len(head)
    committed = {each.path for each in _differences(repository, work.ours, head)}
    written = [
        each
        for each in _on_disk(files, _differences(repository, work.commit, work.ours))
        if each.path not in committed
        and _found(files, repository, each, length) == (each.before.name if each.before else "")
    ]
    _write(files, repository, written, length)


def _builds_on(repository: Repository, earlier: str, later: str) -> bool:
    return not repository.git.run("merge-base", "--is-ancestor", earlier, later, accept=(0, 1, 128)).code


def _differences(repository: Repository, ours: str, commit: str) -> list[_Change]:
    """Changes between two commits; deletions first, so that another file can take the name."""
    found = changes(repository.git, ours, commit, renames=False)
    wanted = [_Change(path, each.before, each.blob) for path, each in found.changed.items()]
    wanted += [_Change(path, None, blob) for path, blob in found.added.items()]
    # By path, so that .gitattributes, which selects encryption, precedes the files it applies to.
    return sorted(wanted, key=lambda each: (each.after is not None, each.path))


def _on_disk(files: Files, wanted: Sequence[_Change]) -> list[_Change]:
    """The changes to write: without submodules, which only record a commit, and files outside a sparse
    checkout."""
    root = files.workspace.root
    unseen = sparse.outside(root, [each.path for each in wanted if not os.path.lexists(root / each.path)])
    return [
        each
        for each in wanted
        if each.path not in unseen
        and LINK_MODE not in {side.mode for side in (each.before, each.after) if side}
    ]


def _stored_name(repository: Repository, path: str, data: bytes, known: Collection[str], length: int) -> str:
    """The blob name of a file's bytes in commits, where they may be encrypted."""
    name, git = blob_name(data, length), repository.git
    if name not in known and git.private():
        with contextlib.suppress(RepositoryError):
            return blob_name(stored(git, path, data, filters_of(git, [path])), length)
    return name


def _found(files: Files, repository: Repository, change: _Change, length: int) -> str | None:
    """The blob name of a file on disk, empty if there is none; ``None`` if it cannot be read as its own."""
    try:
        if files.workspace.resolve(change.path) != files.workspace.root / change.path:
            return None  # a symlink
        return _stored_name(repository, change.path, files.read(change.path), change.known, length)
    except FileNotFoundError:
        return ""
    except AutopoiesisError:
        return None


def _refuse_edited(files: Files, repository: Repository, wanted: Sequence[_Change], length: int) -> None:
    edited = [
        shown(each.path) for each in wanted if _found(files, repository, each, length) not in each.known
    ]
    if edited:
        more = f" and {len(edited) - _MAX_LISTED} more" if len(edited) > _MAX_LISTED else ""
        raise RepositoryError(
            f"local changes to {', '.join(edited[:_MAX_LISTED])}{more} would be overwritten by the merge; \
nothing was merged",
            where=str(files.workspace.root),
            hint="commit or undo your changes and try again",
        )


def _write(files: Files, repository: Repository, wanted: Sequence[_Change], length: int) -> None:
    by_path = {each.path: each for each in wanted}
    for each in wanted:
        if each.after is None:
            _write_one(files, repository, each, None, length)
    sized = _sized(repository, [each for each in wanted if each.after is not None])
    for entry, data in contents(repository.git, sized):
        if crypt.is_encrypted(data):
            name = filters_of(repository.git, [entry.path]).get(entry.path, "")
            data = opened(repository.git, data, name)
        _write_one(files, repository, by_path[entry.path], data, length)


def _sized(repository: Repository, wanted: Sequence[_Change]) -> list[TreeEntry]:
    names = [each.after.name for each in wanted if each.after is not None]
    stdin = "".join(f"{name}\n" for name in names).encode()
    sizes = repository.git.run("cat-file", "--batch-check=%(objectsize)", stdin=stdin).text.split("\n")
    return [
        TreeEntry(each.path, "file", name, int(size) if size.isdigit() else 0)
        for each, name, size in zip(wanted, names, sizes if names else [], strict=True)
    ]


def _write_one(
    files: Files, repository: Repository, wanted: _Change, data: bytes | None, length: int
) -> None:
    """Writes one file, unless it was saved since it was checked."""

    def change(old: bytes | None) -> bytes | None:
        name = _stored_name(repository, wanted.path, old, wanted.known, length) if old is not None else ""
        if name not in wanted.known:
            raise RepositoryError(
                "was saved during the merge",
                where=shown(wanted.path),
                hint="sync again; no changes were lost",
            )
        return data

    files.update(wanted.path, change)
    if wanted.after is not None and (wanted.before is None or wanted.before.mode != wanted.after.mode):
        _set_executable(files, wanted.path, wanted.after.mode == "100755")


def _set_executable(files: Files, path: str, is_program: bool) -> None:
    *parents, name = split_relative(path)
    with descriptors.open_folder(files.workspace.root, parents) as folder:
        mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        wanted = mode | 0o100 | ((mode & 0o044) >> 2) if is_program else mode & ~0o111
        if wanted != mode:
            os.chmod(name, wanted, dir_fd=folder)


_REPLACED = {"GIT_NO_REPLACE_OBJECTS": "1"}
_FORMAT = "%H%x00%ct%x00%an%x00%(trailers:key=Machine,valueonly,separator=%x2C)%x00%s"


@dataclass(frozen=True, slots=True)
class Blob:
    """A file's content and mode in a tree."""

    mode: str
    name: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """How an existing file changed."""

    before: Blob
    path: str  # the new path
    blob: Blob | None  # ``None`` if deleted


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a side."""

    changed: Mapping[str, FileChange]  # by the path in the base
    added: Mapping[str, Blob]


def changes(git: Git, base: str, side: str, *, renames: bool = True) -> Changes:
    """The differences between two commits.

    Args:
        renames: Detect renames.
    """
    # With a lower threshold, conversations begun from the same template would be taken for one another.
    options = ["-r", "-z", "--no-commit-id", "--raw", "--abbrev=64", "--ignore-submodules=none"]
    options += ["--find-renames=90%", "--no-rename-empty"] if renames else ["--no-renames"]
    output = git.run("diff-tree", *options, base, side, environment=_REPLACED).output
    changed: dict[str, FileChange] = {}
    added: dict[str, Blob] = {}
    fields = iter(output.split(b"\0"))
    for head in fields:
        if not head.startswith(b":"):
            continue
        old_mode, mode, old_name, name, status = head[1:].decode("ascii").split(" ")
        path = target = os.fsdecode(next(fields))
        if status.startswith("R"):
            target = os.fsdecode(next(fields))
        before, after = Blob(old_mode, old_name), Blob(mode, name)
        if status == "A":
            added[path] = after
        else:
            changed[path] = FileChange(before, target, None if status == "D" else after)
    return Changes(changed, added)


def versions(git: Git, base: str, side: str, path: str) -> list[tuple[str, bytes]]:
    """The versions of a file on a side since the base, oldest first, each with its day, ``YYYY-MM-DD``.

    The day is that of the committer's time zone.
    """
    options = ("--reverse", "--no-renames", "--date=short", "--format=%cd %H", f"{base}..{side}")
    lines = git.run("log", *options, paths=[path], environment=_REPLACED).text.splitlines()
    found = [line.split(" ", 1) for line in lines]
    data = blobs(git, [f"{revision}:{path}" for _, revision in found])
    return [(day, each) for (day, _), each in zip(found, data, strict=True) if each is not None]


def last_change(git: Git, base: str, side: str, path: str, what: str) -> SideChange:
    """The newest commit of a side that touched a file."""
    options = ("--no-renames", f"--format={_FORMAT}", f"{base}..{side}")
    output = git.run("log", *options, paths=[path], environment=_REPLACED).text
    lines = [line.split("\0", 4) for line in output.splitlines() if line.count("\0") >= 4]
    if not lines:
        return SideChange(what)
    revision, seconds, author, machine, subject = lines[0]
    at = datetime.fromtimestamp(int(seconds), UTC)
    return SideChange(what, revision, at, author, machine.strip(), subject, len(lines))
