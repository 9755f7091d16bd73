"""A trace with probabilities as scores, the contribution of each signal, and the supporting words."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from engine.activation.candidates import row_of
from engine.activation.explain import Candidate, PolicyContext
from engine.activation.policy import decide
from engine.activation.trace import (
    Contribution,
    Funnel,
    GateOutcome,
    Message,
    Span,
    TopicTrace,
    Trace,
    TriggerHit,
)
from engine.settings.model import PolicyRow, Priority, WatcherSettings
from tests.activation.support import topic
from tests.tui.fake_engine import NOW, QUIET_TOPICS, quiet_row

TEXT = "Can you review the PR that just came in? It changes how the invoices are rounded."
TABLE: dict[Priority, PolicyRow] = {
    "high": PolicyRow(activate=0.55, gate=0.2),
    "medium": PolicyRow(activate=0.6, gate=0.25),
}
SETTINGS = WatcherSettings(preset="calibrated", policy=TABLE)


def probability_row(
    name: str,
    score: float,
    weights: dict[str, float],
    *,
    hits: tuple[str, ...] = (),
    words: dict[str, float] | None = None,
    gate: GateOutcome | None = None,
    text: str = TEXT,
    **fields: Any,
) -> TopicTrace:
    """A row as the pipeline makes it: rule, why and flip come from the policy.

    Args:
        name: The topic.
        score: Its probability.
        weights: Contributions, strongest first.
        hits: Words of the message that triggers matched.
        words: Words of the message that tier 2 matched, with their weights.
        gate: The outcome of the gate.
        text: The message.
        fields: Fields of the topic.
    """
    known = topic(name, **fields)
    found = tuple(
        TriggerHit(number, "pattern" if number % 2 == 0 else "keywords", word, at, at + len(word))
        for number, word in enumerate(hits)
        for at in [text.index(word)]
    )
    contributions = tuple(Contribution(*pair) for pair in weights.items())
    step = decide(known, found, score, SETTINGS)
    case = Candidate(known, found, score, step, PolicyContext("input", SETTINGS), (), gate, contributions)
    return row_of(
        case,
        tuple(
            Span(at, at + len(word), weight)
            for word, weight in (words or {}).items()
            for at in [text.index(word)]
        ),
    )


def probability_trace(when: datetime = NOW) -> Trace:
    """Active with and without a match, rejected by the gate, dropped despite a match, and the rest."""
    no = GateOutcome(
        "no", "anthropic", "claude-haiku-4-5", probability=0.12, reason="no style is meant", latency_ms=208.4,
        cost_usd=0.0002,
    )  # fmt: skip
    rows = (
        probability_row(
            "github-pr-review",
            0.91,
            {"trigger": 2.41, "vectors": 1.93, "words": 1.2, "message": -0.62, "bm25": 0.31},
            hits=("review", "PR"),
            words={"review": 1.0, "PR": 0.8, "changes": 0.55, "came": 0.3},
            priority="high",
        ),
        probability_row(
            "billing",
            0.81,
            {"vectors": 1.88, "words": 1.24, "classifier": 0.9, "message": -0.62, "minhash": 0.12},
            words={"invoices": 1.0, "rounded": 0.6},
        ),
        probability_row(
            "code-style",
            0.41,
            {"vectors": 0.94, "message": -0.62, "words": 0.4},
            words={"review": 1.0, "changes": 0.7},
            gate=no,
        ),
        probability_row(
            "release-notes",
            0.14,
            {"trigger": 1.3, "vectors": -0.84, "message": -0.62, "words": -0.2},
            hits=("PR",),
            words={"changes": 1.0},
        ),
        probability_row(
            "email-triage",
            0.09,
            {"message": -0.62, "vectors": 0.33},
            words={"came": 1.0},
        ),
    )
    quiet = (
        replace(quiet_row(name), gate_at=0.25, activate_at=0.6, threshold=0.25, rule="medium <.25")
        for name in QUIET_TOPICS
        if name != "billing"
    )
    return Trace(
        message=Message(TEXT, at=when, session_id="ses_a1b2c3d4"),
        rows=(*rows, *quiet),
        funnel=Funnel(topics=41, tier1=2, tier2=4, asked=1, active=2),
        tier1_ms=0.3,
        tier2_ms=1.6,
        gate_ms=208.4,
        cost_usd=0.0002,
        why="2 of 41 topics active: github-pr-review, billing",
        deciding="probability",
    )
