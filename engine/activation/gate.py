"""Tier 3: asks whether the uncertain topics of a message really apply (spec 5, design 3.5).

The questions of one message are asked concurrently, under one deadline, and answers are cached across
restarts. A failed question is an outcome like any other: visible, and handled as the settings say.
"""

from __future__ import annotations

import json
import threading
import time
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from engine.activation.decisions import hash_of
from engine.activation.trace import GateOutcome
from engine.errors import AutopoiesisError
from engine.startup.records import dataclass
from engine.store import checked
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.providers.loop import LoopThread
    from engine.settings.model import GateSettings
    from engine.store.files import Files
    from engine.topics.model import Topic

PROFILE_INSTRUCTIONS = 600
"""Characters of a topic's instructions in its profile."""
PROFILE_EXAMPLES = 5
"""Example messages in a profile, each cut to 160 characters."""

CACHE_PATH = "scratch/gate-cache.json"
CACHE_LIMIT = 5_000

_GRACE_S = 1.0
"""Time to wait for cancelled questions to end."""


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """Does this topic apply to this message?"""

    message: str
    topic: str
    description: str
    profile: str  # the topic as a reading gate sees it; see ``profile_of``
    probability: float = 0.0
    """That it applies by tiers 1 and 2, 0 to 1, for a gate that calculates; not part of the question."""
    discussion: str = ""  # the session of the message; not part of the question


@runtime_checkable
class InstantGate(Protocol):
    """Answers by calculation, without waiting."""

    name: str  # ``local`` or ``agent``
    model: str

    def decide(self, question: GateQuestion) -> GateOutcome: ...


class AskingGate(Protocol):
    """Answers questions after a while.

    Attributes:
        name: ``ask``, ``anthropic``, ``openai`` …
        model: The model that answers; may be empty.
        identity: Everything besides the question that an answer depends on, as part of its cache key.
    """

    name: str
    model: str
    identity: str

    async def ask(self, question: GateQuestion, *, timeout: float) -> GateOutcome:
        """The answer; after ``timeout`` seconds the caller stops waiting.

        Raises:
            GateError: There is no answer.
        """
        ...


GateProvider = InstantGate | AskingGate


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


