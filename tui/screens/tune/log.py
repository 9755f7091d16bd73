"""Reads the decision log for the tune screen and writes its labels and thresholds."""

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
class LogSnapshot:
    """The log and its topics' figures with their current thresholds."""

    table: DecisionTable
    overview: Mapping[str, Figures]
    total: Figures
    seconds: float
    """How long the read took."""


@dataclass(frozen=True, slots=True)
class NewLabel:
    """A label to record; ``useful=None`` removes one."""

    table: DecisionTable
    index: int
    """The decision's row in ``table``."""
    id: str
    useful: bool | None

    def record(self, tuning: Tuning) -> None:
        """Records the label; rows may have moved since it was given, so the id decides."""
        table, index = tuning.table(), self.index
        if table is not self.table and (index >= table.size or table.decision(index).id != self.id):
            index = next((at for at in range(table.size) if table.decision(at).id == self.id), -1)
            if index < 0:
                raise AutopoiesisError("the decision is no longer in the log")
        tuning.label(index, self.useful)


@dataclass(frozen=True, slots=True)
class NewThresholds:
    """Thresholds to write; ``None`` undoes the last change."""

    topic: str
    thresholds: Thresholds | None
    undone: Applied | None = None
    """The change to undo, if known: another one is left alone."""


Change = NewLabel | NewThresholds


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Result of writing labels and thresholds, with the log afterwards."""

    tried: tuple[str, ...]
    """The ids of the decisions, whether or not their labels were saved."""
    labelled: bool
    """Whether any label was saved."""
    problem: str
    log: LogSnapshot | None
    """``None`` if it could not be read."""


def read_log(tuning: Tuning) -> LogSnapshot:
    from engine.activation.tuning.replay import overview, total  # noqa: PLC0415 — only this screen needs it

    started = time.monotonic()
    table = tuning.table()
    figures = overview(table)
    return LogSnapshot(table, figures, total(figures.values()), time.monotonic() - started)


def write_all(
    tuning: Tuning,
    changes: tuple[Change, ...],
    applied: Callable[[NewThresholds, Applied], None],
    refused: Callable[[str], None],
) -> WriteResult:
    """Writes the changes in order, continuing after a refused one, then reads the log.

    Args:
        applied: Called after thresholds are written.
        refused: Called with the reason if thresholds cannot be written.
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
                applied(change, tuning.undo(change.undone))
            else:
                applied(change, tuning.apply(change.topic, change.thresholds))
        except (AutopoiesisError, OSError) as error:
            if isinstance(change, NewLabel):
                problem = str(error)  # reported once, however many fail
            else:
                refused(str(error))
    try:
        return WriteResult(tuple(tried), labelled, problem, read_log(tuning))
    except (AutopoiesisError, OSError) as error:
        return WriteResult(tuple(tried), labelled, problem or str(error), None)
