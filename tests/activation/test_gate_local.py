"""The local gate: its fixed rule, what it learns from, and that its answers are deterministic."""

from __future__ import annotations

import json
import math
import random
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from engine.activation import gate_local
from engine.activation.decision import Decision
from engine.activation.gate_local import (
    FIXED_RULE,
    MODEL_PATH,
    LocalGate,
    LocalGateModel,
    fit_local_gate,
    load_model,
    save_model,
)
from engine.activation.gate_question import GateQuestion, InstantGate, profile_of
from engine.activation.numbers import format_score
from engine.activation.signals import Signals, content_words, measure
from engine.activation.trace import Direction, TriggerHit
from engine.topics.model import Topic
from tests.activation.support import pattern, pr_topic, topic, workspace_files
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


def test_probabilities_never_overflow() -> None:
    extreme = LocalGateModel(weights=(1e6,) * 8, bias=-1e7)
    assert extreme.probability(Signals()) == 0.0
    assert LocalGateModel(weights=(1e6,) * 8, bias=1e7).probability(Signals()) == 1.0


def decision(number: int, useful: bool | None, signals: Signals) -> Decision:
    at = datetime(2026, 2, 1, tzinfo=UTC).isoformat()
    return Decision(
        f"id{number:04}", at, "s", "input", "h", "m", "t", "medium", "gated", (), {}, 0.2, 0.15, None, 0.2,
        "medium ≥.20", "active", "yes", "local", "", None, "", False, 0.0, 0.0, tuple(signals), useful,
        "person" if useful is not None else "",
    )  # fmt: skip


def decisions(count: int, seed: int = 0) -> list[Decision]:
    """Decisions labelled as if only the share of known words mattered."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        signals = Signals(1, 0, 0, rng.randrange(3), rng.random(), rng.random(), rng.random())
        made.append(decision(number, signals.share + rng.gauss(0, 0.1) > 0.5, signals))
    return made


@cache
def learned(count: int, *, calibrated: bool = False) -> LocalGateModel:
    """The model of that many labelled decisions."""
    model = fit_local_gate(calibrated_decisions(count) if calibrated else decisions(count))
    assert model is not None
    return model


def test_the_model_learns_from_labels() -> None:
    model = learned(200)
    assert model.labels == 200
    known = dict(zip(Signals._fields, model.weights, strict=True))
    assert known["share"] > 3 * max(abs(known[name]) for name in ("more", "similar", "density"))
    unseen = decisions(300, seed=1)
    right = sum((model.probability(Signals(*d.signals)) >= 0.5) is d.useful for d in unseen)
    assert right > 260


def test_probabilities_are_calibrated() -> None:
    model = learned(200)
    unseen = decisions(2000, seed=2)
    for low in (0.2, 0.4, 0.6):
        inside = [d for d in unseen if low <= model.probability(Signals(*d.signals)) < low + 0.2]
        assert abs(sum(bool(d.useful) for d in inside) / len(inside) - (low + 0.1)) < 0.2


def test_the_order_of_labels_does_not_matter() -> None:
    made = decisions(80)
    shuffled = [*made[40:], *made[:40], made[3]]
    first = fit_local_gate(made)
    assert first == fit_local_gate(shuffled)
    other = fit_local_gate([*made[:-1], made[-1]._replace(useful=not made[-1].useful)])
    assert first is not None and other is not None and other.fingerprint != first.fingerprint


def test_random_labels_give_the_base_rate_without_confidence() -> None:
    rng = random.Random(9)
    made = [
        decision(number, number % 3 == 0, Signals(1, 0, 0, 0, rng.random(), rng.random(), rng.random()))
        for number in range(300)
    ]
    model = fit_local_gate(made)
    assert model is not None
    assert all(0.15 < model.probability(Signals(*d.signals)) < 0.55 for d in made)


@each_case(
    "made",
    [
        [],
        decisions(12),
        [d._replace(useful=None) for d in decisions(100)],
        [d._replace(useful=True) for d in decisions(100)],
        [d._replace(signals=(1.0, 2.0)) for d in decisions(100)],
    ],
)
def test_too_little_to_learn_from_gives_no_model(made: list[Decision]) -> None:
    assert fit_local_gate(made) is None


def test_a_model_is_used_once_it_has_enough_labels() -> None:
    against = LocalGateModel(weights=(0.0,) * 8, bias=-5.0, labels=49)
    question = GateQuestion("m", "t", "", "", Signals(word=1, share=1, density=1))
    assert LocalGate(against, min_labels=50).decide(question).answer == "yes"
    assert LocalGate(against, min_labels=49).decide(question).answer == "no"
    assert LocalGate(against, min_labels=49).model == "fitted to 49 labels"


def calibrated_decisions(count: int, seed: int = 0) -> list[Decision]:
    """Decisions whose probability is overconfident: the truth is one logit lower."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        logit = rng.uniform(-3, 3)
        signals = Signals(float(rng.random() < 0.5), share=rng.random(), logit=logit)
        useful = rng.random() < 1 / (1 + math.exp(1.0 - logit))
        made.append(decision(number, useful, signals)._replace(scores={"tfidf": 0.1, "probability": 0.5}))
    return made


