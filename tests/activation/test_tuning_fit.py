"""Thresholds fitted to labels: their basis, their gain, and when fitting is refused (spec 5.5)."""

from __future__ import annotations

import random
from dataclasses import replace

from engine.activation.decisions import Decision
from engine.activation.policy import Thresholds
from engine.activation.tuning.fit import Proposal, propose
from engine.activation.tuning.replay import figures
from engine.topics.model import Topic
from tests.activation.support import topic
from tests.activation.tuning_cases import SPEC, TRIGGERS, decision, forced, series, table_of
from tests.cases import each_case


def spread(low: float, high: float, count: int) -> list[float]:
    return [round(low + (high - low) * place / (count - 1), 6) for place in range(count)]


def mixed(seed: int, count: int) -> list[Decision]:
    """Labelled messages with noise above today's upper threshold."""
    chance = random.Random(seed)
    labels = [chance.random() < 0.4 for _ in range(count)]
    return [
        decision(n, min(1.0, max(0.0, chance.gauss(0.85 if useful else 0.62, 0.06))), useful)
        for n, useful in enumerate(labels)
    ]


def test_noise_alone_raises_both_thresholds_just_above_it() -> None:
    proposal = propose(table_of(series(spread(0.62, 0.71, 20), False)), "t")
    assert proposal.thresholds == Thresholds(0.72, 0.72) and not proposal.refused
    assert (proposal.before.noise_active, proposal.after and proposal.after.noise_active) == (20, 0)
    held = proposal.held_out
    assert held is not None and held.folds == 5
    assert held.fitted.noise_active <= 2 and held.today.noise_active == 20


def test_noise_that_is_offered_is_no_longer_offered() -> None:
    proposal = propose(table_of(series(spread(0.3, 0.4, 20), False)), "t")
    assert proposal.thresholds is not None and proposal.thresholds.gate == 0.41
    assert proposal.after is not None and (proposal.before.offered, proposal.after.offered) == (20, 0)


def test_useful_labels_alone_lower_only_the_lower_threshold() -> None:
    proposal = propose(table_of(series(spread(0.14, 0.2, 16), True)), "t")
    assert proposal.thresholds is not None and proposal.thresholds.activate == 0.6
    assert proposal.thresholds.gate is not None and 0 < proposal.thresholds.gate <= 0.14
    assert proposal.held_out is not None and proposal.held_out.today.reached == 0
    assert proposal.held_out.fitted.reached == 1


def test_labels_of_both_kinds_place_the_thresholds_between_them() -> None:
    decisions = [*series(spread(0.5, 0.69, 25), False), *series(spread(0.75, 0.95, 25), True, 25)]
    proposal = propose(table_of(decisions), "t")
    assert proposal.thresholds == Thresholds(0.7, 0.72)
    assert proposal.after is not None and proposal.after.f1 == 1


def test_the_upper_threshold_keeps_the_wanted_precision_and_the_rest_is_offered() -> None:
    decisions = [
        *series(spread(0.1, 0.5, 20), False),
        *[decision(20 + n, score, n % 2 == 0) for n, score in enumerate(spread(0.55, 0.75, 30))],
        *series(spread(0.8, 0.95, 20), True, 50),
    ]
    proposal = propose(table_of(decisions), "t")
    after = proposal.after
    assert after is not None and after.precision is not None and after.recall is not None
    assert after.precision >= 0.9 and after.reached == 1 and after.noise_active <= 2
    assert proposal.before.precision is not None and proposal.before.precision < 0.9


def test_unlabelled_messages_keep_a_single_odd_label_from_opening_a_topic() -> None:
    labelled = [*series([0.02, *spread(0.7, 0.9, 9)], True), *series(spread(0.61, 0.65, 3), False, 20)]
    alone = propose(table_of(labelled), "t")
    among = propose(table_of([*labelled, *series([0.03] * 400, None, 100)]), "t")
    assert alone.after is not None and alone.after.reached == 1
    assert among.thresholds is not None and among.thresholds.gate is not None
    assert among.thresholds.gate > 0.03
    assert among.after is not None and among.after.offered < 10


