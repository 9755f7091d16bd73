"""The gate bypass table, row by row (spec 5.2 and 5.4)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.activation.policy import Step, Thresholds, decide, far_step, threshold_of, thresholds_of
from engine.activation.trace import TriggerHit
from engine.settings.model import PolicyRow, Priority, WatcherSettings
from tests.activation.support import topic
from tests.cases import each_case

HIT = (TriggerHit(0, "pattern", "review", 0, 6),)
EVENT = (TriggerHit(0, "webhook", "email new_message"),)


def step(
    hits: tuple[TriggerHit, ...], score: float, settings: dict[str, Any] | None = None, **of: Any
) -> Step:
    return decide(topic(**of), hits, score, WatcherSettings(**{"preset": "spec", **(settings or {})}))


@each_case(
    ("priority", "score", "kind", "rule"),
    [
        ("critical", 0.0, "activate", "critical"),
        ("critical", 0.9, "activate", "critical"),
        ("high", 0.3, "activate", "high ≥.30"),
        ("high", 0.299999, "ask", "high <.30"),
        ("high", 0.0, "ask", "high <.30"),
        ("medium", 0.2, "ask", "medium ≥.20"),
        ("medium", 0.9, "ask", "medium ≥.20"),
        ("medium", 0.19999, "drop", "medium <.20"),
        ("low", 0.3, "ask", "low ≥.30"),
        ("low", 0.29, "drop", "low <.30"),
    ],
)
def test_the_table_of_the_specification(priority: str, score: float, kind: str, rule: str) -> None:
    got = step(HIT, score, priority=priority)
    assert (got.kind, got.rule) == (kind, rule)


@each_case(
    ("priority", "activate_at", "gate_at"),
    [("critical", 0.0, None), ("high", 0.3, 0.0), ("medium", None, 0.2), ("low", None, 0.3)],
)
def test_a_step_contains_the_thresholds_of_its_row(
    priority: str, activate_at: float | None, gate_at: float | None
) -> None:
    for score in (0.0, 0.25, 1.0):
        got = step(HIT, score, priority=priority)
        assert (got.activate_at, got.gate_at, got.threshold) == (activate_at, gate_at, 0.15)


@pytest.mark.parametrize("activation", ["auto", "gated"])
def test_similarity_alone_always_asks(activation: str) -> None:
    got = step((), 0.15, activation=activation, priority="critical")
    assert got == Step("ask", "similar ≥.15", 0.15, None, 0.15)
    assert step((), 0.1499, activation=activation).kind == "drop"


def test_without_a_hit_and_below_the_threshold_nothing_matches() -> None:
    assert step((), 0.1) == Step("drop", "no match", 0.15, None, 0.15)


def test_only_a_match_nominates_when_the_setting_says_so() -> None:
    assert step((), 0.9, {"nominate": "pattern"}) == Step("drop", "no match", 0.15)
    assert step(HIT, 0.9, {"nominate": "pattern"}).kind == "ask"


def test_similarity_nominates_nothing_in_the_agents_output() -> None:
    got = decide(topic(), (), 0.9, WatcherSettings(preset="spec"), is_input=False)
    assert got == Step("drop", "no match", 0.15)
    assert decide(topic(), HIT, 0.9, WatcherSettings(preset="spec"), is_input=False).kind == "ask"


def test_zero_similarity_nominates_nothing_even_at_a_threshold_of_zero() -> None:
    assert step((), 0.0, {"similarity_threshold": 0}).kind == "drop"
    assert step((), 0.001, {"similarity_threshold": 0}).kind == "ask"


def test_an_auto_topic_activates_on_a_hit_at_any_priority() -> None:
    for priority in ("low", "medium", "high", "critical"):
        got = step(HIT, 0.0, activation="auto", priority=priority)
        assert (got.kind, got.rule) == ("activate", "auto")


@each_case("kind", ["webhook", "cron"])
@each_case("activation", ["auto", "gated"])
def test_an_event_activates_without_the_gate(kind: str, activation: str) -> None:
    got = step((TriggerHit(0, kind, "x"),), 0.0, activation=activation, priority="low")
    assert (got.kind, got.rule) == ("activate", "event")


@each_case(
    ("hits", "score", "kind", "rule"),
    [
        (HIT, 0.5, "manual", "manual"),
        (EVENT, 0.0, "manual", "manual"),
        ((), 0.5, "manual", "manual"),
        (HIT, 0.1, "drop", "medium <.20"),
        ((), 0.1, "drop", "no match"),
    ],
)
def test_a_manual_topic_is_marked_if_it_would_have_been_a_candidate(
    hits: tuple[TriggerHit, ...], score: float, kind: str, rule: str
) -> None:
    got = step(hits, score, activation="manual")
    assert (got.kind, got.rule) == (kind, rule)


@each_case("activation", ["auto", "gated", "manual"])
@each_case("hits", [(), HIT, EVENT])
def test_a_forced_topic_overrides_everything(activation: str, hits: tuple[TriggerHit, ...]) -> None:
    assert step(hits, 0.9, forced=True, activation=activation).kind == "activate"
    assert step(hits, 0.0, forced=True, activation=activation).rule == "forced on"
    assert step(hits, 0.9, forced=False, activation=activation).kind == "off"
    assert step(hits, 0.9, forced=False, activation=activation).rule == "forced off"


def test_a_topics_threshold_replaces_the_one_in_the_settings() -> None:
    assert step((), 0.12, similarity_threshold=0.1).rule == "similar ≥.10"
    assert step((), 0.2, similarity_threshold=0.25).kind == "drop"
    assert step((), 0.25, similarity_threshold=0.25).threshold == 0.25


def test_a_topics_threshold_also_keeps_a_hit_from_the_gate() -> None:
    held = step(HIT, 0.2, priority="high", similarity_threshold=0.25)
    assert held == Step("drop", "own <.25", 0.25, 0.3, 0.25)
    assert step(HIT, 0.26, priority="high", similarity_threshold=0.25).kind == "ask"
    assert step(HIT, 0.1, priority="medium", similarity_threshold=0.25).rule == "own <.25"


def test_a_topics_threshold_does_not_prevent_activation_by_the_table() -> None:
    assert step(HIT, 0.0, priority="critical", similarity_threshold=0.5).rule == "critical"
    assert step(HIT, 0.35, priority="high", similarity_threshold=0.5).rule == "high ≥.30"


def test_a_low_topic_threshold_does_not_lower_the_row() -> None:
    assert step(HIT, 0.19, priority="medium", similarity_threshold=0.05).kind == "drop"


@each_case(
    ("row", "score", "kind", "rule"),
    [
        ({"activate": 0.5, "gate": 0.125}, 0.125, "ask", "medium <.50"),
        ({"activate": 0.5, "gate": 0.125}, 0.1, "drop", "medium <.125"),
        ({"activate": 0.5, "gate": 0.125}, 0.5, "activate", "medium ≥.50"),
        ({"activate": 0.5}, 0.49, "drop", "medium <.50"),
        ({"gate": 0.0}, 0.0, "ask", "medium"),
        ({}, 1.0, "drop", "medium never"),
        ({"activate": 1.0}, 0.99, "drop", "medium <1.00"),
    ],
)
def test_the_policy_table_is_configurable(row: dict[str, float], score: float, kind: str, rule: str) -> None:
    settings = WatcherSettings(preset="spec", policy={"medium": PolicyRow(**row)})
    got = decide(topic(), HIT, score, settings)
    assert (got.kind, got.rule) == (kind, rule)


def test_a_table_without_the_row_lets_nothing_through() -> None:
    assert (
        decide(topic(), HIT, 1.0, WatcherSettings(preset="spec", policy={"medium": PolicyRow()})).rule
        == "medium never"
    )


# Preset `calibrated`: the score is a probability that includes the hits


TABLE: dict[Priority, PolicyRow] = {
    "critical": PolicyRow(activate=0.5, gate=0.1, matched=0.0),
    "high": PolicyRow(activate=0.55, gate=0.2),
    "medium": PolicyRow(activate=0.6, gate=0.25),
    "low": PolicyRow(activate=0.7, gate=0.3),
}


def calibrated(
    hits: tuple[TriggerHit, ...], score: float, settings: dict[str, Any] | None = None, **of: Any
) -> Step:
    watchers = WatcherSettings(**{"preset": "calibrated", "policy": TABLE, **(settings or {})})
    return decide(topic(**of), hits, score, watchers)


@each_case("hits", [(), HIT])
@each_case(
    ("priority", "gate_at", "activate_at"), [("high", 0.2, 0.55), ("medium", 0.25, 0.6), ("low", 0.3, 0.7)]
)
def test_both_thresholds_apply_to_matched_and_unmatched_topics_alike(
    hits: tuple[TriggerHit, ...], priority: str, gate_at: float, activate_at: float
) -> None:
    def at(score: float) -> tuple[str, str]:
        got = calibrated(hits, score, priority=priority)
        assert (got.gate_at, got.activate_at, got.threshold) == (gate_at, activate_at, gate_at)
        return got.kind, got.rule

    lower, upper = f"{gate_at:.2f}"[1:], f"{activate_at:.2f}"[1:]
    assert at(gate_at - 1e-9) == ("drop", f"{priority} <{lower}")
    assert at(gate_at) == ("ask", f"{priority} <{upper}")
    assert at(activate_at - 1e-9) == ("ask", f"{priority} <{upper}")
    assert at(activate_at) == ("activate", f"{priority} ≥{upper}")
    assert at(1.0)[0] == "activate" and at(0.0)[0] == "drop"


def test_a_critical_topic_needs_a_match_or_a_probability() -> None:
    assert calibrated(HIT, 0.0, priority="critical").rule == "critical"
    assert [calibrated((), score, priority="critical").kind for score in (0.09, 0.1, 0.5)] == [
        "drop",
        "ask",
        "activate",
    ]


def test_an_auto_topic_without_a_match_is_decided_by_its_probability() -> None:
    assert calibrated(HIT, 0.0, activation="auto").rule == "auto"
    assert [calibrated((), score, activation="auto").kind for score in (0.1, 0.4, 0.7)] == [
        "drop",
        "ask",
        "activate",
    ]


@pytest.mark.parametrize("kind", ["webhook", "cron"])
def test_an_event_needs_no_probability(kind: str) -> None:
    got = calibrated((TriggerHit(0, kind, "x"),), 0.0, priority="low")
    assert (got.kind, got.rule) == ("activate", "event")


def test_a_manual_topic_waits_for_a_person_from_the_lower_threshold() -> None:
    assert [calibrated((), score, activation="manual").kind for score in (0.24, 0.25, 0.9)] == [
        "drop",
        "manual",
        "manual",
    ]
    assert calibrated(HIT, 0.1, activation="manual").kind == "drop"


def test_with_pattern_nomination_the_probability_still_decides_about_matches() -> None:
    strict = {"nominate": "pattern"}
    assert calibrated((), 0.99, strict) == Step("drop", "no match", 0.25)
    assert [calibrated(HIT, score, strict).kind for score in (0.1, 0.4, 0.7)] == ["drop", "ask", "activate"]


def test_a_topics_thresholds_replace_both_thresholds() -> None:
    own = {"similarity_threshold": 0.4, "activation_threshold": 0.8}
    for hits in ((), HIT):
        assert calibrated(hits, 0.39, None, **own) == Step("drop", "own <.40", 0.4, 0.8, 0.4)
        assert calibrated(hits, 0.4, None, **own) == Step("ask", "own <.80", 0.4, 0.8, 0.4)
        assert calibrated(hits, 0.8, None, **own) == Step("activate", "own ≥.80", 0.4, 0.8, 0.4)


def test_a_topics_lower_threshold_may_be_below_the_rows() -> None:
    assert calibrated(HIT, 0.1, similarity_threshold=0.05).kind == "ask"
    assert calibrated((), 0.1, similarity_threshold=0.05).rule == "medium <.60"


def test_a_topics_upper_threshold_leaves_the_lower_one_to_the_row() -> None:
    assert calibrated((), 0.5, activation_threshold=0.45).rule == "own ≥.45"
    assert calibrated((), 0.3, activation_threshold=0.45).rule == "own <.45"
    assert calibrated((), 0.2, activation_threshold=0.45).rule == "medium <.25"


def test_a_sufficient_match_overrides_a_topics_upper_threshold() -> None:
    assert calibrated(HIT, 0.0, priority="critical", activation_threshold=0.9).kind == "activate"
    assert calibrated((), 0.8, priority="critical", activation_threshold=0.9).kind == "ask"


def test_equal_thresholds_leave_nothing_to_ask() -> None:
    kinds = [calibrated((), score, similarity_threshold=0.7).kind for score in (0.59, 0.6, 0.69, 0.7)]
    assert kinds == ["drop", "activate", "activate", "activate"]


def test_the_threshold_in_the_settings_applies_to_topics_without_their_own() -> None:
    settings = {"similarity_threshold": 0.35}
    assert calibrated((), 0.34, settings).rule == "medium <.35"
    assert calibrated((), 0.34, settings, priority="high").kind == "drop"
    assert calibrated((), 0.34, settings, similarity_threshold=0.3).kind == "ask"


@each_case(
    ("row", "score", "kind", "rule"),
    [
        ({"activate": 0.5}, 0.49, "drop", "medium <.50"),
        ({"activate": 0.5}, 0.5, "activate", "medium ≥.50"),
        ({"gate": 0.3}, 0.99, "ask", "medium ≥.30"),
        ({"gate": 0.0}, 0.0, "ask", "medium"),
        ({"activate": 0.0}, 0.0, "activate", "medium"),
        ({}, 1.0, "drop", "medium never"),
    ],
)
def test_a_configured_row_replaces_the_presets(
    row: dict[str, float], score: float, kind: str, rule: str
) -> None:
    got = calibrated((), score, {"policy": {"medium": PolicyRow(**row)}})
    assert (got.kind, got.rule) == (kind, rule)


@pytest.mark.parametrize("hits", [(), HIT, EVENT])
def test_a_forced_topic_overrides_any_probability(hits: tuple[TriggerHit, ...]) -> None:
    assert calibrated(hits, 0.0, forced=True).rule == "forced on"
    assert calibrated(hits, 1.0, forced=False).rule == "forced off"


def test_thresholds_of_gives_the_effective_thresholds() -> None:
    settings, spec = WatcherSettings(preset="calibrated", policy=TABLE), WatcherSettings(preset="spec")
    assert thresholds_of(topic(), settings, matched=False) == Thresholds(0.25, 0.6)
    assert thresholds_of(topic(priority="critical"), settings, matched=True) == Thresholds(0.1, 0.0)
    own = topic(similarity_threshold=0.3, activation_threshold=0.9)
    assert thresholds_of(own, settings, matched=True) == Thresholds(0.3, 0.9)
    assert thresholds_of(own, spec, matched=False) == Thresholds(0.3, None)
    assert thresholds_of(own, spec, matched=True) == Thresholds(0.3, 0.9)
    assert thresholds_of(topic(priority="high"), spec, matched=True) == Thresholds(0.0, 0.3)
    assert threshold_of(topic(priority="low"), settings) == 0.3


@each_case("preset", ["spec", "calibrated"])
@each_case("nominate", ["either", "pattern"])
@each_case("is_input", [True, False])
@each_case(
    "of",
    [
        {},
        {"priority": "critical"},
        {"priority": "low", "similarity_threshold": 0.05},
        {"priority": "high", "activation_threshold": 0.1, "similarity_threshold": 0.4},
        {"activation": "manual"},
        {"activation": "auto", "similarity_threshold": 0.0},
        {"forced": True},
        {"forced": False},
    ],
)
def test_a_topic_below_its_far_mark_gets_the_far_step(
    preset: str, nominate: str, is_input: bool, of: dict[str, Any]
) -> None:
    settings = WatcherSettings(**{"preset": preset, "nominate": nominate})  # type: ignore[arg-type]
    known = topic(**of)
    mark, far = far_step(known, settings, is_input=is_input)
    scores = [number / 50 for number in range(51)]
    below = [score for score in scores if score < mark]
    for score in below:
        assert decide(known, (), score, settings, is_input=is_input) == far
    assert below or mark == 0
