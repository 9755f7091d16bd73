"""The workspace's git repository (spec 3): state, history, and commits of given files.

Reading the branch and the newest revision costs two small file reads, so screens can poll them. All git
commands run through ``engine.store.git``, which runs nothing from the repository.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.errors import RepositoryError
from engine.store import git_folder, git_lock
from engine.store.commits import commit, commit_contents, refusals
from engine.store.committable import Guard
from engine.store.files import Files
from engine.store.git import Git, read_status
from engine.store.paths import Workspace, shown, split_relative

if TYPE_CHECKING:
    from engine.store.past import PastCommit

RepositoryKind = Literal[
    "ok", "none", "no-git", "no-identity", "detached", "merging", "rebasing", "picking", "reverting",
    "bisecting", "conflicts", "locked", "broken",
]  # fmt: skip

_IN_PROGRESS: tuple[tuple[str, RepositoryKind, str], ...] = (
    ("rebase-merge", "rebasing", "a rebase"),
    ("rebase-apply", "rebasing", "a rebase"),
    ("MERGE_HEAD", "merging", "a merge"),
    ("CHERRY_PICK_HEAD", "picking", "a cherry-pick"),
    ("REVERT_HEAD", "reverting", "a revert"),
    ("BISECT_LOG", "bisecting", "a bisect"),
)
_IDENTITY_HINT = (
    'run: git config --global user.name "Your Name" and git config --global user.email you@example.org'
)
_LOG_FORMAT = "%H%n%cI%n%an%n%s%n%b"


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """State of the repository."""

    kind: RepositoryKind
    """``ok`` if commits can be made."""
    branch: str = ""
    """The branch; empty when there is none."""
    dirty: int = 0
    """Number of files that differ from the newest commit, including new ones."""
    why: str = ""
    """Why it is not ``ok``, in one clause."""
    hint: str = ""

    @property
    def can_commit(self) -> bool:
        """Whether a commit is possible."""
        return self.kind == "ok"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit."""

    revision: str
    """Its full object name."""
    at: datetime
    """When it was committed, UTC."""
    author: str
    subject: str
    """The first line of its message."""
    body: str = ""
    """The rest of its message."""


