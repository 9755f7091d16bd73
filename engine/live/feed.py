"""What happened lately, as lines a face can list: turns, tool calls, file changes, commits, errors."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from engine.activation.trace import Trace
from engine.errors import RepositoryError
from engine.events import (
    AgentTold,
    Committed,
    EngineEvent,
    ErrorReported,
    FileChanged,
    FlushDue,
    Flushed,
    JobEnded,
    Signal,
    TopicsReloaded,
    TurnArrived,
    TurnTraced,
)
from engine.startup.records import dataclass
from engine.transcripts.turn import KnowledgeChange, Turn

if TYPE_CHECKING:
    from engine.context.flush_record import FlushRecord
    from engine.conversations.conversations import Conversations
    from engine.store.repository import Repository

FeedKind = Literal[
    "user",
    "agent",
    "tool",
    "system",
    "memory",
    "file",
    "topics",
    "cron",
    "webhook",
    "commit",
    "flush",
    "job",
    "hook",
    "error",
]

KEPT_ENTRIES = 20_000

_MOST_FILES = 40
_MOST_COMMITS = 20


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One line of the feed."""

    at: datetime  # UTC
    kind: FeedKind
    text: str  # a face shows the first line
    note: str = ""  # the short right-hand note: the first active topic, a revision, what was done
    key: str = ""  # what ``Engine.trace_of`` and ``Engine.compile_of`` take; empty where there is no trace


def entry_of_turn(turn: Turn, at: datetime, key: str) -> FeedEntry:
    """A turn as a line: what was said, else what was done."""
    if not turn.is_dialogue:
        changes = [block for block in turn.blocks if isinstance(block, KnowledgeChange)]
        said = "; ".join(f"{change.path} {change.summary}".strip() for change in changes) or turn.text
        return FeedEntry(at, "memory", said, changes[0].action if changes else "")
    text = turn.text
    if turn.tools and not text:
        tool = turn.tools[-1]
        arrow = f" → {tool.result}" if tool.result else ""
        return FeedEntry(at, "tool", f"{tool.name} {tool.summary}{arrow}", key=key)
    return FeedEntry(at, turn.role, text, key="" if turn.role == "system" else key)


def entry_of(event: EngineEvent) -> FeedEntry | None:
    """The line an event adds to the feed; ``None`` for events that only change other things."""
    match event:
        case TurnArrived(at=at, key=key, turn=turn):
            return entry_of_turn(turn, at, key)
        case Signal(at=at, key=key, source=source, event=name):
            return FeedEntry(at, "cron" if source == "cron" else "webhook", f"{source} {name}", key=key)
        case FileChanged(at=at, path=path, change=change):
            return FeedEntry(at, "file", path, change)
        case TopicsReloaded(at=at, changed=changed, problems=problems):
            if problems:
                return FeedEntry(at, "error", "; ".join(str(problem) for problem in problems), "topics")
            return FeedEntry(at, "topics", ", ".join(changed), "reloaded")
        case FlushDue(at=at, first=first, last=last):
            return FeedEntry(at, "flush", _turns(first, last), "flushing")
        case Flushed(at=at, record=record):
            return _entry_of_flush(at, record)
        case Committed(at=at, revision=revision, subject=subject):
            return FeedEntry(at, "commit", subject, revision[:7])
        case JobEnded(at=at, job=job, result="done" | "interrupted" as result, said=said):
            return FeedEntry(at, "job", f"{job}: {said}", result)
        case AgentTold(at=at, agent=agent, tokens=tokens, labels=labels, said=said):
            note = f"{tokens:,} tok" if tokens else ""
            return FeedEntry(at, "hook", f"{in_words(labels) if tokens else said} · {agent}", note)
        case ErrorReported(at=at, text=text):
            return FeedEntry(at, "error", text)
        case _:
            return None


def _entry_of_flush(at: datetime, record: FlushRecord) -> FeedEntry:
    said: list[str] = []
    if record.items:
        said.append("1 note" if len(record.items) == 1 else f"{len(record.items)} notes")
    if record.held:
        said.append(f"{len(record.held)} held for review")
    if record.error:
        said.append(record.error)
    if record.status == "nothing" and not said:
        said.append("nothing worth keeping")
    if record.redacted:
        said.append("1 secret redacted" if record.redacted == 1 else f"{record.redacted} secrets redacted")
    return FeedEntry(at, "flush", f"{_turns(record.first, record.last)}: {', '.join(said)}", record.status)


def _turns(first: int, last: int) -> str:
    return f"turn {first}" if first == last else f"turns {first}–{last}"


