"""Changes of files made at once, each as one commit; the next finishes one that a kill has cut short."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from engine.knowledge.file_changes import FileChange, carry_out, change_of, refuse_unfit, tree_of
from engine.knowledge.journal import Journal

if TYPE_CHECKING:
    from engine.store.change import ChangeCommit
    from engine.store.files import Files

JOURNALS = "scratch/changes"
"""Where a change that is being made leaves its journal."""


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a change."""

    paths: tuple[str, ...]
    commit: str = ""  # object name; empty when there is no commit
    uncommitted: str = ""  # why there is no commit


@dataclass(frozen=True, slots=True)
class _Work:
    """What a journal holds."""

    change: FileChange
    message: str
    is_made: bool = False  # only its commit is missing


@dataclass(eq=False)
class FileChanges:
    """Makes changes, each as one commit. Safe to use from several processes."""

    files: Files
    commit: Callable[[Sequence[str], str], ChangeCommit]
    on_problem: Callable[[str], None]

    @cached_property
    def _journal(self) -> Journal[_Work]:
        lost = "what it was about is proposed again"
        return Journal(self.files, JOURNALS, _encoded, _decoded, lost, self.on_problem)

    def make(self, change: FileChange, message: str) -> Made:
        """Makes a change.

        Raises:
            ChangeRefused: The files are not what it was made for; nothing was changed.
            DocumentError, PathRefused: A file cannot be changed; nothing was.
            WriteFailed, ReadOnly: It was not made, or not to the end; then ``recover`` has the rest to do.
        """
        with self.files.lock():
            self.recover()
            refuse_unfit(self.files, change)
            work = _Work(change, message)
            self._journal.keep(change.id, work)
            return self._settle(change.id, work)

    def recover(self) -> tuple[Made, ...]:
        """Finishes changes that were interrupted.

        Raises:
            WriteFailed: One cannot be finished now; its journal stays.
        """
        return tuple(self._journal.finish(self._settle))

    def _settle(self, name: str, work: _Work) -> Made:
        paths = work.change.paths
        if not work.is_made:
            carry_out(self.files, work.change, self.on_problem)
        done = self.commit(paths, work.message)
        if done.failed:
            # Only the commit is to be tried again: what a person does to the files meanwhile stays.
            self._journal.keep(name, replace(work, is_made=True))
        else:
            self._journal.drop(name)
        return Made(paths, done.revision, done.why)


def _encoded(work: _Work) -> bytes:
    tree = {"message": work.message, "is_made": work.is_made, **tree_of(work.change)}
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> _Work | None:
    try:
        tree = json.loads(data)
        change, message, is_made = change_of(tree), tree["message"], tree["is_made"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    is_sound = change is not None and isinstance(message, str) and isinstance(is_made, bool)
    return _Work(change, message, is_made) if is_sound and change is not None else None
