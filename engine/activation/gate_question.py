"""Gate questions, the providers that answer them, and the keys that answers are cached under (spec 5, design
3.5).
"""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from engine.activation.signals import NO_SIGNALS, Signals
from engine.activation.trace import GateOutcome
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.topics.model import Topic

PROFILE_INSTRUCTIONS = 600
"""Characters of a topic's instructions in its profile."""
PROFILE_EXAMPLES = 5
"""Example messages in a profile, each cut to 160 characters."""


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """Does this topic apply to this message?"""

    message: str
    topic: str
    description: str
    profile: str  # the topic as a reading gate sees it; see ``profile_of``
    signals: Signals = NO_SIGNALS  # what tiers 1 and 2 found, for a gate that calculates
    probability: float | None = None
    """The calibrated probability that it applies, 0 to 1; ``None`` if tier 2 gives none."""
    distance: float = 0.0
    """How far its score is from the middle of the topic's thresholds; small means uncertain."""
    discussion: str = ""  # the session of the message; not part of the question


@runtime_checkable
class GateProvider(Protocol):
    """Answers gate questions.

    Attributes:
        name: ``local``, ``ask``, ``anthropic``, ``openai`` …
        model: The model that answers; may be empty.
        identity: Everything besides the question that an answer depends on, as part of its cache key; empty
            if answers must not be cached.
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
            timeout: Seconds until the caller stops waiting.

        Raises:
            GateError: There is no answer.
        """
        ...


@runtime_checkable
class InstantGate(GateProvider, Protocol):
    """A provider that answers by calculation, without waiting."""

    def decide(self, question: GateQuestion) -> GateOutcome:
        """The same answer as ``ask``."""
        ...


def profile_of(topic: Topic) -> str:
    """A topic as the gate sees it: name, title, description, the start of its instructions, examples.

    The description alone is too little to decide by; instructions and examples carry most of what
    distinguishes similar topics.
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
    """The cache key of an answer: a sha256 over the question and the provider's identity.

    The message is normalized to NFC and single spaces. The topic counts by name and profile, so that editing
    a topic asks again.
    """
    message = " ".join(unicodedata.normalize("NFC", question.message).split())
    whole = "\0".join((identity, question.topic, question.profile, message))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def timed_out(provider: GateProvider, seconds: float) -> GateOutcome:
    return GateOutcome(
        "failed",
        provider.name,
        provider.model,
        reason=f"no answer within {seconds:g} s",
        latency_ms=seconds * 1000,
    )


def as_cached(outcome: GateOutcome) -> GateOutcome:
    """A stored outcome as the answer to an equal question: free and immediate."""
    return replace(outcome, cached=True, latency_ms=0.0, cost_usd=0.0)
