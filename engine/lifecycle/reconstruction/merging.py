"""Takes the knowledge of a branch over into the current one, as one merge commit (spec 10.4).

By the rules of a sync: what the branch has not changed stays as it is now, so the person's lines do, and what
both sides changed in other ways is told and keeps all of it from being merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import ChangeRefused, RepositoryError
from engine.history import branches, diffs, snapshots
from engine.history.model import FileDiff
from engine.lifecycle.reconstruction.bench import PREFIX
from engine.store.commit_message import commit_message
from engine.store.repository import commit_of
from engine.store.revisions import ENVIRONMENT
from engine.sync import plan, transport
from engine.sync.arrival import Moved, arrive, finish
from engine.sync.contents import Contents

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.repository import Repository
    from engine.sync.model import Conflict


_SUBJECT = commit_message("extract", "take over knowledge")


@dataclass(frozen=True, slots=True)
class Merge:
    """What a merge would do, or has done."""

    branch: str
    tip: str  # the branch's newest commit
    ours: str  # the current branch's newest commit before
    commit: str  # the merge commit; empty where there is none
    diffs: tuple[FileDiff, ...]
    conflicts: tuple[Conflict, ...] = ()
    notes: tuple[str, ...] = ()
    is_merged: bool = False


@dataclass(eq=False)
class Merging:
    """Merges branches of reconstructions."""

    files: Files
    repository: Callable[[], Repository]

    def plan(self, name: str) -> Merge:
        """What a merge would do. Its commit is made to be shown; no branch and no file knows of it.

        Raises:
            RepositoryError: There is no such branch, or no commit can be made now.
        """
        repository = self.repository()
        short = name.removeprefix(PREFIX)
        snapshots.refuse_unfit(short)
        repository.require()
        git, ours = repository.git, repository.revision()
        tip = commit_of(git, f"refs/heads/{PREFIX}{short}", ENVIRONMENT)
        if tip is None or ours is None:
            raise RepositoryError(
                f"there is no branch {PREFIX}{short}",
                where=str(git.root),
                cure="list them: autopoiesis history branches",
            )
        base = git.run("merge-base", ours, tip, accept=(0, 1), environment=ENVIRONMENT).text
        if not base:
            raise RepositoryError(f"{PREFIX}{short} shares nothing with the current branch")
        if base == tip:
            return Merge(PREFIX + short, tip, ours, "", (), is_merged=True)
        if base == ours:
            made = plan.forward(git, ours, tip)
        else:
            with transport.beside(repository) as (apart, _):
                made = plan.merge(repository, Contents(apart), base, ours, tip, {})
        odd = sorted(path for path in made.puts if not path.startswith("knowledge/"))
        if odd:
            raise RepositoryError(
                f"{PREFIX}{short} changes more than knowledge: {', '.join(odd[:3])}",
                where=str(git.root),
                cure="merge it with git",
            )
        if made.conflicts:
            return Merge(PREFIX + short, tip, ours, "", (), tuple(made.conflicts), tuple(made.notes))
        message = commit_message(
            "extract", f"take over knowledge of {short}", "\n".join(made.notes), trailers=[("Branch", tip)]
        )
        commit = plan.commit_of(repository, made, ours, tip, message)
        _, found = diffs.compare(git, ours, commit)
        return Merge(PREFIX + short, tip, ours, commit, found, notes=tuple(made.notes))

    def apply(self, name: str) -> Merge:
        """Does it, and removes the branch unless a work tree is on it; the tag stays. With conflicts nothing
        but the plan.

        Raises:
            ChangeRefused: Something was committed at the same moment.
            RepositoryError: As ``plan``; a file was edited and is not committed. Nothing was changed.
            WriteFailed, ReadOnly: A file was not written; the next merge goes on.
        """
        self.files.refuse_read_only("knowledge")
        repository = self.repository()
        finish(self.files, repository, _SUBJECT)
        merge = self.plan(name)
        if merge.conflicts:
            return merge
        if merge.commit:
            try:
                arrive(self.files, repository, merge.ours, merge.commit, _SUBJECT)
            except Moved:
                raise ChangeRefused("something was committed meanwhile", cure="try again") from None
        if f"refs/heads/{merge.branch}" not in branches.work_trees(repository.git):
            repository.git.run("update-ref", "-d", f"refs/heads/{merge.branch}", merge.tip, reading=False)
        return replace(merge, is_merged=True)
