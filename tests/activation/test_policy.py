"""The gate bypass table, row by row (spec 5.2 and 5.4)."""

from __future__ import annotations

import math
from typing import Any

from engine.activation.policy import Step, decide
from engine.activation.trace import TriggerHit
from engine.settings.model import PolicyRow, WatcherSettings
from tests.activation.support import topic
from tests.activation.tuning_cases import CALIBRATED
from tests.cases import each_case

HIT = (TriggerHit(0, "pattern", "review", 0, 6),)
EVENT = (TriggerHit(0, "webhook", "email new_message"),)
CRON = (TriggerHit(0, "cron", "x"),)
AUTO, MANUAL = {"activation": "auto"}, {"activation": "manual"}
ON, OFF = {"forced": True}, {"forced": False}
CRITICAL, HIGH, LOW = ({"priority": priority} for priority in ("critical", "high", "low"))
STRICT = {"nominate": "pattern"}


def step(
    hits: tuple[TriggerHit, ...], score: float, settings: dict[str, Any] | None = None, **of: Any
) -> Step:
    return decide(topic(**of), hits, score, WatcherSettings(**{"preset": "spec", **(settings or {})}))


def calibrated(
    hits: tuple[TriggerHit, ...], score: float, settings: dict[str, Any] | None = None, **of: Any
) -> Step:
    """The score is a probability that includes the hits."""
    return step(hits, score, {"preset": "calibrated", "policy": CALIBRATED.policy, **(settings or {})}, **of)


def own(gate: float | None = None, activate: float | None = None) -> dict[str, Any]:
    return {"similarity_threshold": gate, "activation_threshold": activate}


@each_case(
    ("of", "hits", "score", "rule"),
    [
        # The table of the specification
        (CRITICAL, HIT, 0.0, "activate critical"),
        (CRITICAL, HIT, 0.9, "activate critical"),
        (HIGH, HIT, 0.3, "activate high ≥.30"),
        (HIGH, HIT, 0.299999, "ask high <.30"),
        (HIGH, HIT, 0.0, "ask high <.30"),
        ({}, HIT, 0.2, "ask medium ≥.20"),
        ({}, HIT, 0.9, "ask medium ≥.20"),
        ({}, HIT, 0.19999, "drop medium <.20"),
        (LOW, HIT, 0.3, "ask low ≥.30"),
        (LOW, HIT, 0.29, "drop low <.30"),
        # Similarity alone always asks, and a match or an event is enough for some
        (CRITICAL | AUTO, (), 0.15, "ask similar ≥.15"),
        (CRITICAL, (), 0.15, "ask similar ≥.15"),
        ({}, (), 0.1499, "drop no match"),
        *((AUTO | priority, HIT, 0.0, "activate auto") for priority in (LOW, {}, HIGH, CRITICAL)),
        *((LOW | kind, event, 0.0, "activate event") for kind in ({}, AUTO) for event in (EVENT, CRON)),
        (MANUAL, HIT, 0.5, "manual manual"),
        (MANUAL, EVENT, 0.0, "manual manual"),
        (MANUAL, (), 0.5, "manual manual"),
        (MANUAL, HIT, 0.1, "drop medium <.20"),
        (MANUAL, (), 0.1, "drop no match"),
        # A topic's threshold replaces the settings' and keeps a hit from the gate, but not from activation
        (own(0.1), (), 0.12, "ask similar ≥.10"),
        (own(0.25), (), 0.2, "drop no match"),
        (HIGH | own(0.25), HIT, 0.2, "drop own <.25"),
        (HIGH | own(0.25), HIT, 0.26, "ask high <.30"),
        (own(0.25), HIT, 0.1, "drop own <.25"),
        (CRITICAL | own(0.5), HIT, 0.0, "activate critical"),
        (HIGH | own(0.5), HIT, 0.35, "activate high ≥.30"),
        (own(0.05), HIT, 0.19, "drop medium <.20"),
    ],
)
def test_with_the_preset_of_the_specification(
    of: dict[str, Any], hits: tuple[TriggerHit, ...], score: float, rule: str
) -> None:
    got = step(hits, score, **of)
    assert f"{got.kind} {got.rule}" == rule