@each_case(
    ("decisions", "why"),
    [
        ([], "0 labelled messages, at least 10 needed"),
        (series([0.9], False), "1 labelled message, at least 10 needed"),
        (
            [*series(spread(0.6, 0.9, 9), False), *series([0.95, 0.96], True, 9)],
            "2 useful and 9 noise messages labelled, at least 3 of each needed",
        ),
        (
            [decision(n, 0.9, False, message="the same") for n in range(20)],
            "1 labelled message, at least 10 needed",
        ),
        (
            [decision(n, 0.9, False, hits=("webhook",)) for n in range(20)],
            "thresholds decide 0 of 20 labelled messages, at least 10 needed; a trigger decides the others",
        ),
        (
            series(spread(0.13, 0.2, 20), False),
            "today's thresholds are already the best for its 20 labels",
        ),
    ],
)
def test_too_few_or_settled_labels_are_refused_with_their_numbers(
    decisions: list[Decision], why: str
) -> None:
    proposal = propose(table_of(decisions), "t")
    if "already" in why:
        assert proposal.refused == why or "do no better" in proposal.refused
    else:
        assert (proposal.refused, proposal.held_out) == (why, None)
    assert proposal.thresholds is None and proposal.after is None
    assert proposal.before == figures(table_of(decisions), "t")


@each_case(
    ("known", "why"),
    [
        (topic("t", activation="manual"), "activated only by hand"),
        (forced("t", True), "switched on by hand"),
        (forced("t", False), "switched off by hand"),
    ],
)
def test_topics_not_decided_by_thresholds_are_refused(known: Topic, why: str) -> None:
    proposal = propose(table_of(series(spread(0.62, 0.7, 20), False), (known,)), "t")
    assert why in proposal.refused and proposal.thresholds is None


def test_noise_activated_by_a_trigger_does_not_move_thresholds() -> None:
    noise = [decision(n, score, False, hits=("keywords",)) for n, score in enumerate(spread(0.6, 0.7, 20))]
    critical = topic("t", priority="critical", triggers=TRIGGERS)
    assert "a trigger decides" in propose(table_of(noise, (critical,)), "t").refused
    assert propose(table_of(noise), "t").thresholds is not None


def test_random_labels_are_refused_with_their_held_out_result() -> None:
    chance = random.Random(3)
    decisions = [decision(n, round(chance.random(), 3), n % 2 == 0) for n in range(60)]
    proposal = propose(
        table_of(decisions, (topic("t", similarity_threshold=0.01, activation_threshold=1.0),)), "t"
    )
    assert proposal.thresholds is None and proposal.held_out is not None
    assert proposal.refused.startswith("fitted thresholds do no better than today's on held-out labels: ")


@each_case("seed", range(4))
def test_proposed_thresholds_do_better_on_unseen_messages(seed: int) -> None:
    proposal = propose(table_of(mixed(seed, 120)), "t")
    assert proposal.thresholds is not None
    unseen = table_of(mixed(1000 + seed, 2000))
    then, today = figures(unseen, "t", proposal.thresholds), figures(unseen, "t")
    assert then.wrong < 0.7 * today.wrong
    assert then.precision is not None and then.precision > 0.8
    assert proposal.held_out is not None and proposal.held_out.fitted.wrong < proposal.held_out.today.wrong


def test_with_the_spec_preset_thresholds_for_matched_messages_are_fitted() -> None:
    noise = [decision(n, score, False, hits=("pattern",)) for n, score in enumerate(spread(0.31, 0.36, 20))]
    known = topic("t", priority="high", triggers=TRIGGERS)
    proposal = propose(table_of(noise, (known,), SPEC), "t")
    assert proposal.today == Thresholds(0.15, 0.3)
    assert proposal.thresholds is not None and proposal.thresholds.activate == 0.37
    assert proposal.after is not None and proposal.after.noise_active == 0


@each_case(("gate", "warned"), [(0.6, False), (0.99, True), (1.0, True), (None, False)])
def test_thresholds_that_switch_a_topic_off_cause_a_caution(gate: float | None, warned: bool) -> None:
    today = figures(table_of([]), "t")
    found = Proposal("t", Thresholds(0.1, 0.5), Thresholds(gate, 1.0), "", today, None, None)
    assert bool(found.caution) == warned
    assert not replace(found, thresholds=None).caution
