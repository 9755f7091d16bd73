"""Merges a branch into the current one (spec 10.4).

Follows the rules of a sync: current content that the branch has not changed is kept, and if both sides
changed something differently, nothing is merged. An ``extract/*`` branch may only change knowledge; an
``explore/*`` branch may change anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import ChangeRefused, RepositoryError
from engine.history import diffs, explorations, snapshots
from engine.history.explorations import HEADS
from engine.history.model import FileDiff
from engine.store.change import commit_message
from engine.store.repository import commit_of
from engine.store.revisions import ENVIRONMENT
from engine.sync import plan, transport
from engine.sync.arrival import BranchMoved, apply_commit, resume
from engine.sync.contents import ContentMerger

if TYPE_CHECKING:
    from engine.store.change import CommitType
    from engine.store.files import Files
    from engine.store.repository import Repository
    from engine.sync.model import Conflict


_SUBJECT = commit_message("extract", "merge knowledge")


@dataclass(frozen=True, slots=True)
class Merge:
    """What a merge would do, or has done."""

    branch: str
    tip: str  # the branch's newest commit
    ours: str  # the current branch's newest commit before
    commit: str  # the merge commit, if any
    diffs: tuple[FileDiff, ...]
    conflicts: tuple[Conflict, ...] = ()
    notes: tuple[str, ...] = ()
    is_merged: bool = False
    stays: str = ""  # a work tree that has the branch checked out, so that it cannot be removed


@dataclass(eq=False)
class Merging:
    """Merges ``extract/*`` and ``explore/*`` branches."""

    files: Files
    repository: Callable[[], Repository]

    def plan(self, name: str) -> Merge:
        """What a merge would do. Creates the merge commit, but changes no branch or file.

        Args:
            name: ``explore/NAME``, or a name with or without ``extract/``.

        Raises:
            RepositoryError: No such branch, its work tree has uncommitted changes, or no commit can be made.
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
                f"no branch {branch}",
                where=str(git.root),
                hint="list them: autopoiesis history branches",
            )
        folder = explorations.work_trees(git).get(HEADS + branch)
        stays = "" if folder is None or explorations.is_own(folder) else str(folder)
        if folder is not None and not stays:
            explorations.refuse_uncommitted(folder)
        base = git.run("merge-base", ours, tip, accept=(0, 1), environment=ENVIRONMENT).text
        if not base:
            raise RepositoryError(f"{branch} shares no history with the current branch")
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
        what = "merge knowledge of" if kind == "extract" else "merge"
        message = commit_message(kind, f"{what} {short}", "\n".join(made.notes), trailers=[("Branch", tip)])
        commit = plan.commit_of(repository, made, ours, tip, message)
        _, found = diffs.compare(git, ours, commit)
        return Merge(branch, tip, ours, commit, found, notes=tuple(made.notes), stays=stays)

    def apply(self, name: str, expected: Merge | None = None) -> Merge:
        """Merges the branch and removes it, unless a work tree uses it; the tag stays. With conflicts, only
        returns the plan.

        Args:
            expected: The plan the user agreed to; by default, whatever the branches hold now.

        Raises:
            ChangeRefused: Something was committed in the meantime, or it would change something else than
                expected.
            RepositoryError: As ``plan``, or a file has uncommitted changes. Nothing was changed.
            WriteFailed, ReadOnly: A file was not written; the next merge resumes.
        """
        self.files.refuse_read_only("knowledge")
        repository = self.repository()
        resume(self.files, repository, _SUBJECT)
        merge = self.plan(name)
        if expected is not None and (merge.tip, merge.diffs) != (expected.tip, expected.diffs):
            raise ChangeRefused(
                f"what merging {merge.branch} changes is not what was shown", hint="preview it again"
            )
        if merge.conflicts:
            return merge
        if merge.commit:
            try:
                apply_commit(self.files, repository, merge.ours, merge.commit, _SUBJECT)
            except BranchMoved:
                raise ChangeRefused("something was committed in the meantime", hint="try again") from None
        if not merge.stays:
            explorations.remove(repository.git, merge.branch, merge.tip)
        return replace(merge, is_merged=True)
