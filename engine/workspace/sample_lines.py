"""Dates each line of the sample from its content (spec 3.6).

A line of knowledge names its conversation, a line of MEMORY.md its day, and a journal has a date. Any other
line dates from the first mention of its subject: an issue, a version, a gauge, a table. An earlier version of
a file is the current one without the later lines, and with the earlier text of a few lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.commits.kinds import FileChange, kind_of
from engine.context.fixed import JOURNAL
from engine.context.sources import MEMORY
from engine.knowledge.category_files import provenance_of
from engine.knowledge.harvest.reading import safe_name
from engine.lifecycle.condensing.weeks import DECISIONS
from engine.transcripts.days import iso
from engine.transcripts.places import list_transcripts

if TYPE_CHECKING:
    from engine.knowledge.ledger import LedgerEntry
    from engine.store.files import Files

SESSION, INTERVAL, HAND, HARVEST, TRASH, ROLL_UP = range(6)
"""Kinds of commits, in the order of commits made at the same time."""

_EVENING = time(16, tzinfo=UTC)
_SUNDAY_NIGHT = time(23, 15, tzinfo=UTC)
_INTERVAL_S = 30 * 60
_UNTIL_HARVEST = timedelta(hours=1)
_UNTIL_RECLAIMED = timedelta(minutes=5)
_DAY = re.compile(r"(?<![0-9-])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_NAMED = r"#\d{3}\b|\b00\d\d\b|\b0\.1\d(?:\.\d)?\b|\b[A-Z]{3}-\d\d\b"
"""Issues, migrations, versions, gauges."""
_UPDATED = re.compile(r"(?<=\nupdated: )\S+")
_LENGTH = re.compile(r"(?<=\nline_count: )\d+")
_HEADING = re.compile(r"(#{1,6}) (.*)")
_LISTED = re.compile(r"\s*(?:[-*] |\d+\. |\|)")


class CommitKey(NamedTuple):
    """Identifies a commit; sorts by time."""

    at: datetime
    kind: int = INTERVAL
    name: str = ""  # distinguishes commits with the same time and kind


@dataclass(frozen=True, slots=True)
class Session:
    """A session or another conversation."""

    path: str
    started: datetime
    ended: datetime
    text: str


@dataclass(frozen=True, slots=True)
class _Change:
    """A text in a file, and the text it replaced."""

    when: CommitKey
    was: str
    now: str


class Calendar:
    """When things in the sample's month happened and were first mentioned.

    Args:
        data: ``sample/month.json``.
        known: The ledger's entries.
    """

    def __init__(self, files: Files, data: Mapping[str, Any], known: Iterable[LedgerEntry]) -> None:
        self._files = files
        self._sessions = sorted(_sessions(files), key=lambda session: session.ended)
        self.ends = {session.path: session.ended for session in self._sessions}
        """End times of sessions, by transcript."""
        self.last = self._sessions[-1].ended
        self._last_of_day = {ended.date(): ended for ended in self.ends.values()}
        self._named = {_provenance_name(session): session for session in self._sessions}
        self._harvests: dict[str, CommitKey] = {}
        others: list[Session] = []
        for each in known:
            at = datetime.fromisoformat(each.at)
            if each.status == "harvested":
                self._harvests[safe_name(each.path)] = CommitKey(at, HARVEST, each.path)
                if safe_name(each.path) not in self._named:
                    others.append(_session(files, each.path, at - _UNTIL_HARVEST, at - _UNTIL_HARVEST))
        self._begins = {path: each for each in data["begins"] for path in each["paths"]}
        self._changes: dict[str, list[_Change]] = {}
        for each in data["changes"]:
            change = _Change(self._commit_for(each, each["path"]), each["was"], each["is"])
            self._changes.setdefault(each["path"], []).append(change)
        self._followed: dict[CommitKey, list[str]] = {}
        self._names = re.compile("|".join((_NAMED, *sorted(map(re.escape, data["words"]), reverse=True))))
        self._first: dict[str, CommitKey] = {}
        for when, text in sorted(self._texts(others), key=lambda dated: dated[0]):
            for name in self._names.findall(text):
                self._first.setdefault(name, when)

    def _texts(self, others: Sequence[Session]) -> Iterator[tuple[CommitKey, str]]:
        """The texts of conversations and journals, with the commit that follows them."""
        for session in (*self._sessions, *others):
            evening = self.evening(session.ended.date())
            for when in {self.after(session.ended), max(self.after(session.ended), evening)}:
                self._followed.setdefault(when, []).append(session.path)
            yield self.after(session.ended), session.text
        for place in self._files.workspace.journal.glob("????-??-??.md"):
            yield self.evening(date.fromisoformat(place.stem)), place.read_text("utf-8")

    @property
    def last_harvest(self) -> datetime:
        """The end of the last harvest."""
        return max(self._harvests.values()).at + _UNTIL_RECLAIMED

    def sessions_before(self, when: CommitKey) -> Sequence[str]:
        """The paths of the conversations that precede a commit of knowledge."""
        return self._followed.get(when, ())

    def after(self, at: datetime, path: str = "") -> CommitKey:
        """The next commit of knowledge after a time, for files of the same kind as ``path``."""
        ends = datetime.fromtimestamp((at.timestamp() // _INTERVAL_S + 1) * _INTERVAL_S, UTC)
        return CommitKey(min(ends, self.last), name=_separate_kind(path))

    def evening(self, day: date, path: str = "") -> CommitKey:
        """The commit of a day's journal, after the day's last session."""
        evening = datetime.combine(day, _EVENING) - timedelta(seconds=1)
        return self.after(max(evening, self._last_of_day.get(day, evening)), path)

    def _commit_for(self, data: Mapping[str, Any], path: str) -> CommitKey:
        """The commit for an item of ``sample/month.json``, which has a time or a day."""
        if "says" in data:
            return CommitKey(datetime.fromisoformat(data["at"]), HAND, data["says"])
        if _DAY.fullmatch(data["at"]):
            return self.evening(date.fromisoformat(data["at"]), path)
        return self._commit_after(datetime.fromisoformat(data["at"]), path)

    def versions(self, path: str, data: bytes) -> Iterator[tuple[CommitKey, bytes]]:
        """The versions of a file and their commits; the last one is the current file."""
        if not path.endswith(".md"):
            yield self._begin(path), data
            return
        texts = [(self._begin(path), data.decode("utf-8"))]
        for change in reversed(self._changes.get(path, ())):
            start, text = texts[0]
            assert text.count(change.now) == 1, f"{path}: {change.now}"
            texts[:1] = [(start, text.replace(change.now, change.was)), (change.when, text)]
        before = ""
        ends = (*(start for start, _ in texts[1:]), None)
        for (start, text), end in zip(texts, ends, strict=True):
            lines = _Lines(self, path, text, is_last=end is None)
            for when in sorted(
                each for each in {start, *lines.commits} if start <= each and (not end or each < end)
            ):
                known = lines.until(when)
                if known and known != before:
                    yield when, known.encode()
                    before = known

    def earlier(self, path: str, text: str, when: CommitKey) -> str:
        """A text in a file as of a commit."""
        for change in self._changes.get(path, ()):
            if when < change.when and change.now in text:
                text = text.replace(change.now, change.was)
        return text

    def _begin(self, path: str) -> CommitKey:
        name = max((each for each in self._begins if path.startswith(each)), key=len)
        return self._commit_for(self._begins[name], path)

    def commit_of(self, path: str, section: str, line: str) -> CommitKey:
        """The commit of a line below the heading ``section``."""
        if (provenance := provenance_of(line)) is not None:
            name, harvested = provenance
            if name in self._harvests:
                return self._harvests[name]
            session, on = self._named[name], date.fromisoformat(harvested)
            when = self.after(session.ended) if session.ended.date() == on else self.evening(on)
            self._followed.setdefault(when, []).append(session.path)
            return when
        if path.startswith(f"{JOURNAL}/"):
            return self.evening(date.fromisoformat(PurePosixPath(path).stem))
        days = [day for each in _DAY.findall(line) if (day := date.fromisoformat(each)) <= self.last.date()]
        if path == MEMORY:
            sunday = days[0] + timedelta(days=7 - days[0].isoweekday())
            if section in DECISIONS and sunday < self.last.date():
                return CommitKey(datetime.combine(sunday, _SUNDAY_NIGHT), ROLL_UP, f"{sunday:%G-W%V}")
            return self.evening(days[0])
        begin = self._begin(path)
        if begin.kind == HAND:
            return begin
        names = self._names.findall(f"{section}\n{line}")
        found = [self._first[name] for name in names if name in self._first]
        found += [self.evening(day) for day in days]
        return max([begin, *(CommitKey(each.at, name=_separate_kind(path)) for each in found)])

    def updated(self, path: str, at: datetime) -> CommitKey:
        """The first commit with a file's ``updated`` time."""
        changed = (change.when for change in self._changes.get(path, ()))
        by_hand = (when for when in changed if when.at == at and when.kind == HAND)
        return next(by_hand, self._commit_after(at, path))

    def _commit_after(self, at: datetime, path: str) -> CommitKey:
        """The commit of knowledge after a time, or after the session running at that time."""
        ends = (session.ended for session in self._sessions if session.started <= at <= session.ended)
        return self.after(next(ends, at), path)


