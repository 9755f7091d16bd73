"""The activity feed: turns, tool calls, file changes, commits and errors as lines to list."""

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
    "past",  # how much of the past the feed starts with
]

KEPT_ENTRIES = 20_000

_SLACK = 1_000
"""Entries more than kept before the oldest are dropped, as late ones must be put in their places first."""
_PAGE = 40
"""Conversations."""
_MAX_COMMITS = 20


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One entry of the feed."""

    at: datetime  # UTC
    kind: FeedKind
    text: str  # only the first line is shown
    note: str = ""  # shown on the right: the first active topic, a revision, an outcome
    key: str = ""  # for ``Engine.trace_of`` and ``Engine.compile_of``; empty if there is no trace


def entry_of_turn(turn: Turn, at: datetime, key: str) -> FeedEntry:
    """The entry for a turn: its text, or else its last tool call."""
    if not turn.is_dialogue:
        changes = [block for block in turn.blocks if isinstance(block, KnowledgeChange)]
        text = "; ".join(f"{change.path} {change.summary}".strip() for change in changes) or turn.text
        return FeedEntry(at, "memory", text, changes[0].action if changes else "")
    text = turn.text
    if turn.tools and not text:
        tool = turn.tools[-1]
        arrow = f" → {tool.result}" if tool.result else ""
        return FeedEntry(at, "tool", f"{tool.name} {tool.summary}{arrow}", key=key)
    return FeedEntry(at, turn.role, text, key="" if turn.role == "system" else key)


def entry_of(event: EngineEvent) -> FeedEntry | None:
    """The entry that an event adds to the feed; ``None`` for events that add none."""
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
            return FeedEntry(at, "hook", f"{describe_labels(labels) if tokens else said} · {agent}", note)
        case ErrorReported(at=at, text=text):
            return FeedEntry(at, "error", text)
        case _:
            return None


def _entry_of_flush(at: datetime, record: FlushRecord) -> FeedEntry:
    parts: list[str] = []
    if record.items:
        parts.append("1 note" if len(record.items) == 1 else f"{len(record.items)} notes")
    if record.held:
        parts.append(f"{len(record.held)} held for review")
    if record.error:
        parts.append(record.error)
    if record.status == "nothing" and not parts:
        parts.append("nothing worth keeping")
    if record.redacted:
        parts.append("1 secret redacted" if record.redacted == 1 else f"{record.redacted} secrets redacted")
    return FeedEntry(at, "flush", f"{_turns(record.first, record.last)}: {', '.join(parts)}", record.status)


def _turns(first: int, last: int) -> str:
    return f"turn {first}" if first == last else f"turns {first}–{last}"


def describe_labels(labels: Iterable[str]) -> str:
    """Names an injection's sections by their labels: ``release, checklist.md, 2 excerpts``."""
    names: dict[str, None] = {}
    excerpts = 0
    for label in labels:
        kind, _, name = label.partition(":")
        if kind == "knowledge" and name:
            excerpts += 1
        elif kind == "steering":
            names["a correction"] = None
        elif kind == "offer":
            names[f"{name} offered"] = None
        else:
            names[kind if kind in ("rules", "catalog") else name.rpartition("/")[2] or kind] = None
    if excerpts:
        names["1 excerpt" if excerpts == 1 else f"{excerpts} excerpts"] = None
    return ", ".join(names)


def note_of(trace: Trace) -> str:
    """The note of a traced message: the first active topic, and the number of others."""
    if trace.corrections:
        return f"steer {trace.corrections[0].topic}"
    active = trace.active
    if not active:
        return ""
    return active[0] if len(active) == 1 else f"{active[0]} +{len(active) - 1}"


