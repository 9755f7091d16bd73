"""Every row states its reason and what would have changed it, with exact numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.activation.explain import Case, PolicyContext, flip, matches, summary, why, without
from engine.activation.numbers import format_score, format_threshold, format_weight
from engine.activation.policy import decide
from engine.activation.trace import (
    Contribution,
    Direction,
    Funnel,
    GateOutcome,
    TopicTrace,
    TriggerHit,
    Verdict,
)
from engine.settings.model import PolicyRow, Priority, WatcherSettings
from engine.topics.model import Topic
from tests.activation.support import pattern, topic
from tests.cases import each_case

HITS = (TriggerHit(0, "pattern", "review", 0, 6), TriggerHit(0, "pattern", "PR", 9, 11))
HIT = HITS[:1]
EVENT = (TriggerHit(0, "webhook", "email new_message"),)
FOR = (Contribution("vectors", 1.93), Contribution("words", 1.2), Contribution("message", -0.6))
MATCHED = (Contribution("trigger", 2.4), *FOR)
AGAINST = (Contribution("message", -1.21), Contribution("words", 0.4), Contribution("bm25", 0.01))
TABLE: dict[Priority, PolicyRow] = {
    "critical": PolicyRow(activate=0.5, gate=0.1, matched=0.0),
    "medium": PolicyRow(activate=0.6, gate=0.25),
}
YES = GateOutcome("yes", "local", probability=0.81)
NO = GateOutcome("no", "openai", cached=True)
OFFERED = GateOutcome("offered", "agent")
FAILED = GateOutcome("failed", "openai", reason="no answer within 4 s")


def why_and_flip(
    hits: tuple[TriggerHit, ...],
    score: float,
    gate: GateOutcome | None = None,
    contributions: Sequence[Contribution] = (),
    *,
    preset: str = "spec",
    verdict: Verdict | None = None,
    direction: Direction = "input",
    on_failure: str = "skip",
    watchers: dict[str, Any] | None = None,
    **of: Any,
) -> tuple[str, str]:
    """The reason and the flip of a row."""
    known, settings = topic(**of), WatcherSettings(**{"preset": preset, **(watchers or {})})
    step = decide(known, hits, score, settings, is_input=direction == "input")
    verdicts: dict[str, Verdict] = {"activate": "active", "drop": "dropped", "manual": "manual", "off": "off"}
    answers: dict[str, Verdict] = {
        "yes": "active",
        "no": "rejected",
        "failed": "failed",
        "offered": "offered",
    }
    reached = verdict or (answers[gate.answer] if gate else verdicts[step.kind])
    around = PolicyContext(direction, settings, on_failure)
    case = Case(known, hits, score, step, gate, reached, around, contributions)
    return why(case), flip(case)


def likely(
    hits: tuple[TriggerHit, ...],
    score: float,
    gate: GateOutcome | None = None,
    contributions: Sequence[Contribution] = (),
    **of: Any,
) -> tuple[str, str]:
    """The same for a score that is a probability."""
    watchers = {"policy": TABLE, **of.pop("watchers", {})}
    return why_and_flip(hits, score, gate, contributions, preset="calibrated", watchers=watchers, **of)


@each_case(
    ("value", "against", "text"),
    [
        (0.31, (0.3,), ".31"),
        (0.0, (0.15,), ".00"),
        (1.0, (0.3,), "1.00"),
        (0.2996, (0.3,), ".2996"),
        (0.3, (0.3,), ".30"),
        (0.1499999, (0.15,), ".1499999"),
        (0.149, (0.15,), ".149"),
        (0.2, (), ".20"),
        (0.995, (), ".99"),
        (0.5996, (0.25, 0.6), ".5996"),
        (0.2501, (0.25, 0.6), ".2501"),
        (0.6, (0.25, 0.6), ".60"),
    ],
)
def test_scores_are_formatted_so_that_they_differ_from_thresholds(
    value: float, against: tuple[float, ...], text: str
) -> None:
    assert format_score(value, *against) == text


@each_case(
    ("value", "text"),
    [(0.3, ".30"), (0.15, ".15"), (0.125, ".125"), (0, ".00"), (1, "1.00"), (0.12345, ".1235")],
)
def test_thresholds_are_formatted_as_configured(value: float, text: str) -> None:
    assert format_threshold(value) == text


@each_case(
    ("value", "digits", "text"),
    [
        (1.93, 1, "+1.9"),
        (-0.42, 1, "−.4"),
        (-12.0, 1, "−12.0"),
        (0.04, 1, "0"),
        (-0.04, 2, "−.04"),
        (0.0, 2, "0"),
    ],
)
def test_weights_are_formatted_with_their_sign(value: float, digits: int, text: str) -> None:
    assert format_weight(value, digits) == text


# Preset `spec`: similarity next to hits


def test_active_by_its_policy_row() -> None:
    assert why_and_flip(HITS, 0.31, priority="high") == (
        "active without the gate: matched “review”, “PR”; score .31 ≥ .30",
        "below .30 the gate would be asked",
    )
    alone: dict[str, Any] = {"policy": {"medium": PolicyRow(activate=0.4)}}
    assert why_and_flip(HITS, 0.5, watchers=alone)[1] == "below .40 it would be dropped"
    assert why_and_flip(HIT, 0.5, activation_threshold=0.4) == (
        "active without the gate: matched “review”; score .50 ≥ .40, the topic's own threshold",
        "below .40 the gate would be asked",
    )


def test_active_regardless_of_the_score() -> None:
    assert why_and_flip(HIT, 0.0, priority="critical") == (
        "active without the gate: matched “review”; critical priority needs no score",
        "without the match it would be dropped",
    )
    assert (
        why_and_flip(HIT, 0.2, priority="critical")[1]
        == "without the match the gate would be asked: score .20 ≥ .15"
    )
    assert why_and_flip(HIT, 0.0, activation="auto")[0] == (
        "active without the gate: matched “review”; the topic is auto"
    )
    own: dict[str, Any] = {"priority": "critical", "similarity_threshold": 0.3}
    assert why_and_flip(HIT, 0.2, **own)[1] == "without the match it would be dropped"
    strict: dict[str, Any] = {"nominate": "pattern"}
    assert (
        why_and_flip(HIT, 0.9, priority="critical", watchers=strict)[1]
        == "without the match it would be dropped"
    )
    assert why_and_flip(HIT, 0.9, priority="critical", direction="output")[1] == (
        "without the match it would be dropped"
    )


@pytest.mark.parametrize("preset", ["spec", "calibrated"])
def test_active_by_an_event(preset: str) -> None:
    assert why_and_flip(EVENT, 0.0, preset=preset)[0] == (
        "active without the gate: triggered by webhook “email new_message”"
    )
    assert why_and_flip(EVENT, 0.0)[1] == "without the event it would be dropped"


def test_dropped_by_its_policy_row() -> None:
    assert why_and_flip(HIT, 0.12) == (
        "dropped: matched “review”, but score .12 < .20 for medium priority",
        "would reach the gate at ≥ .20; now .12",
    )
    assert why_and_flip(HIT, 0.12, similarity_threshold=0.4)[0] == (
        "dropped: matched “review”, but score .12 < .40, the topic's own threshold"
    )
    own: dict[str, Any] = {"priority": "high", "similarity_threshold": 0.4}
    assert why_and_flip(HIT, 0.12, **own)[1] == "would activate at ≥ .30; now .12"
    both: dict[str, Any] = {"policy": {"medium": PolicyRow(activate=0.5, gate=0.125)}}
    assert why_and_flip(HIT, 0.1249, watchers=both) == (
        "dropped: matched “review”, but score .1249 < .125 for medium priority",
        "would reach the gate at ≥ .125 and activate at ≥ .50; now .1249",
    )


@pytest.mark.parametrize("preset", ["spec", "calibrated"])
def test_a_row_without_numbers_lets_nothing_through(preset: str) -> None:
    nothing: dict[str, Any] = {"policy": {"medium": PolicyRow()}}
    hint = "set activate or gate in watchers.policy.medium to let it through"
    assert why_and_flip(HIT, 0.9, preset=preset, watchers=nothing) == (
        "dropped: matched “review”, but watchers.policy.medium sets no threshold",
        hint,
    )
    if preset == "calibrated":
        assert why_and_flip((), 0.9, preset=preset, watchers=nothing) == (
            "no trigger matched, and watchers.policy.medium sets no threshold",
            hint,
        )


def test_dropped_without_a_match() -> None:
    assert why_and_flip((), 0.04) == (
        "no trigger matched, and score .04 < .15",
        "would reach the gate at ≥ .15; now .04",
    )
    assert why_and_flip((), 0.2, similarity_threshold=0.25)[0] == (
        "no trigger matched, and score .20 < .25, the topic's own threshold"
    )
    assert why_and_flip((), 0.0, watchers={"similarity_threshold": 0})[1] == (
        "would reach the gate at any score above 0"
    )
    assert why_and_flip((), 0.9, direction="output") == (
        "no trigger for the agent's output matched",
        "a trigger with scope output or both would have to match",
    )


def test_the_flip_mentions_that_a_match_would_be_enough() -> None:
    reach = "would reach the gate at ≥ .15; now .04"
    triggers = (pattern("review"),)
    enough = f"{reach}; a match would activate it"
    assert why_and_flip((), 0.04, activation="auto", triggers=triggers)[1] == enough
    assert why_and_flip((), 0.04, priority="critical", triggers=triggers)[1] == enough
    assert why_and_flip((), 0.04, triggers=triggers)[1] == reach
    assert why_and_flip((), 0.04, activation="auto")[1] == reach
    assert why_and_flip((), 0.04, activation="auto", triggers=(pattern("x", scope="output"),))[1] == reach


def test_the_answer_of_the_gate_is_explained() -> None:
    assert why_and_flip(HIT, 0.28, YES, priority="high") == (
        "the gate (local, .81) said yes: matched “review”; score .28 < .30",
        "a no from the gate would have kept it out",
    )
    assert why_and_flip(HIT, 0.28, NO, priority="high") == (
        "the gate (openai, cached) said no: matched “review”; score .28 < .30",
        "would activate without the gate at ≥ .30; now .28",
    )
    assert why_and_flip((), 0.2, NO) == (
        "the gate (openai, cached) said no: no trigger matched, but score .20 ≥ .15",
        "a yes from the gate would have activated it",
    )


def test_an_offered_topic_is_explained() -> None:
    assert why_and_flip(HIT, 0.28, OFFERED, priority="high") == (
        "offered to the agent, which opens it if it applies: matched “review”; score .28 < .30",
        "would activate at ≥ .30; now .28",
    )
    assert why_and_flip((), 0.2, OFFERED) == (
        "offered to the agent, which opens it if it applies: no trigger matched, but score .20 ≥ .15",
        "only a yes from a gate that answers would activate it",
    )
    assert likely(HIT, 0.48, OFFERED, MATCHED) == (
        "offered to the agent, which opens it if it applies: "
        "matched “review”; score .48 is between .25 and .60, from trigger +2.4, vectors +1.9",
        "would activate at ≥ .60; now .48",
    )


def test_a_failed_gate_is_explained() -> None:
    assert why_and_flip(HIT, 0.2, FAILED) == (
        "the gate failed (no answer within 4 s), and gate.on_failure is skip: "
        "matched “review”; score .20 ≥ .20",
        "an answer would decide; with gate.on_failure: activate it would be active",
    )
    assert why_and_flip(HIT, 0.2, FAILED, verdict="active", on_failure="activate") == (
        "active, although the gate failed (no answer within 4 s), because gate.on_failure is activate: "
        "matched “review”; score .20 ≥ .20",
        "an answer would decide; with gate.on_failure: skip it would be dropped",
    )
    unasked = GateOutcome("failed", "openai", reason="not asked: the message is not live")
    assert why_and_flip(HIT, 0.2, unasked)[0] == (
        "the gate was not asked (the message is not live), and gate.on_failure is skip: "
        "matched “review”; score .20 ≥ .20"
    )


def test_a_manual_topic_is_explained() -> None:
    assert why_and_flip(HIT, 0.5, activation="manual") == (
        "only by hand: matched “review”; score .50 ≥ .20",
        "switch it on by hand, or set activation: gated",
    )
    assert why_and_flip((), 0.5, activation="manual")[0] == (
        "only by hand: no trigger matched, but score .50 ≥ .15"
    )
    assert why_and_flip((), 0.1, activation="manual", triggers=(pattern("x"),))[1] == (
        "would wait for a person at ≥ .15; now .10"
    )


# Preset `calibrated`: the score is a probability that includes the hits


def test_probable_enough_without_a_match() -> None:
    assert likely((), 0.81, contributions=FOR) == (
        "active without the gate: score .81 ≥ .60, from vectors +1.9, words +1.2",
        "below .60 the gate would be asked",
    )
    assert likely((), 0.6)[0] == "active without the gate: score .60 ≥ .60"
    assert likely((), 0.81, activation="auto")[0] == "active without the gate: score .81 ≥ .60"


def test_probable_enough_with_a_match() -> None:
    why, flip = likely(HIT, 0.81, contributions=MATCHED)
    assert (
        why == "active without the gate: matched “review”; score .81 ≥ .60, from trigger +2.4, vectors +1.9"
    )
    assert flip == (
        "below .60 the gate would be asked; "
        "without the match it would score about .28: the gate would be asked"
    )


@each_case(
    ("score", "weight", "outcome"),
    [
        (0.9, 0.5, "score about .85: still active"),
        (0.9, 2.0, "score about .55: the gate would be asked"),
        (0.9, 4.0, "score about .14: dropped"),
        (0.8, -1.0, "score about .92: still active"),
    ],
)
def test_the_flip_says_what_the_match_contributed(score: float, weight: float, outcome: str) -> None:
    _why, flip = likely(HIT, score, contributions=(Contribution("trigger", weight),))
    assert flip == f"below .60 the gate would be asked; without the match it would {outcome}"


def test_the_flip_claims_nothing_that_cannot_be_computed() -> None:
    threshold = "below .60 the gate would be asked"
    assert likely(HIT, 0.81, contributions=FOR)[1] == threshold
    assert likely(HIT, 1.0, contributions=MATCHED)[1] == threshold
    assert likely(HIT, 0.9, activation="auto")[1] == ""
    assert likely(EVENT, 0.9)[1] == ""


def test_if_only_a_match_nominates_the_flip_without_it_is_certain() -> None:
    around: dict[str, Any]
    for around in ({"watchers": {"nominate": "pattern"}}, {"direction": "output"}):
        assert likely(HIT, 0.9, activation="auto", **around)[1] == "without the match it would be dropped"
    assert likely(EVENT, 0.9, watchers={"nominate": "pattern"})[1] == "without the event it would be dropped"


def test_active_on_a_match_regardless_of_the_probability() -> None:
    assert likely(HIT, 0.3, contributions=MATCHED, priority="critical") == (
        "active without the gate: matched “review”; a match is enough at critical priority",
        "without the match it would score about .04: dropped",
    )
    assert likely(HIT, 0.3, contributions=MATCHED, activation="auto")[0] == (
        "active without the gate: matched “review”; the topic is auto"
    )
    matched: dict[str, Any] = {"policy": {"medium": PolicyRow(activate=0.6, gate=0.25, matched=0.4)}}
    assert likely(HIT, 0.5, watchers=matched) == (
        "active without the gate: matched “review”; score .50 ≥ .40",
        "below .40 the gate would be asked",
    )
    assert likely((), 0.5, YES, watchers=matched)[0] == (
        "the gate (local, .81) said yes: no trigger matched, but score .50 is between .25 and .60"
    )


def test_a_threshold_of_zero_needs_no_score() -> None:
    always: dict[str, Any] = {"policy": {"medium": PolicyRow(activate=0.0)}}
    assert likely((), 0.0, watchers=always) == (
        "active without the gate: medium priority needs no score",
        "a higher activate in watchers.policy.medium would stop it",
    )
    assert likely((), 0.0, activation_threshold=0.0) == (
        "active without the gate: its own threshold needs no score",
        "a higher activation_threshold in the topic's file would stop it",
    )


def test_a_match_may_not_be_enough() -> None:
    assert likely(HIT, 0.18, contributions=AGAINST) == (
        "dropped: matched “review”, but score .18 < .25 for medium priority, from message −1.2, words +.4",
        "would reach the gate at ≥ .25 and activate at ≥ .60; now .18",
    )


def test_not_probable_enough() -> None:
    assert likely((), 0.07, contributions=AGAINST) == (
        "no trigger matched, and score .07 < .25 for medium priority, from message −1.2, words +.4",
        "would reach the gate at ≥ .25 and activate at ≥ .60; now .07",
    )
    no_gate: dict[str, Any] = {"policy": {"medium": PolicyRow(activate=0.62)}}
    assert likely((), 0.57, watchers=no_gate) == (
        "no trigger matched, and score .57 < .62 for medium priority",
        "would activate at ≥ .62; now .57",
    )
    assert likely((), 0.2499)[1] == "would reach the gate at ≥ .25 and activate at ≥ .60; now .2499"
    assert likely((), 0.02, priority="critical", triggers=(pattern("x"),))[1] == (
        "would reach the gate at ≥ .10 and activate at ≥ .50; now .02; a match would activate it"
    )
    assert likely((), 0.9, direction="output") == (
        "no trigger for the agent's output matched",
        "a trigger with scope output or both would have to match",
    )


def test_thresholds_of_topics_and_settings_are_named() -> None:
    assert likely((), 0.2, similarity_threshold=0.4)[0] == (
        "no trigger matched, and score .20 < .40, the topic's own threshold"
    )
    assert likely((), 0.5, activation_threshold=0.45)[0] == (
        "active without the gate: score .50 ≥ .45, the topic's own threshold"
    )
    assert likely((), 0.4, watchers={"similarity_threshold": 0.5})[0] == (
        "no trigger matched, and score .40 < .50, watchers.similarity_threshold"
    )
    closed: dict[str, Any] = {"similarity_threshold": 0.8, "activation_threshold": 0.5}
    assert likely((), 0.45, **closed) == (
        "no trigger matched, and score .45 < .50, the topic's own threshold",
        "would activate at ≥ .50; now .45",
    )
    assert likely((), 0.6, **closed)[1] == "below .50 it would be dropped"


def test_the_answer_of_the_gate_between_the_thresholds_is_explained() -> None:
    assert likely(HIT, 0.48, YES, MATCHED) == (
        "the gate (local, .81) said yes: matched “review”; score .48 is between .25 and .60, "
        "from trigger +2.4, vectors +1.9",
        "a no from the gate would have kept it out; without the match it would score about .08: dropped",
    )
    assert likely((), 0.48, NO, (Contribution("words", 1.2), Contribution("message", -0.9))) == (
        "the gate (openai, cached) said no: no trigger matched, but score .48 is between .25 and .60, "
        "from words +1.2, message −.9",
        "would activate without the gate at ≥ .60; now .48",
    )
    never: dict[str, Any] = {"policy": {"medium": PolicyRow(gate=0.25)}}
    assert likely((), 0.9, NO, watchers=never) == (
        "the gate (openai, cached) said no: no trigger matched, but score .90 ≥ .25",
        "a yes from the gate would have activated it",
    )
    always: dict[str, Any] = {"policy": {"medium": PolicyRow(activate=0.6, gate=0.0)}}
    assert likely(HIT, 0.1, FAILED, watchers=always)[0] == (
        "the gate failed (no answer within 4 s), and gate.on_failure is skip: "
        "matched “review”; score .10 < .60"
    )


def test_a_match_that_prevented_activation_is_not_called_still_active() -> None:
    flip = likely(HIT, 0.55, YES, (Contribution("trigger", -1.0),))[1]
    assert flip.endswith("without the match it would score about .77: active without the gate")


def test_a_manual_topic_names_the_person_and_the_probability() -> None:
    assert likely(HIT, 0.7, contributions=MATCHED, activation="manual") == (
        "only by hand: matched “review”; score .70 ≥ .60, from trigger +2.4, vectors +1.9",
        "switch it on by hand, or set activation: gated",
    )
    assert likely((), 0.4, activation="manual")[0] == (
        "only by hand: no trigger matched, but score .40 is between .25 and .60"
    )
    assert likely((), 0.07, activation="manual")[1] == "would wait for a person at ≥ .25; now .07"


@each_case(
    ("preset", "score", "flip"),
    [
        ("spec", 0.04, "a trigger would have to match"),
        ("spec", 0.2, "with watchers.nominate: either the gate would be asked: score .20 ≥ .15"),
        ("calibrated", 0.04, "a trigger would have to match"),
        ("calibrated", 0.4, "with watchers.nominate: either the gate would be asked: score .40 ≥ .25"),
        ("calibrated", 0.7, "with watchers.nominate: either it would be active: score .70 ≥ .60"),
    ],
)
def test_a_score_that_may_not_nominate_is_explained(preset: str, score: float, flip: str) -> None:
    watchers = {"nominate": "pattern", **({"policy": TABLE} if preset == "calibrated" else {})}
    assert why_and_flip((), score, preset=preset, watchers=watchers) == (
        "no trigger matched, and only a match nominates (watchers.nominate: pattern)",
        flip,
    )


# Both presets


def test_topics_switched_by_hand_are_explained() -> None:
    assert why_and_flip(HITS, 0.5, forced=True) == (
        "switched on by hand",
        "without the switch the gate would be asked: score .50 ≥ .20",
    )
    assert why_and_flip(HITS, 0.5, forced=False)[0] == "switched off by hand"
    flips = {
        likely(HIT, 0.81, forced=False)[1],
        likely(HIT, 0.02, forced=True)[1],
        likely((), 0.7, forced=True, activation="manual")[1],
        likely(HIT, 0.2, forced=False, activation="auto")[1],
    }
    assert flips == {
        "without the switch it would be active: score .81 ≥ .60",
        "without the switch it would be dropped",
        "without the switch it would wait for a person",
        "without the switch it would be active",
    }


@given(score=st.floats(0.001, 0.999), weight=st.floats(-8, 8))
def test_removing_a_contribution_is_reversible(score: float, weight: float) -> None:
    left = without(score, weight)
    assert left is not None
    if abs(weight) > 1e-6:
        assert (left < score) == (weight > 0)
    again = without(left, -weight)
    assert again is not None and math.isclose(again, score, abs_tol=1e-6)


THRESHOLD = st.none() | st.floats(0, 1).map(lambda value: round(value, 2))
ROW = st.builds(PolicyRow, activate=THRESHOLD, gate=THRESHOLD, matched=THRESHOLD)


@given(
    preset=st.sampled_from(["spec", "calibrated"]),
    row=ROW,
    own=st.tuples(THRESHOLD, THRESHOLD),
    score=st.floats(0, 1).map(lambda value: round(value, 3)),
    hits=st.sampled_from([(), HIT]),
    activation=st.sampled_from(["auto", "gated", "manual"]),
    nominate=st.sampled_from(["either", "pattern"]),
    weight=st.none() | st.floats(-4, 4),
)
def test_every_number_in_a_flip_is_correct(
    preset: str,
    row: PolicyRow,
    own: tuple[float | None, float | None],
    score: float,
    hits: tuple[TriggerHit, ...],
    activation: str,
    nominate: str,
    weight: float | None,
) -> None:
    watchers = WatcherSettings(preset=preset, nominate=nominate, policy={"medium": row})  # type: ignore[arg-type]
    known = topic(activation=activation, similarity_threshold=own[0], activation_threshold=own[1])
    step = decide(known, hits, score, watchers)
    if step.kind == "ask":
        return
    contributions = () if weight is None else (Contribution("trigger", weight),)
    verdicts: dict[str, Verdict] = {"activate": "active", "drop": "dropped", "manual": "manual"}
    around = PolicyContext("input", watchers)
    case = Case(known, hits, score, step, None, verdicts[step.kind], around, contributions)
    assert why(case)
    check(flip(case), known, hits, score, watchers)


KINDS = {"activate": "activate", "reach the gate": "ask", "wait for a person": "manual"}


def check(
    flip: str, known: Topic, hits: tuple[TriggerHit, ...], score: float, watchers: WatcherSettings
) -> None:
    """Check the claims of a flip against the policy."""
    for does, mark in re.findall(r"(activate|reach the gate|wait for a person) at ≥ ([\d.]+)", flip):
        at = float(mark)
        assert decide(known, hits, at, watchers).kind == KINDS[does] or at == 0, flip
        before = decide(known, hits, max(0.0, at - 0.0001), watchers).kind
        assert at > score and before != KINDS[does], flip
    for mark, result in re.findall(r"below ([\d.]+) (the gate would be asked|it would be dropped)", flip):
        kind = decide(known, hits, float(mark) - 0.0001, watchers).kind
        assert kind == ("ask" if "asked" in result else "drop"), flip
    for about, result in re.findall(
        r"score about ([\d.]+): (still active|the gate would be asked|dropped)", flip
    ):
        kind = decide(known, (), float(about), watchers).kind
        expected = {"still active": "activate", "dropped": "drop"}.get(result, "ask")
        near = min((abs(float(about) - threshold) for threshold in thresholds(known, watchers)), default=1.0)
        assert kind == expected or near < 0.005, flip


def thresholds(known: Topic, watchers: WatcherSettings) -> list[float]:
    """All thresholds that may be relevant."""
    row = watchers.row(known.priority)
    marks = (row.activate, row.gate, row.matched, known.similarity_threshold, known.activation_threshold)
    return [mark for mark in marks if mark is not None]


def test_listed_matches_are_short_distinct_and_on_one_line() -> None:
    hits = [
        TriggerHit(0, "pattern", "PR\n#41"),
        TriggerHit(0, "pattern", "pr #41"),
        TriggerHit(1, "language", "de"),
        TriggerHit(2, "pattern", "x" * 80),
        TriggerHit(3, "mention", "@anna"),
        TriggerHit(4, "sentiment", ""),
    ]
    assert matches(hits) == f"“PR #41”, language “de”, “{'x' * 39}…” and 2 more"
    assert matches(hits[5:]) == "sentiment"
    assert matches([]) == ""


# The whole trace


def row_of(name: str, score: float, verdict: Verdict = "dropped", **fields: Any) -> TopicTrace:
    """A trace row."""
    told = {"hits": (), "gate": None, "gate_at": 0.25, "activate_at": 0.6, "rule": "", **fields}
    return TopicTrace(
        topic=name, priority="medium", activation="gated", scores=(), score=score, threshold=0.25,
        verdict=verdict, why="", **told,
    )  # fmt: skip


@each_case(
    ("rows", "text"),
    [
        (
            [row_of("a", 0.17), row_of("b", 0.1)],
            "no trigger matched; closest: a, score .17 < .25",
        ),
        ([row_of("a", 0.17, gate_at=None, activate_at=None)], "no trigger matched"),
        ([row_of("a", 0.0)], "no trigger matched"),
        (
            [row_of("a", 0.2), row_of("b", 0.18, hits=HIT)],
            "1 topic matched, but none was activated; closest: b, score .18 < .25",
        ),
        (
            [row_of("a", 0.7, "manual", hits=HIT, gate_at=None, activate_at=None)],
            "1 topic matched, but none was activated",
        ),
        ([row_of("a", 0.4, "rejected", gate=NO), row_of("b", 0.2)], "the gate said no to 1 topic"),
        ([row_of("a", 0.4, "offered", gate=OFFERED)], "offered to the agent: a"),
        ([row_of("a", 0.4, "failed", gate=FAILED)], "the gate failed for 1 topic (no answer within 4 s)"),
        (
            [row_of("a", 0.4, "failed", gate=GateOutcome("failed", "x", reason="not asked: not live"))] * 2,
            "the gate was not asked about 2 topics",
        ),
    ],
)
def test_the_summary_names_the_closest_topic_if_none_is_active(rows: list[TopicTrace], text: str) -> None:
    funnel = Funnel(len(rows), sum(1 for row in rows if row.hits), 0, 0, 0)
    assert summary(rows, funnel, "input", empty=False) == f"nothing active: {text}"
