"""Plans the undo of a commit: a three-way merge of each file, in memory (spec 3.6).

The commit's content is the base; the sides are the newest content and the content before the commit. So later
changes are kept, and nothing is undone if both changed the same lines. Files are merged one by one because
only newer versions of git can merge trees without a work tree. No object is written.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from engine.errors import PathRefused, RepositoryError
from engine.history.diffs import diffs_of_contents
from engine.history.log import RAW, Logged, one, raw_files
from engine.history.model import Blocked, ChangedFile, UndoneFile, UndoPlan
from engine.store.crypt import is_encrypted
from engine.store.git import Git
from engine.store.paths import split_relative
from engine.store.repository import Repository
from engine.store.revisions import ENVIRONMENT, blobs, entries

Keeping = Callable[[str], str]
"""Why an undo leaves a path as it is, one clause; empty for other paths."""

_IMPORT = "Import: "
_TRANSCRIPTS = "raw/"
_BY_HAND = "edit it by hand; history recall shows its old content"


@dataclass(frozen=True, slots=True)
class Made:
    """The content of a file after an undo."""

    path: str
    before: bytes | None  # in the newest commit
    after: bytes | None
    merged: bool = False  # later changes elsewhere in the file are kept


class Refused(Exception):
    """A file blocks the undo."""

    def __init__(self, blocked: Blocked) -> None:
        super().__init__(blocked.why)
        self.blocked = blocked


def plan_undo(
    repository: Repository, revision: str, keeping: Keeping, *, committed: bool = True
) -> tuple[UndoPlan, tuple[Made, ...]]:
    """What undoing a commit would do, and the new contents.

    Args:
        revision: The commit's full object name.
        committed: Uncommitted changes in the affected files block the undo.

    Raises:
        RepositoryError: No such commit, or git failed.
    """
    head = repository.revision()
    if head is None:
        raise RepositoryError("no commits yet", where=str(repository.workspace.root))
    logged = one(repository.git, revision)
    plan = UndoPlan(logged.entry, head, (), (), ())
    if refusal := _refusal(repository.git, logged, head):
        return replace(plan, blocked=(refusal,)), ()
    kept = tuple(Blocked(file.path, why) for file in logged.files if (why := keeping(file.path)))
    spared = {each.path for each in kept}
    work = _Work(repository, logged.entry.revision, head)
    made: list[Made] = []
    blocked: list[Blocked] = []
    for file in logged.files:
        if file.path not in spared:
            try:
                made += work.undo(file)
            except Refused as refused:
                blocked.append(refused.blocked)
    if committed:
        blocked += work.uncommitted([each.path for each in made])
    diffs = diffs_of_contents(repository.git, [(each.path, each.before, each.after) for each in made])
    files = tuple(
        UndoneFile(each.path, _digest(each.after), diff, each.merged)
        for each, diff in zip(made, diffs, strict=True)
    )
    return replace(plan, files=files, kept=kept, blocked=tuple(blocked)), tuple(made)


def _refusal(git: Git, logged: Logged, head: str) -> Blocked | None:
    """Why a commit cannot be undone, whatever its files."""
    entry = logged.entry
    if len(entry.parents) > 1:
        return Blocked("", "it is a merge", "undo the merged commits one by one")
    if not entry.parents:
        return Blocked("", "it is the first commit: nothing would be left")
    if any(line.startswith(_IMPORT) for line in entry.body.splitlines()):
        return Blocked("", "it is an import", "undo the last import with: autopoiesis import --undo")
    ancestor = ("merge-base", "--is-ancestor", entry.revision, head)
    if git.run(*ancestor, accept=(0, 1), environment=ENVIRONMENT).code:
        return Blocked("", "it is not in the history of this branch", "switch to a branch that has it")
    return None


class _Work:
    """Undoes the files of one commit on top of the newest one."""

    def __init__(self, repository: Repository, revision: str, head: str) -> None:
        self._repository = repository
        self._git = repository.git
        self._revision = revision
        self._head = head

    @cached_property
    def _present(self) -> dict[str, str]:
        """Blob names of the regular files in the newest commit, by path."""
        return {each.path: each.name for each in entries(self._git, self._head) if each.kind == "file"}

    @cached_property
    def _moved(self) -> dict[str, str]:
        """Current paths of files renamed since the commit, by their paths in the commit."""
        options = ("-r", *RAW, "-z", "--diff-filter=R", self._revision, self._head)
        listed = self._git.run("diff-tree", *options, environment=ENVIRONMENT)
        return {each.earlier: each.path for each in raw_files(listed.output.split(b"\0"))[0]}

    def undo(self, file: ChangedFile) -> Iterable[Made]:
        """The undo of a file, and of the file it was renamed from.

        Raises:
            Refused: It cannot be undone.
        """
        _check(file)
        if file.letter == "D":
            return self._restore(file)
        path = file.path if file.path in self._present else self._moved.get(file.path, "")
        if not path:
            if file.letter == "A":
                return ()
            raise _refused(file.path, "was deleted since", "restore it, or undo the commit that deleted it")
        ours, base, theirs = self._present[path], file.new, file.old
        before = self._content(path, ours)
        if file.letter == "A":
            if ours != base:
                raise _refused(path, "has later changes that would be lost", "delete it by hand if you wish")
            return (Made(path, before, None),)
        after, merged = before, False
        if ours == base:
            after = self._content(path, theirs)
        elif ours != theirs:
            after, merged = self._merged(path, before, base, theirs), True
        if file.letter == "R" and path == file.path:
            if file.earlier in self._present:
                raise _refused(file.earlier, "exists again", "move it away first")
            return (Made(file.earlier, None, after, merged), Made(path, before, None))
        return (Made(path, before, after, merged),) if after != before else ()

    def _restore(self, file: ChangedFile) -> Iterable[Made]:
        there = self._present.get(file.path)
        if there == file.old:
            return ()
        if there is not None:
            raise _refused(file.path, "exists again with different content", "move it away first")
        return (Made(file.path, None, self._content(file.path, file.old)),)

    def _content(self, path: str, name: str) -> bytes:
        (data,) = blobs(self._git, [name])
        if data is None:
            raise _refused(path, "is incomplete in this clone", "complete it with: git fetch --refetch")
        if is_encrypted(data):
            raise _refused(path, "is encrypted", _BY_HAND)
        return data

    def _merged(self, path: str, ours: bytes, base: str, theirs: str) -> bytes:
        """The newest content without what the commit changed."""
        sides = (ours, self._content(path, base), self._content(path, theirs))
        with tempfile.TemporaryDirectory(prefix="autopoiesis-undo-") as folder:
            places = [Path(folder, name) for name in ("now", "then", "before")]
            for place, data in zip(places, sides, strict=True):
                place.write_bytes(data)
            answer = self._git.run("merge-file", "-p", "-q", *map(str, places), accept=range(256))
        if answer.code:
            raise _refused(path, "has later changes to the same lines", _BY_HAND)
        return answer.output

    def uncommitted(self, paths: list[str]) -> Iterator[Blocked]:
        """The files with staged or unstaged changes."""
        if not paths:
            return
        options = ("--porcelain=v1", "-z", "--untracked-files=all", "--ignored", "--no-renames")
        listed = self._git.run("status", *options, paths=paths).output.split(b"\0")
        for line in filter(None, listed):
            path = line[3:].decode("utf-8", "surrogateescape")
            yield Blocked(path, "has uncommitted changes", "commit or undo them first")


def _check(file: ChangedFile) -> None:
    """Refuses files that no undo may touch."""
    if file.path.startswith(_TRANSCRIPTS) or file.earlier.startswith(_TRANSCRIPTS):
        raise _refused(file.path, "is a transcript, which is never changed", "see: autopoiesis import --undo")
    if file.odd or file.letter == "T":
        raise _refused(file.path, "is not a regular file", "undo it by hand with: git revert")
    try:
        split_relative(file.path)
    except PathRefused as error:
        raise _refused(file.path, error.what) from error


def _refused(path: str, why: str, hint: str = "") -> Refused:
    return Refused(Blocked(path, why, hint))


def _digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()
