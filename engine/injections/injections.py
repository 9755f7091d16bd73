"""Records prompts that are used, and learns from the replies what was useful (spec 6.3, design 2).

How often each file was useful (``reference_count``) is cached to spare ranking the log. The cache under
``scratch/`` holds the counts and how far each month's file was read. If the log has only grown, only the
added lines are read; if a file was replaced or removed, everything is counted again.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from engine.context.rule_sections import CALLED, line_of
from engine.errors import AutopoiesisError
from engine.injections.log import (
    InjectedSection,
    Injection,
    InjectionLog,
    RulesShown,
    UseNote,
    entry_of,
    message_hash,
)
from engine.injections.use import ShownSection, was_opened, were_useful
from engine.rules.prompt import held
from engine.rules.rulebook import PATH, rules_in
from engine.store.documents import parse
from engine.store.monthly import (
    Added,
    AnotherFile,
    LogStamp,
    Mark,
    MonthlyLog,
    marks_in,
    number_in,
    record_of,
)
from engine.transcripts.days import moment

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.conversations.turns import Exchange, Turns
    from engine.store.files import Files

_SHOWN_BYTES = 8 * 1024 * 1024
_CLOCK_TOLERANCE = timedelta(minutes=2)
"""Transcripts hold minutes, and a prompt is compiled just before or after its message is recorded."""
_WITHOUT_SESSION = timedelta(hours=1)
"""Maximum time between a prompt without a session and a message with the same words."""


class Injections:
    """The injection log's API. Safe to use from several threads.

    Args:
        on_problem: Called when a prompt could not be recorded.
    """

    def __init__(
        self,
        files: Files,
        turns: Callable[[], Turns],
        clock: Callable[[], datetime],
        on_problem: Callable[[str], None],
    ) -> None:
        self._files = files
        self._turns = turns
        self._on_problem = on_problem
        self.log = InjectionLog(files, clock)
        self._references = References(files, self.log.months)
        self._guard = threading.Lock()

    def record(
        self,
        compiled: Compiled,
        message: str,
        *,
        session_id: str = "",
        turn: str = "",
        by: str = "",
        standing: tuple[str, ...] = (),
    ) -> str:
        """Records a used prompt; see ``InjectionLog.record``.

        ``standing`` are the ids of rules injected earlier in the session.

        Returns:
            Its id; empty if it could not be recorded, which is reported but not raised.
        """
        try:
            rules = self.rules_in(compiled)
            if rules is not None and standing:
                rules = replace(rules, held=tuple(dict.fromkeys((*standing, *rules.held))))
            return self.log.record(compiled, message, session_id=session_id, turn=turn, rules=rules, by=by).id
        except AutopoiesisError as error:
            self._on_problem(f"the prompt was not recorded: {error}")
            return ""

    def learn_from_use(self, path: str, first: int) -> int:
        """Notes which sections of prompts the replies in a conversation used.

        Use is noted as soon as it shows; lack of use, once the user writes again. ``first`` is the number of
        the first new turn.

        Returns:
            How many injections were noted; 0 in a read-only workspace.

        Raises:
            WriteFailed: A note was not recorded.
        """
        if self._files.read_only or not self.log.unfinished():
            return 0
        exchanges = self._turns().exchanges(path, first)
        if not exchanges:
            return 0
        with self._guard, self._files.lock():
            # Under the lock, because another process may note them too.
            return sum(self._note(exchange) for exchange in exchanges)

    def judge(self, injection: Injection, was_useful: Sequence[bool | None]) -> None:
        """Records a person's judgement of a prompt's sections; None for sections not judged.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        with self._guard, self._files.lock():
            # The log may have newer notes than ``injection``.
            known = next((each for each in self.log.backwards() if each.id == injection.id), injection)
            self.log.judge(known, was_useful)

    def references(self) -> Mapping[str, int]:
        """In how many prompts each file was useful, by path, for ranking. The same object until the log
        changes; never raises.
        """
        return self._references.counts()

    def _note(self, exchange: Exchange) -> bool:
        injection = of_exchange(self.log.unfinished(), exchange)
        if injection is None:
            return False
        message = exchange.trace.message.text
        signs = were_useful(self.shown(injection.sections), message, exchange.reply, exchange.paths)
        signs = tuple(
            was_opened(section.path, exchange.calls) if section.is_offer else sign
            for section, sign in zip(injection.sections, signs, strict=True)
        )
        states = [sign or (False if exchange.finished else None) for sign in signs]
        return self.log.note(injection, exchange.key, states, finished=exchange.finished) != injection

    def seen(self, session_id: str, since: str) -> frozenset[tuple[str, str]]:
        """Path and lines of sections injected by hooks into a session since a time (ISO 8601)."""
        if not session_id:
            return frozenset()
        return frozenset(
            (section.path, section.lines)
            for injection in self.log.of_session(session_id, since)
            if injection.by
            for section in injection.sections
        )

    def offered(self, exchange: Exchange) -> dict[str, bool]:
        """The files of the playbooks that hooks told an exchange's agent may apply, and whether
        it was with this very message: they are not offered twice in a session.
        """
        found: dict[str, bool] = {}
        for injection in self.log.recent():
            if injection.by and injection.session_id == exchange.trace.message.session_id:
                for section in injection.sections:
                    if section.is_offer and not found.get(section.path):
                        found[section.path] = injection.turn == exchange.key
        return found

    def opened(self, key: str) -> dict[str, bool | None]:
        """Whether the agent opened each playbook that it was offered with a message, by file; ``None`` while
        its turn runs.
        """
        return {
            section.path: section.was_useful
            for injection in self.log.recent()
            if injection.is_claimed and injection.turn == key
            for section in injection.sections
            if section.is_offer
        }

    def rules_in(self, compiled: Compiled) -> RulesShown | None:
        """The rules in a prompt; None if the rules file cannot be read."""
        shown = [section for section in compiled.sections if section.slot == "rules"]
        try:
            known = rules_in(self._files.read(PATH)).rules
        except FileNotFoundError:
            known = ()
        except AutopoiesisError:
            return None
        called = held(known, [section.text for section in shown if section.label == CALLED], line_of)
        return RulesShown(
            held(known, [section.text for section in shown], line_of),
            called,
            sum(section.tokens for section in shown),
        )

    def shown(self, sections: Sequence[InjectedSection]) -> list[ShownSection]:
        """The sections with their text, which is read from the files, since the log does not hold it."""
        bodies: dict[str, tuple[str, int]] = {}
        for section in sections:
            if section.path not in bodies:
                bodies[section.path] = self._body(section.path)
        return [
            ShownSection(section.path, _cut(*bodies[section.path], section.lines)) for section in sections
        ]

    def _body(self, path: str) -> tuple[str, int]:
        """A file's text below its header, and the number of its first line."""
        try:
            document = parse(self._files.read(path, limit=_SHOWN_BYTES), path)
        except (OSError, AutopoiesisError):
            return "", 1
        return document.body, document.body_line


