"""The tune screen: topics and their figures, scores, thresholds and the effect of moving them (design 8)."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.types import CSSPathType

from tui.kit.bridge import Burst
from tui.kit.full_screen import FullScreen
from tui.kit.lanes import Lane
from tui.kit.prompt import PromptLine
from tui.kit.rows import RowList
from tui.screens.tune.changes import Changes, ChangesPanel
from tui.screens.tune.decisions import DecisionsPanel
from tui.screens.tune.log import LogSnapshot, read_log
from tui.screens.tune.plot import Scores, ScoresPanel
from tui.screens.tune.state import TuneState
from tui.screens.tune.thresholds import thresholds_text
from tui.screens.tune.topics import TopicsPanel, per_day, rate_text

if TYPE_CHECKING:
    from tui.kit.bench import Bench

PATIENCE = 4.0
"""The pause between two reads of the log, as a multiple of the last read's duration."""
KEYS = ("← → .01", "H L .05", "c other threshold", "f fit", "z undo")
LOW = 20
"""Lines below which the comparison is shown in the frame instead of a panel."""


class TuneLayout(FullScreen):
    """The layout of the screen.

    Args:
        topic: The topic selected first; if unknown, the worst one.
    """

    AUTO_FOCUS = "#scores"
    CSS_PATH: ClassVar[CSSPathType | None] = "tune.tcss"
    area = "tune"
    line = "filter"

    def __init__(self, bench: Bench, topic: str = "") -> None:
        super().__init__(bench, "scores")
        self.state = TuneState(topic)
        self._rest_until = 0.0
        self._reads: Lane[None, LogSnapshot] = self.lane(
            lambda _none: read_log(bench.engine.tuning),
            lambda _none, log: self.take_log(log),
            lambda _none, problem: self.take_log(None, problem),
        )
        self._hold_outs: Lane[None, LogSnapshot] = self.lane(
            lambda _none: read_log(bench.engine.tuning, held_out=True),
            lambda _none, log: self.take_log(log, relabelled=True),
            lambda _none, problem: self.say(problem, error=True),
        )

    def body(self) -> ComposeResult:
        """Topics and the input line on the left; scores, changes and decisions on the right."""
        self.topics = TopicsPanel(id="topics")
        self.scores = ScoresPanel(id="scores")
        self.changes = ChangesPanel(id="changes")
        self.decisions = DecisionsPanel(id="decisions")
        with Horizontal(id="tune"):
            with Vertical(id="tune-left"):
                yield self.topics
                yield self.prompt
            with Vertical(id="tune-right"):
                yield self.scores
                yield self.changes
                yield self.decisions

    def begin(self) -> None:
        self.look()

    def look(self) -> None:
        self._reads.ask(None)

    def end(self) -> None:
        """Lets the garbage collector free the log."""
        gc.unfreeze()

    # What is on the screen

    def lay_out(self) -> None:
        size, zoom = self.app.size, self.zoomed
        low = size.height < LOW
        self.lay_out_frame({"-low": low, "-wide": size.width >= 160, "-narrow": size.width < 100})
        left = self.query_one("#tune-left")
        left.display = zoom in (None, "topics") or self.prompt.display
        self.topics.display = zoom in (None, "topics")
        left.set_class(zoom == "topics", "-whole")
        self.query_one("#tune-right").display = zoom != "topics"
        self.scores.display = zoom in (None, "scores")
        self.changes.display = zoom in (None, "scores") and not low
        self.decisions.display = zoom in (None, "decisions")

    def show(self) -> None:
        state = self.state
        threshold_line = self.threshold_line()
        self.topics.show(state.topics(), threshold_line)
        changes = state.changes()
        self.scores.show(self._scores(self.summary(changes)))
        self.changes.show(changes, self.hint())
        self.decisions.show_listing(
            state.topic, state.list_decisions(), self._nothing_listed(), threshold_line
        )
        self.update_footer()

    def _scores(self, summary: tuple[str, ...]) -> Scores:
        state = self.state
        if not state.known:
            note = "scoring the logged messages …" if state.loading else "no topic is selected"
            return Scores(note="ctrl+r tries again" if state.problem else note)
        keys = summary if self.has_class("-low") else KEYS
        return Scores(state.topic, state.overview[state.topic].labelled, state.plot, keys=keys)

    def _nothing_listed(self) -> str:
        state = self.state
        if not state.known or state.table is None:
            return ""
        if state.moved:
            return "No logged message changes with these thresholds."
        if state.table.size:
            return "Thresholds have no effect on this topic: triggers, a schedule or a person settle it."
        return "No messages yet. They are logged as they arrive; label them here with y and n."

    # Engine events and log reads

    def patience(self) -> float:
        """Limits how often a slow log is read."""
        return max(self.burst_s, self._rest_until - self.bench.clock.monotonic())

    def handle_events(self, burst: Burst) -> None:
        """Reads new log records when messages arrive or files change."""
        if burst.keys or "status" in burst.parts:
            self.look()

    def take_log(self, log: LogSnapshot | None, problem: str = "", *, relabelled: bool = False) -> None:
        """Handles a read of the log, or its failure; ``relabelled`` says that labels in it changed."""
        state = self.state
        if log is not None:
            # A garbage collection over 100,000 decisions takes a quarter of a second and would delay keys.
            gc.freeze()
            state.take(log, relabelled=relabelled)
            if not state.held_out:
                self._hold_outs.ask(None)
            self._rest_until = self.bench.clock.monotonic() + PATIENCE * log.seconds
        if problem and state.table is None:
            state.problem = problem
        elif problem:
            self.say(problem, error=True)
        self.show()

    # User input

    @on(TopicsPanel.Chosen)
    def _topic_chosen(self, chosen: TopicsPanel.Chosen) -> None:
        self.choose_row(chosen.index)

    def choose_row(self, index: int) -> None:
        if 0 <= index < len(self.state.names):
            self.state.choose(self.state.names[index])
            self.show()

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.update_footer()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        self.narrow(edited.value)

    def narrow(self, query: str) -> None:
        self.state.filter(query)
        self.show()

    @on(PromptLine.Entered)
    def _entered(self) -> None:
        self.leave_line()

    def hint(self) -> str:
        """The text in the comparison's lower border."""
        state = self.state
        if not state.known:
            return ""
        if state.moved:
            status = self.bench.status
            if status is not None and status.read_only:
                return "read-only: cannot apply · esc discards"
            return f"enter {'asks, then applies' if state.caution else 'applies and commits'} · esc discards"
        return "← → move the threshold"

    def threshold_line(self) -> str:
        """The topic and its thresholds, when the panel that shows them is hidden."""
        state = self.state
        if not state.known or self.scores.display:
            return ""
        moved = f" ▸ {thresholds_text(state.now, state.offers)}" if state.moved else ""
        return f"{state.topic} · {thresholds_text(state.today, state.offers)}{moved}"

    def summary(self, changes: Changes | None) -> tuple[str, ...]:
        """The comparison as short texts, for when its panel does not fit."""
        if changes is None:
            return ()
        before, after = changes.before, changes.after or changes.before
        asked = "offers" if changes.offers else "calls"
        return tuple(
            f"{name} {old}" if old == new else f"{name} {old}▸{new}"
            for name, old, new in (
                ("F1", rate_text(before.f1), rate_text(after.f1)),
                ("recall", rate_text(before.recall), rate_text(after.recall)),
                (f"{asked}/d", per_day(before.offers_per_day), per_day(after.offers_per_day)),
            )
        )