class Repository:
    """The repository whose top-level folder is the workspace.

    Methods that start git raise ``RepositoryError`` if git is missing or fails, or if the repository or
    revision does not exist; and ``PathRefused`` for a path that leaves the workspace.

    Args:
        guard: Checks every file before it is committed.
        private: See ``Git``.
    """

    def __init__(
        self, workspace: Workspace, *, guard: Guard | None = None, private: Callable[[], bool] = bool
    ) -> None:
        self.workspace = workspace
        self.git = Git(workspace.root, private=private)
        self._guard = guard
        self._subjects: dict[str, str] = {}
        self._identified = False

    def init(self) -> None:
        """Create the repository with the branch ``main``; an existing one is unchanged."""
        if not (self.workspace.root / ".git").exists():
            self.git.run("init", "--quiet", "--template=", "--initial-branch=main", reading=False)

    def state(self, *, count: bool = True) -> RepositoryState:
        """The repository's state, and whether a commit is possible.

        Args:
            count: Also count the changed files, which reads every file's status.
        """
        blocked = self._blocked()
        if blocked is not None and blocked.kind in ("none", "no-git"):
            return blocked
        branch, dirty, conflicts = self.branch(), 0, False
        try:
            if count:
                listing = self.git.run("status", "--porcelain=v2", "-z", "--untracked-files=all")
                dirty, conflicts = read_status(listing.output)
            elif blocked is None:
                conflicts = bool(self.git.run("ls-files", "-z", "--unmerged").output)
            blocked = blocked or (None if conflicts else self._without_identity())
        except RepositoryError as error:
            why = f"git cannot use the repository: {error.what.rpartition(' failed: ')[2]}"
            return RepositoryState("broken", branch, why=why, hint="check it with: git status")
        if blocked is None and conflicts:
            blocked = RepositoryState(
                "conflicts", why="there are unresolved conflicts", hint="resolve them, then git add the files"
            )
        if blocked is None:
            return RepositoryState("ok", branch, dirty)
        return replace(blocked, branch=branch, dirty=dirty)

    def commit(
        self, paths: Sequence[str], message: str, *, links: Mapping[str, str | None] | None = None
    ) -> str | None:
        """Commit exactly the given files as they are on disk; other staged changes stay staged.

        A missing file is committed as deleted, unless a sparse checkout hides it. Files ignored by git are
        left out. The bytes are committed unchanged, without line-end conversion or filters except git-crypt.

        Args:
            message: Its first line is the subject.
            links: Commits of submodules by path; ``None`` removes one.

        Returns:
            The new revision; ``None`` if nothing differs from the newest commit.

        Raises:
            RepositoryError: The state forbids it; a path is a symlink, contains conflict markers, is refused
            by the guard or would not be encrypted; another program keeps moving the branch; git failed.
            PathRefused: A path leaves the workspace. WriteFailed, ReadOnly: The workspace lock cannot be
            taken.
        """
        with self._committing():
            newest, guard = self.revision, self._guard
            return commit(self.git, self.workspace, paths, message, newest, guard, links or {})

    def commit_beside(self, contents: Mapping[str, bytes | None], parent: str, message: str) -> str:
        """Create a commit on top of another one, on no branch yet; files and index are unchanged.

        Args:
            contents: Bytes of files by path; ``None`` deletes one.
            parent: Full object name.

        Raises:
            RepositoryError: A file is refused by the guard or contains conflict markers, or git failed.
        """
        return commit_contents(self.git, self.workspace, contents, parent, message, self._guard)

    def begin(self, past: Sequence[PastCommit]) -> str:
        """Create the whole history of a repository without commits, atomically; returns the newest commit.

        Files are unchanged. The guard is not consulted, so the contents must be known to be safe.

        Args:
            past: Oldest first; the last one is on the main line.

        Raises:
            RepositoryError, PathRefused, WriteFailed, ReadOnly: As for ``commit``, or a commit exists.
        """
        from engine.store import past as beginning  # noqa: PLC0415 — used at most once per workspace

        with self._committing():
            if self.has_commits:
                raise RepositoryError("the repository already has commits", where=str(self.workspace.root))
            return beginning.begin(self.git, self.workspace, past)

    @contextlib.contextmanager
    def _committing(self) -> Iterator[None]:
        """Hold the lock if a commit is possible; disk errors become ``RepositoryError``."""
        with Files(self.workspace).lock():
            self.require()
            try:
                yield
            except OSError as error:
                why, hint = f"the commit failed ({error.strerror or error})", "nothing was lost; try again"
                raise RepositoryError(why, where=str(self.workspace.root), hint=hint) from error

    def require(self) -> None:
        """Check that a commit is possible, after recovery, waiting for a running git to finish.

        Raises:
            RepositoryError: It is not; says why and what to do.
            WriteFailed, ReadOnly: As for ``recover``.
        """
        self.recover()
        state = self._awaited()
        if not state.can_commit:
            raise RepositoryError(state.why, where=str(self.workspace.root), hint=state.hint)

    def recover(self) -> None:
        """Complete or roll back an interrupted commit, and clear what a dead git left behind.

        Raises:
            WriteFailed, ReadOnly: The workspace lock cannot be taken.
        """
        folder = self.folder
        if not os.path.lexists(folder / git_lock.LOCK) and not git_lock.leftovers(folder):
            return
        with Files(self.workspace).lock(), contextlib.suppress(OSError):  # the state says it is there
            git_lock.recover(folder, self.revision())
            git_lock.clear_stale(folder, self.workspace.root)

    def _awaited(self) -> RepositoryState:
        """The state, after waiting for another git process that holds the lock."""
        until = time.monotonic() + git_lock.PATIENCE_S
        while True:
            state = self.state(count=False)
            if state.kind != "locked" or time.monotonic() > until:
                return state
            lock = git_lock.in_the_way(self.folder)
            if lock and (git_lock.age_s(lock) or 0.0) > git_lock.PATIENCE_S:
                return state
            time.sleep(git_lock.POLL_S)

    @property
    def has_commits(self) -> bool:
        """Whether there is a commit on the current branch."""
        return self.revision() is not None

    def branch(self) -> str:
        """The current branch; empty when there is none. Two file reads at most."""
        name = git_folder.head(self.folder)
        is_known = name.startswith("refs/") and git_folder.is_readable(name)
        return name.removeprefix("refs/heads/") if is_known else ""

    def revision(self) -> str | None:
        """The newest commit's object name, read without starting git; ``None`` before the first commit."""
        folder = self.folder
        name = git_folder.head(folder)
        if not name.startswith("refs/"):
            return name if git_folder.REVISION.fullmatch(name) else None
        return (
            git_folder.revision(folder, name) if git_folder.is_readable(name) else commit_of(self.git, "HEAD")
        )

    def head(self) -> tuple[str, str] | None:
        """The newest commit's object name and subject; ``None`` before the first commit.

        Starts git only if the revision has changed.
        """
        revision = self.revision()
        if revision is None:
            return None
        if revision not in self._subjects:
            self._subjects = {revision: self.git.run("log", "-1", "--format=%s", revision).text}
        return revision, self._subjects[revision]

    def show(self, revision: str, path: str) -> bytes:
        """A file's raw bytes at a revision.

        Raises:
            FileNotFoundError: The commit does not contain the file.
        """
        name = "/".join(split_relative(path))
        found = self._known(revision)
        answer = self.git.run("cat-file", "blob", f"{found}:{name}", accept=(0, 128))
        if answer.code:
            raise FileNotFoundError(f"{shown(path)} is not in {shown(revision)}")
        return answer.output

    def files(self, revision: str, under: str = "") -> list[str]:
        """The paths of all regular files in a commit, optionally below a folder."""
        paths = ["/".join(split_relative(under))] if under else []
        listed = self.git.run("ls-tree", "-r", "-z", "--full-tree", self._known(revision), paths=paths)
        return [
            path.decode("utf-8", "surrogateescape")
            for entry, _, path in (line.partition(b"\t") for line in listed.output.split(b"\0") if line)
            if entry.startswith(b"100")
        ]

    def setting(self, name: str) -> str:
        """A git setting of this repository; empty if not set."""
        return self.git.run("config", "--local", "--get", name, accept=(0, 1)).text

    def configured(self, name: str) -> str:
        """A git setting as the person's own git sees it here, from any file; empty if not set."""
        output = self.git.run("config", "--show-scope", "--get-all", name, accept=(0, 1)).text
        lines = (line.partition("\t") for line in output.splitlines())
        # The scope "command" is what we pass to every git command ourselves.
        values = [value for scope, _, value in lines if scope != "command"]
        return values[-1] if values else ""

    def set_up(self, name: str, value: str) -> None:
        """Set a git setting of this repository."""
        self.git.run("config", "--local", name, value, reading=False)

    def changed(self, *under: str) -> list[str]:
        """The files below folders that differ from the newest commit, including new but not ignored ones.

        A nested repository is reported as one path ending with a slash.
        """
        names = list(map(self.workspace.plain, under))
        options = ("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
        listed = self.git.run("status", *options, paths=names).output.split(b"\0")
        return [os.fsdecode(line[3:]) for line in listed if line]

    def refusals(self, paths: Sequence[str]) -> dict[str, str]:
        """Why files would not be committed, by path; omits those that would be."""
        return refusals(self.git, self.workspace, paths, self.revision(), self._guard)

    def changes(self, revision: str) -> list[tuple[str, str]]:
        """The files a commit added, changed or deleted, as (``A``, ``M`` or ``D``, path) pairs."""
        options = ("--root", "--no-commit-id", "--name-status", "--no-renames", "-r", "-z")
        listed = self.git.run("diff-tree", *options, self._known(revision)).output.split(b"\0")
        return [
            (os.fsdecode(letter), os.fsdecode(path))
            for letter, path in zip(listed[::2], listed[1::2], strict=False)
        ]

    def forget(self, name: str) -> None:
        """Remove a git setting of this repository, if set."""
        self.git.run("config", "--local", "--unset-all", name, reading=False, accept=(0, 5))

    def log(self, limit: int = 50, *, path: str = "") -> list[Commit]:
        """The newest commits, newest first; with ``path`` those that changed it."""
        if not self.has_commits:
            return []
        paths = [self.workspace.plain(path)] if path else []
        options = ("-z", f"--max-count={max(limit, 0)}", f"--format={_LOG_FORMAT}")
        commits = []
        for entry in self.git.run("log", *options, self._known("HEAD"), paths=paths).text.split("\0"):
            revision, *rest = entry.split("\n", 4)
            if len(rest) == 4:
                at = datetime.fromisoformat(rest[0]).astimezone(UTC)
                commits.append(Commit(revision, at, rest[1], rest[2], rest[3].strip()))
        return commits

    @property
    def folder(self) -> Path:
        """The git folder, also for a linked work tree."""
        return git_folder.repository_folder(self.workspace.root)

    def _blocked(self) -> RepositoryState | None:
        """The state that prevents a commit, as far as it can be determined without running git."""
        root = self.workspace.root
        if self.git.program() is None:
            return RepositoryState("no-git", why="git is not installed", hint="install git to keep a history")
        if not (root / ".git").exists():
            return RepositoryState("none", why="the workspace is not a git repository", hint="run: git init")
        folder = self.folder
        for name, kind, what in _IN_PROGRESS:
            if (folder / name).exists():
                return RepositoryState(kind, why=f"{what} is in progress", hint="finish or abort it with git")
        if git_folder.REVISION.fullmatch(git_folder.head(folder)):
            return RepositoryState("detached", why="HEAD is detached", hint="run: git switch main")
        if lock := git_lock.in_the_way(folder):
            why, hint = git_lock.explained(lock, root)
            return RepositoryState("locked", why=why, hint=hint)
        return None

    def _without_identity(self) -> RepositoryState | None:
        if self._identified:
            return None
        for variable in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            if self.git.run("var", variable, accept=(0, 1, 128)).code:
                return RepositoryState(
                    "no-identity", why="git does not know who you are", hint=_IDENTITY_HINT
                )
        self._identified = True  # saves two processes per commit; git itself reports it if removed later
        return None

    def _known(self, revision: str) -> str:
        found = commit_of(self.git, revision)
        if found is None:
            raise RepositoryError(f"no such revision: {shown(revision)}", where=str(self.workspace.root))
        return found


def commit_of(git: Git, name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """The object name of the commit a revision, tag, branch or hash refers to; ``None`` if there is none."""
    try:
        is_name = bool(name) and "\0" not in name and bool(os.fsencode(name))
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        return None
    options = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    answer = git.run("rev-parse", *options, accept=(0, 1, 128, 129), environment=environment)
    found = answer.text.strip().splitlines()
    return found[-1] if not answer.code and found and git_folder.REVISION.fullmatch(found[-1]) else None
