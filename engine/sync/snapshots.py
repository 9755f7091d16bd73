"""Exchanges snapshots with a remote: tags that name states of the memory.

Only snapshots of commits on the branch are sent. Others may hold what was taken out of the branch's history,
such as a secret.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.errors import RepositoryError
from engine.redaction.commits import secrets_of
from engine.store.git_folder import SNAPSHOTS
from engine.store.paths import shown
from engine.sync.transport import Clock, commits_of, push_references

if TYPE_CHECKING:
    from engine.store.git import Git
    from engine.store.repository import Repository
    from engine.sync.transport import Remote

_DATED = (f"{SNAPSHOTS}daily/", f"{SNAPSHOTS}weekly/")


@dataclass
class Exchange:
    """What an exchange changes, by reference: the new commit and the one before, empty for none."""

    here: dict[str, tuple[str, str]] = field(default_factory=dict)
    there: dict[str, tuple[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def exchange(
    repository: Repository, remote: Remote, theirs: Mapping[str, str], revision: str, clock: Clock
) -> Exchange:
    """Takes the remote's snapshots and sends those here.

    A name that stands for another commit on the remote keeps its meaning there, and the snapshot here gets a
    new name; of days and weeks, which are tagged on every machine, the later commit counts.

    Args:
        theirs: The remote's snapshots.
        revision: The branch's newest commit, which both sides have.

    Returns:
        What was changed. A snapshot that could not be taken or sent is named in the notes.
    """
    git = repository.git
    found = _planned(git, theirs, revision)
    lines = "".join(
        f"update {name} {new} {old or '0' * len(new)}\n" for name, (new, old) in found.here.items()
    )
    try:
        if lines:
            git.run("update-ref", "--stdin", stdin=os.fsencode(lines), reading=False)
    except RepositoryError as error:
        found.here.clear()
        found.notes = [f"the snapshots of {remote.name} were not taken: {error.what}"]
        return found
    try:
        refused = push_references(repository, remote, found.there, clock)
    except RepositoryError as error:
        found.there.clear()
        found.notes.append(f"the snapshots were not sent: {error.what}")
        return found
    for name, why in refused.items():
        del found.there[name]
        found.notes.append(f"snapshot {_shown(name)} was not sent: {why}")
    return found


def _planned(git: Git, theirs: Mapping[str, str], revision: str) -> Exchange:
    found, ours = Exchange(), commits_of(git, SNAPSHOTS)
    sendable = commits_of(git, SNAPSHOTS, f"--merged={revision}")
    for name, commit in ours.items():
        there = theirs.get(name, "")
        if secrets_of(os.fsencode(name)):
            found.notes.append("a snapshot was not sent: its name contains what looks like a secret")
        elif not there or (there != commit and name.startswith(_DATED) and _is_later(git, commit, there)):
            if name in sendable:
                found.there[name] = (commit, there)
        elif there != commit:
            found.here[name] = (there, commit)
            if not name.startswith(_DATED):
                renamed = f"{name}-{commit[:8]}"
                found.here[renamed] = (commit, commit if renamed in ours else "")
                if name in sendable and renamed not in theirs:
                    found.there[renamed] = (commit, "")
                found.notes.append(
                    f"both sides have a snapshot {_shown(name)}: "
                    f"it is theirs now, and yours is {_shown(renamed)}"
                )
    found.here |= {name: (commit, "") for name, commit in theirs.items() if name not in ours}
    return found


def _is_later(git: Git, commit: str, other: str) -> bool:
    """Whether a commit is later than another; of two at the same time always the same one is."""
    lines = git.run("show", "--no-patch", "--format=%ct %H", commit, other).text.splitlines()
    return max(lines, key=lambda line: (int(line.split(" ")[0]), line)).endswith(commit)


def _shown(name: str) -> str:
    return shown(name.removeprefix("refs/tags/"))
