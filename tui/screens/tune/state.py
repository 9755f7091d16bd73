"""What the tune screen knows: the log as a table, the chosen topic, its thresholds, what fitting said.

Nothing here touches a widget or waits for anything: a moved threshold is a few binary searches in the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.activation.policy import Thresholds
from tui.screens.tune.changes import Changes
from tui.screens.tune.decisions import Listing
from tui.screens.tune.listing import LISTED, flipped, labelled_anew, nearest
from tui.screens.tune.log import LogRead
from tui.screens.tune.plot import Plot
from tui.screens.tune.thresholds import ThresholdName, first_held, moved
from tui.screens.tune.topics import SORTINGS, Sorting, TopicList, ordered

if TYPE_CHECKING:
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.replay import Figures, Histogram
    from engine.activation.tuning.table import DecisionTable

NOWHERE = Thresholds(None, None)


class TuneState:
    """The state of one tune screen."""

    def __init__(self, topic: str) -> None:
        self.table: DecisionTable | None = None
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
        self.saving: dict[str, bool] = {}
        self.listing = Listing()
        self._listed: tuple[str, Thresholds] | None = None
        self._relabelled = False
        self._binned: dict[tuple[str, int], Histogram] = {}

    # The log.

    @property
    def loading(self) -> bool:
        """Whether nothing was read yet."""
        return self.table is None and not self.problem

    @property
    def known(self) -> bool:
        """Whether the table knows the chosen topic."""
        return self.table is not None and self.topic in self.overview

    def take(self, log: LogRead, *, relabelled: bool = False) -> None:
        """Takes over the log as it was read; topic, selection and moves stay.

        Args:
            relabelled: Labels in it have changed, so that what was fitted to them is out of date.
        """
        table, overview = log.table, log.overview
        new = table is not self.table
        if not new and not relabelled and self.overview:
            return
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
        if new:
            self._listed = None
        self.sort()

    def sort(self) -> None:
        """Puts the topics in order; the chosen one stays chosen while it is among them."""
        self.names = ordered(self.overview, self.sorting, self.query)
        if self.topic not in self.names and self.names:
            self.choose(self.names[0])

    def next_sorting(self) -> Sorting:
        """Sorts by the next thing."""
        self.sorting = SORTINGS[(SORTINGS.index(self.sorting) + 1) % len(SORTINGS)]
        self.sort()
        return self.sorting

    def filter(self, query: str) -> None:
        """Keeps only the topics whose name holds the words."""
        self.query = query
        self.sort()

    # The topic and its thresholds.

    def choose(self, topic: str) -> None:
        """Goes to another topic."""
        if topic != self.topic:
            self.topic = topic
            self._listed = None
        if self.known and self.now != self.today:
            return
        self.held = first_held(self.today)

    @property
    def today(self) -> Thresholds:
        """The thresholds of the chosen topic as they are."""
        return self.table.today(self.topic) if self.table is not None and self.known else NOWHERE

    @property
    def now(self) -> Thresholds:
        """The thresholds as they would be."""
        return self.moves.get(self.topic, self.today)

    @property
    def moved(self) -> bool:
        """Whether a threshold stands elsewhere than today."""
        return self.topic in self.moves

    def set(self, thresholds: Thresholds) -> None:
        """Puts the thresholds somewhere."""
        if thresholds == self.today:
            self.moves.pop(self.topic, None)
        else:
            self.moves[self.topic] = thresholds

    def move(self, steps: int) -> bool:
        """Moves the held threshold by hundredths; ``False`` where it cannot go any further."""
        thresholds = moved(self.now, self.held, steps)
        if thresholds == self.now:
            return False
        self.set(thresholds)
        return True

    def hold_other(self) -> None:
        """Lets the keys move the other threshold."""
        self.held = "activate" if self.held == "gate" else "gate"

    def discard(self) -> None:
        """Puts the thresholds back."""
        self.moves.pop(self.topic, None)

    @property
    def at_proposal(self) -> bool:
        """Whether the thresholds stand where fitting would put them."""
        proposal = self.proposals.get(self.topic)
        return proposal is not None and proposal.thresholds is not None and proposal.thresholds == self.now

    @property
    def caution(self) -> str:
        """What a fit warned of, while the thresholds stand where that is true; it outlives the proposal."""
        warned = self._warned.get(self.topic)
        return replace(warned, thresholds=self.now).caution if warned is not None and self.moved else ""

    def take_fit(self, proposal: Proposal) -> None:
        """Takes over what fitting says; puts the thresholds there where its topic is the chosen one."""
        self.proposals[proposal.topic] = proposal
        if proposal.caution:
            self._warned[proposal.topic] = proposal
        if proposal.topic == self.topic and not self.at_proposal:
            self.show_fit()

    def show_fit(self) -> None:
        """Puts the thresholds where fitting would put them, or back to where they were before that."""
        proposal = self.proposals[self.topic]
        if proposal.thresholds is None:
            return
        if self.at_proposal:
            self.set(self.before_fit.pop(self.topic, self.today))
        else:
            self.before_fit[self.topic] = self.now
            self.set(proposal.thresholds)

    # What is shown of it.

    def topics(self) -> TopicList:
        """The list on the left."""
        return TopicList(
            names=self.names,
            figures=self.overview,
            total=self.total,
            moved=frozenset(self.moves),
            selected=self.names.index(self.topic) if self.topic in self.names else 0,
            sorting=self.sorting,
            query=self.query,
            left_out=self.table.left_out if self.table is not None else 0,
            loading=self.loading,
            problem=self.problem,
        )

    def plot(self, bins: int) -> Plot:
        """The scores in a number of bins, and where the thresholds stand."""
        from engine.activation.tuning.replay import histogram  # noqa: PLC0415 — brings numpy

        key = (self.topic, bins)
        found = self._binned.get(key)
        if found is None and self.table is not None:
            found = self._binned[key] = histogram(self.table, self.topic, bins)
        useful, noise = (found.useful, found.noise) if found is not None else ((0,) * bins, (0,) * bins)
        return Plot(useful, noise, self.today, self.now, self.held, self._plot_note(sum(useful) + sum(noise)))

    def _plot_note(self, drawn: int) -> str:
        figures = self.overview[self.topic]
        if drawn:
            return ""
        if figures.labelled:
            return "no threshold moves its decisions"
        return "no labels yet: y and n give them" if figures.decisions else "no decisions yet"

    def changes(self) -> Changes | None:
        """The comparison of today's thresholds with the moved ones."""
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
            alone_text(self.table, self.topic, self.now),
        )

    def list_decisions(self) -> Listing:
        """The decisions that flip, or those nearest to a threshold; in one order while labels come in."""
        from engine.activation.tuning.replay import flips  # noqa: PLC0415 — likewise

        if self.table is None or not self.known:
            self.listing, self._listed = Listing(), None
            return self.listing
        state = (self.topic, self.now)
        if self._listed == state:
            found = None
            if self._relabelled and self.moved:
                # What was labelled since moves up among the flips, so that it is well among twice as many.
                found = flips(self.table, self.topic, self.today, self.now, limit=2 * LISTED)
            self.listing = labelled_anew(self.table, self.listing, self.saving, found)
        elif self.moved:
            found = flips(self.table, self.topic, self.today, self.now, limit=LISTED)
            self.listing = flipped(self.table, found, self.saving)
        else:
            self.listing = nearest(self.table, self.topic, self.now, self.saving)
        self._listed, self._relabelled = state, False
        return self.listing
