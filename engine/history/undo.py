"""Undoes one commit: the undo is planned, shown, and then written as a new commit (spec 3.6, design 4).

A journal records the commit before the first file is written. An interrupted undo is finished by the next
command, when the workbench opens, before changes are committed, and by the next undo or plan: the contents
follow from the two commits, so the journal need not store them. A failed undo is rolled back at once.

The plan is a three-way merge of each file, in memory. The commit's content is the base; the sides are the
newest content and the content before the commit. So later changes are kept, and nothing is undone if both
changed the same lines. Files are merged one by one because only newer versions of git can merge trees
without a work tree. No object is written.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, PathRefused, RepositoryError
from engine.history import UNDOING
from engine.history.diffs import diffs_of_contents
from engine.history.log import RAW, Logged, commits, one, raw_files
from engine.history.model import Blocked, ChangedFile, Entry, Undone, UndoneFile, UndoPlan
from engine.knowledge.journal import Journal
from engine.store.change import commit_message
from engine.store.crypt import is_encrypted
from engine.store.git import Git
from engine.store.paths import shown, split_relative
from engine.store.repository import Repository
from engine.store.revisions import ENVIRONMENT, blobs, entries
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.knowledge.digest import Digest
    from engine.store.files import Files

REVERTS = "Reverts"

_REVERTED = re.compile(rf"^(?:{REVERTS}: |This reverts commit )([0-9a-f]{{40,64}})\b", re.MULTILINE)
_SEARCHED_COMMITS = 500
_MAX_TRIES = 20
_OURS = frozenset({"memory", "identity", "maintenance", "explore", "extract"})


@dataclass(frozen=True, slots=True)
class _Begun:
    """An undo in progress."""

    revision: str  # the commit to undo
    head: str  # the newest commit at the start


@dataclass(eq=False)
class Undoing:
    """Undoes commits. ``digest`` is rebuilt after each; ``keeping`` says which files are left as they are."""

    files: Files
    repository: Repository
    digest: Digest
    keeping: Keeping
    on_problem: Callable[[str], None]

    @property
    def _journal(self) -> Journal[_Begun]:
        lost = "an undo was interrupted: check git status"
        return Journal(self.files, UNDOING, partial(typed, _Begun), lost, self.on_problem)

    def plan(self, revision: str = "") -> UndoPlan:
        """What undoing a commit would do; by default the newest of our commits that can be undone.

        Raises:
            RepositoryError: No such commit, none that can be undone, or git failed.
        """
        self.recover()
        if revision:
            return plan_undo(self.repository, revision, self.keeping)[0]
        passed: list[Entry] = []
        for entry in self._candidates():
            plan, _ = plan_undo(self.repository, entry.revision, self.keeping)
            if plan.can_apply:
                return replace(plan, passed=tuple(passed))
            passed.append(entry)
            if len(passed) == _MAX_TRIES:
                break
        raise RepositoryError(
            "none of the newest commits can be undone" if passed else "no commit to undo",
            where=str(self.repository.workspace.root),
            hint="name one from: autopoiesis history; the error then says why it cannot be undone",
        )

    def _candidates(self) -> Iterator[Entry]:
        """Our commits, newest first, without undos and undone ones."""
        undone: set[str] = set()
        for each in commits(self.repository.git, f"--max-count={_SEARCHED_COMMITS}", "HEAD", raw=False):
            entry = each.entry
            if entry.revision in undone:
                continue
            reverted = _reverted(entry)
            undone |= reverted
            if not reverted and entry.kind in _OURS and len(entry.parents) == 1:
                yield entry

    def apply(self, plan: UndoPlan) -> Undone:
        """Carries out a plan as a commit.

        Raises:
            RepositoryError: It is blocked, the files have changed since the plan was made, or the commit was
                refused. No file is changed.
            WriteFailed, ReadOnly: A file could not be written; the others were restored.
        """
        self.files.refuse_read_only(UNDOING)
        with self.files.lock():
            self.recover()
            self.repository.recover()
            root = str(self.repository.workspace.root)
            state = self.repository.state(count=False)
            if not state.can_commit:
                raise RepositoryError(state.why, where=root, hint=state.hint)
            fresh, made = plan_undo(self.repository, plan.entry.revision, self.keeping)
            for each in fresh.blocked:
                raise RepositoryError(each.why, where=shown(each.path), hint=each.hint)
            if not fresh.files:
                raise RepositoryError("nothing left to undo", where=plan.entry.revision[:8])
            if fresh.files != plan.files:
                what = "the files have changed in the meantime"
                raise RepositoryError(what, where=root, hint="review it again")
            name = plan.entry.revision
            digest = [(path, self._read(path)) for path in self.digest.paths]
            try:
                self._journal.keep(name, _Begun(name, fresh.head))
                revision = self._write(fresh, made)
            except AutopoiesisError:
                if self.repository.revision() == fresh.head:  # otherwise it failed after the commit
                    self._roll_back(made, digest)
                    with suppress(FileNotFoundError):
                        self._journal.drop(name)
                raise
            self._journal.drop(name)
        return Undone(plan.entry, revision, tuple(each.path for each in made))

    def recover(self) -> None:
        """Finishes interrupted undos, unless something was committed since.

        Raises:
            RepositoryError, WriteFailed: It cannot be finished now; the next call tries again.
        """
        self._journal.finish(self._finish)

    def _finish(self, name: str, begun: _Begun) -> None:
        self.repository.recover()
        reason = "there are newer commits"
        if self.repository.revision() == begun.head:
            fresh, made = plan_undo(self.repository, begun.revision, self.keeping, committed=False)
            digest = [(path, self._read(path)) for path in self.digest.paths]
            try:
                self._write(fresh, made)
                reason = ""
            except RepositoryError as error:
                reason = str(error)
                self._roll_back(made, digest)
        elif any(
            begun.revision in _reverted(each.entry)
            for each in commits(self.repository.git, f"{begun.head}..HEAD", raw=False)
        ):
            reason = ""  # only the journal was left
        if reason:
            undo = f"the undo of {begun.revision[:8]} was interrupted"
            self.on_problem(f"{undo} and cannot be finished ({reason}): check git status and undo it again")
        self._journal.drop(name)

    def _write(self, plan: UndoPlan, made: tuple[Made, ...]) -> str:
        for each in made:
            self.files.update(each.path, partial(_changed, each))
        self.digest.follow(self.on_problem)
        written = [path for path in self.digest.paths if self._read(path) is not None]
        paths = [*(each.path for each in made), *written]
        revision = self.repository.commit(paths, message_of(plan.entry))
        if revision is None:
            raise RepositoryError("git ignores these files; nothing was undone", where=shown(paths[0]))
        return revision

    def _read(self, path: str) -> bytes | None:
        try:
            return self.files.read(path)
        except FileNotFoundError:
            return None

    def _roll_back(self, made: tuple[Made, ...], digest: list[tuple[str, bytes | None]]) -> None:
        """Restores the written files, except those saved by another program since.

        Raises:
            WriteFailed: A file cannot be restored; the journal stays, so that the next undo finishes it.
        """
        for each in made:
            self.files.update(each.path, partial(_restored, each))
        for path, data in digest:
            self.files.update(path, lambda _, data=data: data)  # type: ignore[misc]  # binds the loop variable


def message_of(entry: Entry) -> str:
    """The commit message for undoing a commit."""
    what = f"undo {entry.subject.strip() or entry.revision[:8]}"
    return commit_message("maintenance", what, trailers=[(REVERTS, entry.revision)])


def _changed(made: Made, there: bytes | None) -> bytes | None:
    if there not in (made.before, made.after):
        raise RepositoryError("has changed in the meantime", where=shown(made.path), hint="review it again")
    return made.after


def _restored(made: Made, there: bytes | None) -> bytes | None:
    return made.before if there == made.after else there


def _reverted(entry: Entry) -> set[str]:
    """The commits that a commit undoes."""
    return set(_REVERTED.findall(entry.body))


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