@lru_cache
def _separate_kind(path: str) -> str:
    """The kind of the commit of a file, if it is not committed together with knowledge."""
    kind = kind_of([FileChange(path, None, b"")])
    return "" if kind in ("memory", "conversation") else kind


def _sessions(files: Files) -> Iterator[Session]:
    for each in list_transcripts(files.workspace):
        started, ended = map(datetime.fromisoformat, (each.started, each.ended))
        yield _session(files, each.path, started, ended)


def _session(files: Files, path: str, started: datetime, ended: datetime) -> Session:
    return Session(path, started, ended, files.read(path).decode("utf-8"))


def _provenance_name(session: Session) -> str:
    """A session's name in provenance: its day and slug."""
    return f"{session.started.date()}-{PurePosixPath(session.path).stem.split('-', 2)[2]}"


class _Lines:
    """The lines of a file and the commit of each."""

    def __init__(self, calendar: Calendar, path: str, text: str, *, is_last: bool) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._body = self._lines.index("---", 1) + 1 if text.startswith("---\n") else 0
        self._path = path
        self._calendar = calendar
        self._commits = self._dated()
        found = _UPDATED.search(text) if self._body else None
        self._updated = datetime.fromisoformat(found[0]) if found else None
        if self._updated is not None and is_last:
            self._move_updated(calendar.updated(path, self._updated))

    @property
    def commits(self) -> set[CommitKey]:
        """The commits of the lines."""
        return set(self._commits.values())

    def _dated(self) -> dict[int, CommitKey]:
        """The commits of the body's non-blank lines, by number."""
        commits: dict[int, CommitKey] = {}
        sections = list(self._sections())
        for number in range(len(self._lines) - 1, self._body - 1, -1):
            line = self._lines[number]
            if line:
                introduced = [commits[each] for each in self._introduced_by(number) if each in commits]
                commits[number] = (
                    min(introduced)
                    if introduced
                    else self._calendar.commit_of(self._path, sections[number], line)
                )
        return commits

    def _sections(self) -> Iterator[str]:
        title = ""
        for line in self._lines:
            if (heading := _HEADING.fullmatch(line)) is not None:
                title = heading[2]
            yield title

    def _introduced_by(self, number: int) -> Iterator[int]:
        """The lines introduced by a heading, a table header, or a line directly above a list."""
        heading = _HEADING.fullmatch(self._lines[number])
        for below in range(number + 1, len(self._lines)):
            line = self._lines[below]
            if heading is not None:
                other = _HEADING.fullmatch(line)
                if other is not None and len(other[1]) <= len(heading[1]):
                    return
            elif not _LISTED.match(line) or not self._introduces(number):
                return
            yield below

    def _introduces(self, number: int) -> bool:
        """Whether a line that is not a heading introduces those below it."""
        line, below = self._lines[number], self._lines[number + 1]
        return line.startswith("|--") or below.startswith("|--") or not _LISTED.match(line)

    def _move_updated(self, when: CommitKey) -> None:
        """Moves lines dated to the day of the last update to that commit; if there are none, the last line
        before it.
        """
        earlier = [(number, each) for number, each in self._commits.items() if each < when]
        same = [number for number, each in earlier if each.at.date() == when.at.date()]
        if not same and when not in self._commits.values():
            same = [number for number, _ in earlier][:1]  # the last line comes first
        self._commits.update(dict.fromkeys(same, when))

    def until(self, when: CommitKey) -> str:
        """The text as of a commit; empty if the file did not exist."""
        kept = [number for number, each in self._commits.items() if each <= when]
        if not kept:
            return ""
        text = self._text if len(kept) == len(self._commits) else "\n".join(self._with_blanks({*kept}))
        if self._updated is not None and when < self._calendar.updated(self._path, self._updated):
            text = _UPDATED.sub(iso(when.at), text, count=1)
        return _LENGTH.sub(str(text.count("\n")), text, count=1)

    def _with_blanks(self, kept: set[int]) -> Iterator[str]:
        """The header, the kept lines, and at most one blank line between them."""
        yield from self._lines[: self._body]
        was_blank = False
        for number in range(self._body, len(self._lines)):
            if number in kept:
                if was_blank:
                    yield ""
                was_blank = False
                yield self._lines[number]
            elif not self._lines[number]:
                was_blank = True
        yield ""
