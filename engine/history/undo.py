"""Undoes one commit: the undo is planned, shown, and then written as a new commit (spec 3.6, design 4).

A journal records the commit before the first file is written. An interrupted undo is finished by the next
command, when the workbench opens, before changes are committed, and by the next undo or plan: the contents
follow from the two commits, so the journal need not store them. A failed undo is rolled back at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, RepositoryError
from engine.history import UNDOING
from engine.history.log import commits
from engine.history.model import Entry, Undone, UndoPlan
from engine.history.undo_plan import Keeping, Made, plan_undo
from engine.knowledge.journal import Journal
from engine.store.commit_message import commit_message
from engine.store.paths import shown
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.knowledge.digest import Digest
    from engine.store.files import Files
    from engine.store.repository import Repository

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
        return Journal(self.files, UNDOING, _encoded, _decoded, lost, self.on_problem)

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


def _encoded(begun: _Begun) -> bytes:
    return json.dumps(asdict(begun)).encode()


def _decoded(data: bytes) -> _Begun | None:
    try:
        return typed(_Begun, json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
