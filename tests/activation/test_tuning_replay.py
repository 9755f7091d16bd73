"""Replaying the log with other thresholds gives what the policy would have decided (spec 5.5)."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.activation.decision import Decision
from engine.activation.policy import Thresholds
from engine.activation.tuning.replay import figures, flips, histogram, overview, total
from engine.activation.tuning.table import DecisionTable
from engine.settings.model import PolicyRow
from engine.topics.model import Topic
from tests.activation.support import topic
from tests.activation.tuning_cases import CALIBRATED, SPEC, decision, forced, judge, series, table_of
from tests.cases import each_case

TOPICS = (
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
SETTINGS = {
    "calibrated": CALIBRATED,
    "spec": SPEC,
    "pattern": replace(CALIBRATED, nominate="pattern"),
    "table": replace(CALIBRATED, policy={"medium": PolicyRow(activate=0.5, matched=0.35)}),
    "never": replace(CALIBRATED, policy={"medium": PolicyRow(gate=0.3), "high": PolicyRow(activate=0.4)}),
    "spec with a threshold": replace(SPEC, similarity_threshold=0.33),
}
GATES = (
    ("", ""),
    ("yes", "local"),
    ("no", "local"),
    ("yes", "openai"),
    ("no", "openai"),
    ("failed", "local"),
)


def log(seed: int, signal: str) -> list[Decision]:
    chance = random.Random(seed)
    names = [known.name for known in TOPICS]
    return [
        decision(
            number,
            chance.choice((0.0, 1.0, round(chance.random(), 2), round(chance.random(), 6))),
            chance.choice((True, False, None)),
            chance.choice(("person", "use", "gate")),
            about=chance.choice(names),
            gate=chance.choice(GATES),
            hits=chance.choice(((), ("pattern",), ("url", "webhook"), ())),
            signal=signal,
            direction=chance.choice(("input", "input", "output")),
        )
        for number in range(160)
    ]


threshold_pairs = st.one_of(
    st.none(),
    st.tuples(
        st.one_of(st.none(), st.integers(0, 100).map(lambda threshold: threshold / 100)),
        st.one_of(st.none(), st.integers(0, 100).map(lambda threshold: threshold / 100)),
    )
    .filter(lambda pair: pair[0] is None or pair[1] is None or pair[0] <= pair[1])
    .map(lambda pair: Thresholds(*pair)),
)


@pytest.mark.parametrize("named", SETTINGS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 5), thresholds=threshold_pairs)
def test_figures_equal_deciding_each_row_again(named: str, seed: int, thresholds: Thresholds | None) -> None:
    watchers = SETTINGS[named]
    table = DecisionTable(
        log(seed, "tfidf" if watchers.preset == "spec" else "probability"), TOPICS, watchers
    )
    assert table.size == 160
    for name in table.topics:
        rows = [row for row in range(table.size) if table.decision(row).topic == name]
        judged = [judge(table, row, thresholds, watchers) for row in rows]
        useful = sum(one.chance for one in judged if one.useful)
        noise = sum(one.chance for one in judged if one.useful is False)
        found = figures(table, name, thresholds)
        assert found.decisions == len(rows)
        assert found.gate_calls == sum(one.outcome == "asked" for one in judged)
        assert (found.useful, found.noise) == (
            sum(one.useful is True for one in judged),
            sum(one.useful is False for one in judged),
        )
        assert found.useful_active == pytest.approx(useful)
        assert found.noise_active == pytest.approx(noise)
        assert found.precision == (pytest.approx(useful / (useful + noise)) if useful + noise else None)
        assert found.recall == (pytest.approx(useful / found.useful) if found.useful else None)


@pytest.mark.parametrize("named", SETTINGS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 5), thresholds=threshold_pairs.filter(bool))
def test_flips_are_the_decisions_that_change(named: str, seed: int, thresholds: Thresholds) -> None:
    watchers = SETTINGS[named]
    table = DecisionTable(
        log(seed, "tfidf" if watchers.preset == "spec" else "probability"), TOPICS, watchers
    )
    for name in table.topics:
        found = flips(table, name, table.today(name), thresholds)
        expected = {}
        for row in range(table.size):
            if table.decision(row).topic != name:
                continue
            was, now = judge(table, row, None, watchers), judge(table, row, thresholds, watchers)
            if was.outcome != now.outcome:
                right = [(one.chance >= 0.5) == was.useful for one in (was, now)]
                turned = was.useful is not None and right[0] != right[1]
                kind = "changed" if not turned else "fixed" if right[1] else "lost"
                expected[row] = (kind, was.outcome, now.outcome)
        assert {flip.index: (flip.kind, flip.before, flip.after) for flip in found.rows} == expected
        kinds = [kind for kind, _, _ in expected.values()]
        assert (found.fixed, found.lost, found.changed) == tuple(
            kinds.count(kind) for kind in ("fixed", "lost", "changed")
        )
        ranks = [(flip.kind == "changed", table.labels[flip.index] < 0, -flip.index) for flip in found.rows]
        assert ranks == sorted(ranks)


@each_case("named", SETTINGS)
def test_todays_thresholds_change_nothing(named: str) -> None:
    watchers = SETTINGS[named]
    table = DecisionTable(log(9, "tfidf" if watchers.preset == "spec" else "probability"), TOPICS, watchers)
    for name in table.topics:
        today = table.today(name)
        assert figures(table, name, today) == figures(table, name)
        assert flips(table, name, today, today).rows == ()
    assert overview(table) == overview(table, {name: table.today(name) for name in table.topics})


def test_flips_are_listed_up_to_a_limit_but_all_counted() -> None:
    table = table_of([*series([0.5] * 300, None), *series([0.5] * 20, False, 300), *series([0.5], True, 320)])
    found = flips(table, "t", Thresholds(0.2, 0.4), Thresholds(0.7, 0.9), limit=12)
    assert (found.fixed, found.lost, found.changed) == (20, 1, 300)
    assert [flip.index for flip in found.rows] == list(range(320, 308, -1))
    assert found.rows[0].kind == "lost" and found.rows[1].kind == "fixed"
    assert flips(table, "t", Thresholds(0.2, 0.4), Thresholds(0.7, 0.9), limit=0).rows == ()


def test_a_flip_is_classified_by_its_label_and_gate_answer() -> None:
    table = table_of([decision(1, 0.5, True, gate=("yes", "local")), decision(2, 0.5, False)])
    found = flips(table, "t", Thresholds(0.2, 0.6), Thresholds(0.2, 0.4))
    assert [(flip.index, flip.kind) for flip in found.rows] == [(1, "lost"), (0, "changed")]


@each_case(
    ("label", "gate", "expected"),
    [
        ((None, ""), ("", ""), (None, "")),
        ((None, ""), ("yes", "openai"), (True, "gate")),
        ((None, ""), ("no", "gemini"), (False, "gate")),
        ((None, ""), ("yes", "local"), (None, "")),
        ((None, ""), ("no", "ask"), (False, "person")),
        ((None, ""), ("failed", "ask"), (None, "")),
        ((True, "person"), ("no", "ask"), (True, "person")),
        ((True, "use"), ("no", "openai"), (True, "use")),
        ((True, "use"), ("no", "ask"), (False, "person")),
        ((False, "gate"), ("yes", "local"), (False, "gate")),
    ],
)
def test_the_strongest_label_counts(
    label: tuple[bool | None, str], gate: tuple[str, str], expected: tuple[bool | None, str]
) -> None:
    table = table_of([decision(1, 0.5, label[0], label[1], gate=gate)])
    found = figures(table, "t")
    assert (found.useful, found.noise) == (int(expected[0] is True), int(expected[0] is False))
    assert {"person": found.by_person, "gate": found.by_gate, "use": found.by_use} == {
        name: int(name == expected[1]) for name in ("person", "gate", "use")
    }


def test_an_unasked_gate_is_assumed_as_reliable_as_elsewhere() -> None:
    unasked = [decision(1, 0.5, True), decision(2, 0.5, False)]
    believed = figures(table_of(unasked), "t")
    assert believed.useful_active == pytest.approx(0.95)
    assert believed.noise_active == pytest.approx(0.03)
    judged = [decision(10 + n, 0.9, True, gate=("no", "local"), about="other") for n in range(80)]
    table = table_of([*unasked, *judged], topic("t"), topic("other"))
    assert table.reliability.answers == 80
    assert figures(table, "t").useful_active == pytest.approx(0.95 * 20 / 100)
    assert figures(table, "t").noise_active == pytest.approx(0.03)


def test_reliability_and_cost_come_only_from_the_gate_in_use() -> None:
    old = [decision(n, 0.5, True, gate=("no", "local")) for n in range(40)]
    new = [decision(40 + n, 0.5, None, gate=("yes", "openai"), usd=0.0004) for n in range(3)]
    remembered = [decision(43, 0.5, None, gate=("yes", "openai"), usd=0.0)]
    table = table_of([*old, *new, *remembered])
    assert (table.gate, table.reliability.answers) == ("openai", 0)
    assert table.cost_per_call == pytest.approx(0.0003)
    found = figures(table, "t")
    assert (found.gate_calls, found.gate_calls_per_day) == (44, 44)
    assert found.cost_usd_per_day == pytest.approx(44 * 0.0003)
    assert table_of(old).cost_per_call == 0


def test_calls_are_counted_by_the_days_the_log_spans() -> None:
    table = table_of([decision(0, 0.5), decision(1, 0.5, minutes=4 * 24 * 60)])
    assert table.days == 4
    assert figures(table, "t").gate_calls_per_day == pytest.approx(0.5)
    assert table_of([]).days == 1


def test_decisions_of_another_preset_are_left_out_and_counted() -> None:
    decisions = [
        decision(1, 0.9, True, signal="tfidf"),
        decision(2, 0.9, True, about="gone", signal="tfidf"),
        decision(3, 0.9, True),
        decision(4, None, True),
    ]
    table = table_of(decisions)
    assert (table.size, table.left_out) == (1, 3)
    assert (table.left_out_of("t"), table.left_out_of("gone")) == (2, 1)
    assert table.topics == ("t", "gone")
    spec = table_of(decisions, settings=SPEC)
    assert (spec.size, spec.left_out) == (2, 2)


@each_case("value", ["0.5", True, None, float("nan"), [1]])
def test_a_score_that_is_not_a_number_is_left_out(value: object) -> None:
    odd = decision(1, 0.5)._replace(scores={"probability": value})  # type: ignore[dict-item]
    assert table_of([odd]).left_out == 1


@each_case("hits", [(("x",),), ((),), ((0, ["webhook"]),), ((0, 7, "x", 0, 1),)])
def test_hits_of_any_form_are_hits(hits: tuple[tuple[object, ...], ...]) -> None:
    odd = decision(1, 0.9, True)._replace(hits=hits)  # type: ignore[arg-type]
    assert figures(table_of([odd]), "t").useful_active == 1


def test_topics_without_a_file_come_last_with_table_thresholds() -> None:
    gone = decision(1, 0.9, about="aardvark")._replace(priority="low")
    table = table_of([gone], topic("z"), topic("y"))
    assert table.topics == ("y", "z", "aardvark")
    assert table.today("aardvark") == Thresholds(0.3, 0.7)
    assert table.today("y") == Thresholds(0.25, 0.6)
    assert table.topic("aardvark").path == ""
    with pytest.raises(KeyError):
        figures(table, "unheard-of")


def test_rows_keep_the_order_of_the_log() -> None:
    table = table_of([decision(1, 0.7), decision(2, 0.1, hits=("pattern",)), decision(3, 0.4)])
    assert [table.decision(row).score for row in range(3)] == [0.7, 0.1, 0.4]


def test_a_new_label_counts_at_once() -> None:
    table = table_of([decision(1, 0.9), decision(2, 0.1, False, "gate")])
    assert figures(table, "t").labelled == 1
    table.replaced(0, table.decision(0)._replace(useful=True, labelled_by="person"))
    found = figures(table, "t")
    assert (found.precision, found.recall, found.by_person) == (1, 1, 1)
    assert table.decision(0)[-2:] == (True, "person")
    table.replaced(0, table.decision(0)._replace(useful=None, labelled_by=""))
    assert figures(table, "t").labelled == 1
    table.replaced(1, table.decision(1)._replace(useful=True, labelled_by="use"))
    assert figures(table, "t").by_use == 1


def test_totals_weight_every_decision_equally() -> None:
    decisions = [*series([0.9] * 3, True), decision(8, 0.9, False, about="u"), decision(9, 0.4, about="u")]
    parts = overview(table_of(decisions, topic("t"), topic("u")))
    both = total(parts.values())
    assert (both.precision, both.recall) == (0.75, 1)
    assert both.f1 == pytest.approx(6 / 7)
    assert (both.decisions, both.labelled, both.gate_calls) == (5, 4, 1)
    assert total(()).f1 is None


def test_active_noise_without_useful_decisions_gives_an_f1_of_zero() -> None:
    wrong = figures(table_of(series([0.9], False)), "t")
    assert (wrong.precision, wrong.recall, wrong.f1) == (0, None, 0)
    kept_out = figures(table_of(series([0.1], False)), "t")
    assert (kept_out.precision, kept_out.recall, kept_out.f1) == (None, None, None)


def test_plotted_decisions_are_those_decided_by_thresholds() -> None:
    known: Topic = topic("t", priority="critical")
    decisions = [
        decision(1, 0.0, False),
        decision(2, 0.499, True),
        decision(3, 0.5, False),
        decision(4, 1.0, True),
        decision(5, 0.2, True, hits=("pattern",)),
        decision(6, 0.2, False, hits=("webhook",)),
        decision(7, 0.2),
    ]
    found = histogram(table_of(decisions, known), "t", 2)
    assert (found.useful, found.noise, found.fixed) == ((1, 1), (1, 1), 2)
    assert histogram(table_of([], known), "t", 3).useful == (0, 0, 0)


def test_a_different_preset_gives_a_different_table() -> None:
    row = decision(1, 0.5, True)._replace(scores={"probability": 0.5, "tfidf": 0.1})
    known = topic("t")
    assert figures(DecisionTable((row,), (known,), CALIBRATED), "t").gate_calls == 1
    assert figures(DecisionTable((row,), (known,), SPEC), "t").gate_calls == 0


def test_the_answer_of_the_local_gate_is_computed() -> None:
    known = topic("t")
    log = (decision(1, 0.4, True), decision(2, 0.45, False), decision(3, 0.55, False))
    found = figures(DecisionTable(log, (known,), CALIBRATED, "local"), "t")
    assert (found.useful_active, found.noise_active) == (0, 1)
    unknown = figures(DecisionTable(log, (known,), CALIBRATED, "anthropic"), "t")
    assert unknown.useful_active > 0.9
    assert 0 < unknown.noise_active < 0.2
