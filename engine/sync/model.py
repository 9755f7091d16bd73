"""Results of a sync."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Side = Literal["ours", "theirs"]
Outcome = Literal["equal", "done", "conflicts", "would"]


@dataclass(frozen=True, slots=True)
class SideChange:
    """What one side did to a file since the merge base."""

    what: str  # ``edited``, ``added``, ``deleted``, ``moved to …``
    revision: str = ""  # of the newest commit that did; empty if unknown
    at: datetime | None = None
    author: str = ""
    machine: str = ""  # the commit's ``Machine:`` trailer, if any
    subject: str = ""
    commits: int = 1  # that touched the file


@dataclass(frozen=True, slots=True)
class Hunk:
    """A part of a file that both sides changed differently."""

    before: str  # the text in the merge base; may be empty
    ours: str
    theirs: str
    where: str = ""  # the heading above it, ``header``, or empty


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file the user has to decide about; nothing is merged until all are decided."""

    path: str
    why: str  # one clause
    ours: SideChange
    theirs: SideChange
    pieces: tuple[Hunk, ...] = ()
    names: tuple[str, str] = ("", "")
    """The blob names of both sides: a decision is valid for these only."""


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """A local file that could not be committed and so is not sent."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a sync did, or would do in a dry run."""

    remote: str
    address: str  # without a password
    branch: str
    outcome: Outcome
    committed: tuple[str, ...] = ()  # local files committed before the sync
    left: tuple[Uncommitted, ...] = ()
    fetched: int = 0  # commits received
    changed: tuple[str, ...] = ()  # local files that changed
    merge: str = ""  # the merge commit; empty if none was needed
    notes: tuple[str, ...] = ()  # automatic resolutions worth knowing about
    conflicts: tuple[Conflict, ...] = ()
    sent: int = 0  # commits pushed
    snapshots_taken: int = 0  # made or moved here
    snapshots_sent: int = 0


@dataclass(frozen=True, slots=True)
class Status:
    """How this machine compares with the remote, as of the last contact."""

    remote: str  # empty if none is configured
    address: str = ""
    branch: str = ""
    ahead: int = 0  # commits the remote does not have
    behind: int = 0  # commits only the remote has
    uncommitted: int = 0  # files that the next sync would commit
    synced: str = ""  # last time both were equal, ISO 8601, UTC; empty for never
    checked: str = ""  # last contact with the remote, likewise
    conflicts: tuple[Conflict, ...] = ()
    why: str = ""  # why no sync is possible now, one clause
