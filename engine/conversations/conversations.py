"""Reads the conversations of a workspace and gives each of their turns a key."""

from __future__ import annotations

import contextlib
import heapq
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.activation.trace import Message
from engine.errors import AutopoiesisError, NoSession, PathRefused
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.files import Files
from engine.store.paths import Workspace, valid_session_id
from engine.transcripts.chats.any import read_text
from engine.transcripts.days import following, moment
from engine.transcripts.format import parse
from engine.transcripts.places import AUTHOR_FIELD, SUFFIXES, find_session, head_fields, read_head
from engine.transcripts.tail import Tail
from engine.transcripts.turn import Turn

WINDOW = 4 * 1024 * 1024
"""Bytes read from the end of a longer conversation."""

_KEPT_OPEN = 64
_A_SESSION = timedelta(days=1)
"""Time since the start within which a file is taken to have been written with its last turn."""
_FOLDERS = ("raw/conversations/", "conversations/")
_DATED_NAME = expression(r"/(\d{4})-(\d\d)-(\d\d)[^/]*$")
_TIMESTAMP = expression(rb'"timestamp":\s*"([^"]{10,40})"')
_DATED_PATH = expression(r"/(\d{4})/(\d\d)/(\d\d)/(\d\d)(\d\d)-[^/]*$")
_TOOL_PATH = expression(r"[\w./~-]*(?:/[\w.~-]+|\w\.[A-Za-z]\w{0,7})(?![\w/])")
_PATHS_PER_MESSAGE = 50


@dataclass(frozen=True, slots=True)
class TurnKey:
    """Names one turn of one conversation: ``{path}#{ordinal}``, counted from 0."""

    path: str
    ordinal: int

    @classmethod
    def of(cls, key: str) -> TurnKey | None:
        """Parses a key; ``None`` if it is malformed."""
        path, _, ordinal = key.rpartition("#")
        return cls(path, int(ordinal)) if path and ordinal.isdecimal() else None

    def __str__(self) -> str:
        return f"{self.path}#{self.ordinal}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as written so far."""

    path: str
    session_id: str  # empty if the file names none
    started: datetime  # the earliest time of the first of ``turns``, UTC
    turns: tuple[Turn, ...]  # in file order; only the last ones of a very long conversation
    times: tuple[datetime, ...]  # the time of each turn, UTC
    first: int = 0  # the ordinal of the first of ``turns``

    @property
    def end(self) -> int:
        """The ordinal of the next turn."""
        return self.first + len(self.turns)

    def turn(self, ordinal: int) -> Turn | None:
        """The turn at an ordinal; ``None`` if there is none, or it is too far back."""
        return self.turns[ordinal - self.first] if self.first <= ordinal < self.end else None

    def before(self, ordinal: int) -> tuple[Turn, ...]:
        """The turns before an ordinal, oldest first."""
        return self.turns[: max(ordinal - self.first, 0)]

    def message(self, ordinal: int) -> Message | None:
        """A turn as activation sees it; ``None`` for system turns, non-dialogue and missing turns.

        An agent's turn carries its own tool calls and the paths they name. A person's turn carries the paths
        of the agent's turns since the person last spoke: the files in play.
        """
        turn = self.turn(ordinal)
        if turn is None or turn.role == "system" or not turn.is_dialogue:
            return None
        at = self.times[ordinal - self.first]
        if turn.role == "agent":
            calls = tuple(tool.summary for tool in turn.tools if tool.summary)
            return Message(turn.text, "output", self.session_id, at, tool_paths([turn]), calls=calls)
        return self.as_input(turn.text, at, ordinal)

    def as_input(self, text: str, at: datetime, ordinal: int) -> Message:
        """A text as a person's message at an ordinal, with the files in play."""
        return Message(text, "input", self.session_id, at, tool_paths(self.answer_before(ordinal)))

    def answer_before(self, ordinal: int) -> tuple[Turn, ...]:
        """The turns before an ordinal since a person last spoke, oldest first."""
        before = self.before(ordinal)
        last = next((place for place in range(len(before), 0, -1) if before[place - 1].role == "user"), 0)
        return before[last:]

    def next_ordinal(self, text: str) -> int:
        """The ordinal of a person's next message: the last turn if it already is that message."""
        last = self.turn(self.end - 1)
        is_last = last is not None and last.role == "user" and last.text.split() == text.split()
        return self.end - 1 if is_last else self.end


def tool_paths(turns: Iterable[Turn]) -> tuple[str, ...]:
    """File paths named in the tool calls of some turns, without duplicates, in order, at most 50."""
    found: dict[str, None] = {}
    for turn in turns:
        for tool in turn.tools:
            for match in _TOOL_PATH.finditer(tool.summary):
                found.setdefault(match.group(), None)
    return tuple(found)[:_PATHS_PER_MESSAGE]


def is_conversation(path: str) -> bool:
    """True if a workspace-relative path is that of a conversation."""
    return path.startswith(_FOLDERS) and path.endswith(SUFFIXES) and "/." not in path


@dataclass(slots=True)
class _Open:
    """A conversation that is being followed."""

    tail: Tail
    session_id: str
    started: datetime
    times: list[datetime] = field(default_factory=list)


