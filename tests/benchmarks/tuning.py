"""Replaying a long decision log with changed thresholds, compared with a plain loop over the decisions."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from datetime import timedelta

from engine.activation.decision import Decision
from engine.activation.policy import Thresholds
from engine.activation.tuning.fit import propose
from engine.activation.tuning.replay import figures, flips, histogram, overview
from engine.activation.tuning.sums import Reliability
from engine.activation.tuning.table import DecisionTable
from engine.settings.model import WatcherSettings
from engine.topics.model import Topic
from tests.benchmarks.inputs import START
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import alternate, once

DECISIONS = 100_000
TOPICS = 50
FRAME_MS = 16
"""Duration of one frame at sixty frames per second."""

_SETTINGS = WatcherSettings(preset="calibrated")


def run(setting: Setting) -> Iterator[Row]:
    """Time one topic with all decisions, the worst case for a threshold, and fifty that share them."""
    count = setting.size(DECISIONS, 400)
    rounds = setting.size(60, 2)
    one = decisions(count, 1)
    built, table = once(lambda: DecisionTable(one, topics(1), _SETTINGS))
    trust = table.reliability
    looped, rows = once(lambda: [Logged.of(decision, trust) for decision in one])
    yield Row(f"columns of {count:,} decisions", built, "a loop over them", looped)

    name = table.topics[0]
    today = table.today(name)
    found, expected = figures(table, name, moved(7)), loop(rows, moved(7))
    agree(
        [round(value, 6) for value in (found.useful_active, found.noise_active, found.gate_calls)]
        == [round(value, 6) for value in expected],
        "figures differ from those of the loop",
    )
    ours, peer = alternate(
        [
            lambda number: figures(table, name, moved(number)),
            lambda number: loop(rows, moved(number)),
        ],
        rounds=rounds,
    )
    yield Row("figures of a moved threshold", ours, "a loop", peer, "one topic", share(ours.p95))
    agree(
        flips(table, name, today, moved(7)).fixed == turned(rows, today, moved(7))[0],
        "flips differ from those of the loop",
    )

    def drag(number: int) -> None:
        figures(table, name, moved(number))
        flips(table, name, today, moved(number))

    def drag_in_a_loop(number: int) -> None:
        loop(rows, moved(number))
        turned(rows, today, moved(number))

    ours, peer = alternate([drag, drag_in_a_loop], rounds=setting.size(20, 2))
    yield Row(
        "figures and 500 flips of a moved threshold", ours, "a loop", peer, "one topic", share(ours.p95)
    )

    def label(number: int) -> None:
        judged = table.decision(number % count)._replace(useful=bool(number % 2), labelled_by="person")
        table.replaced(number % count, judged)
        figures(table, name)
        histogram(table, name, 60)

    ours, peer = alternate([label, lambda number: loop(rows, today)], rounds=setting.size(30, 2))
    yield Row("a label, its figures and histogram", ours, "a loop", peer, "one topic", share(ours.p95))

    many = DecisionTable(decisions(count, TOPICS), topics(TOPICS), _SETTINGS)
    trust = many.reliability
    every = [Logged.of(many.decision(index), trust) for index in range(many.size)]
    ours, peer = alternate(
        [
            lambda number: overview(many, {many.topics[0]: moved(number)}),
            lambda number: loop(every, moved(number)),
        ],
        rounds=setting.size(20, 2),
    )
    yield Row(f"figures of {TOPICS} topics", ours, "a loop", peer, "", share(ours.p95))
    ours, peer = alternate(
        [lambda _number: propose(many, many.topics[0]), lambda number: loop(every, moved(number))],
        rounds=setting.size(5, 1),
    )
    yield Row(
        "thresholds fitted in 5 folds", ours, "a loop for one pair", peer, f"{count // TOPICS:,} decisions"
    )


def share(seconds: float) -> dict[str, float]:
    """The share of a frame that a duration takes."""
    return {"frames_p95": seconds * 1e3 / FRAME_MS}


def moved(number: int) -> Thresholds:
    """Thresholds not used before."""
    return Thresholds(0.2 + number % 97 / 400, 0.55 + number % 89 / 300)


def topics(count: int) -> tuple[Topic, ...]:
    """Medium-priority topics without their own thresholds."""
    return tuple(
        Topic(
            name=f"topic-{number:02}", path=f"topics/{number}.md", title="", description="", instructions=""
        )
        for number in range(count)
    )


def decisions(count: int, of: int) -> list[Decision]:
    """A log with every third decision labelled, in which the gate was called between the thresholds."""
    rng = random.Random(5)
    made = []
    for number in range(count):
        useful = rng.random() < 0.3
        score = round(min(1.0, max(0.0, rng.gauss(0.65 if useful else 0.35, 0.15))), 6)
        answer = ("yes" if rng.random() < (0.95 if useful else 0.03) else "no") if 0.25 <= score < 0.6 else ""
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        made.append(
            Decision(
                id=digest[:16],
                at=(START + timedelta(minutes=number)).isoformat(),
                session_id="s",
                direction="input",
                message_hash=digest,
                message=f"message {number}",
                topic=f"topic-{number % of:02}",
                priority="medium",
                activation="gated",
                hits=((0, "pattern", "x", 0, 1),) if number % 3 == 0 else (),
                scores={"probability": score},
                score=score,
                threshold=0.25,
                activate_at=0.6,
                gate_at=0.25,
                rule="",
                verdict="dropped",
                gate_answer=answer,
                gate_provider="local" if answer else "",
                gate_model="",
                gate_probability=None,
                gate_reason="",
                cached=False,
                latency_ms=0.0,
                cost_usd=0.0,
                signals=(),
                useful=useful if number % 3 == 0 else None,
                labelled_by="person" if number % 3 == 0 else "",
            )
        )
    return made


class Logged:
    """The data of a decision that a plain loop needs."""

    __slots__ = ("label", "score", "yes")

    def __init__(self, score: float, label: bool | None, yes: float) -> None:
        self.score, self.label, self.yes = score, label, yes

    @classmethod
    def of(cls, decision: Decision, gate: Reliability) -> Logged:
        """Extract it from a decision, with the gate's actual or expected answer."""
        label, _ = decision.label
        yes = {True: gate.true_positive, False: gate.false_positive, None: 0.0}[label]
        if decision.gate_answer:
            yes = float(decision.gate_answer == "yes")
        return cls(decision.scores["probability"], label, yes)


