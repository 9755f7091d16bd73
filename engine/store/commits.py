"""Commits exactly the given files with exactly their bytes on disk (design 6.5, G4–G6).

``git add`` and ``git commit`` would run hooks and filters, convert line ends, and include whatever else is
staged. So the commit is assembled from plumbing: blobs, a tree on top of the newest commit, the commit; then,
under git's index lock, the branch is moved (compare-and-swap) and the index entries of the files are updated.
If another program has moved the branch in the meantime, the commit is rebuilt on top of it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.errors import PathRefused, RepositoryError
from engine.redaction.detect import redacted
from engine.store import git_folder, git_lock, sparse
from engine.store.committable import Guard, checked, read, refuse_in_links
from engine.store.encrypted import filters_of
from engine.store.faults import reach
from engine.store.git import Git, blob_name, name_length, store_blob
from engine.store.paths import INDEX_PREFIX, Workspace, shown, split_relative

ABSENT_MODE = "0"
LINK_MODE = "160000"
"""Mode of a submodule entry, whose object name is a commit of another repository."""
_ARGUMENT_BYTES = 64 * 1024
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Staged:
    """A tree entry of a file or submodule: mode and object name, or neither if it is deleted."""

    path: str
    mode: str
    name: str


def commit(
    git: Git,
    workspace: Workspace,
    paths: Sequence[str],
    message: str,
    newest: Callable[[], str | None],
    guard: Guard | None,
    links: Mapping[str, str | None],
) -> str | None:
    """See ``Repository.commit``; ``newest`` returns the newest commit, ``None`` before the first one.

    The caller holds the workspace lock.
    """
    names = list(dict.fromkeys(map(workspace.plain, paths)))
    text = _sendable(message).strip()
    if not text:
        raise RepositoryError("a commit needs a message", where=str(workspace.root))
    if not names and not links:
        return None
    refuse_in_links(git, names)
    contents = {name: read(workspace, name) for name in names}
    absent = [name for name, found in contents.items() if found is None]
    for name in {*_ignored(git, names), *(sparse.hidden(workspace.root, absent) if absent else ())}:
        del contents[name]
    parent = newest()
    entries = _entries(git, contents, guard, parent)
    entries += [
        Staged(path, LINK_MODE if name else ABSENT_MODE, name or "0" * len(parent or name_length(git) * "0"))
        for path, name in links.items()
    ]
    for _ in range(_ATTEMPTS):
        parent = newest()
        base = git.run("rev-parse", f"{parent}^{{tree}}").text if parent else None
        tree = tree_with(git, workspace, entries, base)
        if tree == base or (base is None and all(entry.mode == ABSENT_MODE for entry in entries)):
            if parent and not _is_staged(git, entries, parent):
                _stage(git, workspace, entries, parent)
            return None
        reach("commit:object")
        parents = ("-p", parent) if parent else ()
        revision = git.run(
            "commit-tree", tree, *parents, "-F", "-", stdin=f"{text}\n".encode(), reading=False
        ).text
        refusal = put_in_place(git, workspace, entries, revision, parent, text.partition("\n")[0])
        if not refusal:
            return revision
    if lock := git_lock.in_the_way(git_folder.repository_folder(workspace.root)):
        why, hint = git_lock.explained(lock, workspace.root)
        raise RepositoryError(why, where=str(git.root), hint=hint)
    raise RepositoryError(
        f"the branch was not moved: {refusal}",
        where=str(git.root),
        hint="another program keeps committing; try again when it is done",
    )


def _sendable(message: str) -> str:
    """A message as git accepts it, without secrets: it stays in the history and travels with it."""
    return redacted(message.replace("\0", " ").encode("utf-8", "replace").decode("utf-8"))


def commit_entries(
    git: Git, workspace: Workspace, entries: list[Staged], parents: Sequence[str], message: str
) -> str:
    """Create a commit that is not on a branch yet: its first parent's tree with the entries applied."""
    base = git.run("rev-parse", f"{parents[0]}^{{tree}}").text
    tree = tree_with(git, workspace, entries, base)
    reach("commit:object")
    named = [word for parent in parents for word in ("-p", parent)]
    stdin = f"{_sendable(message)}\n".encode()
    return git.run("commit-tree", tree, *named, "-F", "-", stdin=stdin, reading=False).text


