"""Compares two states of the memory, such as a branch and the current one (spec 8.7)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from engine.commits.kinds import OWN
from engine.history import diffs
from engine.history.model import ChangedFile, FileDiff
from engine.knowledge.category_files import entries
from engine.lifecycle.reconstruction.bench import PREFIX, is_derived, laid_out
from engine.store import revisions
from engine.store.repository import Commit, commit_of

if TYPE_CHECKING:
    from engine.store.repository import Repository


@dataclass(frozen=True, slots=True)
class Count:
    """The number of entries of a kind of knowledge on both sides."""

    kind: str  # ``facts``, ``journal``, ``projects`` …
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between two sides."""

    left: Commit
    right: Commit
    files: tuple[ChangedFile, ...]  # knowledge, topics and other files that are committed automatically
    diffs: tuple[FileDiff, ...]  # in the same order
    counts: tuple[Count, ...]  # of all kinds on either side


def side_of(repository: Repository, name: str, now: datetime, zone: str) -> Commit:
    """The commit of a side: a branch, with or without ``extract/``, or any revision.

    Raises:
        RepositoryError: No such commit.
    """
    short = name.removeprefix(PREFIX)
    if repository.git.program() is not None and (repository.workspace.root / ".git").exists():
        for reference in (f"refs/heads/{PREFIX}{short}", f"refs/heads/{name}"):
            if found := commit_of(repository.git, reference, revisions.ENVIRONMENT):
                name = found
                break
    commit = revisions.find(repository, "HEAD" if name == revisions.NOW else name, now, zone)
    assert commit is not None
    return commit


def compare(repository: Repository, left: Commit, right: Commit) -> Comparison:
    """Compares two commits: their diffs and their numbers of entries.

    Raises:
        RepositoryError: Git failed, or one of them is damaged.
    """
    git = repository.git
    files, found = diffs.compare(git, left.revision, right.revision, OWN)
    counts = [_counts(repository, each.revision) for each in (left, right)]
    kinds = sorted(counts[0].keys() | counts[1].keys())
    return Comparison(
        left, right, files, found, tuple(Count(kind, counts[0][kind], counts[1][kind]) for kind in kinds)
    )


def _counts(repository: Repository, revision: str) -> Counter[str]:
    listed = [each for each in laid_out(repository.git, revision) if is_derived(each.path)]
    found: Counter[str] = Counter()
    for entry, data in revisions.contents(repository.git, listed):
        kind = entry.path.split("/")[1].removesuffix(".md")
        found[kind] += len(entries(data, entry.path))
    return found
