"""Settings of how topics are nominated, and the policy tables for their scores (spec 5.4)."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

from engine.settings.base import Limits, Settings
from engine.startup.records import dataclass

Priority = Literal["critical", "high", "medium", "low"]


@dataclass(frozen=True)
class PolicyRow(Settings):
    """One row of the gate bypass table (spec 5.4): thresholds for a topic's tier-2 score."""

    activate: float | None = None
    """The topic activates without the gate from this score; absent: never without the gate."""
    gate: float | None = None
    """The gate is asked from this score; below it the topic is dropped. Absent: the gate is not asked."""
    matched: float | None = None
    """The topic activates from this score if one of its triggers matched; absent: as ``activate``."""


Preset = Literal["calibrated", "spec"]

_TABLES: dict[Preset, dict[Priority, PolicyRow]] = {
    "calibrated": {
        "critical": PolicyRow(activate=0.22, gate=0.05, matched=0.0),
        "high": PolicyRow(activate=0.24, gate=0.06),
        "medium": PolicyRow(activate=0.27, gate=0.07),
        "low": PolicyRow(activate=0.4, gate=0.2),
    },
    "spec": {
        "critical": PolicyRow(activate=0.0),
        "high": PolicyRow(activate=0.3, gate=0.0),
        "medium": PolicyRow(gate=0.2),
        "low": PolicyRow(gate=0.3),
    },
}
"""The gate bypass table of each preset. With ``spec`` it applies to topics with a tier-1 hit only; with
``calibrated`` a hit is part of the score, and the table applies to all topics."""

_SPEC_THRESHOLD = 0.15


@dataclass(frozen=True)
class WatcherSettings(Settings):
    """How topics are nominated."""

    preset: Preset = "calibrated"
    """How tier 2 scores. ``calibrated``: the probability that the topic applies, from all signals and
    trigger hits combined. ``spec``: TF-IDF cosine over the instructions, separate from trigger hits."""
    nominate: Literal["either", "pattern"] = "either"
    """``pattern``: only a tier-1 hit nominates a topic. ``either``: so does a tier-2 score at or above the
    topic's threshold; such candidates go to the gate if that is a model or a person."""
    similarity_threshold: Annotated[float, Limits(ge=0, le=1)] | None = None
    """Tier-2 score from which a topic reaches the gate, unless the topic sets its own. Absent: .15 with the
    ``spec`` preset, the policy table's with ``calibrated``."""
    policy: dict[Priority, PolicyRow] = field(default_factory=dict)
    """Rows of the gate bypass table that differ from the preset's."""
    pattern_timeout_ms: Annotated[int, Limits(ge=1, le=1000)] = 20
    """Milliseconds that one pattern may take on one message before it is stopped and reported."""

    def row(self, priority: Priority) -> PolicyRow:
        """The row of the gate bypass table for a priority."""
        return self.policy.get(priority) or _TABLES[self.preset][priority]

    def threshold(self, priority: Priority) -> float:
        """The tier-2 score from which a topic of this priority is similar, unless it sets its own."""
        if self.similarity_threshold is not None:
            return self.similarity_threshold
        if self.preset == "spec":
            return _SPEC_THRESHOLD
        row = self.row(priority)
        marks = [mark for mark in (row.gate, row.activate) if mark is not None]
        return min(marks, default=1.0)