def commit_contents(
    git: Git,
    workspace: Workspace,
    contents: Mapping[str, bytes | None],
    parent: str,
    message: str,
    guard: Guard | None,
) -> str:
    """See ``Repository.commit_beside``."""
    entries: list[Staged] = []
    filters = filters_of(git, contents)
    for path, data in contents.items():
        name = "/".join(split_relative(path))
        if data is None:
            entries.append(Staged(name, ABSENT_MODE, "0" * len(parent)))
            continue
        kept = checked(git, name, data, parent, guard, filters)
        reach("commit:blobs")
        entries.append(Staged(name, "100644", store_blob(git, kept)))
    return commit_entries(git, workspace, entries, [parent], message)


def refusals(
    git: Git, workspace: Workspace, paths: Sequence[str], parent: str | None, guard: Guard | None
) -> dict[str, str]:
    """Why ``commit`` would refuse files, by path; each file is checked on its own."""
    found: dict[str, str] = {}
    filters = filters_of(git, paths)
    for path in paths:
        try:
            there = read(workspace, path)
            if there is not None:
                checked(git, path, there[1], parent, guard, filters)
        except (RepositoryError, PathRefused) as error:
            what = error.what.removeprefix("was not committed: ")
            found[path] = f"{what}; {error.hint}" if error.hint else what
    return found


def put_in_place(
    git: Git, workspace: Workspace, entries: list[Staged], revision: str, parent: str | None, subject: str
) -> str:
    """Move the branch to a commit, then update the index entries of the files it changes.

    The caller holds the workspace lock.

    A crash between the two steps could leave a stale index, and the next manual commit would then undo this
    one. So the new index is prepared before the branch is moved, and an interrupted update is completed
    later.

    Returns:
        Why the branch was not moved (another program moved it first); empty on success.
    """
    folder = git_folder.repository_folder(workspace.root)
    with git_lock.held(folder, revision) as index:
        _prepare_index(git, folder, index, entries)
        reach("commit:reference")
        refusal = _move_branch(git, revision, parent, subject)
        if not refusal:
            try:
                reach("commit:index")
            finally:
                git_lock.finish(folder, revision)
    if not refusal:
        _sync_branch(workspace)
    return refusal


