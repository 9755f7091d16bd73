"""What the commands of the tune screen depend on."""

from __future__ import annotations

from dataclasses import dataclass

from tui.kit.command import Need, Situation


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneSituation(Situation):
    """What the commands of this screen depend on."""

    moved: bool = False
    """A cut stands elsewhere than it does today."""
    fitting: bool = False
    """A fit is under way."""
    loading: bool = False
    """The decision log is being read."""
    decision: bool = False
    """A decision is selected."""
    topic: str = ""
    """The selected topic; empty where none is."""


THE_LOG: Need[TuneSituation] = Need(lambda here: not here.loading, "the decision log is being read")
A_DECISION: Need[TuneSituation] = Need(lambda here: here.decision, "no decision is selected")
A_TOPIC: Need[TuneSituation] = Need(lambda here: here.topic, "no topic is selected")
