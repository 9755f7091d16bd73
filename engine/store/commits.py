"""Commits exactly the bytes of exactly the files that were named (design 6.5, G4–G6).

``git add`` and ``git commit`` would run hooks and filters, convert line ends, and take along what somebody
else has staged. So the commit is put together from its parts: blobs, a tree on top of the newest commit, the
commit; then, under the lock of git's index, the branch, moved only if no other has moved it, and the index
entries of the named files. Where another program has moved the branch it is all done again on top of that.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine.errors import PathRefused, RepositoryError
from engine.store import descriptors, git_folder, git_lock
from engine.store.faults import reach
from engine.store.files import READ_LIMIT
from engine.store.git import Git
from engine.store.paths import INDEX_PREFIX, Workspace, shown, split_relative

Guard = Callable[[str, bytes, Callable[[], bytes | None]], str]
"""Looks at a file before it is committed: at its path, its bytes, and, on request, its bytes in the newest
commit, ``None`` where that has no such file. A text refuses the file and says why."""

ABSENT_MODE = "0"
_CONFLICT = re.compile(rb"^<{7} .*?^={7}\r?$.*?^>{7} ", re.MULTILINE | re.DOTALL)
_VERBATIM = ("raw/", "conversations/")
_ARGUMENT_BYTES = 64 * 1024
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Staged:
    """A file as it will stand in the tree: mode and object name, or neither when it is gone."""

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
) -> str | None:
    """See ``Repository.commit``; ``newest`` gives the newest commit, ``None`` before the first one.

    The caller holds the workspace's lock.
    """
    names = list(dict.fromkeys("/".join(split_relative(path)) for path in paths))
    text = message.replace("\0", " ").encode("utf-8", "replace").decode("utf-8").strip()
    if not text:
        raise RepositoryError("a commit needs a message", where=str(workspace.root))
    if not names:
        return None
    contents = {name: _read(workspace, name) for name in names}
    for name in _ignored(git, names):
        del contents[name]
    parent = newest()
    entries = _entries(git, contents, guard, parent)
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
    raise RepositoryError(
        f"the branch was not moved: {refusal}",
        where=str(git.root),
        cure="another program commits again and again; try again when it is done",
    )


def commit_entries(
    git: Git, workspace: Workspace, entries: list[Staged], parents: Sequence[str], message: str
) -> str:
    """A commit that no branch knows yet: the tree of its first parent with the entries put in."""
    base = git.run("rev-parse", f"{parents[0]}^{{tree}}").text
    tree = tree_with(git, workspace, entries, base)
    reach("commit:object")
    named = [word for parent in parents for word in ("-p", parent)]
    stdin = f"{message}\n".encode("utf-8", "replace")
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
    for path, data in contents.items():
        name = "/".join(split_relative(path))
        if data is None:
            entries.append(Staged(name, ABSENT_MODE, "0" * len(parent)))
            continue
        _refuse(git, name, data, parent, guard)
        reach("commit:blobs")
        blob = git.run("hash-object", "-w", "--no-filters", "--stdin", stdin=data, reading=False).text
        entries.append(Staged(name, "100644", blob))
    return commit_entries(git, workspace, entries, [parent], message)


def refusals(
    git: Git, workspace: Workspace, paths: Sequence[str], parent: str | None, guard: Guard | None
) -> dict[str, str]:
    """Why ``commit`` would refuse files, each looked at by itself, by path."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            read = _read(workspace, path)
            if read is not None:
                _refuse(git, path, read[1], parent, guard)
        except (RepositoryError, PathRefused) as error:
            what = error.what.removeprefix("was not committed: ")
            found[path] = f"{what}; {error.cure}" if error.cure else what
    return found


def put_in_place(
    git: Git, workspace: Workspace, entries: list[Staged], revision: str, parent: str | None, subject: str
) -> str:
    """Moves the branch to a commit, then the index entries of the files in which it differs from its parent.

    The caller holds the workspace's lock.

    A branch before the index could leave a stale index, which undoes this commit with the next one made by
    hand: so the new index lies ready before the branch is moved, and a kill in between is finished later.

    Returns:
        Why the branch was not moved, because another program has moved it; empty when it was.
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
    """The index as it is, with the entries put in, in a file of its own that disturbs no one."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(folder / "index", index)
    environment = {"GIT_INDEX_FILE": str(index)}
    _update_index(git, entries, environment)
    git.run("update-index", "-q", "--refresh", environment=environment, reading=False, accept=(0, 1))


def _is_staged(git: Git, entries: list[Staged], parent: str) -> bool:
    """Whether the index says of these files what the newest commit says."""
    return not any(
        git.run(
            "diff-index", "--cached", "--quiet", parent, paths=[entry.path for entry in group], accept=(0, 1)
        ).code
        for group in _groups(entries)
    )


def _stage(git: Git, workspace: Workspace, entries: list[Staged], parent: str) -> None:
    """Has the index say what the newest commit says: it was left behind when a commit was cut short."""
    folder = git_folder.repository_folder(workspace.root)
    with git_lock.held(folder, parent) as index:
        _prepare_index(git, folder, index, entries)
        git_lock.finish(folder, parent)


def _ignored(git: Git, names: list[str]) -> list[str]:
    # This command knows no literal paths; a leading "./" keeps every name from being a pattern.
    stdin = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)
    answer = git.run("check-ignore", "-z", "--stdin", stdin=stdin, accept=(0, 1))
    return [os.fsdecode(name).removeprefix("./") for name in answer.output.split(b"\0") if name]


