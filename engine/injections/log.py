"""The injection log (design 2): used prompts, and what the replies showed about them.

``logs/injections-YYYY-MM.jsonl``, append-only. Notes about an injection are separate records with its id, and
are joined when reading.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING

from engine.activation.decisions import hash_of
from engine.context.compiled import OFFER_LINES
from engine.context.delimiters import one_line
from engine.redaction.detect import redacted
from engine.startup.records import dataclass
from engine.store.monthly import MonthlyLog
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.context.compiled import Compiled, Section
    from engine.store.files import Files
    from engine.store.monthly import Record

KIND = "injections"
RECENT_BYTES = 256 * 1024
"""Injections further from the end of a month's file, or older than last month, no longer wait for a reply."""


@dataclass(frozen=True, slots=True)
class FileUse:
    """How often a file was injected, and useful."""

    path: str
    useful: int  # injections in which it was useful
    injected: int  # injections that held it
    tokens: int  # in all of them
    last_useful: str  # ISO 8601, UTC; empty for never


class InjectionLog:
    """Writes and reads the injection log of a workspace. Safe to use from several threads."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.months = MonthlyLog(files, KIND, clock)
        self._guard = threading.Lock()
        self._stamp: object = None
        self._recent: tuple[Injection, ...] = ()

    def record(
        self,
        compiled: Compiled,
        message: str,
        *,
        session_id: str = "",
        turn: str = "",
        rules: RulesShown | None = None,
        by: str = "",
    ) -> Injection:
        """Records a used prompt.

        Args:
            turn: The key that its turn is expected to have.
            rules: The rules in it, if known.
            by: The agent whose hook injected it.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        injection = Injection(
            id=os.urandom(8).hex(),
            at=self._clock().isoformat(),
            session_id=session_id,
            turn=turn,
            message_hash=message_hash(message),
            tokens=compiled.tokens,
            budget=compiled.budget,
            sections=injected(compiled.sections, explained=bool(by)),
            rules=rules,
            by=by,
        )
        self.months.append(record_of_injection(injection))
        return injection

    def note(
        self, injection: Injection, turn: str, was_useful: Iterable[bool | None], *, finished: bool
    ) -> Injection:
        """Records what an exchange showed about an injection, unless it is already known.

        ``turn`` is the key of the message, ``finished`` whether the exchange is over.

        Returns:
            The updated injection.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        note = UseNote(injection.id, self._clock().isoformat(), turn, tuple(was_useful), (), finished)
        return self._append(injection, note)

    def judge(self, injection: Injection, was_useful: Iterable[bool | None]) -> Injection:
        """Records a person's judgement of the sections, None for those not judged; else like ``note``."""
        at, states = self._clock().isoformat(), tuple(was_useful)
        note = UseNote(injection.id, at, injection.turn, states, (), False, by_person=True)
        return self._append(injection, note)

    def _append(self, injection: Injection, note: UseNote) -> Injection:
        known = noted(injection, note)
        if known == injection:
            return injection
        before, now = (dict.fromkeys(each.path for each in one.useful) for one in (injection, known))
        states = note.was_useful if note.by_person else tuple(each.was_useful for each in known.sections)
        new = tuple(path for path in now if path not in before)
        gone = tuple(path for path in before if path not in now)
        self.months.append(record_of_note(replace(note, was_useful=states, paths=new, gone=gone)))
        return known

    def recent(self) -> tuple[Injection, ...]:
        """The recent injections, oldest first; cached until the log changes."""
        with self._guard:
            stamp = self.months.stamp()
            if stamp != self._stamp:
                self._recent = tuple(self.backwards(RECENT_BYTES, 2))[::-1]
                self._stamp = stamp
            return self._recent

    def unfinished(self) -> tuple[Injection, ...]:
        """The recent injections whose exchanges are not over, oldest first."""
        return tuple(injection for injection in self.recent() if not injection.finished)

    def of_session(self, session_id: str, since: str) -> tuple[Injection, ...]:
        """The recent injections of a session since a time (ISO 8601), as they were recorded, newest first."""
        found = self.backwards(RECENT_BYTES, 2, lambda line: session_id.encode() in line)
        return tuple(each for each in found if each.session_id == session_id and each.at >= since)

    def last(self, count: int) -> tuple[Injection, ...]:
        """The last injections, newest first."""
        return tuple(itertools.islice(self.backwards(), count))

    def by_file(self) -> tuple[FileUse, ...]:
        """Every file that was injected, most useful first; reads the whole log."""
        injected_in, tokens, useful = Counter[str](), Counter[str](), Counter[str]()
        last: dict[str, str] = defaultdict(str)
        for record in self.months.records():
            entry = entry_of(record)
            if isinstance(entry, Injection):
                injected_in.update({section.path for section in entry.sections})
                for section in entry.sections:
                    tokens[section.path] += section.tokens
            elif entry is not None:
                useful.update(entry.paths)
                for path in entry.paths:
                    last[path] = max(last[path], entry.at)
                useful.subtract(entry.gone)
        found = (
            FileUse(path, useful[path], injected_in[path], tokens[path], last[path])
            for path in {*injected_in, *useful}
        )
        return tuple(sorted(found, key=lambda use: (-use.useful, -use.injected, use.path)))

    def backwards(
        self,
        limit: int | None = None,
        months: int | None = None,
        may_match: Callable[[bytes], bool] | None = None,
    ) -> Iterator[Injection]:
        """Every injection, newest first, read lazily; arguments as for ``MonthlyLog.backwards``."""
        # Backwards, the notes about an injection come before it.
        notes: dict[str, list[UseNote]] = defaultdict(list)
        seen: set[str] = set()
        for record in self.months.backwards(limit, months, may_match):
            entry = entry_of(record)
            if isinstance(entry, UseNote):
                notes[entry.injection].append(entry)
            elif entry is not None and entry.id not in seen:
                seen.add(entry.id)
                for note in reversed(notes.pop(entry.id, [])):
                    entry = noted(entry, note)
                yield entry