@each_case(
    ("of", "hits", "score", "rule"),
    [
        (CRITICAL, HIT, 0.0, "activate critical"),
        (CRITICAL, (), 0.09, "drop critical <.10"),
        (CRITICAL, (), 0.1, "ask critical <.50"),
        (CRITICAL, (), 0.5, "activate critical ≥.50"),
        (AUTO, HIT, 0.0, "activate auto"),
        (AUTO, (), 0.1, "drop medium <.25"),
        (AUTO, (), 0.4, "ask medium <.60"),
        (AUTO, (), 0.7, "activate medium ≥.60"),
        (LOW, EVENT, 0.0, "activate event"),
        (LOW, CRON, 0.0, "activate event"),
        (MANUAL, (), 0.24, "drop medium <.25"),
        (MANUAL, (), 0.25, "manual manual"),
        (MANUAL, (), 0.9, "manual manual"),
        (MANUAL, HIT, 0.1, "drop medium <.25"),
        # A topic's thresholds replace the row's, each by itself
        *((own(0.4, 0.8), hits, 0.39, "drop own <.40") for hits in ((), HIT)),
        *((own(0.4, 0.8), hits, 0.4, "ask own <.80") for hits in ((), HIT)),
        *((own(0.4, 0.8), hits, 0.8, "activate own ≥.80") for hits in ((), HIT)),
        (own(0.05), HIT, 0.1, "ask medium <.60"),
        (own(0.05), (), 0.1, "ask medium <.60"),
        (own(activate=0.45), (), 0.5, "activate own ≥.45"),
        (own(activate=0.45), (), 0.3, "ask own <.45"),
        (own(activate=0.45), (), 0.2, "drop medium <.25"),
        (CRITICAL | own(activate=0.9), HIT, 0.0, "activate critical"),
        (CRITICAL | own(activate=0.9), (), 0.8, "ask own <.90"),
        (own(0.7), (), 0.59, "drop own <.70"),
        (own(0.7), (), 0.6, "activate medium ≥.60"),
        (own(0.7), (), 0.7, "activate medium ≥.60"),
    ],
)
def test_with_a_probability(
    of: dict[str, Any], hits: tuple[TriggerHit, ...], score: float, rule: str
) -> None:
    got = calibrated(hits, score, **of)
    assert f"{got.kind} {got.rule}" == rule


@each_case("activation", ["auto", "gated", "manual"])
@each_case("hits", [(), HIT, EVENT])
@each_case("score", [0.0, 0.9])
@each_case("decided", [step, calibrated])
def test_a_forced_topic_overrides_everything(
    activation: str, hits: tuple[TriggerHit, ...], score: float, decided: Any
) -> None:
    for forced, expected in ((True, ("activate", "forced on")), (False, ("off", "forced off"))):
        got = decided(hits, score, forced=forced, activation=activation)
        assert (got.kind, got.rule) == expected


def test_only_a_match_nominates_when_the_setting_says_so_and_in_the_agents_output() -> None:
    spec = WatcherSettings(preset="spec")
    for got in (step((), 0.9, STRICT), decide(topic(), (), 0.9, spec, is_input=False)):
        assert got == Step("drop", "no match", 0.15)
    assert step(HIT, 0.9, STRICT).kind == decide(topic(), HIT, 0.9, spec, is_input=False).kind == "ask"
    assert calibrated((), 0.99, STRICT) == Step("drop", "no match", 0.25)
    assert [calibrated(HIT, score, STRICT).kind for score in (0.1, 0.4, 0.7)] == ["drop", "ask", "activate"]


def test_the_threshold_in_the_settings_applies_to_topics_without_their_own() -> None:
    settings = {"similarity_threshold": 0.35}
    assert calibrated((), 0.34, settings).rule == "medium <.35"
    assert calibrated((), 0.34, settings, priority="high").kind == "drop"
    assert calibrated((), 0.34, settings, similarity_threshold=0.3).kind == "ask"
    assert step((), 0.0, {"similarity_threshold": 0}).kind == "drop", "zero is no similarity at all"
    assert step((), 0.001, {"similarity_threshold": 0}).kind == "ask"


@each_case(
    ("row", "score", "rule"),
    [
        ({"activate": 0.5, "gate": 0.125}, 0.125, "ask medium <.50"),
        ({"activate": 0.5, "gate": 0.125}, 0.1, "drop medium <.125"),
        ({"activate": 0.5, "gate": 0.125}, 0.5, "activate medium ≥.50"),
        ({"activate": 0.5}, 0.49, "drop medium <.50"),
        ({"gate": 0.0}, 0.0, "ask medium"),
        ({"gate": 0.3}, 0.99, "ask medium ≥.30"),
        ({"activate": 0.0}, 0.0, "activate medium"),
        ({"activate": 1.0}, 0.99, "drop medium <1.00"),
        ({}, 1.0, "drop medium never"),
    ],
)
def test_the_policy_table_is_configurable(row: dict[str, float], score: float, rule: str) -> None:
    settings = {"policy": {"medium": PolicyRow(**row)}}
    for got in (step(HIT, score, settings), calibrated((), score, settings)):
        assert f"{got.kind} {got.rule}" == rule


@each_case("preset", ["spec", "calibrated"])
@each_case("nominate", ["either", "pattern"])
@each_case("is_input", [True, False])
@each_case(
    "of",
    [{}, CRITICAL, LOW | own(0.05), HIGH | own(0.4, 0.1), MANUAL, AUTO | own(0.0), ON, OFF],
)
def test_the_step_of_a_score_of_zero_holds_up_to_its_lowest_mark(
    preset: str, nominate: str, is_input: bool, of: dict[str, Any]
) -> None:
    settings = WatcherSettings(**{"preset": preset, "nominate": nominate})  # type: ignore[arg-type]
    known = topic(**of)
    far = decide(known, (), 0.0, settings, is_input=is_input)
    mark = min(far.marks, default=math.inf)
    scores = [number / 50 for number in range(51)]
    below = [score for score in scores if score < mark]
    for score in below:
        assert decide(known, (), score, settings, is_input=is_input) == far
    assert below or mark == 0