class FeedLog:
    """Recent feed entries in memory, oldest first. Thread-safe.

    Beyond ``KEPT_ENTRIES``, and what was added of the past, a new entry drops the oldest.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._entries: OrderedDict[str, FeedEntry] = OrderedDict()
        self._count = 0
        self._kept = KEPT_ENTRIES
        self._rest = ""
        self._out_of_order: dict[str, None] = {}

    def add_past(self, entries: Iterable[FeedEntry], rest: str) -> None:
        """Puts past entries in their places by time; those of them that are there already stay as they are.

        Args:
            rest: How much of the past the feed reaches back to, if that is not all.
        """
        with self._guard:
            self._rest = rest
            for entry in entries:
                name = entry.key or self._new_name()
                if name not in self._entries:
                    self._entries[name] = entry
                    self._out_of_order[name] = None
            self._kept = max(self._kept, len(self._entries))

    def take(self, event: EngineEvent) -> None:
        """Adds an event. A turn that grew replaces its entry; repeated changes of one file are one entry."""
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
                # The result of a flush replaces the entry for its start and moves to the end.
                self._entries.pop(name, None)
                self._entries[name] = entry
                return
            if entry.kind == "file" and self._entries:
                last_name, last = next(reversed(self._entries.items()))
                if last.kind == "file" and last.text == entry.text:
                    self._entries[last_name] = entry
                    return
            if isinstance(event, TurnArrived):
                if event.past and event.key not in self._entries:
                    self._out_of_order[event.key] = None
                self._add(entry, event.key)
            else:
                self._add(entry)

    def _place_late_entries(self) -> None:
        """Moves entries that arrived late to their place by time; the others keep their order."""
        late = [(name, self._entries.pop(name)) for name in self._out_of_order if name in self._entries]
        self._out_of_order.clear()
        late.reverse()  # of those at the same time, the first is placed first
        late.sort(key=lambda item: item[1].at, reverse=True)
        placed: OrderedDict[str, FeedEntry] = OrderedDict()
        for name, entry in self._entries.items():
            while late and late[-1][1].at <= entry.at:
                placed.update([late.pop()])
            placed[name] = entry
        placed.update(reversed(late))
        self._entries = placed

    def _put_in_order(self) -> None:
        """Places late entries and drops the oldest if there are too many."""
        if self._out_of_order:
            self._place_late_entries()
        while len(self._entries) > self._kept:
            self._entries.popitem(last=False)

    def _add(self, entry: FeedEntry, name: str = "") -> None:
        name = name or entry.key or self._new_name()
        known = self._entries.get(name)
        if known is not None:
            entry = replace(entry, at=known.at, note=known.note)
        self._entries[name] = entry
        if len(self._entries) > self._kept + _SLACK:
            self._put_in_order()

    def _new_name(self) -> str:
        self._count += 1
        return f"entry {self._count}"

    def recent(self, limit: int) -> list[FeedEntry]:
        """The last ``limit`` entries, oldest first."""
        with self._guard:
            self._put_in_order()
            if limit >= len(self._entries):
                entries = list(self._entries.values())
                rest = [FeedEntry(entries[0].at, "past", self._rest)] if entries and self._rest else []
                return [*rest, *entries]
            newest = [entry for entry, _ in zip(reversed(self._entries.values()), range(limit), strict=False)]
        return newest[::-1]


class Past:
    """The turns and commits of the past, in pages from the newest on."""

    def __init__(self, conversations: Conversations, repository: Repository) -> None:
        self._conversations = conversations
        self._repository = repository
        self._read: set[str] = set()

    def next_page(self) -> tuple[list[FeedEntry], str]:
        """The turns of the newest conversations that were not read yet, 40 or fewer long ones, and how much
        of the past was read if that is not all. The first page has the newest commits, too.
        """
        newest = self._conversations.newest(len(self._read) + _PAGE)
        entries: list[FeedEntry] = []
        read = set(self._read)
        for path in [each for each in newest if each not in read][:_PAGE]:
            read.add(path)
            conversation = self._conversations.read(path)
            if conversation is None:
                continue
            numbered = enumerate(zip(conversation.turns, conversation.times, strict=True), conversation.first)
            entries += [entry_of_turn(turn, at, f"{path}#{ordinal}") for ordinal, (turn, at) in numbered]
            if len(entries) >= KEPT_ENTRIES:
                break
        if not self._read:
            entries += self._commits()
        self._read = read
        known = self._conversations.sizes().keys()
        rest = f"newest {len(known & read):,} of {len(known):,} conversations" if known - read else ""
        return entries, rest

    def _commits(self) -> list[FeedEntry]:
        try:
            commits = self._repository.log(_MAX_COMMITS)
        except RepositoryError:
            return []
        # Reversed, so that commits made within the same second keep their order.
        return [FeedEntry(each.at, "commit", each.subject, each.revision[:7]) for each in reversed(commits)]
