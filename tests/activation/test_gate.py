"""All questions about a message run concurrently with one deadline; no failure stops the work (N1).
Answers are cached on disk, bounded, and never a cause of errors.
"""

from __future__ import annotations

import asyncio
import errno
import threading
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.activation.gate import CACHE_PATH, Gate, GateCache, GateQuestion, profile_of, question_key
from engine.activation.gates import AskGate
from engine.activation.trace import GateOutcome
from engine.errors import GateError
from engine.settings.model import GateSettings
from engine.store.faults import fail, trip
from tests.activation.support import PR_INSTRUCTIONS, topic, workspace_files

Answerer = Callable[[GateQuestion, float], Awaitable[GateOutcome]]


class Scripted:
    """A provider scripted by a test."""

    name = "scripted"
    model = "m"

    identity = "scripted m 1"

    def __init__(self, answer: Answerer) -> None:
        self.asked: list[str] = []
        self.timeouts: list[float] = []
        self._answer = answer

    async def ask(self, question: GateQuestion, *, timeout: float) -> GateOutcome:
        self.asked.append(question.topic)
        self.timeouts.append(timeout)
        return await self._answer(question, timeout)


def yes(cost: float = 0.0) -> Answerer:
    async def answer(question: GateQuestion, timeout: float) -> GateOutcome:
        return GateOutcome("yes", "scripted", "m", reason="because", cost_usd=cost)

    return answer


def question(name: str = "t", message: str = "review this", profile: str = "p") -> GateQuestion:
    return GateQuestion(message, name, "about", profile)


def gate(provider: Any, cache: GateCache | None = None, **settings: Any) -> Gate:
    return Gate(provider, GateSettings(**{"deadline_s": 60, **settings}), cache)


def test_all_questions_share_a_deadline_and_answers_in_time_count() -> None:
    cancelled: list[str] = []

    async def answer(asked: GateQuestion, timeout: float) -> GateOutcome:
        if asked.topic == "quick":
            return GateOutcome("yes", "scripted", reason=asked.topic)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(asked.topic)
            raise
        raise AssertionError

    provider = Scripted(answer)
    questions = [question("slow"), question("quick"), question("slower")]
    outcomes = gate(provider, deadline_s=0.1).ask(questions)
    assert [outcome.answer for outcome in outcomes] == ["failed", "yes", "failed"]
    assert outcomes[0].reason == "no answer within 0.1 s" and outcomes[0].latency_ms == 100
    assert provider.asked == ["slow", "quick", "slower"] and sorted(cancelled) == ["slow", "slower"]
    assert provider.timeouts == [0.1] * 3


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (GateError("there is no key", where="X_KEY", hint="set it"), "X_KEY: there is no key; set it"),
        (ValueError("secret details"), "unexpected ValueError"),
        (RecursionError("deep"), "unexpected RecursionError"),
    ],
)
def test_a_failing_provider_gives_a_failed_outcome(error: Exception, reason: str) -> None:
    async def answer(asked: GateQuestion, timeout: float) -> GateOutcome:
        if asked.topic == "bad":
            raise error
        return GateOutcome("yes", "scripted")

    bad, good = gate(Scripted(answer)).ask([question("bad"), question("good")])
    assert (bad.answer, bad.reason, bad.provider) == ("failed", reason, "scripted")
    assert good.answer == "yes"


def test_an_answer_is_cached_for_an_equal_question(tmp_path: Path) -> None:
    provider = Scripted(yes(cost=0.5))
    asking = gate(provider, GateCache(workspace_files(tmp_path)))
    (first,) = asking.ask([question(message="Review  this\n please")])
    (second,) = asking.ask([question(message="Review this please ")])
    assert (first.cached, first.cost_usd) == (False, 0.5)
    assert (second.cached, second.cost_usd, second.latency_ms) == (True, 0.0, 0.0)
    assert (second.answer, second.reason) == ("yes", "because")
    assert provider.asked == ["t"]
    restarted = Scripted(yes())
    asking = gate(restarted, GateCache(workspace_files(tmp_path)))
    outcomes = asking.ask([question(message="Review this please"), question("c")])
    assert [outcome.cached for outcome in outcomes] == [True, False] and restarted.asked == ["c"]


def test_failures_are_not_cached_and_cached_answers_are_known_without_asking(tmp_path: Path) -> None:
    answers = [GateOutcome("failed", "scripted", reason="nonsense"), GateOutcome("no", "scripted")]

    async def answer(asked: GateQuestion, timeout: float) -> GateOutcome:
        return answers.pop(0)

    provider = Scripted(answer)
    asking = gate(provider, GateCache(workspace_files(tmp_path)))
    assert [asking.ask([question()])[0].answer for _ in range(3)] == ["failed", "no", "no"]
    known, unknown = asking.ask([question(), question("b")], live=False)
    assert (known.answer, known.cached) == ("no", True)
    assert (unknown.answer, unknown.reason) == ("failed", "not asked: the message is not live")
    assert len(provider.asked) == 2


def test_the_cache_key_depends_on_every_part_of_a_question() -> None:
    keys = {
        question_key(question(), "i"),
        question_key(question(message="Review this"), "i"),
        question_key(question(message="review that"), "i"),
        question_key(question("u"), "i"),
        question_key(question(profile="p2"), "i"),
        question_key(question(), "i2"),
        question_key(GateQuestion("x\0y", "t", "", "p"), "i"),
    }
    assert len(keys) == 7
    composed, decomposed = question(message="Gr\u00fc\u00dfe"), question(message="Gru\u0308\u00dfe")
    assert question_key(composed, "i") == question_key(decomposed, "i")
    likelier = GateQuestion("review this", "t", "other words", "p", 0.9)
    assert question_key(likelier, "i") == question_key(question(), "i")
    assert len(question_key(question(message="\ud800"), "i")) == 40


