"""Results of history queries (spec 3.2, 3.6): commits, changed files, sources of lines."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

Kind = Literal["conversation", "memory", "identity", "maintenance", "explore", "extract", "other"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Letter = Literal["A", "M", "D", "R", "T"]
Source = Literal["transcript", "conversation", "trash", "reclaimed", "gone", "unknown"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A commit in the timeline. Its texts are untrusted: escape them for display."""

    revision: str  # full object name
    at: datetime  # commit time, UTC
    author: str
    subject: str  # first line of the message
    body: str  # the rest of the message
    sessions: tuple[str, ...]  # conversations named in its trailers, workspace-relative paths
    parents: tuple[str, ...]  # full object names
    files: int
    """Number of changed files among those requested; for a merge, relative to its first parent."""

    @property
    def kind(self) -> Kind:
        """The type in its subject; ``other`` if it is none of ours."""
        return kind_of(self.subject)

    @property
    def title(self) -> str:
        """The subject without the type."""
        return self.subject if self.kind == "other" else self.subject.partition(":")[2].strip()


def kind_of(subject: str) -> Kind:
    """The type of a commit from its subject; see ``Entry.kind``."""
    name, colon, _ = subject.partition(":")
    return next((kind for kind in KINDS[:-1] if colon and kind == name), "other")


@dataclass(frozen=True, slots=True)
class Timeline:
    """A page of the timeline."""

    entries: tuple[Entry, ...]  # newest first
    next: str  # cursor for the next page, for ``before``; empty on the last page


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs between two states."""

    letter: Letter
    """``A`` added, ``M`` modified, ``D`` deleted, ``R`` renamed, ``T`` type changed, e.g. to a symlink."""
    path: str  # workspace-relative; bytes that are not UTF-8 are lone surrogates
    earlier: str = ""  # the previous path of a renamed file
    old: str = ""  # blob name before, if any
    new: str = ""  # blob name after, if any
    odd: bool = False  # one side is a symlink or a submodule


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a commit."""

    entry: Entry
    files: tuple[ChangedFile, ...]  # in git's order


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The diff of a file between two states."""

    path: str
    earlier: str = ""  # the previous path, if different
    text: str = ""  # hunks of a unified diff, without header; empty for a binary file
    added: int = 0  # lines
    removed: int = 0  # lines
    binary: bool = False
    cut: bool = False  # ``text`` is truncated


@dataclass(frozen=True, slots=True)
class Changed:
    """Changes to the knowledge since a time or revision."""

    since: Entry | None  # the commit compared with; ``None`` if there was none yet
    until: Entry
    files: tuple[FileDiff, ...]
    letters: tuple[ChangedFile, ...]  # the same files, in the same order
    uncommitted: tuple[str, ...]  # paths with uncommitted changes, which are not part of this comparison

    @property
    def added(self) -> int:
        """Lines."""
        return sum(each.added for each in self.files)

    @property
    def removed(self) -> int:
        """Lines."""
        return sum(each.removed for each in self.files)


@dataclass(frozen=True, slots=True)
class Taught:
    """A conversation that something was learned from."""

    name: str  # as in the provenance of a line, or in a commit
    day: str = ""  # ISO 8601, from the provenance
    path: str = ""  # its path, or the path before it was reclaimed; empty if unknown
    source: Source = "unknown"
    """Where to read it: ``transcript`` and ``conversation`` at ``path``; ``trash`` and ``reclaimed`` after
    ``ledger restore``; ``gone``: the file no longer exists; ``unknown``: only the name is known."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A commit that added a text to a file or removed it."""

    entry: Entry
    path: str
    line: int  # its line, from 1; 0 in a binary file
    text: str  # that line, without its line end
    removed: bool = False  # the commit removed it
    taught: tuple[Taught, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """An occurrence of a text in the current files."""

    path: str
    line: int  # from 1
    text: str  # that line, without its line end
    committed: bool  # the file has no uncommitted changes


@dataclass(frozen=True, slots=True)
class Learned:
    """When a text was learned."""

    text: str
    where: Literal["knowledge", "conversations", ""]
    """Where it was found: in knowledge, or otherwise in conversations; empty if nowhere."""
    hits: tuple[Hit, ...] = ()
    """Oldest first: the first commit that added it, or all that added or removed it. Empty if it occurs only
    in uncommitted files."""
    now: tuple[Standing, ...] = ()  # current occurrences
    went: Hit | None = None  # the commit that last removed it
    shallow: bool = False  # the first hit is where a shallow clone begins: the text may be older

    @property
    def first(self) -> Hit | None:
        """The first commit that added it."""
        return next((each for each in self.hits if not each.removed), None)


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line of a file and the commit it comes from."""

    number: int  # from 1
    text: str  # without its line end
    revision: str  # the commit's object name; empty if uncommitted
    path: str  # the file's path in that commit
    line: int  # the line number in that commit, from 1
    taught: tuple[Taught, ...] = ()
    """From the provenance of the line, otherwise from its commit."""


@dataclass(frozen=True, slots=True)
class Blame:
    """The origins of a file's lines."""

    path: str
    lines: tuple[BlamedLine, ...]
    commits: tuple[Entry, ...]  # the commits of the lines, newest first; their ``files`` are not counted
    shallow: bool = False  # a shallow clone: lines of its first commit may be older

    def commit_of(self, line: BlamedLine) -> Entry | None:
        """The commit of a line; ``None`` if uncommitted."""
        return next((each for each in self.commits if each.revision == line.revision), None)


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why a file or a whole commit cannot be undone."""

    path: str  # empty for the whole commit
    why: str  # one clause
    hint: str = ""


@dataclass(frozen=True, slots=True)
class UndoneFile:
    """A file after an undo."""

    path: str  # current path
    after: str | None  # sha256 of its new content; ``None`` if it is deleted
    diff: FileDiff
    merged: bool = False  # later changes elsewhere in the file are kept


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What undoing a commit would do; nothing is written."""

    entry: Entry  # the commit to undo
    head: str  # the newest commit when the plan was made
    files: tuple[UndoneFile, ...]
    kept: tuple[Blocked, ...]  # files of the commit that are left as they are, without blocking the undo
    blocked: tuple[Blocked, ...]  # if there are any, nothing can be undone
    passed: tuple[Entry, ...] = ()  # newer commits that were skipped because they cannot be undone

    @property
    def can_apply(self) -> bool:
        """True if there is something to undo and nothing blocks it."""
        return bool(self.files) and not self.blocked


@dataclass(frozen=True, slots=True)
class Undone:
    """Result of an undo."""

    entry: Entry  # the undone commit
    revision: str  # the new commit
    paths: tuple[str, ...]
