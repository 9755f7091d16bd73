"""The decision log as the tune screen reads it, and what that screen writes: labels, and thresholds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.activation.policy import Thresholds
    from engine.activation.tuning.replay import Figures
    from engine.activation.tuning.table import DecisionTable
    from engine.activation.tuning.tuning import Applied, Tuning


@dataclass(frozen=True, slots=True)
class LogRead:
    """The log, and how well its topics do with their thresholds of today."""

    table: DecisionTable
    overview: Mapping[str, Figures]
    total: Figures
    seconds: float
    """How long reading it took."""


@dataclass(frozen=True, slots=True)
class NewLabel:
    """A label to record; ``None`` takes one back."""

    table: DecisionTable
    index: int
    """The decision's row in ``table``."""
    id: str
    useful: bool | None

    def record(self, tuning: Tuning) -> None:
        """Records it; rows may have moved since the screen looked, so the id decides."""
        table, index = tuning.table(), self.index
        if table is not self.table and (index >= table.size or table.decision(index).id != self.id):
            index = next((at for at in range(table.size) if table.decision(at).id == self.id), -1)
            if index < 0:
                raise AutopoiesisError("the decision is not in the log any more")
        tuning.label(index, self.useful)


@dataclass(frozen=True, slots=True)
class NewThresholds:
    """Thresholds to write; without any, the last change is taken back."""

    topic: str
    thresholds: Thresholds | None


Change = NewLabel | NewThresholds


@dataclass(frozen=True, slots=True)
class Written:
    """What became of labels, and the log after them."""

    tried: tuple[str, ...]
    """The ids of the decisions, whether or not their labels reached the log."""
    labelled: bool
    """Whether any of them did."""
    problem: str
    log: LogRead | None
    """``None`` where it could not be read."""


def read_log(tuning: Tuning) -> LogRead:
    """Reads what is new in the log."""
    from engine.activation.tuning.replay import overview, total  # noqa: PLC0415 — only this screen needs it

    started = time.monotonic()
    table = tuning.table()
    figures = overview(table)
    return LogRead(table, figures, total(figures.values()), time.monotonic() - started)


def write_all(
    tuning: Tuning,
    changes: tuple[Change, ...],
    applied: Callable[[NewThresholds, Applied], None],
    refused: Callable[[str], None],
) -> Written:
    """Writes one after the other, then reads the log; one that is refused holds up none behind it.

    Args:
        applied: Called with thresholds once they are written.
        refused: Called with the reason where they could not be.
    """
    tried: list[str] = []
    labelled, problem = False, ""
    for change in changes:
        try:
            if isinstance(change, NewLabel):
                tried.append(change.id)
                change.record(tuning)
                labelled = True
            elif change.thresholds is None:
                applied(change, tuning.undo())
            else:
                applied(change, tuning.apply(change.topic, change.thresholds))
        except (AutopoiesisError, OSError) as error:
            if isinstance(change, NewLabel):
                problem = str(error)  # said once, however many of them are refused
            else:
                refused(str(error))
    try:
        return Written(tuple(tried), labelled, problem, read_log(tuning))
    except (AutopoiesisError, OSError) as error:
        return Written(tuple(tried), labelled, problem or str(error), None)
