"""Every row states its reason and what would have changed it, with exact numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.activation.explain import Candidate, PolicyContext, explained, matches, summary
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
from engine.settings.model import PolicyRow, WatcherSettings
from engine.topics.model import Topic
from tests.activation.support import pattern, topic
from tests.activation.support import row as trace_row
from tests.activation.tuning_cases import CALIBRATED
from tests.cases import each_case

HITS = (TriggerHit(0, "pattern", "review", 0, 6), TriggerHit(0, "pattern", "PR", 9, 11))
HIT = HITS[:1]
EVENT = (TriggerHit(0, "webhook", "email new_message"),)
FOR = (Contribution("vectors", 1.93), Contribution("words", 1.2), Contribution("message", -0.6))
MATCHED = (Contribution("trigger", 2.4), *FOR)
AGAINST = (Contribution("message", -1.21), Contribution("words", 0.4), Contribution("bm25", 0.01))
YES = GateOutcome("yes", "local", probability=0.81)
NO = GateOutcome("no", "openai", cached=True)
OFFERED = GateOutcome("offered", "agent")
FAILED = GateOutcome("failed", "openai", reason="no answer within 4 s")
UNASKED = GateOutcome("failed", "openai", reason="not asked: the message is not live")
Fields = dict[str, Any]
AUTO: Fields = {"activation": "auto"}
MANUAL: Fields = {"activation": "manual"}
CRITICAL: Fields = {"priority": "critical"}
HIGH: Fields = {"priority": "high"}
STRICT: Fields = {"watchers": {"nominate": "pattern"}}
REVIEWS: Fields = {"triggers": (pattern("review"),)}


def row(**marks: float) -> Fields:
    """Settings with another row for medium priority."""
    return {"watchers": {"policy": {"medium": PolicyRow(**marks)}}}


def spec(
    hits: tuple[TriggerHit, ...],
    score: float,
    gate: GateOutcome | None = None,
    contributions: Sequence[Contribution] = (),
    *,
    preset: str = "spec",
    direction: Direction = "input",
    on_failure: str = "skip",
    watchers: dict[str, Any] | None = None,
    **of: Any,
) -> Candidate:
    """A case whose score is a similarity."""
    known, settings = topic(**of), WatcherSettings(**{"preset": preset, **(watchers or {})})
    step = decide(known, hits, score, settings, is_input=direction == "input")
    context = PolicyContext(direction, settings, on_failure)
    return Candidate(known, hits, score, step, context, (), gate, tuple(contributions))


def likely(*given: Any, **of: Any) -> Candidate:
    """A case whose score is a probability, hits included."""
    return spec(
        *given,
        preset="calibrated",
        **{**of, "watchers": {"policy": CALIBRATED.policy, **of.get("watchers", {})}},
    )


@each_case(
    ("value", "against", "text"),
    [
        (0.31, (0.3,), ".31"),
        (0.0, (0.15,), ".00"),
        (1.0, (0.3,), "1.00"),
        (0.2996, (0.3,), ".2996"),
        (0.3, (0.3,), ".30"),
        (0.1499999, (0.15,), ".1499999"),
        (0.995, (), ".99"),
        (0.5996, (0.25, 0.6), ".5996"),
    ],
)
def test_scores_are_formatted_so_that_they_differ_from_thresholds(
    value: float, against: tuple[float, ...], text: str
) -> None:
    assert format_score(value, *against) == text


def test_thresholds_and_weights_are_formatted_as_configured_and_with_their_sign() -> None:
    for value, text in ((0.3, ".30"), (0.125, ".125"), (0, ".00"), (1, "1.00"), (0.12345, ".1235")):
        assert format_threshold(value) == text
    for weight, digits, text in (
        (1.93, 1, "+1.9"), (-0.42, 1, "−.4"), (-12.0, 1, "−12.0"), (0.04, 1, "0"), (-0.04, 2, "−.04"),
    ):  # fmt: skip
        assert format_weight(weight, digits) == text


def check_texts(case: Candidate, reason: str, change: str | None) -> None:
    why, flip = explained(case)
    assert why == reason
    assert change is None or flip == change


ACTIVE = "active without the gate: "
DROPPED = "without the match it would be dropped"
ASKED = "the gate would be asked"
REACH = "would reach the gate at ≥ .15; now .04"
UNMATCHED = "no trigger matched, and score"
BOTH = "would reach the gate at ≥ .25 and activate at ≥ .60; now"


@each_case(
    ("case", "reason", "change"),
    [
        # Active by the policy row, or whatever the score
        (
            spec(HITS, 0.31, **HIGH),
            f"{ACTIVE}matched “review”, “PR”; score .31 ≥ .30",
            f"below .30 {ASKED}",
        ),
        (
            spec(HIT, 0.0, **CRITICAL),
            f"{ACTIVE}matched “review”; critical priority needs no score",
            DROPPED,
        ),
        (
            spec(HIT, 0.2, **CRITICAL),
            f"{ACTIVE}matched “review”; critical priority needs no score",
            f"without the match {ASKED}: score .20 ≥ .15",
        ),
        (spec(HIT, 0.0, **AUTO), f"{ACTIVE}matched “review”; the topic is auto", DROPPED),
        (
            spec(EVENT, 0.0),
            f"{ACTIVE}triggered by webhook “email new_message”",
            "without the event it would be dropped",
        ),
        (likely(EVENT, 0.9), f"{ACTIVE}triggered by webhook “email new_message”", ""),
        # Dropped by the policy row, or without a match
        (
            spec(HIT, 0.12),
            "dropped: matched “review”, but score .12 < .20 for medium priority",
            "would reach the gate at ≥ .20; now .12",
        ),
        *(
            (
                spec(HIT, 0.9, preset=preset, **row()),
                "dropped: matched “review”, but watchers.policy.medium sets no threshold",
                "",
            )
            for preset in ("spec", "calibrated")
        ),
        (likely((), 0.9, **row()), "no trigger matched, and watchers.policy.medium sets no threshold", ""),
        (spec((), 0.04), f"{UNMATCHED} .04 < .15", REACH),
        (spec((), 0.2, similarity_threshold=0.25), f"{UNMATCHED} .20 < .25", None),
        *(
            (
                case((), 0.9, direction="output"),
                "no trigger for the agent's output matched",
                "a trigger with scope output or both would have to match",
            )
            for case in (spec, likely)
        ),
        *(
            (
                case((), 0.2, **STRICT),
                "no trigger matched, and only a match nominates (watchers.nominate: pattern)",
                "a trigger would have to match",
            )
            for case in (spec, likely)
        ),
        # A match would be enough for some
        *(
            (spec((), 0.04, **of, **REVIEWS), f"{UNMATCHED} .04 < .15", f"{REACH}; a match would activate it")
            for of in (AUTO, CRITICAL)
        ),
        *(
            (case, f"{UNMATCHED} .04 < .15", REACH)
            for case in (
                spec((), 0.04, **REVIEWS),
                spec((), 0.04, **AUTO),
                spec((), 0.04, **AUTO, triggers=(pattern("x", scope="output"),)),
            )
        ),
        # The gate's answer
        (
            spec(HIT, 0.28, NO, **HIGH),
            "the gate (openai, cached) said no: matched “review”; score .28 < .30",
            "would activate without the gate at ≥ .30; now .28",
        ),
        (
            spec((), 0.2, NO),
            "the gate (openai, cached) said no: no trigger matched, but score .20 ≥ .15",
            "a yes from the gate would have activated it",
        ),
        (
            spec(HIT, 0.28, OFFERED, **HIGH),
            "offered to the agent, which opens it if it applies: matched “review”; score .28 < .30",
            "would activate at ≥ .30; now .28",
        ),
        (
            spec((), 0.2, OFFERED),
            "offered to the agent, which opens it if it applies: no trigger matched, but score .20 ≥ .15",
            "only a yes from a gate that answers would activate it",
        ),
        (
            spec(HIT, 0.2, FAILED),
            "the gate failed (no answer within 4 s), and gate.on_failure is skip: "
            "matched “review”; score .20 ≥ .20",
            "an answer would decide; with gate.on_failure: activate it would be active",
        ),
        (
            spec(HIT, 0.2, FAILED, on_failure="activate"),
            "active, although the gate failed (no answer within 4 s), because gate.on_failure is activate: "
            "matched “review”; score .20 ≥ .20",
            "an answer would decide; with gate.on_failure: skip it would be dropped",
        ),
        (
            spec(HIT, 0.2, UNASKED),
            "the gate was not asked (the message is not live), and gate.on_failure is skip: "
            "matched “review”; score .20 ≥ .20",
            None,
        ),
        # Switched by hand, or left to the person
        (
            spec(HITS, 0.5, forced=True),
            "switched on by hand",
            f"without the switch {ASKED}: score .50 ≥ .20",
        ),
        *(
            (case, f"switched {'on' if case.topic.forced else 'off'} by hand", f"without the switch {change}")
            for case, change in (
                (likely(HIT, 0.81, forced=False), "it would be active: score .81 ≥ .60"),
                (likely(HIT, 0.02, forced=True), "it would be dropped"),
                (likely((), 0.7, forced=True, **MANUAL), "it would wait for a person"),
                (likely(HIT, 0.2, forced=False, **AUTO), "it would be active"),
            )
        ),
        (
            spec(HIT, 0.5, **MANUAL),
            "only by hand: matched “review”; score .50 ≥ .20",
            "switch it on by hand, or set activation: gated",
        ),
        (spec((), 0.5, **MANUAL), "only by hand: no trigger matched, but score .50 ≥ .15", None),
    ],
)
def test_a_row_is_explained(case: Candidate, reason: str, change: str | None) -> None:
    check_texts(case, reason, change)


@each_case(
    ("case", "reason", "change"),
    [
        (likely((), 0.81, **AUTO), f"{ACTIVE}score .81 ≥ .60", None),
        (
            likely(HIT, 0.81, None, MATCHED),
            f"{ACTIVE}matched “review”; score .81 ≥ .60, from trigger +2.4, vectors +1.9",
            f"below .60 {ASKED}; without the match it would score about .28: {ASKED}",
        ),
        *(
            (
                likely(HIT, score, None, (Contribution("trigger", weight),)),
                f"{ACTIVE}matched “review”; score {format_score(score)} ≥ .60"
                + (f", from trigger {format_weight(weight)}" if weight > 0 else ""),
                f"below .60 {ASKED}; without the match it would score about {outcome}",
            )
            for score, weight, outcome in (
                (0.9, 0.5, ".85: still active"),
                (0.9, 2.0, f".55: {ASKED}"),
                (0.9, 4.0, ".14: dropped"),
                (0.8, -1.0, ".92: still active"),
            )
        ),
        # Nothing is claimed that cannot be computed; what is certain is
        (likely(HIT, 1.0), f"{ACTIVE}matched “review”; score 1.00 ≥ .60", f"below .60 {ASKED}"),
        (likely(HIT, 0.9, **AUTO), f"{ACTIVE}matched “review”; the topic is auto", ""),
        (likely(HIT, 0.9, **AUTO, **STRICT), f"{ACTIVE}matched “review”; the topic is auto", DROPPED),
        # Active on a match, or at any score
        (
            likely(HIT, 0.3, None, MATCHED, **CRITICAL),
            f"{ACTIVE}matched “review”; a match is enough at critical priority",
            "without the match it would score about .04: dropped",
        ),
        (likely((), 0.0, **row(activate=0.0)), f"{ACTIVE}medium priority needs no score", ""),
        (likely((), 0.0, activation_threshold=0.0), f"{ACTIVE}the topic needs no score", ""),
        # Not probable enough
        (
            likely(HIT, 0.18, None, AGAINST),
            "dropped: matched “review”, but score .18 < .25 for medium priority, "
            "from message −1.2, words +.4",
            f"{BOTH} .18",
        ),
        (
            likely((), 0.07, None, AGAINST),
            f"{UNMATCHED} .07 < .25 for medium priority, from message −1.2, words +.4",
            f"{BOTH} .07",
        ),
        (likely((), 0.2499), f"{UNMATCHED} .2499 < .25 for medium priority", f"{BOTH} .2499"),
        (
            likely((), 0.02, **CRITICAL, **REVIEWS),
            f"{UNMATCHED} .02 < .10 for critical priority",
            "would reach the gate at ≥ .10 and activate at ≥ .50; now .02; a match would activate it",
        ),
        # Thresholds of topics and settings are named
        (
            likely((), 0.2, similarity_threshold=0.4),
            f"{UNMATCHED} .20 < .40",
            None,
        ),
        (
            likely((), 0.5, activation_threshold=0.45),
            f"{ACTIVE}score .50 ≥ .45",
            None,
        ),
        (
            likely((), 0.4, watchers={"similarity_threshold": 0.5}),
            f"{UNMATCHED} .40 < .50",
            None,
        ),
        (
            likely((), 0.6, similarity_threshold=0.8, activation_threshold=0.5),
            f"{ACTIVE}score .60 ≥ .50",
            "below .50 it would be dropped",
        ),
        # The gate's answer between the thresholds
        (
            likely(HIT, 0.48, YES, MATCHED),
            "the gate (local, .81) said yes: matched “review”; score .48 is between .25 and .60, "
            "from trigger +2.4, vectors +1.9",
            "a no from the gate would have kept it out; without the match it would score about .08: dropped",
        ),
        (
            likely(HIT, 0.55, YES, (Contribution("trigger", -1.0),)),
            "the gate (local, .81) said yes: matched “review”; score .55 is between .25 and .60",
            "a no from the gate would have kept it out; "
            "without the match it would score about .77: active without the gate",
        ),
        (
            likely((), 0.48, NO, (Contribution("words", 1.2), Contribution("message", -0.9))),
            "the gate (openai, cached) said no: no trigger matched, but score .48 is between .25 and .60, "
            "from words +1.2, message −.9",
            "would activate without the gate at ≥ .60; now .48",
        ),
        (
            likely(HIT, 0.7, None, MATCHED, **MANUAL),
            "only by hand: matched “review”; score .70 ≥ .60, from trigger +2.4, vectors +1.9",
            "switch it on by hand, or set activation: gated",
        ),
    ],
)
def test_a_row_with_a_probability_is_explained(case: Candidate, reason: str, change: str | None) -> None:
    check_texts(case, reason, change)


THRESHOLD = st.none() | st.floats(0, 1).map(lambda value: round(value, 2))
ROWS = st.builds(PolicyRow, activate=THRESHOLD, gate=THRESHOLD, matched=THRESHOLD)


@given(
    preset=st.sampled_from(["spec", "calibrated"]),
    policy=ROWS,
    own=st.tuples(THRESHOLD, THRESHOLD),
    score=st.floats(0, 1).map(lambda value: round(value, 3)),
    hits=st.sampled_from([(), HIT]),
    activation=st.sampled_from(["auto", "gated", "manual"]),
    nominate=st.sampled_from(["either", "pattern"]),
    weight=st.none() | st.floats(-4, 4),
)
def test_every_number_in_a_flip_is_correct(
    preset: str,
    policy: PolicyRow,
    own: tuple[float | None, float | None],
    score: float,
    hits: tuple[TriggerHit, ...],
    activation: str,
    nominate: str,
    weight: float | None,
) -> None:
    watchers = WatcherSettings(preset=preset, nominate=nominate, policy={"medium": policy})  # type: ignore[arg-type]
    known = topic(activation=activation, similarity_threshold=own[0], activation_threshold=own[1])
    step = decide(known, hits, score, watchers)
    if step.kind == "ask":
        return
    contributions = () if weight is None else (Contribution("trigger", weight),)
    case = Candidate(known, hits, score, step, PolicyContext("input", watchers), (), None, contributions)
    why, flip = explained(case)
    assert why
    check(flip, known, hits, score, watchers)


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


def dropped(name: str, score: float, verdict: Verdict = "dropped", **fields: Any) -> TopicTrace:
    return trace_row(name, score, verdict, **fields)


@each_case(
    ("rows", "text"),
    [
        (
            [dropped("a", 0.17), dropped("b", 0.1)],
            "no trigger matched",
        ),
        ([dropped("a", 0.17, gate_at=None, activate_at=None)], "no trigger matched"),
        ([dropped("a", 0.0)], "no trigger matched"),
        (
            [dropped("a", 0.2), dropped("b", 0.18, hits=HIT)],
            "1 topic matched, but none was activated",
        ),
        (
            [dropped("a", 0.7, "manual", hits=HIT, gate_at=None, activate_at=None)],
            "1 topic matched, but none was activated",
        ),
        ([dropped("a", 0.4, "rejected", gate=NO), dropped("b", 0.2)], "the gate said no to 1 topic"),
        ([dropped("a", 0.4, "offered", gate=OFFERED)], "offered to the agent: a"),
        ([dropped("a", 0.4, "failed", gate=FAILED)], "the gate failed for 1 topic (no answer within 4 s)"),
        (
            [dropped("a", 0.4, "failed", gate=GateOutcome("failed", "x", reason="not asked: not live"))] * 2,
            "the gate was not asked about 2 topics",
        ),
    ],
)
def test_the_summary_says_why_no_topic_is_active(rows: list[TopicTrace], text: str) -> None:
    funnel = Funnel(len(rows), sum(1 for row in rows if row.hits), 0, 0, 0)
    assert summary(rows, funnel, empty=False) == f"nothing active: {text}"
