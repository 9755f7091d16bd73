"""What a sync is told and tells."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Side = Literal["ours", "theirs"]
Outcome = Literal["equal", "done", "conflicts", "would"]


@dataclass(frozen=True, slots=True)
class Did:
    """What a side did with a file since both were equal."""

    what: str  # ``edited``, ``added``, ``deleted``, ``moved to …``
    revision: str = ""  # of the newest commit that did; empty where none is known
    at: datetime | None = None
    author: str = ""
    machine: str = ""  # what a ``Machine:`` line of the commit's message says; empty for none
    subject: str = ""
    commits: int = 1  # that touched the file


@dataclass(frozen=True, slots=True)
class Piece:
    """One place of a file that both sides changed, each in its own way."""

    before: str  # what stood there when both were equal; empty for nothing
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that a person has to decide about; nothing is merged until all are decided."""

    path: str
    why: str  # one clause
    ours: Did
    theirs: Did
    pieces: tuple[Piece, ...] = ()
    names: tuple[str, str] = ("", "")
    """The object names of both sides: a decision holds for these."""


@dataclass(frozen=True, slots=True)
class Left:
    """A file of this machine that was not committed, and so is not sent."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a sync did, or, in a dry run, would do."""

    remote: str
    address: str  # without a password
    branch: str
    outcome: Outcome
    committed: tuple[str, ...] = ()  # files that were committed before
    left: tuple[Left, ...] = ()
    fetched: int = 0  # commits that came
    changed: tuple[str, ...] = ()  # files that changed here
    merge: str = ""  # the merge commit; empty where none was needed
    notes: tuple[str, ...] = ()  # what was settled in a way that a person should know of
    conflicts: tuple[Conflict, ...] = ()
    sent: int = 0  # commits that went


@dataclass(frozen=True, slots=True)
class Status:
    """How this machine and the remote stand, as far as is known here."""

    remote: str  # empty: there is none, and nothing is sent or fetched
    address: str = ""
    branch: str = ""
    ahead: int = 0  # commits that the remote has not
    behind: int = 0  # commits of the remote that are not here
    uncommitted: int = 0  # files that the next sync would commit
    synced: str = ""  # when both were equal last, ISO 8601, UTC; empty for never
    checked: str = ""  # when the remote was asked last, likewise
    conflicts: tuple[Conflict, ...] = ()
    why: str = ""  # why no sync is possible now, one clause