def loop(rows: Sequence[Logged], thresholds: Thresholds) -> tuple[float, float, int]:
    """Expected useful and noise decisions that would be active, and gate calls, counted one by one."""
    gate, activate = thresholds.gate or 0.0, thresholds.activate or 0.0
    useful = noise = 0.0
    calls = 0
    for row in rows:
        if row.score >= activate:
            probability = 1.0
        elif row.score >= gate:
            probability = row.yes
            calls += 1
        else:
            continue
        if row.label is True:
            useful += probability
        elif row.label is False:
            noise += probability
    return useful, noise, calls


def turned(rows: Sequence[Logged], before: Thresholds, after: Thresholds) -> tuple[int, int, int]:
    """The numbers of decisions fixed, lost and changed, counted one by one."""
    fixed = lost = changed = 0
    for row in rows:
        was, now = (
            2
            if row.score >= (thresholds.activate or 0.0)
            else 1
            if row.score >= (thresholds.gate or 0.0)
            else 0
            for thresholds in (before, after)
        )
        if was == now:
            continue
        active = [state == 2 or (state == 1 and row.yes >= 0.5) for state in (was, now)]
        if row.label is None or active[0] == active[1]:
            changed += 1
        elif active[1] == row.label:
            fixed += 1
        else:
            lost += 1
    return fixed, lost, changed
