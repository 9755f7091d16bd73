"""Prompts that were used: recorded, and judged by the replies to them (spec 6.3, design 2)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engine.context.rules import CALLED, held
from engine.errors import AutopoiesisError
from engine.injections.log import InjectionLog
from engine.injections.model import InjectedSection, Injection, RulesShown, message_hash
from engine.injections.references import References
from engine.injections.use import Shown, were_useful
from engine.rules.rulebook import PATH, rules_in
from engine.store.documents import parse
from engine.transcripts.days import moment

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.conversations.turns import Exchange, Turns
    from engine.store.files import Files

_SHOWN_BYTES = 8 * 1024 * 1024
_CLOCKS_APART = timedelta(minutes=2)
"""A transcript names minutes, and a prompt is compiled just before or after its message is written down."""
_WITHOUT_SESSION = timedelta(hours=1)
"""Between a prompt that names no session and a message with the same words in one."""


class Injections:
    """What faces, ranking and the live engine need of the injection log. Safe to use from several threads.

    Args:
        turns: Knows the exchanges of conversations.
        on_problem: Called when a prompt could not be recorded.

    Attributes:
        log: The prompts that were used, as they are recorded.
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
        """Records a prompt that is being used; see ``InjectionLog.record``.

        ``standing`` are the ids of rules that an agent was told before and holds.

        Returns:
            Its id; empty when it could not be recorded, which is reported and stops nothing.
        """
        try:
            rules = self.rules_in(compiled)
            if rules is not None and standing:
                rules = replace(rules, held=tuple(dict.fromkeys((*standing, *rules.held))))
            made = self.log.record(compiled, message, session_id=session_id, turn=turn, rules=rules, by=by)
            return made.id
        except AutopoiesisError as error:
            self._on_problem(f"the prompt was not recorded: {error}")
            return ""

    def learn_from_use(self, path: str, first: int) -> int:
        """Notes what replies show of the prompts that they answer.

        A sign of use is noted as soon as it is there; that there was none, once the person speaks again.
        ``first`` is the number of its first new turn.

        Returns:
            How many injections were noted; none in a workspace that cannot be written.

        Raises:
            WriteFailed: A note was not recorded.
        """
        if self._files.read_only or not self.log.waiting():
            return 0
        exchanges = self._turns().exchanges(path, first)
        if not exchanges:
            return 0
        with self._guard, self._files.lock():
            # Another process may have noted them meanwhile.
            return sum(self._note(exchange) for exchange in exchanges)

    def judge(self, injection: Injection, was_useful: Sequence[bool | None]) -> None:
        """Notes what a person says of the sections of a prompt; ``None`` for those of which they say nothing.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        with self._guard, self._files.lock():
            # More may be known of it than when it was read.
            known = next((each for each in self.log.backwards() if each.id == injection.id), injection)
            self.log.judge(known, was_useful)

    def references(self) -> Mapping[str, int]:
        """In how many prompts each file was of use, by workspace-relative path: the frequency that ranking
        knows. The same object until the log changes; never raises.
        """
        return self._references.counts()

    def _note(self, exchange: Exchange) -> bool:
        injection = of_exchange(self.log.waiting(), exchange)
        if injection is None:
            return False
        message = exchange.trace.message.text
        signs = were_useful(self.shown(injection.sections), message, exchange.reply, exchange.paths)
        states = [sign or (False if exchange.finished else None) for sign in signs]
        noted = self.log.note(injection, exchange.key, states, finished=exchange.finished)
        return noted != injection

    def heard(self, session_id: str, since: str) -> frozenset[tuple[str, str]]:
        """Path and lines of what the agent of a session, if any, was told since a time (ISO 8601)."""
        if not session_id:
            return frozenset()
        return frozenset(
            (section.path, section.lines)
            for injection in self.log.of_session(session_id, since)
            if injection.by
            for section in injection.sections
        )

    def rules_in(self, compiled: Compiled) -> RulesShown | None:
        """The rules in a prompt; ``None`` where their file cannot be read."""
        shown = [section for section in compiled.sections if section.slot == "rules"]
        try:
            known = rules_in(self._files.read(PATH)).rules
        except FileNotFoundError:
            known = ()
        except AutopoiesisError:
            return None
        called = held(known, [section for section in shown if section.label == CALLED])
        return RulesShown(held(known, shown), called, sum(section.tokens for section in shown))

    def shown(self, sections: Sequence[InjectedSection]) -> list[Shown]:
        """The sections with their text, which the log does not hold, as their files have it today."""
        bodies: dict[str, tuple[str, int]] = {}
        for section in sections:
            if section.path not in bodies:
                bodies[section.path] = self._body(section.path)
        return [Shown(section.path, _cut(*bodies[section.path], section.lines)) for section in sections]

    def _body(self, path: str) -> tuple[str, int]:
        """A file's text below its header, and the line on which that starts."""
        try:
            document = parse(self._files.read(path, limit=_SHOWN_BYTES), path)
        except (OSError, AutopoiesisError):
            return "", 1
        return document.body, document.body_line


def of_exchange(waiting: Iterable[Injection], exchange: Exchange) -> Injection | None:
    """The injection that an exchange belongs to.

    It has the words of the exchange's message and, where it names one, its session. Of several it is the one
    that is known to belong there, else that which expected this turn, else the last one before the message.
    ``waiting`` are injections whose exchanges are not over, oldest first.
    """
    message = exchange.trace.message
    name = message_hash(message.text)
    found = []
    for injection in waiting:
        if injection.is_claimed and injection.turn == exchange.key:
            return injection
        at = moment(injection.at)
        if injection.is_claimed or injection.message_hash != name or at is None:
            continue
        apart = abs(at - message.at)
        if injection.session_id == message.session_id if injection.session_id else apart <= _WITHOUT_SESSION:
            found.append((injection, at))
    expected = [injection for injection, _ in found if injection.turn == exchange.key]
    before = [injection for injection, at in found if at <= message.at + _CLOCKS_APART]
    return next((chosen[-1] for chosen in (expected, before) if chosen), found[0][0] if found else None)


def _cut(body: str, first_line: int, lines: str) -> str:
    """The lines of a text that starts on a line of its file."""
    first, _, last = lines.partition("-")
    if not first.isdecimal():
        return body
    end = int(last) if last.isdecimal() else int(first)
    return "\n".join(body.split("\n")[max(0, int(first) - first_line) : max(0, end + 1 - first_line)])