def useful_places(injection: Injection) -> tuple[str, ...]:
    """The useful sections of an injection, as ``path:lines``."""
    return tuple(map(place_of, injection.useful))


def place_of(section: InjectedSection) -> str:
    return f"{section.path}:{section.lines}" if section.lines else section.path


RECORDED_PRIORITIES = (2, 3)
"""Topics with their subscriptions, and search results: the sections chosen for a message."""

WHY_CHARACTERS = 120
"""Recorded of the reason for a section."""

_HASH_CHARACTERS = 32
_HASHED_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class InjectedSection:
    """A section of a prompt, without its text."""

    path: str
    lines: str  # as in ``Section``; empty for the whole file
    priority: int  # 2 or 3
    tokens: int  # of its text
    score: float | None  # relevance, if it was ranked
    was_useful: bool | None = None  # whether the reply used it; None if not known yet
    why: str = ""  # the reason, at most ``WHY_CHARACTERS``; empty if not recorded
    judged: bool = False  # whether ``was_useful`` is a person's judgement

    @property
    def is_offer(self) -> bool:
        """Whether it only tells of a playbook that may apply, and is useful if the agent opens it."""
        return self.priority == 2 and self.lines == OFFER_LINES


@dataclass(frozen=True, slots=True)
class RulesShown:
    """The rules in a prompt."""

    held: tuple[str, ...]  # ids
    called: tuple[str, ...]  # of these, the ones triggered by the message
    tokens: int  # of all of them


@dataclass(frozen=True, slots=True)
class Injection:
    """A prompt that was used."""

    id: str
    at: str  # when it was compiled, ISO 8601, UTC
    session_id: str  # empty if unknown
    turn: str  # the key of its message's turn; the expected one until its exchange is known
    message_hash: str  # ``message_hash`` of the message
    tokens: int  # of the whole prompt
    budget: int  # tokens
    sections: tuple[InjectedSection, ...]  # in prompt order
    finished: bool = False  # whether its exchange is over, so that nothing more will be learned
    is_claimed: bool = False  # whether its exchange is known
    rules: RulesShown | None = None  # None if not recorded
    by: str = ""  # the agent whose hook injected it; empty for our own prompts

    @property
    def useful(self) -> tuple[InjectedSection, ...]:
        return tuple(section for section in self.sections if section.was_useful)


@dataclass(frozen=True, slots=True)
class UseNote:
    """What is known about the use of an injection so far."""

    injection: str  # its id
    at: str  # ISO 8601, UTC
    turn: str  # the key of the message
    was_useful: tuple[bool | None, ...]  # by section, in prompt order
    paths: tuple[str, ...]  # files that become useful with this note
    finished: bool  # whether the exchange is over
    gone: tuple[str, ...] = ()  # files that a person judged not useful after all
    by_person: bool = False  # a person's judgement, which later replies do not change


def message_hash(text: str) -> str:
    """A hash of the start of a message: without white space, which shells, agents and transcripts change, and
    with secrets redacted, as in a transcript. Hooks cut very long messages.
    """
    return hash_of(" ".join(redacted(text).split())[:_HASHED_CHARACTERS])[:_HASH_CHARACTERS]


def injected(sections: Iterable[Section], *, explained: bool = False) -> tuple[InjectedSection, ...]:
    """The sections of a prompt to record, with their reasons if ``explained``."""
    return tuple(
        InjectedSection(
            section.source,
            section.lines,
            section.priority,
            section.tokens,
            None if section.score is None else round(section.score, 4),
            why=one_line(section.why, WHY_CHARACTERS) if explained else "",
        )
        for section in sections
        if section.priority in RECORDED_PRIORITIES and section.source
    )


def record_of_injection(injection: Injection) -> Record:
    rules = {} if injection.rules is None else {"rules": asdict(injection.rules)}
    return {
        "id": injection.id,
        "at": injection.at,
        "session": injection.session_id,
        "turn": injection.turn,
        "message": injection.message_hash,
        "tokens": injection.tokens,
        "budget": injection.budget,
        "sections": [
            {
                key: value
                for key, value in asdict(section).items()
                if key not in ("was_useful", "judged") and (value or key != "why")
            }
            for section in injection.sections
        ],
        **rules,
        **({"by": injection.by} if injection.by else {}),
    }


def record_of_note(note: UseNote) -> Record:
    return {key: value for key, value in asdict(note).items() if value or key not in ("gone", "by_person")}


def entry_of(record: Record) -> Injection | UseNote | None:
    """The injection or note in a record; None if it is malformed."""
    try:
        if "was_useful" in record:
            return typed(UseNote, record)
        names = {"session_id": record["session"], "message_hash": record["message"]}
        return typed(Injection, {**record, **names})
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def noted(injection: Injection, note: UseNote) -> Injection:
    """An injection updated by a note; useful sections stay useful unless a person judges otherwise."""
    states = (*note.was_useful, *[None] * len(injection.sections))

    def updated(section: InjectedSection, state: bool | None) -> InjectedSection:
        if state is None or (not note.by_person and (section.judged or section.was_useful)):
            return section
        return replace(section, was_useful=state, judged=note.by_person)

    sections = tuple(map(updated, injection.sections, states))
    if note.by_person:
        return replace(injection, sections=sections)
    return replace(
        injection,
        turn=note.turn,
        sections=sections,
        finished=injection.finished or note.finished,
        is_claimed=True,
    )
