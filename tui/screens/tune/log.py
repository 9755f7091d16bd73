"""Reads the logged messages for the tune screen and writes labels and thresholds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.activation.policy import Thresholds
    from engine.activation.tuning.replay import Figures
    from engine.activation.tuning.table import MessageTable
    from engine.activation.tuning.tuning import Applied, Tuning
    from engine.engine import Engine
    from engine.pipeline.labels import Judged


@dataclass(frozen=True, slots=True)
class LogSnapshot:
    """The logged messages and the topics' figures with their current thresholds."""

    table: MessageTable
    overview: Mapping[str, Figures]
    total: Figures
    seconds: float
    """How long the read took."""


@dataclass(frozen=True, slots=True)
class NewLabel:
    """A label to record; ``useful=None`` removes one."""

    table: MessageTable
    topic: str
    row: int
    """The message's row in ``table``."""
    useful: bool | None

    @property
    def key(self) -> tuple[str, str]:
        """The topic and the message."""
        return self.topic, self.table.messages[self.row].hash


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

    tried: tuple[tuple[str, str], ...]
    """The topics and messages, whether or not their labels were saved."""
    judged: Mapping[tuple[str, str], Judged]
    """The saved labels."""
    problem: str
    log: LogSnapshot | None
    """``None`` if it could not be read."""


def read_log(tuning: Tuning, *, held_out: bool = False) -> LogSnapshot:
    """The log; ``held_out`` waits for scores of labelled messages by fits without them."""
    from engine.activation.tuning.replay import overview, total  # noqa: PLC0415 — only this screen needs it

    started = time.monotonic()
    table = tuning.hold_out() if held_out else tuning.table()
    figures = overview(table)
    return LogSnapshot(table, figures, total(figures.values()), time.monotonic() - started)


def write_all(
    engine: Engine,
    changes: tuple[Change, ...],
    applied: Callable[[NewThresholds, Applied], None],
    refused: Callable[[str], None],
) -> WriteResult:
    """Writes the changes in order, continuing after a refused one, learns from the labels and reads the log.

    Args:
        applied: Called after thresholds are written.
        refused: Called with the reason if thresholds cannot be written.
    """
    tuning, problem = engine.tuning, ""
    labels = [change for change in changes if isinstance(change, NewLabel)]
    judged: dict[tuple[str, str], Judged] = {}
    for change in changes:
        if isinstance(change, NewLabel):
            continue
        try:
            if change.thresholds is None:
                applied(change, tuning.undo(change.undone))
            else:
                applied(change, tuning.apply(change.topic, change.thresholds))
        except (AutopoiesisError, OSError) as error:
            refused(str(error))
    log: LogSnapshot | None = None
    try:
        given = [(tuning.decision(of.table, of.row, of.topic), of.useful) for of in labels]
        if given:
            judged = dict(zip((of.key for of in labels), engine.labels.judge(given), strict=True))
    except (AutopoiesisError, OSError) as error:
        problem = str(error)
    try:
        log = read_log(tuning)
    except (AutopoiesisError, OSError) as error:
        problem = problem or str(error)
    return WriteResult(tuple(of.key for of in labels), judged, problem, log)
