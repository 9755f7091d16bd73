"""Reads the logged messages for the tune screen and writes labels and thresholds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.activation.policy import Thresholds
from engine.errors import AutopoiesisError
from tui.screens.tune.draw import Changes, Plot, ThresholdName, first_held, moved
from tui.screens.tune.lists import (
    LISTED,
    SORTINGS,
    Listing,
    Sorting,
    TopicItem,
    TopicList,
    flipped,
    nearest,
    ordered,
    with_current_labels,
)

if TYPE_CHECKING:
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.replay import Figures, Histogram
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


NO_THRESHOLDS = Thresholds(None, None)


class TuneState:
    def __init__(self, topic: str) -> None:
        self.table: MessageTable | None = None
        self.overview: Mapping[str, Figures] = {}
        self.total: Figures | None = None
        self.problem = ""
        self.sorting: Sorting = "worst"
        self.query = ""
        self.names: tuple[str, ...] = ()
        self.topic = topic
        self.held: ThresholdName = "activate"
        self.moves: dict[str, Thresholds] = {}
        self.proposals: dict[str, Proposal] = {}
        self.before_fit: dict[str, Thresholds] = {}
        self._warned: dict[str, Proposal] = {}
        self.fitting = ""
        self.fit_problem: dict[str, str] = {}
        self.saving: dict[tuple[str, str], bool] = {}
        self.learned: dict[tuple[str, str], tuple[float, float]] = {}
        self.listing = Listing()
        self._listed: tuple[str, Thresholds] | None = None
        self._relabelled = False
        self._binned: dict[tuple[str, int], Histogram] = {}

    # Log

    @property
    def loading(self) -> bool:
        """Whether the first read is still running."""
        return self.table is None and not self.problem

    @property
    def known(self) -> bool:
        """Whether the table contains the selected topic."""
        return self.table is not None and self.topic in self.overview

    @property
    def offers(self) -> bool:
        """Whether what is uncertain is offered to the agent."""
        return self.table is None or self.table.offers

    @property
    def costs(self) -> bool:
        """Whether answers of the gate cost something."""
        return self.table is not None and self.table.cost_per_call > 0

    @property
    def held_out(self) -> bool:
        """Whether labelled messages have scores from fits without them."""
        return self.table is None or self.table.held_out

    def take(self, log: LogSnapshot, *, relabelled: bool = False) -> None:
        """Stores a newly read log; topic, selection and moved thresholds are kept.

        Args:
            relabelled: Nothing but labels has changed, so that the list keeps its order.
        """
        table, overview = log.table, log.overview
        if table is self.table:
            return
        is_first = self.table is None
        self.table, self.overview, self.total, self.problem = table, overview, log.total, ""
        self.moves = {
            name: thresholds
            for name, thresholds in self.moves.items()
            if name in overview and thresholds != table.today(name)
        }
        self.proposals.clear()
        self.fit_problem.clear()
        self._binned.clear()
        self._relabelled = relabelled
        if not relabelled:
            self._listed = None
        self.sort()
        if is_first and self.known and table.topics[self.topic].activation == "manual":
            # Nothing of the one it was opened for can be tuned.
            self.choose(next((n for n in self.names if table.topics[n].activation != "manual"), self.topic))

    def sort(self) -> None:
        """Sorts the topics; the selected one stays selected while it is listed."""
        self.names = ordered(self.overview, self.sorting, self.query)
        if self.topic not in self.names and self.names:
            self.choose(self.names[0])

    def next_sorting(self) -> Sorting:
        self.sorting = SORTINGS[(SORTINGS.index(self.sorting) + 1) % len(SORTINGS)]
        if self.sorting == "cost" and not self.costs:
            return self.next_sorting()
        self.sort()
        return self.sorting

    def filter(self, query: str) -> None:
        """Keeps only the topics whose name contains the query."""
        self.query = query
        self.sort()

    # Topic and thresholds

    def choose(self, topic: str) -> None:
        if topic != self.topic:
            self.topic = topic
            self._listed = None
        if self.known and self.now != self.today:
            return
        self.held = first_held(self.today)

    @property
    def today(self) -> Thresholds:
        """The current thresholds of the selected topic."""
        return self.table.today(self.topic) if self.table is not None and self.known else NO_THRESHOLDS

    @property
    def now(self) -> Thresholds:
        """The moved thresholds, or the current ones."""
        return self.moves.get(self.topic, self.today)

    @property
    def moved(self) -> bool:
        return self.topic in self.moves

    def set(self, thresholds: Thresholds) -> None:
        if thresholds == self.today:
            self.moves.pop(self.topic, None)
        else:
            self.moves[self.topic] = thresholds

    def move(self, steps: int) -> bool:
        """Moves the held threshold by hundredths; ``False`` if it cannot move further."""
        thresholds = moved(self.now, self.held, steps)
        if thresholds == self.now:
            return False
        self.set(thresholds)
        return True

    def switch_held(self) -> None:
        """Makes the keys move the other threshold."""
        self.held = "activate" if self.held == "gate" else "gate"

    def discard(self) -> None:
        self.moves.pop(self.topic, None)

    @property
    def at_proposal(self) -> bool:
        """Whether the thresholds equal the fitted ones."""
        proposal = self.proposals.get(self.topic)
        return proposal is not None and proposal.thresholds is not None and proposal.thresholds == self.now

    @property
    def caution(self) -> str:
        """The fit's warning while it applies to the thresholds; it outlives the proposal."""
        warned = self._warned.get(self.topic)
        return replace(warned, thresholds=self.now).caution if warned is not None and self.moved else ""

    def take_fit(self, proposal: Proposal) -> None:
        """Stores a fit and shows it if its topic is selected."""
        self.proposals[proposal.topic] = proposal
        if proposal.caution:
            self._warned[proposal.topic] = proposal
        if proposal.topic == self.topic and not self.at_proposal:
            self.show_fit()

    def show_fit(self) -> None:
        """Toggles between the fitted thresholds and those before the fit."""
        proposal = self.proposals[self.topic]
        if proposal.thresholds is None:
            return
        if self.at_proposal:
            self.set(self.before_fit.pop(self.topic, self.today))
        else:
            self.before_fit[self.topic] = self.now
            self.set(proposal.thresholds)

    # Views

    def topics(self) -> TopicList:
        return TopicList(
            tuple(TopicItem(name, self.overview[name], name in self.moves) for name in self.names),
            number=len(self.overview),
            total=self.total,
            sorting=self.sorting,
            query=self.query,
            offers=self.offers,
            costs=self.costs,
            loading=self.loading,
            problem=self.problem,
        )

    def plot(self, bins: int) -> Plot:
        """The score histogram with ``bins`` bins, and the thresholds."""
        from engine.activation.tuning.replay import histogram  # noqa: PLC0415 — brings numpy

        key = (self.topic, bins)
        found = self._binned.get(key)
        if found is None and self.table is not None:
            found = self._binned[key] = histogram(self.table, self.topic, bins)
        useful, noise = (found.useful, found.noise) if found is not None else ((0,) * bins, (0,) * bins)
        return Plot(
            useful,
            noise,
            self.today,
            self.now,
            self.held,
            self.offers,
            self._plot_note(sum(useful) + sum(noise)),
        )

    def _plot_note(self, drawn: int) -> str:
        figures = self.overview[self.topic]
        if drawn:
            return ""
        if figures.labelled:
            return "thresholds do not affect its messages"
        return "no labels yet; label with y and n" if figures.messages else "no messages yet"

    def changes(self) -> Changes | None:
        """The comparison of current and moved thresholds."""
        from engine.activation.tuning.replay import alone_text, figures  # noqa: PLC0415 — likewise

        if self.table is None or not self.known:
            return None
        return Changes(
            self.today,
            self.now,
            self.held,
            self.overview[self.topic],
            figures(self.table, self.topic, self.now) if self.moved else None,
            self.proposals.get(self.topic),
            self.fitting == self.topic,
            self.fit_problem.get(self.topic, ""),
            self.caution,
            alone_text(self.table, self.topic),
            self.offers,
            self.costs,
            self.held_out,
        )

    def list_decisions(self) -> Listing:
        """The messages that flip, or those nearest to a threshold; labels do not change their order."""
        from engine.activation.tuning.replay import flips  # noqa: PLC0415 — likewise

        if self.table is None or not self.known:
            self.listing, self._listed = Listing(), None
            return self.listing
        state = (self.topic, self.now)
        if self._listed == state:
            found = None
            if self._relabelled and self.moved:
                # Messages labelled since then move up among the flips; twice the limit still includes them.
                found = flips(self.table, self.topic, self.today, self.now, limit=2 * LISTED)
            self.listing = with_current_labels(
                self.table, self.topic, self.listing, self.saving, self.learned, found
            )
        elif self.moved:
            found = flips(self.table, self.topic, self.today, self.now, limit=LISTED)
            self.listing = flipped(self.table, self.topic, found, self.saving, self.learned)
        else:
            self.listing = nearest(self.table, self.topic, self.now, self.saving, self.learned)
        self._listed, self._relabelled = state, False
        self.listing = replace(self.listing, offers=self.offers)
        return self.listing
