"""Exploration branches, each with its own work tree (spec 3.3).

``explore/NAME`` is checked out in the user's data folder; files, index and branch of the workspace do not
change. The branch is created first and the folder gets its final name last, so that the same call repairs an
interrupted one. A sub-agent gets a sparse checkout of some folders (spec 11): that limits the view, not the
access, since git there can read the whole repository.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.errors import RepositoryError, WriteFailed
from engine.history import snapshots
from engine.history.log import RAW, raw_files
from engine.history.model import ChangedFile
from engine.store.git import Git
from engine.store.git_folder import repository_folder
from engine.store.paths import shown, split_relative
from engine.store.repository import commit_of
from engine.store.revisions import ENVIRONMENT
from engine.store.user_folder import data_folder

PREFIX = "explore/"
HEADS = "refs/heads/"
_FOLDER = "explorations"
_ODD = re.compile(r"[^\w.-]|^\.+")


@dataclass(frozen=True, slots=True)
class Exploration:
    """A branch and its work tree."""

    branch: str  # ``explore/other-tone``
    folder: Path
    revision: str  # full object name of its newest commit
    made: bool  # the branch is new
    shows: tuple[str, ...] = ()
    """The folders of a sparse checkout, which also has the files directly in their parents; empty for all."""


def full_name(name: str) -> str:
    """``explore/NAME``, from a name with or without the prefix.

    Raises:
        RepositoryError: It is not a valid branch name.
    """
    snapshots.check_name(name.removeprefix(PREFIX))
    return PREFIX + name.removeprefix(PREFIX)


def create(git: Git, name: str, revision: str, head: str, only: Sequence[str] = ()) -> Exploration:
    """Creates a branch and its work tree, or the missing one of the two.

    Args:
        name: With or without ``explore/``.
        revision: Full object name of the first commit; empty for ``head``, or for the existing branch.
        only: Folders to check out; by default no change, or all in a new work tree.

    Raises:
        RepositoryError: The name is invalid or taken, there is no such folder, or something is in the way.
        PathRefused: A folder is outside the workspace.
        WriteFailed: The work tree cannot be created.
    """
    branch = full_name(name)
    name, reference = branch.removeprefix(PREFIX), HEADS + branch
    there = commit_of(git, reference, ENVIRONMENT)
    if there is not None and revision and there != revision:
        raise RepositoryError(
            f"{branch} exists, at {there[:8]}",
            where=str(git.root),
            hint="choose another name, or omit --at to continue with it",
        )
    # Without the user's git-crypt filters: private files stay encrypted in the work tree, which has no key.
    git = Git(git.root)
    wanted = _folders(git, there or revision or head, only)
    key = hashlib.sha256(os.fsencode(git.root)).hexdigest()[:8]
    above = _place() / f"{_ODD.sub('', git.root.name)}-{key}"
    folder, unfinished = above / name, above / f".{name}.new"
    if folder.exists():  # git may have been interrupted between moving and recording it
        git.run("worktree", "repair", str(folder), reading=False, accept=(0, 1, 128))
    used = work_trees(git).get(reference)
    if used is not None and used != unfinished:
        return Exploration(branch, used, there or "", made=False, shows=_shown(used, wanted))
    if folder.exists():
        raise RepositoryError("already exists", where=str(folder), hint="move it away or choose another name")
    for left in (folder, unfinished):  # git's records of deleted or unfinished work trees
        git.run("worktree", "remove", "--force", str(left), reading=False, accept=(0, 128))
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        above.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise WriteFailed(f"cannot be created ({error.strerror})", where=str(above)) from error
    if there is None:
        begin = revision or head
        git.run("update-ref", "-m", "made", reference, begin, "0" * len(begin), reading=False)
    git.run("worktree", "add", "--quiet", str(unfinished), branch, reading=False)
    git.run("worktree", "move", str(unfinished), str(folder), reading=False)
    shows = _shown(folder, wanted)
    return Exploration(branch, folder, there or revision or head, made=there is None, shows=shows)


def _folders(git: Git, revision: str, only: Sequence[str]) -> list[str]:
    """Folders as plain relative paths, after checking that the commit has them."""
    wanted = list(dict.fromkeys("/".join(split_relative(each)) for each in only))
    for each in wanted:
        if not git.run("ls-tree", "-d", revision, paths=[each]).text:
            raise RepositoryError(f"{revision[:8]} has no such folder", where=shown(each))
    return wanted


def _shown(folder: Path, wanted: Sequence[str]) -> tuple[str, ...]:
    """Sets the sparse checkout of a work tree, if folders are given; returns its folders, empty for all."""
    git = Git(folder)
    if wanted:
        stdin = "".join(f"{each}\n" for each in wanted).encode("utf-8", "surrogateescape")
        git.run("sparse-checkout", "set", "--cone", "--stdin", stdin=stdin, reading=False)
    listed = git.run("sparse-checkout", "list", accept=(0, 128)).text
    return tuple(listed.splitlines())


def is_own(folder: Path) -> bool:
    """True for a work tree created here, which is removed with its branch."""
    return folder.is_relative_to(_place())


def _place() -> Path:
    return data_folder().resolve() / _FOLDER


def work_trees(git: Git) -> dict[str, Path]:
    """The existing work trees, by the full name of their branch."""
    found: dict[str, Path] = {}
    place = Path()
    listed = git.run("worktree", "list", "--porcelain").text.split("\n")
    if any(map(_is_cut_off, (Path(line[9:]) for line in listed if line.startswith("worktree ")))):
        git.run("worktree", "repair", reading=False, accept=(0, 1, 128))
    for line in listed:
        name, _, value = line.partition(" ")
        if name == "worktree":
            place = Path(value)
        elif name == "branch" and place.is_dir():
            found[value] = place
    return found


def _is_cut_off(place: Path) -> bool:
    """True for a work tree whose repository has been moved since: git there fails until it is repaired."""
    return (place / ".git").is_file() and not repository_folder(place).is_dir()


def uncommitted(folder: Path) -> tuple[str, ...]:
    """The files with uncommitted changes, except logs and ignored files.

    Raises:
        RepositoryError: Git cannot tell.
    """
    listed = Git(folder).run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    found = (os.fsdecode(line[3:]) for line in listed.output.split(b"\0") if line)
    return tuple(path for path in found if not path.startswith("logs/"))


def remove(git: Git, branch: str, revision: str) -> None:
    """Removes a branch with its work tree; ``git branch NAME REVISION`` restores the branch as long as git
    keeps its commits.

    Args:
        revision: Full object name of its newest commit.

    Raises:
        RepositoryError: It has moved, has uncommitted changes, is checked out elsewhere, or git failed.
    """
    folder = work_trees(git).get(HEADS + branch)
    if folder is not None:
        if not is_own(folder):
            raise RepositoryError(
                f"{branch} is checked out", where=str(folder), hint="remove it with: git worktree remove"
            )
        refuse_uncommitted(folder)
        git.run("worktree", "remove", "--force", str(folder), reading=False)  # force, because of the logs
    git.run("update-ref", "-d", HEADS + branch, revision, reading=False)


def refuse_uncommitted(folder: Path) -> None:
    """Checks that a work tree has no uncommitted changes.

    Raises:
        RepositoryError: It has.
    """
    left = uncommitted(folder)
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        raise RepositoryError(
            f"uncommitted changes in {shown(left[0])}{more}",
            where=str(folder),
            hint="commit there (autopoiesis -C FOLDER commit), or undo the changes",
        )


PRUNED_AFTER = timedelta(days=7)
FOLDERS = ("explore/", "extract/")


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch other than the memory's own."""

    name: str  # ``explore/other-tone``
    revision: str  # full object name of its newest commit
    at: datetime  # last use, as far as git knows, UTC
    subject: str  # of its newest commit
    ahead: int  # commits that are not on the current branch
    files: tuple[ChangedFile, ...]  # its changes since it left the current branch
    in_use: str  # the folder where it is checked out; empty if none
    uncommitted: int  # files with uncommitted changes in its own folder
    due: bool
    """It can be pruned: an ``explore/*`` branch older than ``PRUNED_AFTER``, checked out at most in its own
    folder, without uncommitted changes."""