def _entries(
    git: Git,
    contents: dict[str, tuple[str, bytes] | None],
    guard: Guard | None,
    parent: str | None,
) -> list[Staged]:
    """The entries of all named files, their blobs stored."""
    length = len(parent) if parent else name_length(git)
    entries: list[Staged] = []
    for name, found in contents.items():
        if found is None:
            entries.append(Staged(name, ABSENT_MODE, "0" * length))
            continue
        mode, data = found
        _refuse(git, name, data, parent, guard)
        entries.append(Staged(name, mode, blob_name(data, length)))
    reach("commit:blobs")
    _store_blobs(git, [entry for entry in entries if entry.mode != ABSENT_MODE])
    return entries


def _read(workspace: Workspace, name: str) -> tuple[str, bytes] | None:
    """Mode and bytes of a regular file reached without passing a symlink; ``None`` when it is gone."""
    *parents, last = split_relative(name)
    try:
        with descriptors.open_folder(workspace.root, parents) as folder:
            descriptor = descriptors.open_file(last, folder, os.O_RDONLY, name)
            try:
                is_program = os.fstat(descriptor).st_mode & stat.S_IXUSR
                return "100755" if is_program else "100644", descriptors.read_all(
                    descriptor, READ_LIMIT, name
                )
            finally:
                os.close(descriptor)
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        above = [workspace.root.joinpath(*parents[: depth + 1]) for depth in range(len(parents))]
        if not any(place.is_symlink() for place in above):
            return None
        raise RepositoryError("was not committed: a symlink leads to it", where=shown(name)) from error
    except PathRefused as error:
        raise RepositoryError("was not committed: it is no regular file", where=shown(name)) from error
    except OSError as error:
        raise RepositoryError(
            f"was not committed: it cannot be read ({error.strerror})", where=shown(name)
        ) from error


def _before(git: Git, parent: str | None, name: str) -> bytes | None:
    """A file's bytes in the newest commit; ``None`` where that has no such file."""
    if parent is None:
        return None
    answer = git.run("cat-file", "blob", f"{parent}:{name}", accept=(0, 128))
    return None if answer.code else answer.output


def _refuse(git: Git, name: str, data: bytes, parent: str | None, guard: Guard | None) -> None:
    _refuse_conflicts(name, data)
    reason = guard(name, data, partial(_before, git, parent, name)) if guard is not None else ""
    if reason:
        raise RepositoryError(f"was not committed: {reason}", where=shown(name))


def _refuse_conflicts(name: str, data: bytes) -> None:
    # A transcript may quote a conflict; what people keep as knowledge may not hold one.
    if name.startswith(_VERBATIM) or not (match := _CONFLICT.search(data)):
        return
    line = 1 + data.count(b"\n", 0, match.start())
    raise RepositoryError(
        "was not committed: it holds conflict markers",
        where=f"{shown(name)}:{line}",
        cure="keep one of the two sides and remove the markers",
    )


def name_length(git: Git) -> int:
    """How many digits the repository's object names have."""
    return 64 if git.run("rev-parse", "--show-object-format").text == "sha256" else 40


def blob_name(data: bytes, length: int) -> str:
    """The object name of a file's bytes, of that many digits."""
    digest = hashlib.sha256() if length == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest()


def _store_blobs(git: Git, entries: list[Staged]) -> None:
    for group in _groups(entries):
        paths = [entry.path for entry in group]
        stored = git.run("hash-object", "-w", "--no-filters", paths=paths, reading=False).text.split("\n")
        for entry, name in zip(group, stored, strict=True):
            if entry.name != name:
                raise RepositoryError(
                    "was not committed: it changed at the same moment",
                    where=shown(entry.path),
                    cure="try again",
                )


def _groups(entries: list[Staged]) -> Iterator[list[Staged]]:
    """The entries in portions whose paths fit a command line."""
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
    """The name of a tree, ``base`` with the entries put in, made in an index of its own."""
    reach("commit:tree")
    with _private_index(workspace) as index:
        environment = {"GIT_INDEX_FILE": str(index)}
        if base is not None:
            git.run("read-tree", base, environment=environment, reading=False)
        _update_index(git, entries, environment)
        return git.run("write-tree", environment=environment, reading=False).text


@contextmanager
def _private_index(workspace: Workspace) -> Iterator[Path]:
    index = git_folder.repository_folder(workspace.root) / f"{INDEX_PREFIX}{secrets.token_hex(6)}"
    try:
        yield index
    finally:
        for leftover in index.parent.glob(f"{index.name}*"):
            leftover.unlink(missing_ok=True)


def _update_index(git: Git, entries: list[Staged], environment: dict[str, str] | None = None) -> None:
    lines = b"".join(
        f"{entry.mode} {entry.name}\t".encode() + os.fsencode(entry.path) + b"\0" for entry in entries
    )
    git.run(
        "update-index", "-z", "--replace", "--index-info", stdin=lines, environment=environment, reading=False
    )


def _move_branch(git: Git, revision: str, parent: str | None, subject: str) -> str:
    reason = f"commit: {subject}" if parent else f"commit (initial): {subject}"
    old = parent or "0" * len(revision)
    answer = git.run("update-ref", "-m", reason, "HEAD", revision, old, reading=False, accept=(0, 1, 128))
    return (answer.message or "git gave no reason") if answer.code else ""


def _sync_branch(workspace: Workspace) -> None:
    """Git syncs the files it writes but not their folders; without this a power cut could take the commit."""
    folder = git_folder.repository_folder(workspace.root)
    place = git_folder.reference_file(folder, git_folder.head(folder)).parent
    if place.is_dir():
        reach("commit:folder-fsync")
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
