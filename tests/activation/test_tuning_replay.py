"""Trying thresholds on the logged messages gives what the policy would have decided (spec 5.5)."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.activation.decisions import Decision
from engine.activation.policy import Thresholds
from engine.activation.tuning.replay import alone_text, figures, flips, histogram, overview, total
from engine.settings.model import PolicyRow
from engine.topics.model import Activation
from tests.activation.support import topic
from tests.activation.tuning_cases import (
    CALIBRATED,
    KINDS,
    SPEC,
    TRIGGERS,
    decision,
    forced,
    judge,
    series,
    table_of,
)
from tests.cases import each_case

TOPICS = tuple(
    replace(known, triggers=TRIGGERS)
    for known in (
        topic("auto", activation="auto"),
        topic("critical", priority="critical"),
        topic("high", priority="high"),
        topic("low", priority="low", similarity_threshold=0.4, activation_threshold=0.9),
        topic("manual", activation="manual"),
        topic("medium"),
        forced("off", False),
        forced("on", True),
        topic("own", priority="high", similarity_threshold=0.22),
        topic("same", priority="high", similarity_threshold=0.15, activation_threshold=0.55),
    )
)
SETTINGS = {
    "calibrated": CALIBRATED,
    "spec": SPEC,
    "pattern": replace(CALIBRATED, nominate="pattern"),
    "table": replace(CALIBRATED, policy={"medium": PolicyRow(activate=0.5, matched=0.35)}),
    "never": replace(CALIBRATED, policy={"medium": PolicyRow(gate=0.3), "high": PolicyRow(activate=0.4)}),
    "spec with a threshold": replace(SPEC, similarity_threshold=0.33),
}


def log(seed: int) -> list[Decision]:
    chance = random.Random(seed)
    return [
        decision(
            number,
            chance.choice((0.0, 1.0, round(chance.random(), 2), round(chance.random(), 6))),
            chance.choice((True, False, None)),
            chance.choice(("person", "use", "gate")),
            about=chance.choice(TOPICS).name,
            hits=chance.choice(((), ("pattern",), ("url", "webhook"), ())),
            direction=chance.choice(("input", "input", "output")),
        )
        for number in range(60)
    ]


threshold_pairs = st.one_of(
    st.none(),
    st.tuples(*[st.one_of(st.none(), st.integers(0, 100).map(lambda threshold: threshold / 100))] * 2)
    .filter(lambda pair: pair[0] is None or pair[1] is None or pair[0] <= pair[1])
    .map(lambda pair: Thresholds(*pair)),
)


@pytest.mark.parametrize("named", SETTINGS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 5), thresholds=threshold_pairs)
def test_figures_and_flips_equal_deciding_each_message_again(
    named: str, seed: int, thresholds: Thresholds | None
) -> None:
    watchers = SETTINGS[named]
    table = table_of(log(seed), TOPICS, watchers, "local")
    for name in table.topics:
        column, now = table.columns[name], thresholds or table.today(name)
        was, after = (
            [judge(table, row, name, each, watchers) for row in range(table.size)] for each in (None, now)
        )
        found = figures(table, name, now)
        assert (found.active, found.offered) == (after.count("active"), after.count("offered"))
        useful, noise = (
            [each for each, label in zip(after, table.labels[:, column], strict=True) if label == kind]
            for kind in (1, 0)
        )
        assert (found.useful_active, found.noise_active) == (useful.count("active"), noise.count("active"))
        assert found.reached == (pytest.approx(1 - useful.count("quiet") / len(useful)) if useful else None)
        assert found.quiet == (pytest.approx(noise.count("quiet") / len(noise)) if noise else None)
        order = ("quiet", "offered", "active")
        expected = {}
        for row, (old, new) in enumerate(zip(was, after, strict=True)):
            if old != new:
                label = int(table.labels[row, column])
                better = (order.index(new) > order.index(old)) == (label == 1)
                expected[row] = ("changed" if label < 0 else "fixed" if better else "lost", old, new)
        turned = flips(table, name, table.today(name), now)
        assert {flip.row: (flip.kind, flip.before, flip.after) for flip in turned.rows} == expected
        assert turned.total == len(expected)


def test_flips_are_listed_up_to_a_limit_but_all_counted() -> None:
    table = table_of([*series([0.5] * 300, None), *series([0.5] * 20, False, 300), *series([0.5], True, 320)])
    found = flips(table, "t", Thresholds(0.2, 0.4), Thresholds(0.7, 0.9), limit=12)
    assert (found.fixed, found.lost, found.changed) == (20, 1, 300)
    assert [flip.row for flip in found.rows] == list(range(320, 308, -1))
    assert flips(table, "t", Thresholds(0.2, 0.4), Thresholds(0.7, 0.9), limit=0).rows == ()


def test_a_message_sent_again_is_one_message_whose_offers_count_each_time() -> None:
    again = [decision(number, 0.4, message="the same") for number in range(3)]
    table = table_of([again[0]._replace(useful=True, labelled_by="person"), *again[1:]])
    found = figures(table, "t")
    assert (table.size, found.messages, found.labelled, found.offered) == (1, 1, 1, 1)
    assert found.offers_per_day == 3
    assert table.messages[0].at == again[2].at


def test_an_agent_is_told_and_a_gate_asked_of_the_two_likeliest_topics_only() -> None:
    known = tuple(topic(name) for name in "abc")
    scored = [decision(1, score, about=name) for name, score in zip("abc", (0.58, 0.52, 0.55), strict=True)]
    offering = table_of(scored, known, provider="agent")
    assert [figures(offering, name).offered for name in "abc"] == [1, 0, 1]
    # with a higher lower threshold for one of them, the next is not its business; with a lower one it waits
    assert figures(offering, "b", Thresholds(0.3, 0.6)).offered == 0
    assert figures(offering, "b", Thresholds(0.3, 0.51)).active == 1
    for provider, expected in (("anthropic", [1, 0, 1]), ("local", [1, 1, 1])):
        asking = table_of(scored, known, provider=provider)
        assert [figures(asking, name).offered for name in "abc"] == expected


def test_an_agent_is_not_told_of_a_topic_near_chance() -> None:
    known = (topic("t", similarity_threshold=0.1), topic("u"))
    near = [decision(1, 0.35)]
    assert figures(table_of(near, known, provider="agent"), "t").offered == 0
    assert figures(table_of(near, known, provider="local"), "t").offered == 1


@each_case(
    ("label", "gate", "expected"),
    [
        ((None, ""), ("", ""), (None, "")),
        ((None, ""), ("yes", "openai"), (True, "gate")),
        ((None, ""), ("no", "ask"), (False, "person")),
        ((True, "person"), ("no", "ask"), (True, "person")),
        ((True, "use"), ("no", "openai"), (True, "use")),
    ],
)
def test_the_strongest_label_counts(
    label: tuple[bool | None, str], gate: tuple[str, str], expected: tuple[bool | None, str]
) -> None:
    found = figures(table_of([decision(1, 0.5, label[0], label[1], gate=gate)]), "t")
    assert (found.useful, found.noise) == (int(expected[0] is True), int(expected[0] is False))
    assert {"person": found.by_person, "gate": found.by_gate, "use": found.by_use} == {
        name: int(name == expected[1]) for name in ("person", "gate", "use")
    }


def test_the_cost_is_that_of_the_gate_asked_last() -> None:
    old = [decision(n, 0.5, True, gate=("no", "local")) for n in range(40)]
    new = [decision(40 + n, 0.5, None, gate=("yes", "openai"), usd=0.0004) for n in range(3)]
    table = table_of([*old, *new, decision(43, 0.5, None, gate=("yes", "openai"))])
    assert table.cost_per_call == pytest.approx(0.0003)
    assert figures(table, "t").cost_usd_per_day == pytest.approx(44 * 0.0003)
    assert table_of(old).cost_per_call == 0


def test_offers_are_counted_by_the_days_the_log_spans() -> None:
    table = table_of([decision(0, 0.5), decision(1, 0.5, minutes=4 * 24 * 60)])
    assert figures(table, "t").offers_per_day == pytest.approx(0.5)
    assert table_of([]).days == 1


@each_case("hits", [(("x",),), ((),), ((0, ["webhook"]),), ((0, 7, "x", 0, 1),), ((9, "webhook", "x"),)])
def test_hits_of_another_form_or_of_triggers_that_are_gone_do_not_count(
    hits: tuple[tuple[object, ...], ...],
) -> None:
    table = table_of([decision(1, 0.1, True)._replace(hits=hits)])  # type: ignore[arg-type]
    assert not table.hit.any() and figures(table, "t").active == 0


def test_totals_weight_every_message_equally() -> None:
    decisions = [*series([0.9] * 3, True), decision(8, 0.9, False, about="u"), decision(9, 0.4, about="u")]
    both = total(overview(table_of(decisions, (topic("t"), topic("u")))).values())
    assert (both.precision, both.recall, both.labelled, both.offered) == (0.75, 1, 4, 1)
    assert both.f1 == pytest.approx(6 / 7)
    assert total(()).f1 is None


def test_active_noise_without_useful_messages_gives_an_f1_of_zero() -> None:
    wrong = figures(table_of(series([0.9], False)), "t")
    assert (wrong.precision, wrong.recall, wrong.f1, wrong.quiet) == (0, None, 0, 0)
    kept_out = figures(table_of(series([0.1], False)), "t")
    assert (kept_out.precision, kept_out.recall, kept_out.f1, kept_out.quiet) == (None, None, None, 1)


def test_plotted_messages_are_those_decided_by_thresholds() -> None:
    known = topic("t", priority="critical", triggers=TRIGGERS)
    decisions = [
        decision(1, 0.0, False),
        decision(2, 0.499, True),
        decision(3, 0.5, False),
        decision(4, 1.0, True),
        *(decision(5 + n, 0.2, bool(n), hits=(kind,)) for n, kind in enumerate(KINDS[1:3])),
        decision(7, 0.2),
    ]
    found = histogram(table_of(decisions, (known,)), "t", 2)
    assert (found.useful, found.noise, found.fixed) == ((1, 1), (1, 1), 2)
    assert histogram(table_of([], (known,)), "t", 3).useful == (0, 0, 0)


@each_case(
    ("activation", "said"),
    [
        ("auto", "a trigger alone activated it 1 time; with activation: gated, labels would count"),
        ("gated", ""),
        ("manual", "activated only by hand: the thresholds have no effect"),
    ],
)
def test_what_no_threshold_changes_is_said(activation: Activation, said: str) -> None:
    known = replace(topic("t", activation=activation), triggers=TRIGGERS)
    logged = [decision(1, 0.1, hits=["pattern"]), decision(2, 0.9)]
    assert alone_text(table_of(logged, [known]), "t") == said
