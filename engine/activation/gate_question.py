"""What the gate is asked, who may answer, and how an answer is known again (spec 5, design 3.5)."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from engine.activation.signals import NO_SIGNALS, Signals
from engine.activation.trace import GateOutcome
from engine.records import dataclass

if TYPE_CHECKING:
    from engine.topics.model import Topic

PROFILE_INSTRUCTIONS = 600
"""Characters of a topic's instructions that its profile shows."""
PROFILE_EXAMPLES = 5
"""Example messages that its profile shows, each cut to 160 characters."""


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """Does this topic apply to this message?"""

    message: str
    topic: str
    description: str
    profile: str  # what a gate that reads may know of the topic; see ``profile_of``
    signals: Signals = NO_SIGNALS  # what tiers 1 and 2 found, for a gate that calculates
    probability: float | None = None
    """The calibrated probability that it applies, 0 to 1; ``None`` where tier 2 gives none."""
    distance: float = 0.0
    """How far its score is from the middle of the topic's thresholds: the smaller, the less certain is what
    tiers 1 and 2 say."""
    discussion: str = ""  # the session that the message belongs to; no part of the question


@runtime_checkable
class GateProvider(Protocol):
    """Answers gate questions.

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

        Raises:
            GateError: There is no answer.
        """
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
    """The key under which an answer is remembered: a sha256 over the question and who answers it.

    The message counts in NFC with runs of white space as one space, its case kept; the topic counts by its
    name and the profile that the gate is shown, so that editing a topic asks again.
    """
    message = " ".join(unicodedata.normalize("NFC", question.message).split())
    whole = "\0".join((identity, question.topic, question.profile, message))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]


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
