"""The part ``history``: queries about the memory's past, snapshots, branches and undo (spec 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from engine.context.views import LEDGER_PATH
from engine.errors import RepositoryError
from engine.history import diffs, explorations, log, snapshots
from engine.history.model import Changed, ChangedFile, Changes, FileDiff, Timeline, Undone, UndoPlan
from engine.store import moments, revisions
from engine.store.crypt import LOCKED, UNLOCK, is_encrypted
from engine.store.encrypted import filters_of, opened
from engine.store.paths import shown
from engine.store.repository import commit_of
from engine.store.revisions import ENVIRONMENT

if TYPE_CHECKING:
    from engine.history.blame import Teachers
    from engine.history.explorations import Branch, Exploration
    from engine.history.model import Blame, Entry, Learned
    from engine.history.snapshots import Snapshot, SnapshotKind
    from engine.history.undo import Undoing
    from engine.knowledge.knowledge import Knowledge
    from engine.store.files import Files
    from engine.store.repository import Repository


@dataclass(eq=False)
class History:
    """The history of a workspace. Every method raises ``RepositoryError`` if there is no git, no repository,
    no commit or no such revision, and ``PathRefused`` for a path outside the workspace.

    Revisions and dates are as the user types them: hash, tag, branch, or a form that ``moments`` reads. All
    returned texts are untrusted: escape them for display.

    Args:
        zone: The time zone for dates.
    """

    files: Files
    repository: Repository
    knowledge: Callable[[], Knowledge]
    zone: Callable[[], str]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]

    def __post_init__(self) -> None:
        # Commit, folder and last result of ``authors``.
        self._authors: tuple[str, str, Mapping[str, str]] = "", "", {}

    # Commits.

    def timeline(
        self, limit: int = 50, *, before: str = "", path: str = "", kind: str = "", since: str = ""
    ) -> Timeline:
        """A page of the commits of the current branch, newest first.

        Args:
            limit: Maximum number of commits.
            before: ``next`` of the previous page; new commits do not shift the pages.
            path: Only commits that changed this file, including under earlier names, or this folder.
            kind: Only commits of this type; see ``model.KINDS``.
            since: Only commits from this time or, for a date, from the start of the day.
        """
        from_then = self._beginning(since) if since else None
        return log.timeline(
            self.repository.git, self.head(), limit, before=before, path=path, kind=kind, since=from_then
        )

    def changes(self, revision: str = "HEAD") -> Changes:
        """The changes of a commit; for a merge, relative to its first parent."""
        found = log.one(self.repository.git, self.resolve(revision))
        return Changes(found.entry, found.files)

    def diff(self, revision: str, file: ChangedFile | str, *, limit: int = diffs.DIFF_BYTES) -> FileDiff:
        """The diff of one file in a commit; empty if the commit did not change it.

        Args:
            file: From ``changes``, or a path.
            limit: Maximum bytes of the diff.
        """
        entry = log.one(self.repository.git, self.resolve(revision), raw=False).entry
        old = entry.parents[0] if entry.parents else diffs.empty_tree(entry.revision)
        path, earlier = (file, "") if isinstance(file, str) else (file.path, file.earlier)
        _, found = diffs.compare(
            self.repository.git, old, entry.revision, [each for each in (earlier, path) if each], limit=limit
        )
        return next((each for each in found if each.path == path), FileDiff(path))

    # Origins.

    def when(self, text: str, *, every: bool = False, case: bool = False) -> Learned:
        """When a text was first learned: in knowledge or, if it is not there, in conversations.

        Args:
            text: A literal text on one line.
            every: All commits that added or removed it, not only the first.
            case: Match case.
        """
        from engine.history.blame import when  # noqa: PLC0415 — loaded on demand

        return when(
            self.repository.git,
            self.head(),
            text,
            self._teachers,
            every=every,
            case=case,
            excluded=self._derived,
        )

    def blame(self, path: str, lines: tuple[int, int] | None = None, *, revision: str = "") -> Blame:
        """The origin of each line of a file, across renames.

        Args:
            lines: First and last line, from 1; all by default.
            revision: The version of the file; by default the one on disk.

        Raises:
            FileNotFoundError, DocumentError: There is no such file, or it cannot be read.
        """
        from engine.history.blame import blame  # noqa: PLC0415 — loaded on demand

        self.head()
        then = self.resolve(revision) if revision else ""
        return blame(self.repository.git, self.files, path, self._teachers, lines=lines, revision=then)

    def authors(self, folder: str) -> Mapping[str, str]:
        """The author who added each file below a folder, by path; see ``log.authors``."""
        head = self.head()
        if self._authors[:2] != (head, folder):
            self._authors = head, folder, log.authors(self.repository.git, head, folder)
        return self._authors[2]

    @property
    def _teachers(self) -> Teachers:
        from engine.history.blame import Teachers  # noqa: PLC0415 — loaded on demand

        return Teachers(self.files, self.knowledge)

    @cached_property
    def _derived(self) -> frozenset[str]:
        """Generated files, which are not a source of knowledge."""
        knowledge = self.knowledge()
        return frozenset((LEDGER_PATH, *knowledge.digest.paths, *knowledge.review.queue.paths))

    # Changes.

    def changed(self, since: str = "today", *, path: str = "knowledge") -> Changed:
        """Changes to the knowledge from a date or revision to the newest commit, without generated files
        such as ledger, digest and review queue.

        Args:
            since: A date means the start of the day. A name that git knows takes precedence.
            path: A file or folder.
        """
        git, head, name = self.repository.git, self.head(), self.repository.workspace.plain(path)
        base = self._state_before(since)
        # With the archive, so that archived files show as renamed, not deleted.
        files, found = diffs.compare(git, base or diffs.empty_tree(head), head, [name, "archive"])
        excluded = self._derived - {name}
        pairs = [
            (file, diff)
            for file, diff in zip(files, found, strict=True)
            if file.path not in excluded
            and any(f"{each}/".startswith(f"{name}/") for each in (file.path, file.earlier))
        ]
        return Changed(
            log.one(git, base, raw=False).entry if base else None,
            log.one(git, head, raw=False).entry,
            tuple(diff for _, diff in pairs),
            tuple(file for file, _ in pairs),
            tuple(sorted(set(self.repository.changed(name)) - excluded)),
        )

    def _state_before(self, since: str) -> str:
        """The last commit before a date or up to a time, or a revision; empty if there is none."""
        git, head = self.repository.git, self.head()
        moment = moments.beginning(since, self.clock(), self.zone())
        if moment is None or commit_of(git, since, ENVIRONMENT) is not None:
            return self.resolve(since)
        # Git counts whole seconds: exclude the first second of the day.
        until = math.ceil(moment.timestamp()) - 1
        options = ("-1", "--first-parent", f"--before=@{until} +0000", head)
        return git.run("rev-list", *options, environment=ENVIRONMENT).text

    def recall(self, revision: str, path: str) -> tuple[Entry, bytes]:
        """A file at a revision, with the commit.

        Raises:
            FileNotFoundError: The commit has no such file.
            RepositoryError: It is encrypted and cannot be decrypted here.
        """
        found, git = self.resolve(revision), self.repository.git
        data = self.repository.show(found, path)
        if is_encrypted(data):
            data = opened(git, data, filters_of(git, [path]).get(path, ""))
        if is_encrypted(data):
            raise RepositoryError(LOCKED, where=shown(path), hint=UNLOCK)
        return log.one(git, found, raw=False).entry, data

    # Snapshots and branches.

    def snapshots(self) -> tuple[Snapshot, ...]:
        """All snapshots, newest first."""
        self.head()
        return snapshots.snapshots(self.repository.git)

    def snapshot(self, name: str, kind: SnapshotKind = "milestone", revision: str = "HEAD") -> str:
        """Tags a commit permanently and returns the tag. Uncommitted changes are not included.

        Raises:
            ReadOnly: The workspace cannot be written.
        """
        with self.files.lock():
            return snapshots.create(self.repository.git, kind, name, self.resolve(revision))

    def tag_daily(self, day: date) -> str:
        """Tags the last commit of a day (``git.auto_tag_daily``) and returns the tag; empty if there is no
        commit. May be repeated.
        """
        with self.files.lock():
            return snapshots.tag_daily(self.repository.git, self.head(), day, self.zone())

    def tag_weekly(self, day: date) -> str:
        """As ``tag_daily``, for the week of a day, Monday to Sunday."""
        with self.files.lock():
            return snapshots.tag_weekly(self.repository.git, self.head(), day, self.zone())

    def branches(self) -> tuple[Branch, ...]:
        """The branches ``explore/*`` and ``extract/*``, most recently used first."""
        return explorations.branches(self.repository.git, self.head(), self.clock())

    def explore(self, name: str, revision: str = "", only: Sequence[str] = ()) -> Exploration:
        """Creates or finds an exploration branch with its own work tree outside the workspace; see
        ``explorations.create``. Files, index and branch of the workspace do not change.

        Args:
            revision: Starting point of a new branch; by default the newest commit.
            only: Folders to check out; all by default.
        """
        with self.files.lock():
            found = self.resolve(revision) if revision else ""
            return explorations.create(self.repository.git, name, found, self.head(), only)

    def branch(self, name: str) -> Branch:
        """The branch ``explore/NAME``, given with or without the prefix."""
        wanted = explorations.full_name(name)
        found = next((each for each in self.branches() if each.name == wanted), None)
        if found is None:
            raise RepositoryError(
                f"no branch {wanted}",
                where=str(self.repository.git.root),
                hint="list them: autopoiesis history explore --list",
            )
        return found

    def drop(self, branch: Branch) -> None:
        """Removes a branch, unless it has moved since it was listed; see ``explorations.remove``."""
        with self.files.lock():
            explorations.remove(self.repository.git, branch.name, branch.revision)

    def prune(self) -> tuple[Branch, ...]:
        """Removes and returns the branches that are due; their revisions allow restoring them."""
        with self.files.lock():
            due = tuple(each for each in self.branches() if each.due)
            explorations.prune(self.repository.git, due)
        return due

    # Undo.

    def undo_plan(self, revision: str = "") -> UndoPlan:
        """What undoing a commit would do; by default the newest of our commits that can be undone.

        First finishes an interrupted undo. Reasons that block the undo are part of the plan, not an error.
        """
        self.head()
        return self.undoing.plan(self.resolve(revision) if revision else "")

    def undo(self, plan: UndoPlan) -> Undone:
        """Carries out a plan as a new commit; see ``Undoing.apply``."""
        return self.undoing.apply(plan)

    @cached_property
    def undoing(self) -> Undoing:
        """The part that undoes commits."""
        from engine.history.undo import Undoing  # noqa: PLC0415 — loaded on demand

        return Undoing(self.files, self.repository, self.knowledge().digest, self._kept, self.on_problem)

    def _kept(self, path: str) -> str:
        """Why an undo leaves a path as it is, without being blocked by it; empty for other paths."""
        if path == LEDGER_PATH:
            return "the ledger keeps its record of harvests"
        if path in self._derived:
            return "generated from other files"
        if path.startswith("logs/"):
            return "logs are append-only"
        if path.startswith("conversations/"):
            return "restore conversations with: autopoiesis ledger restore"
        return ""

    # Revisions.

    def head(self) -> str:
        """The newest commit's full object name."""
        if self.repository.git.program() is None or not (self.repository.workspace.root / ".git").exists():
            return self.resolve("HEAD")  # raises an error that says what is missing
        return self.repository.revision() or self.resolve("HEAD")

    def resolve(self, text: str) -> str:
        """The full object name of the commit for a revision or date."""
        commit = revisions.find(self.repository, text, self.clock(), self.zone())
        commit = commit or revisions.find(self.repository, "HEAD", self.clock())
        assert commit is not None
        return commit.revision

    def _beginning(self, text: str) -> datetime:
        """The start of a date, UTC."""
        found = moments.beginning(text, self.clock(), self.zone())
        if found is None:
            raise RepositoryError(f"“{shown(text)}” is not a date", hint=f"use one such as {moments.FORMS}")
        return found
