"""Work trees for sub-agents, which show some folders of the memory alone (sparse checkout, spec 11).

Each is on a branch of its own, ``agent/NAME``. It is a view and no wall: the repository behind it holds
everything, for whoever asks git. Private files stay encrypted there, and it is not trusted by itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import RepositoryError, WriteFailed
from engine.history.branches import work_trees
from engine.store.files import Files
from engine.store.git import Git
from engine.store.paths import shown, slugify, split_relative
from engine.store.repository import Repository

PREFIX = "agent/"


@dataclass(frozen=True, slots=True)
class View:
    """A work tree that shows a part."""

    folder: Path
    branch: str
    shows: tuple[str, ...]  # folders; besides them the files that lie directly in those above


def make(files: Files, repository: Repository, place: Path, folders: Sequence[str]) -> View:
    """Makes a work tree that shows some folders of the newest commit.

    Args:
        place: A folder that does not exist yet, or is empty.
        folders: Workspace-relative.

    Raises:
        RepositoryError: There is no commit, no such folder in it, or git failed; nothing is left behind.
        PathRefused: A folder leaves the workspace.
        WriteFailed: The place is taken, or lies in the workspace.
    """
    files.refuse_read_only(".git")
    root, revision = files.workspace.root, repository.revision()
    place = Path(os.path.realpath(place.expanduser().absolute()))
    wanted = list(dict.fromkeys("/".join(split_relative(each)) for each in folders))
    if revision is None:
        raise RepositoryError("nothing is committed yet", where=str(root))
    git = repository.git
    for each in wanted:
        if git.run("cat-file", "-t", f"{revision}:{each}", accept=(0, 128)).text not in ("tree", "commit"):
            raise RepositoryError("the newest commit has no such folder", where=shown(each))
    if (
        place == root
        or root in place.parents
        or (place.exists() and (not place.is_dir() or any(place.iterdir())))
    ):
        cure = "name one that does not exist yet, outside of the workspace"
        raise WriteFailed("is taken, or lies in the workspace", where=str(place), cure=cure)
    branch = f"{PREFIX}{slugify(place.name)}"
    git.run("worktree", "add", "--quiet", "--no-checkout", "-b", branch, str(place), revision, reading=False)
    # Not this person's git-crypt: what is private stays encrypted there.
    inside = Git(place)
    try:
        inside.run("sparse-checkout", "set", "--cone", *wanted, reading=False)
        inside.run("reset", "--hard", "--quiet", reading=False)
    except BaseException:
        with contextlib.suppress(RepositoryError):
            git.run("worktree", "remove", "--force", str(place), reading=False)
            git.run("branch", "--quiet", "-D", branch, reading=False)
        raise
    return View(place, branch, tuple(sorted(wanted)))


def views(repository: Repository) -> tuple[View, ...]:
    """The work trees of sub-agents that are there, by branch.

    Raises:
        RepositoryError: Git failed.
    """
    found: list[View] = []
    for reference, place in work_trees(repository.git).items():
        branch, folder = reference.removeprefix("refs/heads/"), Path(place)
        if branch.startswith(PREFIX) and (folder / ".git").is_file():
            shows = Git(folder).run("sparse-checkout", "list", accept=(0, 128)).text.splitlines()
            found.append(View(folder, branch, tuple(sorted(shows))))
    return tuple(sorted(found, key=lambda each: each.branch))
