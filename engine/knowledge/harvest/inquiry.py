"""A model is asked about a conversation: questions that can be stopped, and replies that are asked for twice.

A second attempt is made only when a model wrote a bad reply. A service that does not answer is its provider's
matter, which has tried as often as it may; a spent budget is the person's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from engine.context.replies import BadReply, quoted
from engine.errors import AutopoiesisError
from engine.knowledge.harvest.prompt import prompt_of
from engine.knowledge.harvest.reply import Reply, once
from engine.redaction.detect import redacted

if TYPE_CHECKING:
    from engine.providers.asking import Asked, Question
    from engine.providers.chat import ChatProvider, ChatReply, Spending

MAX_ATTEMPTS = 2
"""How often a model is asked for items before what it writes is given up."""

MOST_TOKENS = 65_536
"""Tokens of the longest reply that is asked for after one was cut off."""

_STOPPED = "stopped before it was finished"


class Limits(Protocol):
    """How long an answer may take and be; groups of settings have them."""

    @property
    def max_tokens(self) -> int: ...

    @property
    def deadline_s(self) -> float: ...


class Failed(Exception):
    """There will be no items; the message is one line.

    ``lasting``: every further question would fail alike until a person changes something.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class Asker:
    """Asks a model, one question at a time. ``stop`` may be called from any thread.

    ``system`` is what the model is told that it is; ``setting`` is the one that limits its replies.
    """

    def __init__(
        self, completer: ChatProvider, limits: Limits, system: str, setting: str, spending: Spending | None
    ) -> None:
        self.completer = completer
        self.limits = limits
        self.setting = setting
        self.system = system
        self.spending = spending
        self._guard = threading.Lock()
        self._stopped = False
        self._under_way: Question | None = None

    def stop(self) -> None:
        """Gives up what is under way, and everything that would be asked after it."""
        with self._guard:
            self._stopped = True
            question = self._under_way
        if question is not None:
            question.give_up()

    def answer(self, prompt: str, session: str, limit: int = 0) -> Asked:
        """What came of a question; ``limit`` is the tokens of its reply where they are not those set.

        Raises:
            AutopoiesisError: The budget is spent.
            Failed: It was stopped.
        """
        from engine.providers.asking import Question  # noqa: PLC0415 — brings asyncio, and most runs ask no model

        if self.spending is not None:
            self.spending.allow()
        with self._guard:
            if self._stopped:
                raise Failed(_STOPPED)
            limits = self.limits
            question = Question(
                self.completer,
                self.system,
                prompt,
                max_tokens=limit or limits.max_tokens,
                deadline_s=limits.deadline_s,
            )
            self._under_way = question
        try:
            answer = question.answer()
        finally:
            with self._guard:
                self._under_way = None
        if answer.completed is None and self._stopped:
            raise Failed(_STOPPED)
        if answer.completed is not None and self.spending is not None:
            self.spending.spent(answer.completed, (), session)
        return answer


@dataclass(slots=True)
class Inquiry:
    """The questions about one conversation, and what they took so far."""

    asker: Asker
    name: str  # of the conversation
    session: str
    model: str
    attempts: int = 0  # how often the model was asked for items
    input_tokens: int = 0
    output_tokens: int = 0  # all calls together, as are the output tokens
    cost_usd: float | None = 0.0  # ``None`` if a price is unknown

    def reply(self, record: Sequence[str], wanted: str, read: Callable[[str, bool], Reply]) -> Reply:
        """The items about a record. What a reply holds that was cut off is kept, and only the rest is asked
        for, with room for a longer one.

        ``read`` gives the items of a reply and is told whether it was cut off; it raises ``BadReply``.

        Raises:
            AutopoiesisError, Failed: There are none.
        """
        set_limit = self.asker.limits.max_tokens
        wrong, limit = "", set_limit
        kept: Reply | None = None
        for _ in range(MAX_ATTEMPTS):
            self.attempts += 1
            try:
                completed = self.answer(record, wanted, wrong=wrong, limit=limit)
            except (AutopoiesisError, Failed) as error:
                if kept is None:
                    raise
                completed = str(error)
            if isinstance(completed, str):
                if kept is None:
                    raise Failed(completed)
                return _cut_off(kept, completed)
            cut = f"it was cut off at the token limit ({self.asker.setting})"
            try:
                found = read(completed.text, completed.cut)
            except BadReply as bad:
                wrong = cut if completed.cut else str(bad)
            else:
                kept = found if kept is None else _both(kept, found)
                if not completed.cut:
                    return kept
                wrong = cut
                if kept.items:
                    wrong += f"; give only the items behind “{quoted(kept.items[-1].text)}”"
            if completed.cut:
                limit = min(2 * limit, MOST_TOKENS)
                if limit <= set_limit:
                    break
        if kept is not None and kept.items:
            return _cut_off(kept, f"raise {self.asker.setting}")
        raise Failed(f"the reply could not be used after {self.attempts} attempts: {wrong}")

    def answer(
        self, record: Sequence[str], wanted: str, *, wrong: str = "", limit: int = 0
    ) -> ChatReply | str:
        """The reply to a question, or why there is none.

        Raises:
            AutopoiesisError, Failed: As ``Asker.answer``, or no further question would get an answer.
        """
        prompt = prompt_of(record, wanted, name=redacted(self.name), wrong=wrong)
        answer = self.asker.answer(prompt, self.session, limit)
        completed = answer.completed
        if completed is None:
            if answer.lasting:
                raise Failed(answer.error, lasting=True)
            return answer.error
        self.model = completed.model or self.model
        self.input_tokens += completed.usage.input_tokens
        self.output_tokens += completed.usage.output_tokens
        known, cost = self.cost_usd, completed.cost_usd
        self.cost_usd = None if known is None or cost is None else known + cost
        return completed


def _both(first: Reply, second: Reply) -> Reply:
    return Reply(once((*first.items, *second.items)), (*first.refused, *second.refused))


def _cut_off(reply: Reply, why: str) -> Reply:
    """A reply that is incomplete, and says so."""
    said = f"the reply was cut off (items kept: {len(reply.items)}): {why}"
    return replace(reply, refused=(*reply.refused, said))