def _prepare_index(git: Git, folder: Path, index: Path, entries: list[Staged]) -> None:
    """Write a copy of the current index, with the entries applied, to a separate file."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(folder / "index", index)
    environment = {"GIT_INDEX_FILE": str(index)}
    filters = git.filters_off()
    _update_index(git, entries, environment, filters)
    absent = [entry.path for entry in entries if not os.path.lexists(git.root / entry.path)]
    if unseen := sparse.outside(git.root, absent) - {
        each.path for each in entries if each.mode == ABSENT_MODE
    }:
        stdin = b"".join(os.fsencode(path) + b"\0" for path in sorted(unseen))
        options = ("--skip-worktree", "-z", "--stdin")
        git.run(
            "update-index", *options, stdin=stdin, environment=environment, reading=False, filters=filters
        )
    refresh = ("update-index", "-q", "--refresh")
    git.run(*refresh, environment=environment, reading=False, accept=(0, 1), filters=filters)


def _is_staged(git: Git, entries: list[Staged], parent: str) -> bool:
    """Whether the index matches the newest commit for these files."""
    return not any(
        git.run(
            "diff-index", "--cached", "--quiet", parent, paths=[entry.path for entry in group], accept=(0, 1)
        ).code
        for group in _groups(entries)
    )


def _stage(git: Git, workspace: Workspace, entries: list[Staged], parent: str) -> None:
    """Update an index left stale by an interrupted commit to match the newest commit."""
    folder = git_folder.repository_folder(workspace.root)
    with git_lock.held(folder, parent) as index:
        _prepare_index(git, folder, index, entries)
        git_lock.finish(folder, parent)


def _ignored(git: Git, names: list[str]) -> list[str]:
    # This command does not support literal paths; a leading "./" keeps names from being read as patterns.
    stdin = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)
    answer = git.run("check-ignore", "-z", "--stdin", stdin=stdin, accept=(0, 1))
    return [os.fsdecode(name).removeprefix("./") for name in answer.output.split(b"\0") if name]


def _entries(
    git: Git,
    contents: dict[str, tuple[str, bytes] | None],
    guard: Guard | None,
    parent: str | None,
) -> list[Staged]:
    """The entries of the given files, with their blobs stored."""
    length = len(parent) if parent else name_length(git)
    entries: list[Staged] = []
    as_they_are: list[Staged] = []
    filters = filters_of(git, [name for name, found in contents.items() if found is not None])
    for name, found in contents.items():
        if found is None:
            entries.append(Staged(name, ABSENT_MODE, "0" * length))
            continue
        mode, data = found
        kept = checked(git, name, data, parent, guard, filters)
        entries.append(Staged(name, mode, blob_name(kept, length)))
        if kept is data:
            as_they_are.append(entries[-1])
        else:
            store_blob(git, kept)
    reach("commit:blobs")
    _store_blobs(git, as_they_are)
    return entries


def _store_blobs(git: Git, entries: list[Staged]) -> None:
    for group in _groups(entries):
        paths = [entry.path for entry in group]
        stored = git.run("hash-object", "-w", "--no-filters", paths=paths, reading=False).text.split("\n")
        for entry, name in zip(group, stored, strict=True):
            if entry.name != name:
                raise RepositoryError(
                    "was not committed: it changed while being committed",
                    where=shown(entry.path),
                    hint="try again",
                )


def _groups(entries: list[Staged]) -> Iterator[list[Staged]]:
    """The entries in batches whose paths fit on a command line."""
    group: list[Staged] = []
    size = 0
    for entry in entries:
        group.append(entry)
        size += len(os.fsencode(entry.path)) + 1
        if size > _ARGUMENT_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def tree_with(git: Git, workspace: Workspace, entries: list[Staged], base: str | None) -> str:
    """Apply the entries to ``base`` in a private index, and return the new tree's object name."""
    reach("commit:tree")
    with _private_index(workspace) as index:
        environment = {"GIT_INDEX_FILE": str(index)}
        if base is not None:
            git.run("read-tree", base, environment=environment, reading=False)
        # This only adds entries to the index and reads no files, so no filter could run.
        _update_index(git, entries, environment, filters={})
        return git.run("write-tree", environment=environment, reading=False).text


@contextmanager
def _private_index(workspace: Workspace) -> Iterator[Path]:
    index = git_folder.repository_folder(workspace.root) / f"{INDEX_PREFIX}{secrets.token_hex(6)}"
    try:
        yield index
    finally:
        for leftover in index.parent.glob(f"{index.name}*"):
            leftover.unlink(missing_ok=True)


def _update_index(
    git: Git, entries: list[Staged], environment: dict[str, str], filters: Mapping[str, str]
) -> None:
    lines = b"".join(
        f"{entry.mode} {entry.name}\t".encode() + os.fsencode(entry.path) + b"\0" for entry in entries
    )
    options = ("-z", "--replace", "--index-info")
    git.run("update-index", *options, stdin=lines, environment=environment, reading=False, filters=filters)


def _move_branch(git: Git, revision: str, parent: str | None, subject: str) -> str:
    reason = f"commit: {subject}" if parent else f"commit (initial): {subject}"
    old = parent or "0" * len(revision)
    answer = git.run("update-ref", "-m", reason, "HEAD", revision, old, reading=False, accept=(0, 1, 128))
    return (answer.message or "git gave no reason") if answer.code else ""


def _sync_branch(workspace: Workspace) -> None:
    """Git syncs the files it writes but not their folders; without this a power cut could lose the commit."""
    folder = git_folder.repository_folder(workspace.root)
    place = git_folder.reference_file(folder, git_folder.head(folder)).parent
    if place.is_dir():
        reach("commit:folder-fsync")
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
