"""The gate bypass table, row by row (spec 5.2 and 5.4)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.activation.policy import Step, decide
from engine.activation.trace import TriggerHit
from engine.config import PolicyRow, WatcherSettings
from tests.activation.support import topic

HIT = (TriggerHit(0, "pattern", "review", 0, 6),)
EVENT = (TriggerHit(0, "webhook", "email new_message"),)


def step(
    hits: tuple[TriggerHit, ...], score: float, settings: dict[str, Any] | None = None, **of: Any
) -> Step:
    return decide(topic(**of), hits, score, WatcherSettings(**{"preset": "spec", **(settings or {})}))


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("priority", "activate_at", "gate_at"),
    [("critical", 0.0, None), ("high", 0.3, 0.0), ("medium", None, 0.2), ("low", None, 0.3)],
)
def test_a_step_carries_the_cut_lines_of_its_row(
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


def test_similarity_can_be_left_out_for_a_message() -> None:
    got = decide(topic(), (), 0.9, WatcherSettings(preset="spec"), similarity_nominates=False)
    assert got == Step("drop", "no match", 0.15)


def test_no_similarity_at_all_nominates_nothing_even_at_a_threshold_of_nought() -> None:
    assert step((), 0.0, {"similarity_threshold": 0}).kind == "drop"
    assert step((), 0.001, {"similarity_threshold": 0}).kind == "ask"


def test_an_auto_topic_activates_on_a_hit_whatever_its_priority() -> None:
    for priority in ("low", "medium", "high", "critical"):
        got = step(HIT, 0.0, activation="auto", priority=priority)
        assert (got.kind, got.rule) == ("activate", "auto")


@pytest.mark.parametrize("kind", ["webhook", "cron"])
@pytest.mark.parametrize("activation", ["auto", "gated"])
def test_an_event_activates_without_the_gate(kind: str, activation: str) -> None:
    got = step((TriggerHit(0, kind, "x"),), 0.0, activation=activation, priority="low")
    assert (got.kind, got.rule) == ("activate", "event")


@pytest.mark.parametrize(
    ("hits", "score", "kind", "rule"),
    [
        (HIT, 0.5, "manual", "manual"),
        (EVENT, 0.0, "manual", "manual"),
        ((), 0.5, "manual", "manual"),
        (HIT, 0.1, "drop", "medium <.20"),
        ((), 0.1, "drop", "no match"),
    ],
)
def test_a_manual_topic_shows_when_it_would_have_been_a_candidate(
    hits: tuple[TriggerHit, ...], score: float, kind: str, rule: str
) -> None:
    got = step(hits, score, activation="manual")
    assert (got.kind, got.rule) == (kind, rule)


@pytest.mark.parametrize("activation", ["auto", "gated", "manual"])
@pytest.mark.parametrize("hits", [(), HIT, EVENT])
def test_the_hand_of_a_person_goes_before_everything(activation: str, hits: tuple[TriggerHit, ...]) -> None:
    assert step(hits, 0.9, forced=True, activation=activation).kind == "activate"
    assert step(hits, 0.0, forced=True, activation=activation).rule == "forced on"
    assert step(hits, 0.9, forced=False, activation=activation).kind == "off"
    assert step(hits, 0.9, forced=False, activation=activation).rule == "forced off"


def test_a_topics_own_threshold_nominates_in_place_of_the_settings() -> None:
    assert step((), 0.12, similarity_threshold=0.1).rule == "similar ≥.10"
    assert step((), 0.2, similarity_threshold=0.25).kind == "drop"
    assert step((), 0.25, similarity_threshold=0.25).threshold == 0.25


def test_a_topics_own_threshold_also_holds_back_a_hit_from_the_gate() -> None:
    held = step(HIT, 0.2, priority="high", similarity_threshold=0.25)
    assert held == Step("drop", "own <.25", 0.25, 0.3, 0.25)
    assert step(HIT, 0.26, priority="high", similarity_threshold=0.25).kind == "ask"
    assert step(HIT, 0.1, priority="medium", similarity_threshold=0.25).rule == "own <.25"


def test_a_topics_own_threshold_does_not_hold_back_what_the_table_activates() -> None:
    assert step(HIT, 0.0, priority="critical", similarity_threshold=0.5).rule == "critical"
    assert step(HIT, 0.35, priority="high", similarity_threshold=0.5).rule == "high ≥.30"


def test_a_low_threshold_of_its_own_does_not_lower_the_row() -> None:
    assert step(HIT, 0.19, priority="medium", similarity_threshold=0.05).kind == "drop"


@pytest.mark.parametrize(
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
def test_the_table_is_data(row: dict[str, float], score: float, kind: str, rule: str) -> None:
    settings = WatcherSettings(preset="spec", policy={"medium": PolicyRow(**row)})
    got = decide(topic(), HIT, score, settings)
    assert (got.kind, got.rule) == (kind, rule)


def test_a_table_without_the_row_lets_nothing_through() -> None:
    assert (
        decide(topic(), HIT, 1.0, WatcherSettings(preset="spec", policy={"medium": PolicyRow()})).rule
        == "medium never"
    )