def of_exchange(unfinished: Iterable[Injection], exchange: Exchange) -> Injection | None:
    """The injection that an exchange belongs to.

    It must have the same message and, if it names one, the same session. Of several, the one already linked
    to the exchange wins, then one that expects this turn, then the last one before the message.
    ``unfinished`` are the injections whose exchanges are not over, oldest first.
    """
    message = exchange.trace.message
    name = message_hash(message.text)
    found = []
    for injection in unfinished:
        if injection.is_claimed and injection.turn == exchange.key:
            return injection
        at = moment(injection.at)
        if injection.is_claimed or injection.message_hash != name or at is None:
            continue
        apart = abs(at - message.at)
        if injection.session_id == message.session_id if injection.session_id else apart <= _WITHOUT_SESSION:
            found.append((injection, at))
    expected = [injection for injection, _ in found if injection.turn == exchange.key]
    before = [injection for injection, at in found if at <= message.at + _CLOCK_TOLERANCE]
    return next((chosen[-1] for chosen in (expected, before) if chosen), found[0][0] if found else None)


def _cut(body: str, first_line: int, lines: str) -> str:
    """Lines ``first-last`` of a file, from a body that starts on ``first_line``."""
    first, _, last = lines.partition("-")
    if not first.isdecimal():
        return body
    end = int(last) if last.isdecimal() else int(first)
    return "\n".join(body.split("\n")[max(0, int(first) - first_line) : max(0, end + 1 - first_line)])


