"""What the history tells (spec 3.2, 3.6): commits, the files they touched, and who taught a line."""

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
    """One commit as the time line shows it. Its texts are somebody's: not safe to show as they are."""

    revision: str  # its full object name
    at: datetime  # when it was committed, UTC
    author: str
    subject: str  # the first line of its message
    body: str  # the rest of its message
    sessions: tuple[str, ...]  # conversations that its trailers name, workspace-relative paths
    parents: tuple[str, ...]  # full object names; several of a merge, none of the first commit
    files: int
    """How many it touched, of those that were asked for; of a merge, beside its first parent."""

    @property
    def kind(self) -> Kind:
        """The type that its subject names; ``other`` where it names none of ours."""
        return kind_of(self.subject)

    @property
    def title(self) -> str:
        """Its subject without the type."""
        return self.subject if self.kind == "other" else self.subject.partition(":")[2].strip()


def kind_of(subject: str) -> Kind:
    """The type of a commit by its subject; see ``Entry.kind``."""
    name, colon, _ = subject.partition(":")
    return next((kind for kind in KINDS[:-1] if colon and kind == name), "other")


@dataclass(frozen=True, slots=True)
class Timeline:
    """A page of the time line."""

    entries: tuple[Entry, ...]  # newest first
    next: str  # what ``before`` takes for the page after this one; empty where this is the last


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that two states hold differently."""

    letter: Letter
    """``A`` added, ``M`` changed, ``D`` deleted, ``R`` renamed, ``T`` of another kind now, as a symlink."""
    path: str  # workspace-relative; bytes that are not UTF-8 are lone surrogates
    earlier: str = ""  # what a renamed file was called
    old: str = ""  # object name of the content before; empty where there was none
    new: str = ""  # likewise after
    odd: bool = False  # one side is no regular file, but a symlink or a submodule


@dataclass(frozen=True, slots=True)
class Changes:
    """What a commit changed."""

    entry: Entry
    files: tuple[ChangedFile, ...]  # in the order of git


@dataclass(frozen=True, slots=True)
class FileDiff:
    """How a file differs between two states."""

    path: str
    earlier: str = ""  # what it was called before, where that is another name
    text: str = ""  # the hunks of a unified diff, without its head; empty for a binary file
    added: int = 0  # lines
    removed: int = 0  # lines
    binary: bool = False
    cut: bool = False  # ``text`` ends early, because it is long


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of the knowledge since a moment or revision."""

    since: Entry | None  # the commit compared with; ``None``: there was none yet, so all is new
    until: Entry
    files: tuple[FileDiff, ...]
    letters: tuple[ChangedFile, ...]  # the same files, in the same order
    uncommitted: tuple[str, ...]  # paths whose latest changes are in no commit, and not in this comparison

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
    """A conversation that something was learned in."""

    name: str  # as the provenance of a line, or a commit, names it
    day: str = ""  # ISO 8601, as the provenance says it
    path: str = ""  # where it is, or was before it was reclaimed; empty where nothing is known of it
    source: Source = "unknown"
    """Where to read it: ``transcript`` and ``conversation`` at ``path``; ``trash`` and ``reclaimed`` after
    ``ledger restore``; ``gone``: the path is known, and nothing is there; ``unknown``: only the name is."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A commit that brought a text into a file, or took it out."""

    entry: Entry
    path: str
    line: int  # where it stood, from 1; 0 in a binary file
    text: str  # that line, without its end
    removed: bool = False  # the commit took it out
    taught: tuple[Taught, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a text stands in the files as they are now."""

    path: str
    line: int  # from 1
    text: str  # that line, without its end
    committed: bool  # the file is as the newest commit has it


@dataclass(frozen=True, slots=True)
class Learned:
    """When a text was learned."""

    text: str
    where: Literal["knowledge", "conversations", ""]
    """Where it was found: in what is kept, otherwise in what was said; empty for nowhere."""
    hits: tuple[Hit, ...] = ()
    """What brought it, oldest first: the first commit, or every one, with those that took it out. None where
    it stands in uncommitted files alone."""
    now: tuple[Standing, ...] = ()  # where it stands now
    went: Hit | None = None  # the commit that took it out for good, where no file has it now
    shallow: bool = False  # the clone begins with what the first hit shows: it may be older

    @property
    def first(self) -> Hit | None:
        """The first commit that brought it."""
        return next((each for each in self.hits if not each.removed), None)


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line of a file and the commit that it is from."""

    number: int  # from 1
    text: str  # without its line end
    revision: str  # the commit's object name; empty where it is in none yet
    path: str  # what the file was called then
    line: int  # where the line stood in it then, from 1
    taught: tuple[Taught, ...] = ()
    """By the provenance of the line, otherwise by its commit."""


@dataclass(frozen=True, slots=True)
class Blame:
    """Where the lines of a file come from."""

    path: str
    lines: tuple[BlamedLine, ...]
    commits: tuple[Entry, ...]  # those that the lines name, newest first; ``files`` is not counted
    shallow: bool = False  # the clone is: lines of its first commit may be older

    def commit_of(self, line: BlamedLine) -> Entry | None:
        """The commit of a line; ``None`` where it is in none yet."""
        return next((each for each in self.commits if each.revision == line.revision), None)


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why a file, or all of it, keeps something from being undone."""

    path: str  # empty where no single file is meant
    why: str  # one clause
    hint: str = ""


@dataclass(frozen=True, slots=True)
class UndoneFile:
    """What an undo makes of a file."""

    path: str  # as it is called now
    after: str | None  # sha256 of what it will hold; ``None``: it goes
    diff: FileDiff
    merged: bool = False  # it was changed elsewhere since, and keeps that


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What the undo of a commit would do; nothing is written."""

    entry: Entry  # the commit to be undone
    head: str  # the newest commit, on which the plan was made
    files: tuple[UndoneFile, ...]
    kept: tuple[Blocked, ...]  # files of the commit that stay as they are, which keeps nothing from it
    blocked: tuple[Blocked, ...]  # while there are any, nothing can be undone
    passed: tuple[Entry, ...] = ()  # newer commits that could not be undone, where none was named

    @property
    def can_apply(self) -> bool:
        """Whether there is something to undo, and nothing against it."""
        return bool(self.files) and not self.blocked


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo has written."""

    entry: Entry  # the commit that was undone
    revision: str  # the commit that undid it
    paths: tuple[str, ...]
