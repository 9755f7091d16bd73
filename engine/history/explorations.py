"""Branches to try something on, each with its files in a folder of its own (spec 3.3).

``explore/NAME`` is checked out among the person's own files, outside the workspace, whose files, index and
branch stay as they are. The branch is there first and the folder gets its name last, so that what a kill has
left is made whole, or anew, by the same call. A sub-agent is given one that shows some folders alone (sparse
checkout, spec 11): a view and no wall, since git in it reads all of the repository.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import RepositoryError, WriteFailed
from engine.history import snapshots
from engine.store.git import Git
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
    """A branch and where its files are."""

    branch: str  # ``explore/other-tone``
    folder: Path
    revision: str  # full object name of its newest commit
    made: bool  # the branch is new
    shows: tuple[str, ...] = ()
    """The folders that are checked out, with the files that lie directly in those above; empty: all."""


def full_name(name: str) -> str:
    """``explore/NAME``, of a name with or without that.

    Raises:
        RepositoryError: No branch can have that name.
    """
    snapshots.refuse_unfit(name.removeprefix(PREFIX))
    return PREFIX + name.removeprefix(PREFIX)


def make(git: Git, name: str, revision: str, head: str, only: Sequence[str] = ()) -> Exploration:
    """Makes a branch and its folder; of one that is there, the folder where it has none.

    Args:
        name: With or without ``explore/``.
        revision: Full object name of the commit that it begins with; empty for ``head``, or for wherever a
            branch that is there has come to.
        only: Folders that its own folder is to show; what it shows, or all, when left out.

    Raises:
        RepositoryError: The name cannot be taken, there is no such folder, or something else is in the way.
        PathRefused: A folder leaves the workspace.
        WriteFailed: There can be no such folder.
    """
    branch = full_name(name)
    name, reference = branch.removeprefix(PREFIX), HEADS + branch
    there = commit_of(git, reference, ENVIRONMENT)
    if there is not None and revision and there != revision:
        raise RepositoryError(
            f"{branch} exists, at {there[:8]}",
            where=str(git.root),
            hint="choose another name, or leave --at out to go on with it",
        )
    # Not as this person: what git-crypt keeps stays encrypted there, where that has no key.
    git = Git(git.root)
    wanted = _folders(git, there or revision or head, only)
    key = hashlib.sha256(os.fsencode(git.root)).hexdigest()[:8]
    above = _place() / f"{_ODD.sub('', git.root.name)}-{key}"
    folder, unfinished = above / name, above / f".{name}.new"
    if folder.exists():  # a kill may have come between its move and the note of it
        git.run("worktree", "repair", str(folder), reading=False, accept=(0, 1, 128))
    used = work_trees(git).get(reference)
    if used is not None and used != unfinished:
        return Exploration(branch, used, there or "", made=False, shows=_shown(used, wanted))
    if folder.exists():
        raise RepositoryError("is there already", where=str(folder), hint="move it away, or choose a name")
    for left in (folder, unfinished):  # what git knows of one that is gone, or half done
        git.run("worktree", "remove", "--force", str(left), reading=False, accept=(0, 128))
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        above.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise WriteFailed(f"cannot be made ({error.strerror})", where=str(above)) from error
    if there is None:
        begin = revision or head
        git.run("update-ref", "-m", "made", reference, begin, "0" * len(begin), reading=False)
    git.run("worktree", "add", "--quiet", str(unfinished), branch, reading=False)
    git.run("worktree", "move", str(unfinished), str(folder), reading=False)
    shows = _shown(folder, wanted)
    return Exploration(branch, folder, there or revision or head, made=there is None, shows=shows)


def _folders(git: Git, revision: str, only: Sequence[str]) -> list[str]:
    """Folders in their plain form, each of which a commit has."""
    wanted = list(dict.fromkeys("/".join(split_relative(each)) for each in only))
    for each in wanted:
        if not git.run("ls-tree", "-d", revision, paths=[each]).text:
            raise RepositoryError(f"{revision[:8]} has no such folder", where=shown(each))
    return wanted


def _shown(folder: Path, wanted: Sequence[str]) -> tuple[str, ...]:
    """The folders that a work tree shows, once it shows those that are wanted; empty where it shows all."""
    git = Git(folder)
    if wanted:
        stdin = "".join(f"{each}\n" for each in wanted).encode("utf-8", "surrogateescape")
        git.run("sparse-checkout", "set", "--cone", "--stdin", stdin=stdin, reading=False)
    listed = git.run("sparse-checkout", "list", accept=(0, 128)).text
    return tuple(listed.splitlines())


def is_own(folder: Path) -> bool:
    """Whether a folder is one that was made here, and goes with its branch."""
    return folder.is_relative_to(_place())


def _place() -> Path:
    return data_folder().resolve() / _FOLDER


def work_trees(git: Git) -> dict[str, Path]:
    """The work trees that are there, by the full name of the branch that they are on."""
    found: dict[str, Path] = {}
    place = Path()
    for line in git.run("worktree", "list", "--porcelain").text.split("\n"):
        name, _, value = line.partition(" ")
        if name == "worktree":
            place = Path(value)
        elif name == "branch" and place.is_dir():
            found[value] = place
    return found


def uncommitted(folder: Path) -> tuple[str, ...]:
    """The files there that are in no commit as they are; not logs, nor those that git ignores.

    Raises:
        RepositoryError: Git cannot tell.
    """
    listed = Git(folder).run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    found = (os.fsdecode(line[3:]) for line in listed.output.split(b"\0") if line)
    return tuple(path for path in found if not path.startswith("logs/"))


def remove(git: Git, branch: str, revision: str) -> None:
    """Removes a branch with the folder that was made for it; ``git branch NAME REVISION`` brings the branch
    back as long as git keeps its commits.

    Args:
        revision: Full object name of its newest commit.

    Raises:
        RepositoryError: It has moved, holds what is in no commit, is checked out elsewhere, or git failed.
    """
    folder = work_trees(git).get(HEADS + branch)
    if folder is not None:
        if not is_own(folder):
            raise RepositoryError(
                f"{branch} is checked out", where=str(folder), hint="remove it with: git worktree remove"
            )
        refuse_uncommitted(folder)
        git.run("worktree", "remove", "--force", str(folder), reading=False)  # by force for the logs
    git.run("update-ref", "-d", HEADS + branch, revision, reading=False)


def refuse_uncommitted(folder: Path) -> None:
    """Does nothing where all that a folder holds is committed.

    Raises:
        RepositoryError: It is not.
    """
    left = uncommitted(folder)
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        verb = "are" if more else "is"
        raise RepositoryError(
            f"{shown(left[0])}{more} {verb} in no commit",
            where=str(folder),
            hint="commit there (autopoiesis -C FOLDER commit), or take back what was changed",
        )
