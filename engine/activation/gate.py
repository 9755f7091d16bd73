"""Tier 3: asks whether the candidates of a message really apply (spec 5, design 3.5).

The candidates of one message are asked about concurrently, under one deadline, and answers are cached across
restarts. A failed question is an outcome like any other: visible, and handled as the settings say. If a
message has more candidates than calls allowed, only the least certain ones are asked about; the others have
no outcome.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.activation.gate_question import (
    GateProvider,
    GateQuestion,
    InstantGate,
    question_key,
    timed_out,
)
from engine.activation.trace import GateOutcome

if TYPE_CHECKING:
    from engine.activation.gate_cache import GateCache
    from engine.providers.loop import LoopThread
    from engine.settings.model import GateSettings


class Gate:
    """Asks a provider about all candidates of a message.

    Args:
        cache: Where answers are kept, if anywhere.
    """

    def __init__(
        self, provider: GateProvider, settings: GateSettings, cache: GateCache | None = None
    ) -> None:
        self.provider = provider
        self._instant = provider if isinstance(provider, InstantGate) else None
        self._settings = settings
        self._cache = cache if provider.identity else None
        self._loop: LoopThread | None = None
        self._guard = threading.Lock()

    @property
    def deadline(self) -> float:
        """Seconds all questions of one message may take together."""
        match self.provider.name:
            case "ask":
                return self._settings.ask_deadline_s
            case "claude-code":
                return self._settings.claude_code_deadline_s
            case _:
                return self._settings.deadline_s

    def _immediate(self, questions: Sequence[GateQuestion]) -> list[GateOutcome | None]:
        """The outcomes that need no waiting: cached answers, and those of a provider that calculates."""
        if self._instant is not None:
            return [self._instant.decide(question) for question in questions]
        if self._cache is None:
            return [None] * len(questions)
        identity = self.provider.identity
        return [self._cache.get(question_key(question, identity)) for question in questions]

    def known(self, questions: Sequence[GateQuestion]) -> tuple[GateOutcome | None, ...]:
        """The outcomes without asking anyone; questions that would have been asked have failed."""
        provider = self.provider
        unknown = GateOutcome(
            "failed", provider.name, provider.model, reason="not asked: the message is not live"
        )
        outcomes = self._immediate(questions)
        for index in self._asked(questions, outcomes):
            outcomes[index] = unknown
        return tuple(outcomes)

    async def ask(self, questions: Sequence[GateQuestion]) -> tuple[GateOutcome | None, ...]:
        """The outcome of every question about one message, in order; never raises for a failing provider.

        Questions without an answer at the deadline are cancelled and ``failed``. Cancelling this call cancels
        them too.

        Returns:
            The outcomes; ``None`` for a question beyond the number of calls that a message may cost.
        """
        outcomes = self._immediate(questions)
        places = self._asked(questions, outcomes)
        if places:
            from engine.activation.gate_round import ask_all, in_thread  # noqa: PLC0415 — imports asyncio

            asked = [questions[index] for index in places]
            answers = await ask_all(
                self.provider, asked, deadline=self.deadline, concurrency=self._settings.concurrency
            )
            for index, answer in zip(places, answers, strict=True):
                outcomes[index] = answer
            await in_thread(self._remember, asked, answers)
        return tuple(outcomes)

    def ask_and_wait(self, questions: Sequence[GateQuestion]) -> tuple[GateOutcome | None, ...]:
        """``ask`` for synchronous callers, from any thread.

        Questions run on an event loop in a thread that is kept for the next message, so that connections stay
        open and nothing outlasts the deadline.
        """
        outcomes = self._immediate(questions)
        places = self._asked(questions, outcomes)
        if not places:
            return tuple(outcomes)
        from engine.providers.loop import LoopThread  # noqa: PLC0415 — imports asyncio

        with self._guard:
            if self._loop is None:
                self._loop = LoopThread("gate")
            loop = self._loop
        answers = loop.run(self.ask(questions), timeout=self.deadline + 1.0)
        if answers is not None:
            return answers
        failed = timed_out(self.provider, self.deadline)
        if self._loop is not loop:
            failed = replace(failed, reason="cancelled: the gate was closed", latency_ms=0.0)
        for index in places:
            outcomes[index] = failed
        return tuple(outcomes)

    def close(self) -> None:
        """Stops the thread of ``ask_and_wait`` and cancels its questions; takes at most a second."""
        with self._guard:
            loop, self._loop = self._loop, None
        if loop is not None:
            # A provider that holds connections closes those of the loop.
            loop.close(getattr(self.provider, "aclose", None))

    def _asked(self, questions: Sequence[GateQuestion], outcomes: Sequence[GateOutcome | None]) -> list[int]:
        """The indexes of the questions to ask, in order."""
        open_ = [index for index, outcome in enumerate(outcomes) if outcome is None]
        room = self._settings.max_calls_per_message
        if len(open_) > room:
            open_.sort(key=lambda index: (questions[index].distance, questions[index].topic))
            open_ = sorted(open_[:room])
        return open_

    def _remember(self, asked: Sequence[GateQuestion], answers: Sequence[GateOutcome]) -> None:
        if self._cache is not None:
            identity = self.provider.identity
            self._cache.put(
                [
                    (question_key(question, identity), outcome)
                    for question, outcome in zip(asked, answers, strict=True)
                    if outcome.answer != "failed"
                ]
            )