def test_waiting_works_in_any_thread_even_under_a_running_loop() -> None:
    asking = gate(Scripted(yes()))
    assert asking.ask([question()])[0].answer == "yes"
    answers: list[str] = []

    async def busy() -> None:
        thread = threading.Thread(target=lambda: answers.append(asking.ask([question()])[0].answer))
        thread.start()
        while thread.is_alive():
            await asyncio.sleep(0.001)
        answers.append(asking.ask([question()])[0].answer)  # in the event loop's own thread

    asyncio.run(busy())
    asking.close()
    assert answers == ["yes", "yes"]
    assert asking.ask([question()])[0].answer == "yes", "a closed gate can be used again"
    asking.close()


def test_waiting_ends_even_when_the_loop_is_blocked() -> None:
    blocked = threading.Event()

    async def answer(asked: GateQuestion, timeout: float) -> GateOutcome:
        blocked.wait(30)
        return GateOutcome("yes", "scripted")

    asking = gate(Scripted(answer), deadline_s=0.01)
    (outcome,) = asking.ask([question()])
    assert (outcome.answer, outcome.reason) == ("failed", "no answer within 0.01 s")
    assert not blocked.is_set()
    blocked.set()
    asking.close()


def test_closing_the_gate_ends_pending_waits() -> None:
    begun = threading.Event()

    async def answer(asked: GateQuestion, timeout: float) -> GateOutcome:
        begun.set()
        await asyncio.sleep(3600)
        raise AssertionError

    asking = gate(Scripted(answer), deadline_s=600)
    outcomes: list[GateOutcome] = []
    waiting = threading.Thread(target=lambda: outcomes.extend(asking.ask([question()])))
    waiting.start()
    assert begun.wait(30)
    asking.close()
    waiting.join(30)
    assert [outcome.reason for outcome in outcomes] == ["cancelled: the gate was closed"]


def test_a_person_has_their_own_deadline_setting() -> None:
    given: list[float] = []

    async def asker(asked: GateQuestion, timeout: float) -> bool | None:
        given.append(timeout)
        return {"a": True, "b": False, "c": None}[asked.topic]

    asking = gate(AskGate(asker), deadline_s=0.1, ask_deadline_s=20)
    outcomes = asking.ask([question("a"), question("b"), question("c")])
    assert [outcome.answer for outcome in outcomes] == ["yes", "no", "failed"]
    assert "no answer in time" in outcomes[2].reason
    assert all(10 < timeout <= 20 for timeout in given)


def test_a_profile_contains_enough_of_the_topic_to_decide() -> None:
    profile = profile_of(
        topic(
            "pr",
            PR_INSTRUCTIONS * 5,
            title="PR review",
            description="How we review.",
            examples=("please\nreview #41", *(f"example {n}" for n in range(9))),
        )
    )
    assert profile.startswith(
        "Name: pr\nTitle: PR review\nAbout: How we review.\nInstructions: When a pull request"
    )
    assert "- please review #41" in profile and "example 3" in profile and "example 4" not in profile
    assert 600 < len(profile) < 900 and " …\n" in profile
    assert profile_of(topic("pr", "Short.")) == "Name: pr\nInstructions: Short."


# The cache

YES = GateOutcome("yes", "openai", "m", probability=0.75, reason="said yes", latency_ms=120, cost_usd=0.01)


def test_the_last_answer_is_read_back_as_cached_and_the_latest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.activation.gate.CACHE_LIMIT", 4)
    cache, other = (GateCache(workspace_files(tmp_path)) for _ in range(2))
    assert cache.get("k1") is None
    other.put({"k0": YES, "k1": YES})
    cache.put({"k2": YES, "k0": GateOutcome("no", "ask")})
    cache.put({})
    restarted = GateCache(workspace_files(tmp_path))
    cached = GateOutcome("yes", "openai", "m", cached=True, probability=0.75, reason="said yes")
    assert restarted.get("k1") == cache.get("k2") == cached, "an answer of another process is not lost"
    again = restarted.get("k0")
    assert again is not None and again.answer == "no" and again.cached
    restarted.put({"k3": YES, "k4": YES})
    assert [restarted.get(f"k{number}") is not None for number in range(5)] == [True, False, True, True, True]


def test_a_damaged_cache_is_empty_and_written_anew(tmp_path: Path) -> None:
    GateCache(workspace_files(tmp_path)).put({"k1": YES})
    path = tmp_path / CACHE_PATH
    for tree in (b"[]", b"{", b"\xff", b'{"k1": {"answer": ["yes"], "provider": "x"}}', b'{"k1": 7}'):
        path.write_bytes(b"%08x\n" % zlib.crc32(tree) + tree)
        assert GateCache(workspace_files(tmp_path)).get("k1") is None
    path.write_bytes(b"")
    GateCache(workspace_files(tmp_path)).put({"k2": YES})
    assert GateCache(workspace_files(tmp_path)).get("k2") is not None


def test_what_cannot_be_written_is_remembered_in_memory(tmp_path: Path) -> None:
    cache = GateCache(workspace_files(tmp_path, read_only=True))
    cache.put({"k1": YES})
    cache.put({"k2": YES})
    assert cache.get("k1") is not None and cache.get("k2") is not None
    writing = GateCache(workspace_files(tmp_path))
    with trip("replace:rename", fail(errno.ENOSPC)):
        writing.put({"k1": YES})
    assert not (tmp_path / CACHE_PATH).exists()
    writing.put({"k3": YES})
    assert GateCache(workspace_files(tmp_path)).get("k1") is not None
