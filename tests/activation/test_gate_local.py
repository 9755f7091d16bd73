"""The gates that answer at once: the local one by a fixed rule, the agent's by offering."""

from __future__ import annotations

import math

import pytest

from engine.activation import gate_local
from engine.activation.gate import Gate
from engine.activation.gate_local import BIAS, WEIGHTS, AgentGate, LocalGate, ruled
from engine.activation.gate_question import GateQuestion, InstantGate, profile_of
from engine.activation.numbers import format_score
from engine.activation.signals import Signals, content_words, measure
from engine.activation.trace import Direction, GateOutcome, TriggerHit
from engine.settings.model import GateSettings
from engine.topics.model import Topic
from tests.activation.support import pattern, pr_topic, topic
from tests.cases import each_case

SPEC_MESSAGE = "Can you review the PR that just came in?"
UNRELATED = (
    "I read a review of the new restaurant on the corner, the pasta is supposed to be great and the wine "
    "list long, so shall we go there on Friday with the others from the climbing group, or is it too late?"
)


def signals_of(
    known: Topic, message: str, hits: list[TriggerHit], score: float, direction: Direction = "input"
) -> Signals:
    words = content_words(profile_of(known))
    return measure(known, hits, score, 0.15, content_words(message), words, direction)


def answer(
    known: Topic, message: str, hits: list[TriggerHit], score: float, direction: Direction = "input"
) -> str:
    signals = signals_of(known, message, hits, score, direction)
    return LocalGate().decide(GateQuestion(message, known.name, "", "", signals)).answer


def hit(matched: str, kind: str = "pattern") -> TriggerHit:
    return TriggerHit(0, kind, matched)


@each_case("score", [0.0, 0.05, 0.28, 0.9])
@each_case("matched", [["review"], ["PR"], ["review", "PR"]])
def test_a_short_request_with_a_matching_word_passes_with_little_similarity(
    score: float, matched: list[str]
) -> None:
    assert answer(pr_topic(), SPEC_MESSAGE, [hit(text) for text in matched], score) == "yes"


@pytest.mark.parametrize("score", [0.0, 0.02])
def test_one_incidental_word_in_a_long_unrelated_message_does_not_pass(score: float) -> None:
    assert answer(pr_topic(), UNRELATED, [hit("review")], score) == "no"


def test_function_words_alone_do_not_count_as_similarity() -> None:
    # With few topics, TF-IDF rates "the" and "a" so highly that such a message can reach .5.
    assert answer(pr_topic(), UNRELATED, [hit("review")], 0.5) == "no"
    assert signals_of(pr_topic(), "is it the one or the other?", [], 0.9).similar == 0


@pytest.mark.parametrize(("score", "expected"), [(0.15, "no"), (0.2, "no"), (0.45, "yes")])
def test_similarity_alone_needs_clearly_more_than_the_threshold(score: float, expected: str) -> None:
    message = "check whether tests cover the change and comment on secrets or migrations in the diff"
    assert answer(pr_topic(), message, [], score) == expected


@each_case("kind", ["language", "sentiment", "url", "glob"])
def test_a_trigger_about_the_whole_message_is_enough(kind: str) -> None:
    assert (
        answer(topic("deutsch", "Answer in German."), "Wie ist das Wetter?", [hit("x", kind)], 0.0) == "yes"
    )


def test_a_trigger_made_for_the_output_is_enough_on_output_only() -> None:
    watcher = topic("python-3", "Use Python 3.", triggers=(pattern(r"print ", scope="output"),))
    long_answer = "Here is the script you asked for: " + " ".join(f"word{n}" for n in range(300)) + " print x"
    assert answer(watcher, long_answer, [hit("print ")], 0.0, "output") == "yes"
    both = topic("python-3", "Use Python 3.", triggers=(pattern(r"print ", scope="both"),))
    assert answer(both, long_answer, [hit("print ")], 0.0, "output") == "no"


