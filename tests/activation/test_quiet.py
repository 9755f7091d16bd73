"""Without a trigger hit, a score decides nothing until labels have proven it, and rows explain this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from engine.activation.gate import Gate
from engine.activation.gate_local import LocalGate
from engine.activation.gate_question import GateProvider
from engine.activation.pipeline import WatcherPipeline
from engine.activation.policy import Thresholds
from engine.activation.proof import Proof, ProofStatus, lower_bound
from engine.activation.trace import GateOutcome, TopicTrace
from engine.activation.tuning.fit import propose
from engine.activation.tuning.replay import alone_text, figures
from engine.activation.tuning.table import DecisionTable
from engine.errors import GateError
from engine.settings.model import GateSettings, PolicyRow, WatcherSettings
from engine.topics.model import Topic
from tests.activation.support import PlainMatcher, Topics, pattern, topic
from tests.activation.test_gate import Scripted, yes
from tests.activation.test_gate_limit import FixedProbabilities
from tests.activation.tuning_cases import decision, series
from tests.cases import each_case

TABLE: dict[Any, PolicyRow] = {"medium": PolicyRow(gate=0.2, activate=0.6)}
RIGHT = Proof(9, ((0.7, True),) * 8 + ((0.1, True),))
FEW = Proof(3)
WRONG = Proof(9, ((0.7, True),) * 9 + ((0.8, False),) * 5)


class FakeProofs:
    """Proofs set by a test."""

    def __init__(self, **proofs: Proof) -> None:
        self.proofs = proofs
        self.version = 0

    def stamp(self) -> object:
        return self.version

    def __call__(self, topics: Sequence[Topic]) -> Mapping[str, Proof]:
        return self.proofs


def watching(
    score: float,
    proven: FakeProofs | None = None,
    provider: GateProvider | None = None,
    watchers: dict[str, Any] | None = None,
    gate: dict[str, Any] | None = None,
    **of: Any,
) -> WatcherPipeline:
    settings = GateSettings(**(gate or {}))
    return WatcherPipeline(
        Topics((topic("review", "Words.", **of),)),
        PlainMatcher(),
        FixedProbabilities({"review": score}),
        Gate(provider or LocalGate(), settings),
        WatcherSettings(**{"policy": TABLE, **(watchers or {})}),
        settings,
        proofs=proven or FakeProofs(),
    )


def row(pipeline: WatcherPipeline, text: str = "hello") -> TopicTrace:
    (found,) = pipeline.process(text).rows
    return found


@each_case("of", [{}, {"activation": "auto"}, {"activation_threshold": 0.5}, {"priority": "critical"}])
@each_case("score", [0.25, 0.62, 0.99])
def test_nothing_activates_by_score_alone(score: float, of: dict[str, Any]) -> None:
    assert row(watching(score, **of)).verdict == "dropped"


def test_a_row_explains_what_is_missing_for_its_score() -> None:
    found = row(watching(0.62, FakeProofs(review=FEW)))
    assert (found.rule, found.activate_at, found.gate_at) == ("unproven", None, None)
    assert found.why == (
        "no trigger matched, and similarity alone (score .62) counts only once your labels have proven it "
        "(3 of 8 labels)"
    )
    assert found.flip == (
        "a match would activate it, or a yes from a gate that is a model or a person; "
        "with watchers.similarity_alone: always it would be active: score .62 ≥ .60"
    )
    by_hand = row(watching(0.62, FakeProofs(review=FEW), activation="manual"))
    assert by_hand.flip == "with watchers.similarity_alone: always it would wait for a person"
    spoken_against = row(watching(0.62, FakeProofs(review=WRONG)))
    assert "(right for 9 of 14 labels)" in spoken_against.why
    trace = watching(0.62).process("hello")
    assert trace.why == (
        "nothing active: no trigger matched; the closest topic, review (score .62), rests on similarity "
        "alone, which your labels have not proven yet"
    )


def test_a_score_below_the_threshold_is_reported_as_too_low() -> None:
    found = row(watching(0.41))
    assert found.why == "no trigger matched, and score .41 < .60 for medium priority"
    assert (found.rule, found.flip) == ("medium <.60", "a trigger would have to match")


def test_a_proven_score_activates_and_is_explained() -> None:
    found = row(watching(0.62, FakeProofs(review=RIGHT)))
    assert (found.verdict, found.rule) == ("active", "medium ≥.60")
    assert found.why == (
        "active without the gate: score .62 ≥ .60; proven by your labels (right for 8 of 8 labels)"
    )
    assert row(watching(0.41, FakeProofs(review=RIGHT))).verdict == "dropped", (
        "the local gate lets nothing through"
    )


def test_a_proof_and_its_loss_apply_from_the_next_message() -> None:
    proven = FakeProofs()
    pipeline = watching(0.62, proven)
    assert row(pipeline).verdict == "dropped"
    proven.proofs, proven.version = {"review": RIGHT}, 1
    assert row(pipeline).verdict == "active"
    proven.proofs, proven.version = {"review": WRONG}, 2
    assert row(pipeline).verdict == "dropped"


def test_a_gate_that_is_a_model_is_asked_and_decides() -> None:
    said_yes = Scripted(yes())
    found = row(watching(0.9, provider=said_yes))
    assert (found.verdict, found.rule, said_yes.asked) == ("active", "medium ≥.20", ["review"])
    assert "said yes: no trigger matched, but score .90 ≥ .20" in found.why
    assert row(watching(0.15, provider=said_yes)).verdict == "dropped" and len(said_yes.asked) == 1
    never = row(watching(0.9, provider=said_yes, gate={"max_calls_per_message": 0}))
    assert (never.verdict, never.rule) == ("dropped", "not asked")


@pytest.mark.parametrize(
    ("proven", "verdict"), [(FakeProofs(), "failed"), (FakeProofs(review=RIGHT), "active")]
)
def test_a_failing_gate_lets_no_unproven_score_through(proven: FakeProofs, verdict: str) -> None:
    async def breaks(question: object, timeout: float) -> GateOutcome:
        raise GateError("no network")

    found = row(watching(0.4, proven, Scripted(breaks), gate={"on_failure": "activate"}))
    assert found.verdict == verdict
    if verdict == "failed":
        assert "without a match only a yes from it activates the topic" in found.why
        assert found.flip == "an answer would decide"


def test_similarity_alone_always_lets_every_score_decide() -> None:
    always = {"similarity_alone": "always"}
    assert row(watching(0.62, watchers=always)).verdict == "active"
    assert row(watching(0.55, watchers=always)).rule == "medium <.60"
    assert row(watching(0.55, watchers=always)).verdict == "active", "the local gate says yes from .50"


def test_a_match_needs_no_proof() -> None:
    found = row(watching(0.62, triggers=(pattern("review"),)), "please review")
    assert (found.verdict, found.rule) == ("active", "medium ≥.60")


@each_case(
    ("right", "of", "proven"),
    [
        (7, 7, False),
        (8, 8, True),
        (8, 9, False),
        (13, 14, False),
        (14, 15, True),
        (9, 14, False),
        (80, 90, True),
    ],
)
def test_how_many_correct_labels_are_enough(right: int, of: int, proven: bool) -> None:
    assert ProofStatus(right, of, right).proven is proven
    assert lower_bound(right, of) < right / of


def test_a_proof_is_evaluated_at_the_activation_threshold() -> None:
    proof = Proof(20, tuple((0.9, True) for _ in range(8)) + tuple((0.5, False) for _ in range(8)))
    assert not proof.status(0.4).proven and proof.status(0.6).proven
    assert str(proof.status(0.4)) == "right for 8 of 16 labels"
    assert str(ProofStatus(8, 7, 7)) == "right for 7 of 7 labels, too few to be sure of .80"
    assert str(ProofStatus(0)) == "0 of 8 labels" and str(ProofStatus(8)) == "right for 0 of 0 labels"


LOG = [*series([0.7] * 10, True), *series([0.7] * 2, False, 20), decision(40, 0.7, True, hits=("pattern",))]
MEDIUM = topic("t")


def table(provider: str, proof: Proof | None = None, **watchers: Any) -> DecisionTable:
    settings = WatcherSettings(**{"policy": TABLE, **watchers})
    return DecisionTable(LOG, (MEDIUM,), settings, provider, {"t": proof} if proof else {})


def test_a_replay_follows_the_same_rule() -> None:
    quiet = figures(table("local"), "t")
    assert (quiet.useful_active, quiet.noise_active, quiet.gate_calls) == (1, 0, 0)
    proven = figures(table("local", RIGHT), "t")
    assert (proven.useful_active, proven.noise_active) == (11, 2)
    assert figures(table("local", WRONG), "t").useful_active == 1
    assert figures(table("anthropic"), "t").gate_calls == 12
    assert figures(table("local", similarity_alone="always"), "t").noise_active == 2


def test_a_replay_evaluates_proofs_at_the_given_thresholds() -> None:
    mixed = table("local", Proof(9, ((0.65, True),) * 9 + ((0.62, False),) * 3))
    assert figures(mixed, "t").useful_active == 1
    assert figures(mixed, "t", Thresholds(0.2, 0.64)).useful_active == 11


def test_a_replay_explains_what_a_score_alone_can_do() -> None:
    assert alone_text(table("local", FEW), "t") == (
        "without a trigger hit: never active until your labels prove its score (3 of 8 labels)"
    )
    assert "only a yes from the gate activates it until" in alone_text(table("openai", FEW), "t")
    assert "proven by your labels (right for 8 of 8 labels)" in alone_text(table("local", RIGHT), "t")
    assert "0 of 0 labels" in alone_text(table("local", RIGHT), "t", Thresholds(0.2, 0.9))
    assert alone_text(table("local", FEW, similarity_alone="always"), "t") == ""
    manual = replace(MEDIUM, activation="manual")
    by_hand = DecisionTable(LOG, (manual,), WatcherSettings(), "local", {"t": FEW})
    assert alone_text(by_hand, "t") == "activated only by hand: the thresholds have no effect"
    assert alone_text(table("local", FEW, nominate="pattern"), "t") == ""


def test_fitting_is_refused_if_thresholds_do_not_decide() -> None:
    refused = propose(table("local"), "t").refused
    assert "until your labels prove it (0 of 8 labels)" in refused
