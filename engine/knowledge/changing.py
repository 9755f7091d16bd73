"""Makes file changes, each as one commit; an interrupted change is finished by the next one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from engine.knowledge.file_changes import FileChange, carry_out, change_of, refuse_unfit, tree_of
from engine.knowledge.journal import Journal
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.change import Commit
    from engine.store.files import Files

JOURNALS = "scratch/changes"
"""Folder of the journals of changes in progress."""


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The result of a change."""

    paths: tuple[str, ...]
    commit: str = ""  # hash; empty if there is no commit
    uncommitted: str = ""  # why there is no commit


@dataclass(frozen=True, slots=True)
class _Work:
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
    def _journal(self) -> Journal[_Work]:
        lost = "the change will be proposed again"
        return Journal(self.files, JOURNALS, _work_of, lost, self.on_problem, _tree_of)

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
            work = _Work(change, message)
            self._journal.keep(change.id, work)
            return self._settle(change.id, work)

    def recover(self) -> tuple[ChangeResult, ...]:
        """Finishes changes that were interrupted.

        Raises:
            WriteFailed: One cannot be finished now; its journal is kept.
        """
        return tuple(self._journal.finish(self._settle))

    def _settle(self, name: str, work: _Work) -> ChangeResult:
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


def _tree_of(work: _Work) -> dict[str, Any]:
    return {"message": work.message, "is_made": work.is_made, **tree_of(work.change)}


def _work_of(tree: Any) -> _Work:
    if (change := change_of(tree)) is None:
        raise ValueError("not a change that may be made")
    return typed(_Work, {**tree, "change": tree_of(change)})