def test_distinct_matches_count_more_and_repeated_ones_do_not() -> None:
    known = pr_topic()
    one = signals_of(known, UNRELATED, [hit("review")], 0.1)
    assert signals_of(known, UNRELATED, [hit("review"), hit("Review ")], 0.1) == one
    many = signals_of(known, UNRELATED, [hit("review"), hit("PR"), hit("pull request"), hit("prs")], 0.1)
    assert (one.more, many.more) == (0, 2)


def test_signals_of_an_empty_message_are_zero() -> None:
    assert signals_of(topic(), "", [], 0.0) == Signals()
    assert signals_of(topic(), "?!", [hit("?")], 0.0).density == 1.0


def test_the_reason_states_the_probability() -> None:
    known = pr_topic()
    question = GateQuestion(
        SPEC_MESSAGE, known.name, "", "", signals_of(known, SPEC_MESSAGE, [hit("review")], 0.05)
    )
    outcome = LocalGate().decide(question)
    assert outcome.provider == "local" and outcome.model == "fixed rule"
    assert outcome.probability is not None and outcome.probability >= 0.5
    assert outcome.reason.startswith(
        f"fixed rule: .{round(outcome.probability * 100)} from one match covering .33"
    )
    assert outcome.cost_usd == 0
    assert isinstance(LocalGate(), InstantGate)


async def test_ask_gives_the_same_answer_as_decide() -> None:
    question = GateQuestion("m", "t", "", "", Signals(word=1, share=0.5, density=0.5))
    gate = LocalGate()
    assert await gate.ask(question, timeout=1) == gate.decide(question)


def test_many_matches_give_a_probability_near_one_and_no_signals_one_near_zero() -> None:
    assert ruled(Signals(word=1, mark=1, whole=1, more=500, similar=100, share=1, density=1)) == 1.0
    assert 0 < ruled(Signals()) < 0.02


def calibrated(probability: float, **signals: float) -> GateQuestion:
    logit = math.log(probability / (1 - probability))
    return GateQuestion("m", "t", "", "", Signals(**signals, logit=logit), probability)


@each_case(("probability", "expected"), [(0.3, "no"), (0.4999, "no"), (0.5, "yes"), (0.58, "yes")])
def test_a_calibrated_score_decides_whatever_the_signals(probability: float, expected: str) -> None:
    for signals in ({}, {"word": 1.0, "share": 1.0, "density": 1.0}):
        outcome = LocalGate().decide(calibrated(probability, **signals))
        assert (outcome.answer, outcome.probability, outcome.model) == (expected, probability, "fixed rule")
        assert outcome.reason == f"fixed rule: {format_score(probability, 0.5)} from tiers 1 and 2"


async def test_the_agents_gate_offers_every_question_at_once_and_for_free() -> None:
    questions = [calibrated(0.01), calibrated(0.99), GateQuestion("m", "t", "", "", Signals())]
    offered = GateOutcome("offered", "agent", reason="the agent opens it if it applies")
    assert isinstance(AgentGate(), InstantGate) and GateSettings().provider == AgentGate.name
    assert [AgentGate().decide(question) for question in questions] == [offered] * 3
    assert await AgentGate().ask(questions[0], timeout=1) == offered
    gate = Gate(AgentGate(), GateSettings(max_calls_per_message=0))
    assert gate.ask_and_wait(questions) == gate.known(questions) == (offered,) * 3
    assert offered.cost_usd == 0 and offered.probability is None


def test_the_documentation_states_the_weights_of_the_fixed_rule() -> None:
    text = " ".join((gate_local.__doc__ or "").split())
    for number in (*(weight for weight in WEIGHTS if weight), -BIAS):
        assert f"{number:g}".lstrip("0") in text


def test_plural_and_singular_are_the_same_word() -> None:
    assert content_words("Please look at the PRs, and the reviews!") == {"look", "pr", "review"}
    assert content_words("class") == {"class"}
    assert content_words("") == frozenset()
