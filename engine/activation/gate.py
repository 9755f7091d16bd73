"""Tier 3: who says whether a candidate really applies (spec 5, design 3.5).

All candidates of one message are asked at once, under one deadline, and answers are remembered across
restarts. A question that fails is an outcome like any other: visible, and applied as the settings say. Where
a message has more candidates than calls it may cost, the least certain ones are asked about, and the others
have no outcome.
"""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from engine.activation.signals import NO_SIGNALS, Signals
from engine.activation.trace import GateOutcome

if TYPE_CHECKING:
    from engine.activation.gate_cache import GateCache
    from engine.activation.gate_round import LoopThread
    from engine.config import GateSettings
    from engine.topics.model import Topic

PROFILE_INSTRUCTIONS = 600
"""Characters of a topic's instructions that its profile shows."""
PROFILE_EXAMPLES = 5
"""Example messages that its profile shows, each cut to 160 characters."""


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """Does this topic apply to this message?

    Attributes:
        message: The whole text of the message.
        topic: The topic's name.
        description: Its one-line description.
        profile: What a gate that reads may know of the topic; see ``profile_of``.
        signals: What tiers 1 and 2 found, for a gate that calculates.
        probability: The calibrated probability that it applies, 0 to 1; ``None`` where tier 2 gives none.
        distance: How far its score is from the middle between the topic's cuts: the smaller, the less certain
            is what tiers 1 and 2 say.
        discussion: The session that the message belongs to; no part of the question.
    """

    message: str
    topic: str
    description: str
    profile: str
    signals: Signals = NO_SIGNALS
    probability: float | None = None
    distance: float = 0.0
    discussion: str = ""


@runtime_checkable
class GateProvider(Protocol):
    """Somebody who answers gate questions.

    Attributes:
        name: ``local``, ``ask``, ``anthropic``, ``openai`` …
        model: What answers behind that name; may be empty.
        identity: Everything besides the question that an answer depends on. Answers are remembered under it;
            empty when they must not be remembered.
    """

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def identity(self) -> str: ...

    async def ask(self, question: GateQuestion, *, timeout: float) -> GateOutcome:
        """The answer.

        Args:
            question: The question.
            timeout: Seconds left; the caller stops waiting after that.

        Raises:
            GateError: There is no answer; the message says why and what to do.
        """
        ...


@runtime_checkable
class InstantGate(GateProvider, Protocol):
    """A provider that can answer at once, without waiting for anybody."""

    def decide(self, question: GateQuestion) -> GateOutcome:
        """The same answer as ``ask``."""
        ...


@runtime_checkable
class TogetherGate(GateProvider, Protocol):
    """A provider that answers several questions about one message in one call.

    Attributes:
        together: Most questions that one call takes.
    """

    @property
    def together(self) -> int: ...

    async def ask_together(
        self, questions: Sequence[GateQuestion], *, timeout: float
    ) -> Sequence[GateOutcome]:
        """An outcome for every question, in order; what the call cost is shared among them.

        Args:
            questions: Questions about one message, at most ``together``.
            timeout: As ``ask``.

        Raises:
            GateError: There is no answer.
        """
        ...


@runtime_checkable
class Connected(Protocol):
    """A provider that holds connections."""

    async def aclose(self) -> None:
        """Closes those of the running event loop."""
        ...


def profile_of(topic: Topic) -> str:
    """What the gate is shown of a topic: name, title, description, the start of its instructions, examples.

    The description alone is too little to decide by; the instructions and examples carry most of what tells
    neighbouring topics apart.
    """
    parts = [f"Name: {topic.name}"]
    if topic.title and topic.title != topic.name:
        parts.append(f"Title: {topic.title}")
    if topic.description:
        parts.append(f"About: {topic.description}")
    instructions = topic.instructions.strip()
    if instructions:
        cut = "" if len(instructions) <= PROFILE_INSTRUCTIONS else " …"
        parts.append(f"Instructions: {instructions[:PROFILE_INSTRUCTIONS].rstrip()}{cut}")
    examples = [" ".join(example.split())[:160] for example in topic.examples[:PROFILE_EXAMPLES]]
    if examples:
        parts.append("Messages it is meant for:\n" + "\n".join(f"- {example}" for example in examples))
    return "\n".join(parts)


def question_key(question: GateQuestion, identity: str) -> str:
    """The key under which an answer is remembered: a sha256 over the question and whoever answers it.

    The message counts in NFC with runs of white space as one space, its case kept; the topic counts by its
    name and the profile that the gate is shown, so that editing a topic asks again.
    """
    message = " ".join(unicodedata.normalize("NFC", question.message).split())
    whole = "\0".join((identity, question.topic, question.profile, message))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]


