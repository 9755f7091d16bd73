"""The injection log (design 2): prompts that were used, and what their exchanges have shown of them since.

``logs/injections-YYYY-MM.jsonl``, append-only. A note about an injection is a record of its own that names
it; reading joins the two.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from engine.injections.model import (
    InjectedSection,
    Injection,
    RulesShown,
    UseNote,
    entry_of,
    injected,
    message_hash,
    noted,
    record_of_injection,
    record_of_note,
)
from engine.startup.records import dataclass
from engine.store.monthly import MonthlyLog

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.store.files import Files

KIND = "injections"
WAITING_BYTES = 256 * 1024
"""An injection further from the end of its month's file, or older than the month before, waits no more for a
reply."""


@dataclass(frozen=True, slots=True)
class FileUse:
    """How often a file was in prompts that were used, and of use there."""

    path: str
    useful: int  # injections in which it was of use
    injected: int  # injections that held it
    tokens: int  # that it took in all of them
    last_useful: str  # ISO 8601, UTC; empty for never


class InjectionLog:
    """Writes and reads the injection log of a workspace. Safe to use from several threads."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.months = MonthlyLog(files, KIND, clock)
        self._guard = threading.Lock()
        self._stamp: object = None
        self._waiting: tuple[Injection, ...] = ()

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
        """Records a prompt that is being used.

        ``turn`` is the key that its turn will have, ``rules`` are those it holds, where that is known, ``by``
        is the agent whose hook was told it.

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
        """Records what an exchange has shown of an injection, unless that is known.

        Args:
            injection: As it was read.
            turn: The key of the message.
            was_useful: By section.
            finished: Whether the exchange is over.

        Returns:
            The injection as it now reads.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        note = UseNote(injection.id, self._clock().isoformat(), turn, tuple(was_useful), (), finished)
        return self._noted(injection, note)

    def judge(self, injection: Injection, was_useful: Iterable[bool | None]) -> Injection:
        """Records what a person says of its sections, ``None`` for those of which they say nothing; otherwise
        as ``note``.
        """
        at, states = self._clock().isoformat(), tuple(was_useful)
        return self._noted(
            injection, UseNote(injection.id, at, injection.turn, states, (), False, by_person=True)
        )

    def _noted(self, injection: Injection, note: UseNote) -> Injection:
        known = noted(injection, note)
        if known == injection:
            return injection
        before, now = (dict.fromkeys(each.path for each in one.useful) for one in (injection, known))
        states = note.was_useful if note.by_person else tuple(each.was_useful for each in known.sections)
        new = tuple(path for path in now if path not in before)
        gone = tuple(path for path in before if path not in now)
        self.months.append(record_of_note(replace(note, was_useful=states, paths=new, gone=gone)))
        return known

    def waiting(self) -> tuple[Injection, ...]:
        """The injections whose exchanges are not over, oldest first; of a log that has not changed, at no
        cost.
        """
        with self._guard:
            stamp = self.months.stamp()
            if stamp != self._stamp:
                self._waiting = tuple(
                    injection for injection in self.backwards(WAITING_BYTES, 2) if not injection.finished
                )[::-1]
                self._stamp = stamp
            return self._waiting

    def of_session(self, session_id: str, since: str) -> tuple[Injection, ...]:
        """The injections of a session since a time (ISO 8601), newest first; of the end of the log."""
        found = self.backwards(WAITING_BYTES, 2)
        return tuple(each for each in found if each.session_id == session_id and each.at >= since)

    def last(self, count: int) -> tuple[Injection, ...]:
        """The last injections, newest first, with what is known of them."""
        return tuple(itertools.islice(self.backwards(), count))

    def every(self) -> tuple[Injection, ...]:
        """Every injection, oldest first, with what is known of it; reads the whole log."""
        return tuple(self.backwards())[::-1]

    def by_file(self) -> tuple[FileUse, ...]:
        """Every file that was injected, the most useful first; reads the whole log."""
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

    def backwards(self, most: int | None = None, months: int | None = None) -> Iterator[Injection]:
        """Every injection, newest first, with what is known of it, reading no more of the log than is taken.

        ``most`` and ``months`` are as for ``MonthlyLog.backwards``.
        """
        # Going backwards, the notes about an injection are met before it.
        notes: dict[str, list[UseNote]] = defaultdict(list)
        met: set[str] = set()
        for record in self.months.backwards(most, months):
            entry = entry_of(record)
            if isinstance(entry, UseNote):
                notes[entry.injection].append(entry)
            elif entry is not None and entry.id not in met:
                met.add(entry.id)
                for note in reversed(notes.pop(entry.id, [])):
                    entry = noted(entry, note)
                yield entry


def useful_places(injection: Injection) -> tuple[str, ...]:
    """What was of use of an injection, as ``path:lines``."""
    return tuple(map(place_of, injection.useful))


def place_of(section: InjectedSection) -> str:
    """A section's file and lines."""
    return f"{section.path}:{section.lines}" if section.lines else section.path