def calibrated(probability: float, **signals: float) -> GateQuestion:
    logit = math.log(probability / (1 - probability))
    return GateQuestion("m", "t", "", "", Signals(**signals, logit=logit), probability)


@each_case(("probability", "expected"), [(0.3, "no"), (0.4999, "no"), (0.5, "yes"), (0.58, "yes")])
def test_without_a_model_a_calibrated_score_decides(probability: float, expected: str) -> None:
    for signals in ({}, {"word": 1.0, "share": 1.0, "density": 1.0}):
        outcome = LocalGate().decide(calibrated(probability, **signals))
        assert (outcome.answer, outcome.probability, outcome.model) == (expected, probability, "fixed rule")
        assert outcome.reason == f"fixed rule: {format_score(probability, 0.5)} from tiers 1 and 2"


def test_labels_correct_an_overconfident_calibrated_score() -> None:
    model = learned(400, calibrated=True)
    assert model.calibrated
    known = dict(zip(Signals._fields, model.weights, strict=True))
    assert 0.7 < known["logit"] < 1.3 and known["similar"] == 0
    gate = LocalGate(model)
    doubtful = gate.decide(calibrated(0.6, share=0.5))
    assert doubtful.answer == "no" and doubtful.model == "fitted to 400 labels"
    assert "no match, tier-2 probability .60, .50 of the words in the topic" in doubtful.reason
    assert gate.decide(calibrated(0.9, share=0.5)).answer == "yes"


def test_a_model_is_used_only_for_its_kind_of_score() -> None:
    about_raw, about_calibrated = learned(200), learned(400, calibrated=True)
    raw = GateQuestion("m", "t", "", "", Signals(word=1, share=1, density=1))
    assert LocalGate(about_calibrated).decide(raw) == LocalGate().decide(raw)
    assert LocalGate(about_raw).decide(calibrated(0.55)) == LocalGate().decide(calibrated(0.55))
    assert LocalGate(about_raw).decide(raw).model == "fitted to 200 labels"


def test_decisions_with_one_signal_fewer_can_be_learned_from() -> None:
    made = decisions(200)
    older = [each._replace(signals=each.signals[:7]) for each in made]
    assert fit_local_gate(older) == learned(200)
    assert fit_local_gate([*older[:100], *made[100:]]) == learned(200)


def test_the_model_is_fitted_for_the_kind_of_the_latest_decision() -> None:
    older, newer = decisions(200), calibrated_decisions(60)
    later = datetime(2026, 3, 1, tzinfo=UTC).isoformat()
    newer = [each._replace(id=f"new{each.id}", at=later) for each in newer]
    model = fit_local_gate([*older, *newer])
    assert model is not None and model.calibrated and model.labels == 60
    unlabelled = newer[0]._replace(useful=None)
    assert fit_local_gate([*older, unlabelled]) is None, (
        "old decisions carry no information about a probability"
    )
    latest = (each._replace(at=f"{later[:4]}-04-01") for each in older)
    assert fit_local_gate([*newer, *latest]) == learned(200)


def test_a_model_survives_a_restart(tmp_path: Path) -> None:
    files = workspace_files(tmp_path)
    assert load_model(files) is None
    for model in (learned(200), learned(400, calibrated=True)):
        save_model(files, model)
        assert load_model(files) == model


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"form": ["word"], "weights": [1], "bias": 0, "labels": 60}',
        b'{"form": FORM, "weights": [1, 2], "bias": 0, "labels": 60}',
        b'{"form": FORM, "weights": [1, 2, 3, 4, 5, 6, 7, NaN], "bias": 0, "labels": 60}',
        b'{"form": FORM, "weights": [1, 2, 3, 4, 5, 6, 7, "8"], "bias": 0, "labels": 60}',
        b'{"form": ["word", "mark", "whole", "more", "similar", "share", "density"],'
        b' "weights": [1, 2, 3, 4, 5, 6, 7], "bias": 0, "labels": 60}',
        b'{"form": FORM, "weights": 7, "bias": 0, "labels": 60}',
        b"[" * 20_000,
    ],
)
def test_a_broken_model_file_is_ignored(tmp_path: Path, data: bytes) -> None:
    files = workspace_files(tmp_path)
    files.replace(MODEL_PATH, data.replace(b"FORM", json.dumps(list(Signals._fields)).encode()))
    assert load_model(files) is None


def test_a_folder_in_place_of_the_model_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / MODEL_PATH).mkdir(parents=True)
    assert load_model(workspace_files(tmp_path)) is None


def test_the_documentation_states_the_weights_of_the_fixed_rule() -> None:
    text = " ".join((gate_local.__doc__ or "").split())
    for number in (*FIXED_RULE.weights, -FIXED_RULE.bias):
        assert f"{number:g}".lstrip("0") in text


def test_plural_and_singular_are_the_same_word() -> None:
    assert content_words("Please look at the PRs, and the reviews!") == {"look", "pr", "review"}
    assert content_words("class") == {"class"}
    assert content_words("") == frozenset()
