"""What the decision log as a whole tells: topics that are gone, its days, the gate in use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.activation.decision import Decision
from engine.topics.model import PRIORITY_ORDER, Topic

FREE_GATES = frozenset({"", "local", "ask"})
"""Gates whose answers cost no money."""

_DAY_S = 86_400.0


def gone_topics(decisions: Iterable[Decision], topics: Iterable[Topic]) -> dict[str, Topic]:
    """Topics that have no file any more, with the priority they had last."""
    latest = {decision.topic: decision for decision in decisions}
    for topic in topics:
        latest.pop(topic.name, None)
    return {
        name: Topic(
            name=name,
            path="",
            title=name,
            description="",
            instructions="",
            priority=decision.priority if decision.priority in PRIORITY_ORDER else "medium",
        )
        for name, decision in latest.items()
    }


def days_of(decisions: Sequence[Decision]) -> float:
    """The days that the log spans, at least 1."""
    if not decisions:
        return 1.0
    first, last = (choose(decisions, key=lambda d: d.at).time for choose in (min, max))
    return max(1.0, (last - first).total_seconds() / _DAY_S)


def gate_in_use(decisions: Sequence[Decision]) -> tuple[str, float]:
    """Who was asked last, and what an answer cost on average."""
    name = next((d.gate_provider for d in reversed(decisions) if d.asked), "")
    if name in FREE_GATES:
        return name, 0.0
    costs = [d.cost_usd for d in decisions if d.asked and d.gate_provider == name]
    return name, sum(costs) / len(costs)
