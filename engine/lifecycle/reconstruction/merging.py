"""Takes the knowledge of a branch over into the current one, as one merge commit (spec 10.4).

By the rules of a sync: what the branch has not changed stays as it is now, so the person's lines do, and what
both sides changed in other ways is told and keeps all of it from being merged. A branch ``extract/*`` brings
knowledge alone; one ``explore/*`` whatever was tried on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import ChangeRefused, RepositoryError
from engine.history import diffs, explorations, snapshots
from engine.history.explorations import HEADS
from engine.history.model import FileDiff
from engine.store.commit_message import commit_message
from engine.store.repository import commit_of
from engine.store.revisions import ENVIRONMENT
from engine.sync import plan, transport
from engine.sync.arrival import BranchMoved, apply_commit, resume
from engine.sync.contents import ContentMerger

if TYPE_CHECKING:
    from engine.store.commit_message import CommitType
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
    stays: str = ""  # where the branch is checked out, which keeps it from going


@dataclass(eq=False)
class Merging:
    """Merges branches of reconstructions."""

    files: Files
    repository: Callable[[], Repository]

    def plan(self, name: str) -> Merge:
        """What a merge would do. Its commit is made to be shown; no branch and no file knows of it.

        Args:
            name: ``explore/NAME``, or a name with or without ``extract/``.

        Raises:
            RepositoryError: There is no such branch, its folder holds what is in no commit, or no commit can
                be made now.
        """
        repository = self.repository()
        kind: CommitType = "explore" if name.startswith(explorations.PREFIX) else "extract"
        short = name.removeprefix(f"{kind}/")
        branch = f"{kind}/{short}"
        snapshots.check_name(short)
        repository.require()
        git, ours = repository.git, repository.revision()
        tip = commit_of(git, HEADS + branch, ENVIRONMENT)
        if tip is None or ours is None:
            raise RepositoryError(
                f"there is no branch {branch}",
                where=str(git.root),
                hint="list them: autopoiesis history branches",
            )
        folder = explorations.work_trees(git).get(HEADS + branch)
        stays = "" if folder is None or explorations.is_own(folder) else str(folder)
        if folder is not None and not stays:
            explorations.refuse_uncommitted(folder)
        base = git.run("merge-base", ours, tip, accept=(0, 1), environment=ENVIRONMENT).text
        if not base:
            raise RepositoryError(f"{branch} shares nothing with the current branch")
        if base == tip:
            return Merge(branch, tip, ours, "", (), is_merged=True, stays=stays)
        if base == ours:
            made = plan.forward(git, ours, tip)
        else:
            with transport.isolated(repository) as (isolated, _):
                made = plan.merge(repository, ContentMerger(isolated), base, ours, tip, {})
        odd = sorted(path for path in made.puts if not path.startswith("knowledge/"))
        if odd and kind == "extract":
            raise RepositoryError(
                f"{branch} changes more than knowledge: {', '.join(odd[:3])}",
                where=str(git.root),
                hint="merge it with git",
            )
        if made.conflicts:
            return Merge(branch, tip, ours, "", (), tuple(made.conflicts), tuple(made.notes))
        what = "take over knowledge of" if kind == "extract" else "take over"
        message = commit_message(kind, f"{what} {short}", "\n".join(made.notes), trailers=[("Branch", tip)])
        commit = plan.commit_of(repository, made, ours, tip, message)
        _, found = diffs.compare(git, ours, commit)
        return Merge(branch, tip, ours, commit, found, notes=tuple(made.notes), stays=stays)

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
        resume(self.files, repository, _SUBJECT)
        merge = self.plan(name)
        if merge.conflicts:
            return merge
        if merge.commit:
            try:
                apply_commit(self.files, repository, merge.ours, merge.commit, _SUBJECT)
            except BranchMoved:
                raise ChangeRefused("something was committed meanwhile", hint="try again") from None
        if not merge.stays:
            explorations.remove(repository.git, merge.branch, merge.tip)
        return replace(merge, is_merged=True)
