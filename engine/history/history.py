"""The part ``history``: what the repository tells people of the memory's past, and the way back (spec 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from engine.context.views import LEDGER_PATH
from engine.errors import RepositoryError
from engine.history import branches, diffs, explorations, log, snapshots
from engine.history.model import Changed, ChangedFile, Changes, FileDiff, Timeline, Undone, UndoPlan
from engine.store import moments, revisions
from engine.store.crypt import LOCKED, UNLOCK, is_encrypted
from engine.store.encrypted import filters_of, opened
from engine.store.paths import shown, split_relative
from engine.store.repository import commit_of
from engine.store.revisions import ENVIRONMENT

if TYPE_CHECKING:
    from engine.history.branches import Branch
    from engine.history.explorations import Exploration
    from engine.history.model import Blame, Entry, Learned
    from engine.history.snapshots import Snapshot, SnapshotKind
    from engine.history.teachers import Teachers
    from engine.history.undo import Undoing
    from engine.knowledge.knowledge import Knowledge
    from engine.store.files import Files
    from engine.store.repository import Repository


@dataclass(eq=False)
class History:
    """The past of a workspace. Every method raises ``RepositoryError`` where there is no git, no repository,
    no commit or no such revision, and ``PathRefused`` for a path that leaves the workspace.

    Revisions and dates are given as a person writes them: hash, tag, branch, or as ``moments`` reads it. All
    texts that it gives are somebody's, and not safe to show as they are.

    Args:
        zone: The time zone whose days count.
    """

    files: Files
    repository: Repository
    knowledge: Callable[[], Knowledge]
    zone: Callable[[], str]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]

    def __post_init__(self) -> None:
        # What ``authors`` gave last, behind the commit and the folder that it is of.
        self._authors: tuple[str, str, Mapping[str, str]] = "", "", {}

    # What happened.

    def timeline(
        self, limit: int = 50, *, before: str = "", path: str = "", kind: str = "", since: str = ""
    ) -> Timeline:
        """A page of the commits of the current branch, newest first.

        Args:
            limit: The most commits; only these are looked at, as far as ``kind`` and ``path`` let that be.
            before: ``next`` of the page before; it goes on where that ended, whatever was committed since.
            path: Only commits that changed this file, under its earlier names too, or something below this
                folder.
            kind: Only commits of this type; see ``model.KINDS``.
            since: Only commits from this moment or, of a day, from its beginning on.
        """
        from_then = self._beginning(since) if since else None
        return log.timeline(
            self.repository.git, self.head(), limit, before=before, path=path, kind=kind, since=from_then
        )

    def changes(self, revision: str = "HEAD") -> Changes:
        """What a commit changed; of a merge, beside its first parent."""
        found = log.one(self.repository.git, self.resolve(revision))
        return Changes(found.entry, found.files)

    def diff(self, revision: str, file: ChangedFile | str, *, most: int = diffs.DIFF_BYTES) -> FileDiff:
        """How a commit changed one file; a diff without lines where it did not.

        Args:
            file: Of ``changes``, or a path.
            most: Bytes of the diff that are kept.
        """
        entry = log.one(self.repository.git, self.resolve(revision), raw=False).entry
        old = entry.parents[0] if entry.parents else diffs.empty_tree(entry.revision)
        path, earlier = (file, "") if isinstance(file, str) else (file.path, file.earlier)
        _, found = diffs.compare(
            self.repository.git, old, entry.revision, [each for each in (earlier, path) if each], most=most
        )
        return next((each for each in found if each.path == path), FileDiff(path))

    # Who taught what.

    def when(self, text: str, *, every: bool = False, case: bool = False) -> Learned:
        """When a text was first learned, in what is kept or, failing that, in what was said.

        Args:
            text: Taken literally, up to one line.
            every: All commits that brought it or took it out, not the first alone.
            case: Capital and small letters differ.
        """
        from engine.history.when import when  # noqa: PLC0415 — only where it is asked

        return when(
            self.repository.git,
            self.head(),
            text,
            self._teachers,
            every=every,
            case=case,
            passed_over=self._derived,
        )

    def blame(self, path: str, lines: tuple[int, int] | None = None, *, revision: str = "") -> Blame:
        """Where each line of a file comes from, under whatever name the file had.

        Args:
            lines: The first and last of them, from 1; all when left out.
            revision: The file as of then; as it is on disk when left out.

        Raises:
            FileNotFoundError, DocumentError: There is no such file, or it cannot be read.
        """
        from engine.history.blame import blame  # noqa: PLC0415 — only where it is asked

        self.head()
        then = self.resolve(revision) if revision else ""
        return blame(self.repository.git, self.files, path, self._teachers, lines=lines, revision=then)

    def authors(self, folder: str) -> Mapping[str, str]:
        """Who added each file below a folder, by its path; see ``log.authors``."""
        head = self.head()
        if self._authors[:2] != (head, folder):
            self._authors = head, folder, log.authors(self.repository.git, head, folder)
        return self._authors[2]

    @property
    def _teachers(self) -> Teachers:
        from engine.history.teachers import Teachers  # noqa: PLC0415 — only where somebody is asked for

        return Teachers(self.files, self.knowledge)

    @cached_property
    def _derived(self) -> frozenset[str]:
        """Files that programs keep of the knowledge: nobody learns anything in them."""
        knowledge = self.knowledge()
        return frozenset((LEDGER_PATH, *knowledge.digest.paths, *knowledge.review.queue.paths))

    # What became of it.

    def changed(self, since: str = "today", *, path: str = "knowledge") -> Changed:
        """What became of the knowledge since a date or revision, up to the newest commit; not of ledger,
        digest and review queue, which follow from the rest.

        Args:
            since: A day counts from its beginning. A name that git knows is taken as that.
            path: The file or folder looked at.
        """
        git, head, name = self.repository.git, self.head(), "/".join(split_relative(path))
        base = self._state_before(since)
        # What was archived was moved, not deleted.
        files, found = diffs.compare(git, base or diffs.empty_tree(head), head, [name, "archive"])
        passed_over = self._derived - {name}
        pairs = [
            (file, diff)
            for file, diff in zip(files, found, strict=True)
            if file.path not in passed_over
            and any(f"{each}/".startswith(f"{name}/") for each in (file.path, file.earlier))
        ]
        return Changed(
            log.one(git, base, raw=False).entry if base else None,
            log.one(git, head, raw=False).entry,
            tuple(diff for _, diff in pairs),
            tuple(file for file, _ in pairs),
            tuple(sorted(set(self.repository.changed(name)) - passed_over)),
        )

    def _state_before(self, since: str) -> str:
        """The last commit before a day, or until a moment, or a revision; empty where that was before all."""
        git, head = self.repository.git, self.head()
        moment = moments.beginning(since, self.clock(), self.zone())
        if moment is None or commit_of(git, since, ENVIRONMENT) is not None:
            return self.resolve(since)
        # Git counts in whole seconds; of a day's first one nothing belongs to the day before.
        until = math.ceil(moment.timestamp()) - 1
        options = ("-1", "--first-parent", f"--before=@{until} +0000", head)
        return git.run("rev-list", *options, environment=ENVIRONMENT).text

    def recall(self, revision: str, path: str) -> tuple[Entry, bytes]:
        """A file's bytes as they were, and the commit of which they are.

        Raises:
            FileNotFoundError: That commit holds no such file.
            RepositoryError: It is encrypted, and cannot be read here.
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
        """Names a state of the memory for good; gives the tag. What is in no commit is not in it.

        Raises:
            ReadOnly: The workspace cannot be written.
        """
        with self.files.lock():
            return snapshots.make(self.repository.git, kind, name, self.resolve(revision))

    def tag_daily(self, day: date) -> str:
        """Names the last commit of a day (``git.auto_tag_daily``); gives the tag, empty where that day has no
        commit. May be repeated.
        """
        with self.files.lock():
            return snapshots.make_daily(self.repository.git, self.head(), day, self.zone())

    def tag_weekly(self, day: date) -> str:
        """As ``tag_daily`` for the week that a day lies in, Monday to Sunday."""
        with self.files.lock():
            return snapshots.make_weekly(self.repository.git, self.head(), day, self.zone())

    def branches(self) -> tuple[Branch, ...]:
        """The branches ``explore/*`` and ``extract/*``, the one that was used last first."""
        return branches.branches(self.repository.git, self.head(), self.clock())

    def explore(self, name: str, revision: str = "", only: Sequence[str] = ()) -> Exploration:
        """Makes a branch to try something on, with its files in a folder outside the workspace, or says where
        they are; see ``explorations.make``. Files, index and branch of the workspace stay as they are.

        Args:
            revision: What it begins with; of a new branch the newest commit when left out.
            only: The folders that are to be shown there; all when left out.
        """
        with self.files.lock():
            found = self.resolve(revision) if revision else ""
            return explorations.make(self.repository.git, name, found, self.head(), only)

    def branch(self, name: str) -> Branch:
        """The branch ``explore/NAME``, its name given with or without that."""
        wanted = explorations.full_name(name)
        found = next((each for each in self.branches() if each.name == wanted), None)
        if found is None:
            raise RepositoryError(
                f"there is no branch {wanted}",
                where=str(self.repository.git.root),
                hint="list them: autopoiesis history explore --list",
            )
        return found

    def drop(self, branch: Branch) -> None:
        """Removes a branch that has not moved since it was listed; see ``explorations.remove``."""
        with self.files.lock():
            explorations.remove(self.repository.git, branch.name, branch.revision)

    def prune(self) -> tuple[Branch, ...]:
        """Removes the branches that are due, and gives them; what they held is told by their revisions."""
        with self.files.lock():
            due = tuple(each for each in self.branches() if each.due)
            branches.prune(self.repository.git, due)
        return due

    # Undo.

    def undo_plan(self, revision: str = "") -> UndoPlan:
        """What the undo of a commit would do; without one of the newest that is ours and can be undone.

        Finishes an undo that was cut short. The plan says what is against it; that raises nothing.
        """
        self.head()
        return self.undoing.plan(self.resolve(revision) if revision else "")

    def undo(self, plan: UndoPlan) -> Undone:
        """Does what a plan says, as a commit of its own; see ``Undoing.apply``."""
        return self.undoing.apply(plan)

    @cached_property
    def undoing(self) -> Undoing:
        """What undoes commits."""
        from engine.history.undo import Undoing  # noqa: PLC0415 — reading the past undoes nothing

        return Undoing(self.files, self.repository, self.knowledge().digest, self._kept, self.on_problem)

    def _kept(self, path: str) -> str:
        """Why no undo touches a path, though it does not keep the rest from being undone."""
        if path == LEDGER_PATH:
            return "the ledger goes on saying what was harvested"
        if path in self._derived:
            return "it follows from the rest"
        if path.startswith("logs/"):
            return "logs are only added to"
        if path.startswith("conversations/"):
            return "conversations come back with: autopoiesis ledger restore"
        return ""

    # What all of it goes by.

    def head(self) -> str:
        """The newest commit's full object name."""
        if self.repository.git.program() is None or not (self.repository.workspace.root / ".git").exists():
            return self.resolve("HEAD")  # which says what is missing
        return self.repository.revision() or self.resolve("HEAD")

    def resolve(self, text: str) -> str:
        """The full object name of the commit that a revision or date means."""
        commit = revisions.find(self.repository, text, self.clock(), self.zone())
        commit = commit or revisions.find(self.repository, "HEAD", self.clock())
        assert commit is not None
        return commit.revision

    def _beginning(self, text: str) -> datetime:
        """The first moment that a date means, UTC."""
        found = moments.beginning(text, self.clock(), self.zone())
        if found is None:
            raise RepositoryError(f"“{shown(text)}” is no date", hint=f"give one such as {moments.FORMS}")
        return found
