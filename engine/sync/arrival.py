"""Puts a commit in place that is there already: files, branch, index, so that a kill loses nothing (C1).

The files come first: were it the branch, whatever a kill left on the disk would look like the person's own
work that takes everything back, and the next commit would do so. A journal says what is under way, and the
next sync goes on with it; had somebody worked on meanwhile, what is on the disk is committed as theirs and
merged once more, which changes nothing that was merged before.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, RepositoryError
from engine.store import crypt, descriptors, sparse
from engine.store.blobs import blob_name
from engine.store.commits import ABSENT_MODE, LINK_MODE, Staged, put_in_place
from engine.store.encrypted import filters_of, opened, stored
from engine.store.faults import reach
from engine.store.files import Files
from engine.store.paths import shown, split_relative
from engine.store.revisions import TreeEntry, contents
from engine.store.typed import typed
from engine.sync.tree import Blob, changes

if TYPE_CHECKING:
    from engine.store.repository import Repository

JOURNAL = "scratch/sync-journal.json"
_MOST_NAMED = 5


class Moved(Exception):
    """Another program has committed meanwhile."""


@dataclass(frozen=True, slots=True)
class _Work:
    ours: str  # the newest commit before
    commit: str


@dataclass(frozen=True, slots=True)
class _Change:
    path: str
    before: Blob | None
    after: Blob | None


def arrive(files: Files, repository: Repository, ours: str, commit: str, subject: str) -> tuple[str, ...]:
    """Makes a commit the newest one of the branch, and the files what it holds.

    Args:
        ours: The newest commit now, from which that one comes.

    Returns:
        The files that have changed.

    Raises:
        RepositoryError: A file here differs from both commits; nothing was changed.
        Moved: The branch is not at ``ours`` any more.
        WriteFailed, ReadOnly: A file was not written; the next sync goes on.
    """
    with files.lock():
        repository.recover()
        if repository.revision() != ours:
            raise Moved
        wanted = _between(repository, ours, commit)
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
        refusal = put_in_place(repository.git, files.workspace, staged, commit, ours, subject)
        files.remove(JOURNAL)
        if refusal:
            raise Moved
    return tuple(each.path for each in wanted)


def finish(files: Files, repository: Repository, subject: str) -> None:
    """Goes on with what was interrupted.

    Raises:
        WriteFailed, ReadOnly: It cannot be finished now.
    """
    try:
        data = files.read(JOURNAL)
    except FileNotFoundError:
        return
    with files.lock():
        repository.recover()
        try:
            work = typed(_Work, json.loads(data))
        except (ValueError, TypeError, KeyError, RecursionError):
            work = _Work("", "")
        if work.ours and work.ours == repository.revision() and _builds_on(repository, work):
            with contextlib.suppress(RepositoryError, Moved):
                arrive(files, repository, work.ours, work.commit, subject)
        with contextlib.suppress(FileNotFoundError):
            files.remove(JOURNAL)


def _builds_on(repository: Repository, work: _Work) -> bool:
    asked = ("merge-base", "--is-ancestor", work.ours, work.commit)
    return not repository.git.run(*asked, accept=(0, 1, 128)).code


def _between(repository: Repository, ours: str, commit: str) -> list[_Change]:
    """What differs; files that go away first, so that another can take their name."""
    found = changes(repository.git, ours, commit, renames=False)
    wanted = [_Change(path, fate.before, fate.blob) for path, fate in found.fates.items()]
    wanted += [_Change(path, None, blob) for path, blob in found.added.items()]
    # What encrypts files comes before them.
    return sorted(wanted, key=lambda each: (each.after is not None, each.path))


def _on_disk(files: Files, wanted: Sequence[_Change]) -> list[_Change]:
    """The changes without those of submodules, of which only the commit is recorded, and of files that this
    work tree does not show."""
    root = files.workspace.root
    unseen = sparse.outside(root, [each.path for each in wanted if not os.path.lexists(root / each.path)])
    links = [
        each for each in wanted if LINK_MODE in {side.mode for side in (each.before, each.after) if side}
    ]
    return [each for each in wanted if each.path not in unseen and each not in links]


def _stored_name(repository: Repository, path: str, data: bytes, known: Collection[str], length: int) -> str:
    """The name that the bytes of a file have in commits, where they may be encrypted."""
    name, git = blob_name(data, length), repository.git
    if name not in known and git.private():
        with contextlib.suppress(RepositoryError):
            return blob_name(stored(git, path, data, filters_of(git, [path])), length)
    return name


def _refuse_edited(files: Files, repository: Repository, wanted: Sequence[_Change], length: int) -> None:
    edited: list[str] = []
    for each in wanted:
        known = {side.name if side else "" for side in (each.before, each.after)}
        try:
            is_itself = files.workspace.resolve(each.path) == files.workspace.root / each.path
            found = _stored_name(repository, each.path, files.read(each.path), known, length)
        except FileNotFoundError:
            # One that a kill has left half done is made anew; one that is gone here is edited.
            found = ""
        except AutopoiesisError:
            is_itself = False
        if not is_itself or found not in known:
            edited.append(shown(each.path))
    if edited:
        more = f" and {len(edited) - _MOST_NAMED} more" if len(edited) > _MOST_NAMED else ""
        raise RepositoryError(
            f"{', '.join(edited[:_MOST_NAMED])}{more} changed here and would be changed by the merge too; \
nothing was merged",
            where=str(files.workspace.root),
            hint="commit or undo what you changed there, and try again",
        )


def _write(files: Files, repository: Repository, wanted: Sequence[_Change], length: int) -> None:
    by_path = {each.path: each for each in wanted}
    for each in wanted:
        if each.after is None:
            _one(files, repository, each, None, length)
    sized = _sized(repository, [each for each in wanted if each.after is not None])
    for entry, data in contents(repository.git, sized):
        if crypt.is_encrypted(data):
            name = filters_of(repository.git, [entry.path]).get(entry.path, "")
            data = opened(repository.git, data, name)
        _one(files, repository, by_path[entry.path], data, length)


def _sized(repository: Repository, wanted: Sequence[_Change]) -> list[TreeEntry]:
    names = [each.after.name for each in wanted if each.after is not None]
    asked = "".join(f"{name}\n" for name in names).encode()
    told = repository.git.run("cat-file", "--batch-check=%(objectsize)", stdin=asked).text.split("\n")
    return [
        TreeEntry(each.path, "file", name, int(size) if size.isdigit() else 0)
        for each, name, size in zip(wanted, names, told if names else [], strict=True)
    ]


def _one(files: Files, repository: Repository, wanted: _Change, data: bytes | None, length: int) -> None:
    """Gives one file its new bytes, unless it was saved since it was looked at."""
    known = {side.name if side else "" for side in (wanted.before, wanted.after)}

    def change(old: bytes | None) -> bytes | None:
        name = _stored_name(repository, wanted.path, old, known, length) if old is not None else ""
        if name not in known:
            raise RepositoryError(
                "was saved at the same moment", where=shown(wanted.path), hint="sync again: nothing is lost"
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