REFERENCES_PATH = "scratch/references.json"

_FORM = 2
_LIMIT = 64 * 1024 * 1024
_LOCK_WAIT_S = 0.05
_UNSAVED_LIMIT = 256 * 1024
"""Bytes read beyond the cache before it is saved again: reading them is cheaper than a synced write."""
_MARK = b'"was_useful"'


class _Counted(NamedTuple):
    """In how many prompts each file was useful, and how far the log was read for it."""

    marks: dict[str, Mark]
    uses: Counter[str]


class References:
    """The counts. Safe to use from several threads."""

    def __init__(self, files: Files, months: MonthlyLog) -> None:
        self._files = files
        self._log = months
        self._guard = threading.Lock()
        self._stamp: LogStamp | None = None
        self._counted: _Counted | None = None
        self._counts: Mapping[str, int] = MappingProxyType({})

    def counts(self) -> Mapping[str, int]:
        """Counts by workspace-relative path; the same object until the log changes.

        Never raises. A month's file that cannot be read is ignored.
        """
        with self._guard:
            stamp = self._log.stamp()
            if stamp != self._stamp:
                self._update(stamp)
                self._stamp = stamp
            return self._counts

    def _update(self, stamp: LogStamp) -> None:
        known = self._load() if self._counted is None else self._counted
        found = self._read(stamp, known)
        read = sum(mark.end for mark in found.marks.values())
        saved = sum(mark.end for mark in known.marks.values())
        self._counted = found
        self._counts = MappingProxyType(found.uses)
        if not 0 <= read - saved < _UNSAVED_LIMIT or known.marks.keys() - found.marks.keys():
            self._save(found)

    def _read(self, stamp: LogStamp, known: _Counted) -> _Counted:
        """The current counts: the known ones with what was added, or a full count if files changed."""
        if known.marks.keys() - {month.name for month in stamp}:
            known = _Counted({}, Counter())
        marks, uses = dict(known.marks), known.uses.copy()
        for month in stamp:
            mark = marks.get(month.name)
            if mark is not None and mark.is_of(month):
                continue
            try:
                added = Added(self._files, month, mark or Mark())
                for line in added:
                    if _MARK in line:
                        _count(uses, line)
                marks[month.name] = added.mark
            except AnotherFile:
                return self._read(stamp, _Counted({}, Counter()))
            except (OSError, AutopoiesisError):
                # Drop its counts, or they would be counted twice once it can be read again.
                others = tuple(other for other in stamp if other != month)
                return self._read(others, known if mark is None else _Counted({}, Counter()))
        return _Counted(marks, uses)

    def _load(self) -> _Counted:
        """The cached counts; empty if there are none, or the cache is damaged."""
        try:
            tree = json.loads(self._files.read(REFERENCES_PATH, limit=_LIMIT))
            if tree["form"] == _FORM:
                uses = {path: number_in(times) for path, times in tree["uses"].items()}
                return _Counted(marks_in(tree["read"]), Counter(uses))
        except (OSError, AutopoiesisError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # A damaged cache is rebuilt from the log.
            pass
        return _Counted({}, Counter())

    def _save(self, counted: _Counted) -> None:
        if self._files.read_only:
            return
        tree = {"form": _FORM, "read": counted.marks, "uses": counted.uses}
        try:
            with self._files.lock(timeout=_LOCK_WAIT_S):
                self._files.replace(REFERENCES_PATH, json.dumps(tree, separators=(",", ":")).encode())
        except AutopoiesisError:
            return  # the next call reads the same part of the log again


def _count(uses: Counter[str], line: bytes) -> None:
    record = record_of(line)
    entry = None if record is None else entry_of(record)
    if isinstance(entry, UseNote):
        uses.update(set(entry.paths))
        for path in set(entry.gone):
            uses[path] -= 1
            if uses[path] < 1:
                del uses[path]