class Conversations:
    """Reads conversations incrementally. Thread-safe."""

    def __init__(self, workspace: Workspace, files: Files) -> None:
        self._workspace = workspace
        self._files = files
        self._guard = threading.RLock()
        self._open: OrderedDict[str, _Open] = OrderedDict()

    def author(self, path: str) -> str:
        """Whose conversation it is, if another person's; else empty."""
        head = read_head(self._workspace.resolve(path))
        return head_fields(head, (AUTHOR_FIELD,))[AUTHOR_FIELD]

    def read(self, path: str) -> Conversation | None:
        """A conversation as written so far; ``None`` if the file is gone or is not a conversation."""
        if not is_conversation(path):
            return None
        try:
            real = self._workspace.resolve(path)
        except PathRefused:
            return None
        with self._guard:
            if not real.is_file():
                self._open.pop(path, None)
                return None
            known = self._open.get(path)
            if known is None:
                known = self._open[path] = _Open(Tail(real, window=WINDOW), *self._head(path))
                while len(self._open) > _KEPT_OPEN:
                    self._open.popitem(last=False)
            self._open.move_to_end(path)
            tail = known.tail
            if news := tail.read_new():
                self._date(known, news[0] - tail.first)
            times = tuple(known.times[: len(tail.turns)])
            return Conversation(path, known.session_id, known.started, tuple(tail.turns), times, tail.first)

    @staticmethod
    def _date(known: _Open, place: int) -> None:
        """Determines the times of the turns from an index on."""
        tail = known.tail
        if not place and tail.first:
            # The start date of a long conversation says nothing about its end.
            known.started = moment(tail.day) or _day_of_last_change(tail.path, tail.turns[:1])
        at = known.times[place - 1] if place else known.started
        del known.times[place:]
        for turn in tail.turns[place:]:
            at = following(at, turn.time, turn.day)
            known.times.append(at)

    def is_waiting(self, path: str) -> bool:
        """True if the last turn is still being written, so that the file should be read again soon."""
        with self._guard:
            known = self._open.get(path)
            return known is not None and known.tail.waiting

    def turns_within(self, path: str, size: int) -> int:
        """Number of turns in the first ``size`` bytes of a Markdown or text conversation."""
        if path.endswith(".jsonl"):
            return 0
        try:
            data = self._files.read(path)
        except (AutopoiesisError, OSError):
            return 0
        return len(read_text(data[:size], path).turns)

    def sizes(self) -> dict[str, int]:
        """All conversations with their size in bytes."""
        return {path: status.st_size for path, status in self._all()}

    def newest(self, limit: int) -> list[str]:
        """The conversations with the newest last turns, newest first.

        The time of a file says only when it was written here, perhaps by an import or a clone, and so when
        its last turn was at the latest.
        """
        files = sorted(((datetime.fromtimestamp(status.st_mtime, UTC), path) for path, status in self._all()))
        found: list[tuple[datetime, str]] = []  # a heap
        while files and (len(found) < limit or files[-1][0] > found[0][0]):
            changed, path = files.pop()
            heapq.heappush(found, (self._last_turn_at(path, changed), path))
            if len(found) > limit:
                heapq.heappop(found)
        return [path for _, path in sorted(found, reverse=True)]

    def _last_turn_at(self, path: str, changed: datetime) -> datetime:
        """The time of the last turn: from the header, or else from the turns unless the file's time fits."""
        ended = moment(head_fields(read_head(self._workspace.root / path), ("ended",))["ended"])
        if ended is not None:
            return ended
        started = _time_in_path(path)
        if started is not None and changed - started < _A_SESSION:
            return changed
        conversation = self.read(path)
        return conversation.times[-1] if conversation is not None and conversation.times else changed

    def _all(self) -> Iterator[tuple[str, os.stat_result]]:
        for folder in (self._workspace.transcripts, self._workspace.conversations):
            if not self._workspace.holds(self._workspace.relative(folder)):
                continue
            for place, _, names in os.walk(folder):
                for name in names:
                    path = Path(place, name)
                    relative = path.relative_to(self._workspace.root).as_posix()
                    if is_conversation(relative):
                        with contextlib.suppress(OSError):
                            yield relative, path.stat()

    def of_session(self, session_id: str) -> Conversation:
        """The conversation of a session; raises ``NoSession`` if there is none."""
        path = find_session(self._workspace, session_id) if valid_session_id(session_id) else None
        conversation = self.read(path) if path else None
        if conversation is None:
            raise NoSession(
                f"no such session: {session_id}", hint="list sessions with: autopoiesis session list"
            )
        return conversation

    def _head(self, path: str) -> tuple[str, datetime]:
        """Session id and start time: from the header, the path or the first record, else from the mtime."""
        real = self._workspace.root / path
        head = read_head(real)
        fields = head_fields(head, ("session_id", "started"))
        started = moment(fields["started"]) or _time_in_path(path)
        if started is None:
            stamp = _TIMESTAMP.search(head)
            started = moment(stamp.group(1).decode()) if stamp else None
        return fields["session_id"], started or _day_of_last_change(real, parse(head, real.name).turns)


def _time_in_path(path: str) -> datetime | None:
    dated = _DATED_PATH.search(path) or _DATED_NAME.search(path)
    if dated is None:
        return None
    with contextlib.suppress(ValueError):
        year, month, day, hour, minute = map(int, (*dated.groups(), 0, 0)[:5])
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    return None


def _day_of_last_change(real: Path, turns: Sequence[Turn]) -> datetime:
    """The day of the first turn, derived from the first dated heading or else from the file's mtime."""
    for number, turn in enumerate(turns):
        if (day := moment(turn.day)) is not None:
            return day - timedelta(days=1 if number else 0)
    try:
        changed = datetime.fromtimestamp(real.stat().st_mtime, UTC)
    except OSError:
        return datetime.fromtimestamp(0, UTC)
    if not turns or ":" not in turns[0].time:
        return changed
    day = changed.replace(hour=0, minute=0, second=0, microsecond=0)
    return day if following(day, turns[0].time) <= changed else day - timedelta(days=1)
