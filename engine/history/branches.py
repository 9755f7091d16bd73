"""Exploration branches (spec 3.3): ``explore/*``, which expire after a week, and ``extract/*``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from engine.history import explorations
from engine.history.explorations import HEADS, PREFIX, work_trees
from engine.history.log import RAW, raw_files
from engine.history.model import ChangedFile
from engine.store.git import Git
from engine.store.revisions import ENVIRONMENT

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
        is_free = folder is None or explorations.is_own(folder)
        pending = len(explorations.uncommitted(folder)) if folder is not None and is_free else 0
        due = name.startswith(PREFIX) and is_free and not pending and now - at > PRUNED_AFTER
        ahead = int(git.run("rev-list", "--count", f"{head}..{revision}", environment=ENVIRONMENT).text)
        files = _files(git, head, revision) if ahead else ()
        found.append(Branch(name, revision, at, subject, ahead, files, str(folder or ""), pending, due))
    return tuple(sorted(found, key=lambda each: (each.at, each.name), reverse=True))


def prune(git: Git, due: Sequence[Branch]) -> None:
    """Removes branches, unless they have moved since they were listed; see ``explorations.remove``."""
    for each in due:
        explorations.remove(git, each.name, each.revision)


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
