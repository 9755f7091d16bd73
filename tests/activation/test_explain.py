"""Every row says why, and what would have changed it, with exact numbers."""

from __future__ import annotations

from typing import Any

import pytest

from engine.activation import explain
from engine.activation.numbers import limit, written
from engine.activation.policy import decide
from engine.activation.trace import Direction, GateOutcome, TriggerHit, Verdict
from engine.config import PolicyRow, WatcherSettings
from tests.activation.support import topic

HITS = (TriggerHit(0, "pattern", "review", 0, 6), TriggerHit(0, "pattern", "PR", 9, 11))


def told(
    hits: tuple[TriggerHit, ...],
    score: float,
    gate: GateOutcome | None = None,
    *,
    verdict: Verdict | None = None,
    direction: Direction = "input",
    on_failure: str = "skip",
    watchers: dict[str, Any] | None = None,
    **of: Any,
) -> tuple[str, str]:
    """The why and the flip of a row."""
    known, settings = topic(**of), WatcherSettings(**{"preset": "spec", **(watchers or {})})
    step = decide(known, hits, score, settings, similarity_nominates=direction == "input")
    verdicts: dict[str, Verdict] = {"activate": "active", "drop": "dropped", "manual": "manual", "off": "off"}
    answers: dict[str, Verdict] = {"yes": "active", "no": "rejected", "failed": "failed"}
    reached = verdict or (answers[gate.answer] if gate else verdicts[step.kind])
    nominates = direction == "input" and settings.nominate == "either"
    around = explain.Circumstances(direction, nominates, on_failure)
    arguments = (known, hits, score, step, gate, reached, around)
    return explain.why(*arguments), explain.flip(*arguments)


@pytest.mark.parametrize(
    ("value", "against", "text"),
    [
        (0.31, 0.3, ".31"),
        (0.0, 0.15, ".00"),
        (1.0, 0.3, "1.00"),
        (0.2996, 0.3, ".2996"),
        (0.3, 0.3, ".30"),
        (0.1499999, 0.15, ".1499999"),
        (0.149, 0.15, ".149"),
        (0.2, None, ".20"),
        (0.995, None, ".99"),
    ],
)
def test_scores_are_written_so_that_their_side_shows(value: float, against: float | None, text: str) -> None:
    assert written(value, against) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.3, ".30"), (0.15, ".15"), (0.125, ".125"), (0, ".00"), (1, "1.00"), (0.12345, ".1235")],
)
def test_thresholds_are_written_as_they_are_set(value: float, text: str) -> None:
    assert limit(value) == text


def test_active_by_its_row() -> None:
    assert told(HITS, 0.31, priority="high") == (
        "active without the gate: matched “review”, “PR”; score .31 ≥ .30",
        "below .30 the gate would be asked",
    )
    alone = {"policy": {"medium": PolicyRow(activate=0.4)}}
    assert told(HITS, 0.5, watchers=alone)[1] == "below .40 it would be dropped"


def test_active_whatever_the_score() -> None:
    assert told(HITS[:1], 0.0, priority="critical") == (
        "active without the gate: matched “review”; critical priority needs no score",
        "without the match it would be dropped",
    )
    assert (
        told(HITS[:1], 0.2, priority="critical")[1] == "without the match the gate would be asked: .20 ≥ .15"
    )
    assert (
        told(HITS[:1], 0.0, activation="auto")[0]
        == "active without the gate: matched “review”; the topic is auto"
    )


def test_active_by_an_event() -> None:
    hits = (TriggerHit(0, "webhook", "email new_message"),)
    assert told(hits, 0.0)[0] == "active without the gate: it waits for webhook “email new_message”"


def test_switched_by_hand() -> None:
    assert told(HITS, 0.5, forced=True)[0] == "switched on by hand"
    assert told(HITS, 0.5, forced=False) == (
        "switched off by hand",
        "taking the switch back lets its triggers decide again",
    )


def test_dropped_by_its_row() -> None:
    assert told(HITS[:1], 0.12) == (
        "dropped: matched “review”, but .12 < .20 for medium priority",
        "would reach the gate at ≥ .20; now .12",
    )
    assert told(HITS[:1], 0.12, similarity_threshold=0.4)[0] == (
        "dropped: matched “review”, but .12 < .40, the topic's own threshold"
    )
    assert (
        told(HITS[:1], 0.12, priority="high", similarity_threshold=0.4)[1]
        == "would be active at ≥ .30; now .12"
    )
    assert told(HITS[:1], 0.9, watchers={"policy": {"medium": PolicyRow()}}) == (
        "dropped: matched “review”, but the policy row medium lets nothing through",
        "a score to activate or to ask in watchers.policy.medium would let it through",
    )


def test_dropped_for_want_of_a_match() -> None:
    assert told((), 0.04) == (
        "no trigger matched and .04 < .15",
        "would reach the gate at ≥ .15; now .04",
    )
    strict = {"nominate": "pattern"}
    assert told((), 0.2, watchers=strict) == (
        "no trigger matched, and only a match nominates",
        "watchers.nominate: either would ask the gate, as .20 ≥ .15",
    )
    assert told((), 0.04, watchers=strict)[1] == "a trigger would have to match"
    assert told((), 0.9, direction="output") == (
        "no trigger for the agent's output matched",
        "a trigger with scope output or both would have to match",
    )


def test_what_the_gate_said() -> None:
    yes = GateOutcome("yes", "local", probability=0.81)
    no = GateOutcome("no", "openai", cached=True)
    assert told(HITS[:1], 0.28, yes, priority="high") == (
        "the gate (local, .81) said yes: matched “review”; score .28",
        "a no from the gate would have kept it out",
    )
    assert told(HITS[:1], 0.28, no, priority="high") == (
        "the gate (openai, remembered) said no: matched “review”; score .28",
        "at ≥ .30 it would be active without the gate; now .28",
    )
    assert told((), 0.2, no) == (
        "the gate (openai, remembered) said no: no trigger matched, but .20 ≥ .15",
        "a yes from the gate would have activated it",
    )


def test_when_the_gate_failed() -> None:
    failed = GateOutcome("failed", "openai", reason="no answer within 4 s")
    assert told(HITS[:1], 0.2, failed) == (
        "the gate failed (no answer within 4 s) and gate.on_failure is skip: matched “review”; score .20",
        "an answer would decide; gate.on_failure: activate would let it in",
    )
    assert told(HITS[:1], 0.2, failed, verdict="active", on_failure="activate") == (
        "active, though the gate failed (no answer within 4 s) and gate.on_failure is activate: "
        "matched “review”; score .20",
        "an answer would decide; gate.on_failure: skip would leave it out",
    )


def test_a_manual_topic() -> None:
    assert told(HITS[:1], 0.5, activation="manual") == (
        "only a person activates it; matched “review”",
        "switch it on by hand, or set activation: gated",
    )
    assert told((), 0.5, activation="manual")[0] == (
        "only a person activates it; no trigger matched, but .50 ≥ .15"
    )


def test_matches_are_short_different_and_on_one_line() -> None:
    hits = [
        TriggerHit(0, "pattern", "PR\n#41"),
        TriggerHit(0, "pattern", "pr #41"),
        TriggerHit(1, "language", "de"),
        TriggerHit(2, "pattern", "x" * 80),
        TriggerHit(3, "mention", "@anna"),
        TriggerHit(4, "sentiment", ""),
    ]
    assert explain.matches(hits) == f"“PR #41”, language “de”, “{'x' * 39}…” and 2 more"
    assert explain.matches(hits[5:]) == "sentiment"
    assert explain.matches([]) == ""