def in_words(labels: Iterable[str]) -> str:
    """What an agent was told, by the labels of its sections: ``release, checklist.md, 2 excerpts``."""
    names: dict[str, None] = {}
    excerpts = 0
    for label in labels:
        kind, _, name = label.partition(":")
        if kind == "knowledge" and name:
            excerpts += 1
        elif kind == "steering":
            names["a correction"] = None
        else:
            names[kind if kind in ("rules", "catalog") else name.rpartition("/")[2] or kind] = None
    if excerpts:
        names["1 excerpt" if excerpts == 1 else f"{excerpts} excerpts"] = None
    return ", ".join(names)


def note_of(trace: Trace) -> str:
    """The right-hand note of a traced message: what fired first, and how many more."""
    if trace.corrections:
        return f"steer {trace.corrections[0].topic}"
    active = trace.active
    if not active:
        return ""
    return active[0] if len(active) == 1 else f"{active[0]} +{len(active) - 1}"


class FeedLog:
    """The recent past, oldest first, in memory: every line of it comes from a file or an event.

    Safe to use from several threads. Holds at most ``KEPT_ENTRIES`` lines.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._entries: OrderedDict[str, FeedEntry] = OrderedDict()
        self._numbers = 0
        self._late: dict[str, None] = {}

    def fill(self, entries: Iterable[FeedEntry]) -> None:
        """Puts the past before everything that has been taken since the log was made."""
        with self._guard:
            later = self._entries
            self._entries = OrderedDict()
            for entry in entries:
                self._add(entry)
            for name, entry in later.items():
                self._entries.pop(name, None)
                self._entries[name] = entry

    def take(self, event: EngineEvent) -> None:
        """Adds what an event says. A turn that grew replaces its line; the same file twice is one line."""
        with self._guard:
            if isinstance(event, TurnTraced):
                known = self._entries.get(event.key)
                if known is not None:
                    self._entries[event.key] = replace(known, note=note_of(event.trace))
                return
            entry = entry_of(event)
            if entry is None:
                return
            name = ""
            if isinstance(event, FlushDue):
                name = f"flush {event.path} {event.first}"
            elif isinstance(event, Flushed):
                name = f"flush {event.record.path} {event.record.first}"
            if name:
                # What came of a flush stands where, and in place of, what said that it is under way.
                self._entries.pop(name, None)
                self._entries[name] = entry
                return
            if entry.kind == "file" and self._entries:
                last_name, last = next(reversed(self._entries.items()))
                if last.kind == "file" and last.text == entry.text:
                    self._entries[last_name] = entry
                    return
            self._add(entry)
            if isinstance(event, TurnArrived) and event.past:
                self._late[event.key] = None

    def _put_in_place(self) -> None:
        """Moves what came late to where it belongs by its time; the others keep their order."""
        late = [(name, self._entries.pop(name)) for name in self._late if name in self._entries]
        self._late.clear()
        late.sort(key=lambda item: item[1].at, reverse=True)
        placed: OrderedDict[str, FeedEntry] = OrderedDict()
        for name, entry in self._entries.items():
            while late and late[-1][1].at <= entry.at:
                placed.update([late.pop()])
            placed[name] = entry
        placed.update(reversed(late))
        self._entries = placed

    def _add(self, entry: FeedEntry) -> None:
        self._numbers += 1
        name = entry.key or f"line {self._numbers}"
        known = self._entries.get(name)
        if known is not None:
            entry = replace(entry, at=known.at, note=known.note)
        self._entries[name] = entry
        while len(self._entries) > KEPT_ENTRIES:
            self._entries.popitem(last=False)

    def recent(self, limit: int) -> list[FeedEntry]:
        """The last ``limit`` lines, oldest first."""
        with self._guard:
            if self._late:
                self._put_in_place()
            if limit >= len(self._entries):
                return list(self._entries.values())
            newest = [entry for entry, _ in zip(reversed(self._entries.values()), range(limit), strict=False)]
        return newest[::-1]

    def at(self, key: str) -> FeedEntry | None:
        """The line with a key."""
        with self._guard:
            return self._entries.get(key)


def recent_past(conversations: Conversations, repository: Repository, limit: int) -> list[FeedEntry]:
    """The last turns and commits, for a feed to begin with, oldest first.

    ``limit`` is about the number of lines; of the newest 40 conversations at most.
    """
    entries: list[FeedEntry] = []
    for path in conversations.newest(_MOST_FILES):
        conversation = conversations.read(path)
        if conversation is None:
            continue
        numbered = enumerate(zip(conversation.turns, conversation.times, strict=True), conversation.first)
        entries += [entry_of_turn(turn, at, f"{path}#{ordinal}") for ordinal, (turn, at) in numbered]
        if len(entries) >= limit:
            break
    try:
        commits = repository.log(_MOST_COMMITS)
    except RepositoryError:
        commits = []
    # Oldest first already here: commits of one second stay in their order.
    entries += [
        FeedEntry(commit.at, "commit", commit.subject, commit.revision[:7]) for commit in reversed(commits)
    ]
    entries.sort(key=lambda entry: entry.at)
    return entries[-limit:]