def branches(git: Git, head: str, now: datetime) -> tuple[Branch, ...]:
    """All exploration branches, most recently used first.

    Raises:
        RepositoryError: Git failed.
    """
    used = work_trees(git)
    spec = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)%00"
    places = [f"{HEADS}{folder}" for folder in FOLDERS]
    listed = git.run("for-each-ref", spec, *places, environment=ENVIRONMENT)
    fields = listed.output.decode("utf-8", "replace").split("\0")
    found: list[Branch] = []
    for place in range(0, len(fields) - 4, 4):
        reference, revision, seconds, subject = fields[place : place + 4]
        reference = reference.strip("\n")
        name = reference.removeprefix(HEADS)
        at = datetime.fromtimestamp(max(int(seconds), _moved_at(git, reference), 0), UTC)
        folder = used.get(reference)
        is_free = folder is None or is_own(folder)
        pending = len(uncommitted(folder)) if folder is not None and is_free else 0
        due = name.startswith(PREFIX) and is_free and not pending and now - at > PRUNED_AFTER
        ahead = int(git.run("rev-list", "--count", f"{head}..{revision}", environment=ENVIRONMENT).text)
        files = _files(git, head, revision) if ahead else ()
        found.append(Branch(name, revision, at, subject, ahead, files, str(folder or ""), pending, due))
    return tuple(sorted(found, key=lambda each: (each.at, each.name), reverse=True))


def prune(git: Git, due: Sequence[Branch]) -> None:
    """Removes branches, unless they have moved since they were listed; see ``remove``."""
    for each in due:
        remove(git, each.name, each.revision)


def _files(git: Git, head: str, revision: str) -> tuple[ChangedFile, ...]:
    base = git.run("merge-base", head, revision, accept=(0, 1), environment=ENVIRONMENT).text
    listed = git.run("diff-tree", "-r", *RAW, "-z", base or head, revision, environment=ENVIRONMENT)
    return raw_files(listed.output.split(b"\0"))[0]


def _moved_at(git: Git, reference: str) -> int:
    """Time of a branch's last reflog entry, in seconds; 0 if it has none. A new branch has an old commit."""
    options = ("-g", "-1", "--no-patch", "--date=unix", "--format=%gd")
    answer = git.run("log", *options, reference, accept=(0, 128), environment=ENVIRONMENT)
    seconds = answer.text.rpartition("@{")[2].removesuffix("}")
    return int(seconds) if not answer.code and seconds.isdigit() else 0