class Gate:
    """Asks a provider about all candidates of a message.

    Args:
        provider: Who answers.
        settings: Deadlines, how many questions may be under way at once, and how many calls a message may
            cost.
        cache: Where answers are remembered; ``None`` remembers nothing.
    """

    def __init__(
        self, provider: GateProvider, settings: GateSettings, cache: GateCache | None = None
    ) -> None:
        self.provider = provider
        self._instant = provider if isinstance(provider, InstantGate) else None
        self._at_once = provider.together if isinstance(provider, TogetherGate) else 1
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

    def settle(self, questions: Sequence[GateQuestion]) -> list[GateOutcome | None]:
        """What is known without waiting: remembered answers, and those of a provider that calculates."""
        if self._instant is not None:
            return [self._instant.decide(question) for question in questions]
        if self._cache is None:
            return [None] * len(questions)
        identity = self.provider.identity
        return [self._cache.get(question_key(question, identity)) for question in questions]

    def known(self, questions: Sequence[GateQuestion]) -> tuple[GateOutcome | None, ...]:
        """What is known without asking anybody; what would have been asked counts as failed."""
        provider = self.provider
        unknown = GateOutcome(
            "failed", provider.name, provider.model, reason="not asked: the message is not live"
        )
        outcomes = self.settle(questions)
        for call in self._calls(questions, outcomes):
            for index in call:
                outcomes[index] = unknown
        return tuple(outcomes)

    async def ask(self, questions: Sequence[GateQuestion]) -> tuple[GateOutcome | None, ...]:
        """An outcome for every question about one message, in order; never raises for a failing provider.

        Questions without an answer at the deadline are cancelled and ``failed``. Cancelling this call cancels
        them too.

        Returns:
            The outcomes; ``None`` for a question that was not put because the message may cost no more calls.
        """
        outcomes = self.settle(questions)
        calls = self._calls(questions, outcomes)
        if calls:
            from engine.activation.gate_round import ask_all, in_thread  # noqa: PLC0415 — brings asyncio

            put = [[questions[index] for index in call] for call in calls]
            answers = await ask_all(
                self.provider, put, deadline=self.deadline, concurrency=self._settings.concurrency
            )
            for call, answered in zip(calls, answers, strict=True):
                for index, answer in zip(call, answered, strict=True):
                    outcomes[index] = answer
            await in_thread(self._remember, put, answers)
        return tuple(outcomes)

    def ask_and_wait(self, questions: Sequence[GateQuestion]) -> tuple[GateOutcome | None, ...]:
        """``ask`` for callers that are not coroutines, from any thread.

        Where waiting is needed it happens on an event loop in a thread of its own, kept for the next message,
        so that connections stay open and nothing outlasts the deadline.
        """
        outcomes = self.settle(questions)
        calls = self._calls(questions, outcomes)
        if not calls:
            return tuple(outcomes)
        from engine.activation.gate_round import LoopThread  # noqa: PLC0415 — brings asyncio

        with self._guard:
            if self._loop is None or not self._loop.alive:
                self._loop = LoopThread()
            loop = self._loop
        answers = loop.run(self.ask(questions), timeout=self.deadline + 1.0)
        if answers is not None:
            return answers
        failed = no_answer(self.provider, self.deadline)
        if self._loop is not loop:
            failed = replace(failed, reason="given up: the gate was closed", latency_ms=0.0)
        for call in calls:
            for index in call:
                outcomes[index] = failed
        return tuple(outcomes)

    def close(self) -> None:
        """Stops the thread of ``ask_and_wait``; questions under way are given up. Takes a second at most."""
        with self._guard:
            loop, self._loop = self._loop, None
        if loop is not None:
            if isinstance(self.provider, Connected) and loop.alive:
                loop.run(self.provider.aclose(), timeout=0.5)
            loop.close()

    async def aclose(self) -> None:
        """As ``close``, and closes the connections that ``ask`` opened on the running event loop."""
        if isinstance(self.provider, Connected):
            await self.provider.aclose()
        self.close()

    def _calls(
        self, questions: Sequence[GateQuestion], outcomes: Sequence[GateOutcome | None]
    ) -> list[list[int]]:
        """Which of the questions without an outcome are put, call by call, by their places."""
        open_ = [index for index, outcome in enumerate(outcomes) if outcome is None]
        room = self._settings.max_calls_per_message * self._at_once
        if len(open_) > room:
            open_.sort(key=lambda index: (questions[index].distance, questions[index].topic))
            open_ = sorted(open_[:room])
        return [open_[start : start + self._at_once] for start in range(0, len(open_), self._at_once)]

    def _remember(
        self, calls: Sequence[Sequence[GateQuestion]], answers: Sequence[Sequence[GateOutcome]]
    ) -> None:
        if self._cache is not None:
            identity = self.provider.identity
            self._cache.put(
                [
                    (question_key(question, identity), outcome)
                    for call, answered in zip(calls, answers, strict=True)
                    for question, outcome in zip(call, answered, strict=True)
                    if outcome.answer != "failed"
                ]
            )


def no_answer(provider: GateProvider, seconds: float) -> GateOutcome:
    """The outcome of a question that the deadline ended."""
    return GateOutcome(
        "failed",
        provider.name,
        provider.model,
        reason=f"no answer within {seconds:g} s",
        latency_ms=seconds * 1000,
    )


def recalled(outcome: GateOutcome) -> GateOutcome:
    """A remembered outcome as the answer to an equal question: free, and at once."""
    return replace(outcome, cached=True, latency_ms=0.0, cost_usd=0.0)