class Gate:
    """Asks a provider about the uncertain topics of a message.

    Args:
        cache: Where answers are kept, if anywhere.
    """

    def __init__(
        self, provider: GateProvider, settings: GateSettings, cache: GateCache | None = None
    ) -> None:
        self.provider = provider
        self._settings = settings
        self._cache = cache
        self._loop: LoopThread | None = None
        self._guard = threading.Lock()

    @property
    def deadline(self) -> float:
        """Seconds all questions of one message may take together."""
        settings = self._settings
        own = {"ask": settings.ask_deadline_s, "claude-code": settings.claude_code_deadline_s}
        return own.get(self.provider.name, settings.deadline_s)

    def ask(self, questions: Sequence[GateQuestion], *, live: bool = True) -> tuple[GateOutcome, ...]:
        """The outcome of every question about one message, in order; never raises for a failing provider.

        Questions without an answer at the deadline are cancelled and ``failed``. If the message is not
        ``live``, nobody is asked, and what is neither cached nor calculated has failed. Safe in any thread.
        """
        provider, cache = self.provider, self._cache
        if isinstance(provider, InstantGate):
            return tuple(map(provider.decide, questions))
        by_key = {question_key(question, provider.identity): question for question in questions}
        known = {key: found for key in by_key if cache is not None and (found := cache.get(key))}
        asked = [key for key in by_key if key not in known]
        if asked and live:
            answers = dict(zip(asked, self._answers(provider, [by_key[key] for key in asked]), strict=True))
            if cache is not None:
                cache.put({key: of for key, of in answers.items() if of.answer != "failed"})
        else:
            answers = dict.fromkeys(asked, self._failed("not asked: the message is not live"))
        known |= answers
        return tuple(known[question_key(question, provider.identity)] for question in questions)

    def close(self) -> None:
        """Stops the thread of ``ask`` and cancels its questions; takes at most a second."""
        with self._guard:
            loop, self._loop = self._loop, None
        if loop is not None:
            # A provider that holds connections closes those of the loop.
            loop.close(getattr(self.provider, "aclose", None))

    def _answers(self, provider: AskingGate, questions: Sequence[GateQuestion]) -> Sequence[GateOutcome]:
        """The answers of the provider.

        Questions run on an event loop in a thread that is kept for the next message, so that connections stay
        open and nothing outlasts the deadline.
        """
        import asyncio  # noqa: PLC0415 — slow; most messages ask nobody

        from engine.providers.loop import LoopThread  # noqa: PLC0415 — as above

        async def answer(question: GateQuestion) -> GateOutcome:
            started = time.monotonic()
            try:
                async with asyncio.timeout(self.deadline):
                    outcome = await provider.ask(question, timeout=self.deadline)
            except TimeoutError:
                return self._late()
            except AutopoiesisError as error:
                outcome = self._failed(str(error))
            except Exception as error:  # noqa: BLE001 — of a library
                # It may quote its input, including a key, so only its type is reported.
                outcome = self._failed(f"unexpected {type(error).__name__}")
            return replace(outcome, latency_ms=(time.monotonic() - started) * 1000)

        async def answers() -> list[GateOutcome]:
            return await asyncio.gather(*map(answer, questions))

        with self._guard:
            loop = self._loop = self._loop or LoopThread("gate")
        found = loop.run(answers(), timeout=self.deadline + _GRACE_S)
        if found is not None:
            return found
        failed = self._late() if self._loop is loop else self._failed("cancelled: the gate was closed")
        return [failed] * len(questions)

    def _failed(self, reason: str) -> GateOutcome:
        return GateOutcome("failed", self.provider.name, self.provider.model, reason=reason)

    def _late(self) -> GateOutcome:
        seconds = self.deadline
        return replace(self._failed(f"no answer within {seconds:g} s"), latency_ms=seconds * 1000)


def question_key(question: GateQuestion, identity: str) -> str:
    """The cache key of an answer: a sha256 over the question and the provider's identity (design 3.10).

    The message is normalized to NFC and single spaces. The topic counts by name and profile, so that editing
    a topic asks again.
    """
    message = " ".join(unicodedata.normalize("NFC", question.message).split())
    return hash_of("\0".join((identity, question.topic, question.profile, message)))[:40]


class GateCache:
    """Outcomes by question key, which survive a restart (spec 5.3); the latest ``CACHE_LIMIT`` are kept.

    Its file may be deleted at any time. It is read at the first look-up, and whenever an answer is added.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: dict[str, GateOutcome] | None = None
        self._guard = threading.Lock()

    def get(self, key: str) -> GateOutcome | None:
        """The outcome, marked as cached, free and immediate; ``None`` for a new question."""
        with self._guard:
            if self._known is None:
                self._known = self._read()
            outcome = self._known.get(key)
        return None if outcome is None else replace(outcome, cached=True, latency_ms=0.0, cost_usd=0.0)

    def put(self, answers: Mapping[str, GateOutcome]) -> None:
        """Stores outcomes; what cannot be written is remembered by this process only."""
        if not answers:
            return
        with self._guard:
            known = {**self._read(), **(self._known or {})}
            known = {key: of for key, of in known.items() if key not in answers} | dict(answers)
            self._known = dict(list(known.items())[-CACHE_LIMIT:])
            tree = {key: asdict(replace(of, reason=of.reason[:200])) for key, of in self._known.items()}
            checked.save(self._files, CACHE_PATH, json.dumps(tree).encode())

    def _read(self) -> dict[str, GateOutcome]:
        data = checked.load(self._files, CACHE_PATH)
        try:
            tree = {} if data is None else json.loads(data[checked.SUM :])
            return {str(key): typed(GateOutcome, each) for key, each in tree.items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}
