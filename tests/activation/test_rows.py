"""Candidates, their rows, and which rows a trace leaves out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.activation.candidates import (
    EXPLAINED_ROWS,
    corrections_of,
    rows_of,
    worth_explaining,
)
from engine.activation.explain import Candidate, PolicyContext
from engine.activation.policy import Step, StepKind
from engine.activation.similarity import Explanation
from engine.activation.trace import (
    GateAnswer,
    GateOutcome,
    Span,
    TriggerHit,
)
from engine.settings.model import WatcherSettings
from tests.activation.support import pattern, topic
from tests.cases import each_case

CONTEXT = PolicyContext("input", WatcherSettings(preset="spec"))
HIT = TriggerHit(0, "pattern", "review", 0, 6)
EXPLAINED = Explanation(words=(Span(0, 6, 1.0),))


def candidate(
    name: str = "t", score: float = 0.0, kind: StepKind = "drop", hits: tuple[TriggerHit, ...] = ()
) -> Candidate:
    step = Step(kind, "medium <.20", 0.15, activate_at=0.6, gate_at=0.2)
    return Candidate(topic(name), hits, score, step, CONTEXT)


def test_relevant_and_nearest_candidates_are_explained() -> None:
    near = [candidate(f"near{number:02}", 0.01 * (number + 1)) for number in range(EXPLAINED_ROWS + 5)]
    others = [candidate("far"), candidate("hit", hits=(HIT,)), candidate("off", kind="off")]
    names = worth_explaining([*near, *others])
    assert set(names) == {"hit", "off", *(f"near{number:02}" for number in range(5, EXPLAINED_ROWS + 5))}


@each_case(
    ("kind", "answer", "of", "given"),
    [
        ("activate", None, {}, True),
        ("drop", None, {}, True),
        ("off", None, {}, False),
        ("ask", "no", {}, False),
        ("ask", "yes", {}, True),
        ("drop", None, {"activation": "manual"}, False),
        ("activate", None, {"activation": "manual"}, True),
    ],
)
def test_each_hint_is_given_once_unless_its_topic_is_kept_off(
    kind: StepKind, answer: GateAnswer | None, of: dict[str, Any], given: bool
) -> None:
    triggers = (
        pattern("xrange", correction_hint="Use Python 3"),
        pattern("print", correction_hint="Use Python 3"),
        pattern("todo", correction_hint="Finish it"),
        pattern("quiet"),
    )
    known = topic("t", triggers=triggers, **of)
    hits = tuple(TriggerHit(index, "pattern", trigger.match) for index, trigger in enumerate(triggers))
    found = replace(candidate("t", 0.3, kind, hits), topic=known)
    rows = rows_of([found], {} if answer is None else {"t": GateOutcome(answer, "test")}, {})
    hints = [("Use Python 3", "xrange"), ("Finish it", "todo")] if given else []
    assert [(each.hint, each.matched) for each in corrections_of([known], rows)] == hints
