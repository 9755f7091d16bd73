"""The tune screen: how well topics do, their scores, two cuts, and what moving these changes (design 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus, Resize
from textual.timer import Timer
from textual.types import CSSPathType

from tui.commands.command import Command, PanelName, Situation, TunePanel
from tui.commands.lookup import all_keys, footer, resolve
from tui.commands.tune import TUNE
from tui.messages import EventsArrived
from tui.safe import visible
from tui.screens.commanded import Commanded
from tui.screens.tune_actions import TuneActions
from tui.screens.tune_state import TuneState
from tui.screens.tune_work import Proposed, TableRead, TuneWork, Written
from tui.widgets.bars import Footer, Header, QuestionBar, TooSmall
from tui.widgets.panel import Panel
from tui.widgets.prompt import PromptLine
from tui.widgets.rows import RowList
from tui.widgets.tune_decisions import DecisionsPanel
from tui.widgets.tune_scores import ChangesPanel, Scores, ScoresPanel
from tui.widgets.tune_topics import TopicsPanel

if TYPE_CHECKING:
    from tui.screens.workbench import Workbench

BURST_S = 0.2
"""How long news may gather before the log is read again."""
PATIENCE = 4.0
"""How many times as long as reading the log takes the screen waits before it reads it once more."""
KEYS = ("← → .01", "H L .05", "c other cut", "f fit", "z undo")
SMALLEST = (60, 16)
LOW = 20
"""Lines below which the comparison is a line in the frame."""


class TuneScreen(Commanded):
    """The screen over the workbench. Work that may block is done by ``TuneWork``; keys never wait for it.

    Args:
        bench: The workbench it was opened from.
        topic: The topic to begin with; where it is unknown, the worst one.
    """

    AUTO_FOCUS = "#scores"
    CSS_PATH: ClassVar[CSSPathType | None] = "tune.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"press('{key}')", show=False, priority=True) for key in all_keys(TUNE)
    ]

    def __init__(self, bench: Workbench, topic: str = "") -> None:
        super().__init__()
        self.bench = bench
        self.state = TuneState(topic)
        self.work = TuneWork(bench.engine, self.post_message)
        self.actions = TuneActions(self)
        self.zoomed: TunePanel | None = None
        self.panel_in_use: TunePanel = "scores"
        self.panel_before: TunePanel = "scores"
        self._burst: Timer | None = None
        self._rest_until = 0.0

    def compose(self) -> ComposeResult:
        """Header, topics on the left; scores, what changes and decisions on the right; footer."""
        self.topics = TopicsPanel(id="topics")
        self.scores = ScoresPanel(id="scores")
        self.changes = ChangesPanel(id="changes")
        self.decisions = DecisionsPanel(id="decisions")
        self.prompt = PromptLine(id="prompt")
        yield Header(self.bench.engine.workspace.root, id="header")
        with Horizontal(id="tune"):
            with Vertical(id="tune-left"):
                yield self.topics
                yield self.prompt
            with Vertical(id="tune-right"):
                yield self.scores
                yield self.changes
                yield self.decisions
        yield QuestionBar(id="question")
        yield Footer(id="footer")
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """Begins to read the log."""
        self.prompt.display = False
        self.lay_out()
        self.bench.show_bars()
        self.bench.questions.show()
        self.show()
        self.work.start()

    def on_unmount(self) -> None:
        """Lets go of the engine."""
        self.work.stop()

    @property
    def waiting(self) -> bool:
        """Whether something is under way that will change the screen."""
        return self.work.busy or self._burst is not None

    # What is on the screen

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        size, zoom = self.app.size, self.zoomed
        small = size.width < SMALLEST[0] or size.height < SMALLEST[1]
        low = size.height < LOW
        for name, wanted in (("-low", low), ("-wide", size.width >= 160), ("-narrow", size.width < 100)):
            self.set_class(wanted, name)
        self.query_one(TooSmall).display = small
        for name in ("#header", "#tune", "#footer"):
            self.query_one(name).display = not small
        left = self.query_one("#tune-left")
        left.display = zoom in (None, "topics") or self.prompt.display
        self.topics.display = zoom in (None, "topics")
        left.set_class(zoom == "topics", "-whole")
        self.query_one("#tune-right").display = zoom != "topics"
        self.scores.display = zoom in (None, "scores")
        self.changes.display = zoom in (None, "scores") and not low
        self.decisions.display = zoom in (None, "decisions")

    def on_resize(self, _event: Resize) -> None:
        """Another size may have room for more, or less."""
        self.lay_out()
        self.show()
        self.call_after_refresh(self._keep_focus)

    def _keep_focus(self) -> None:
        if self.focused is None and self.query_one("#tune").display:
            self.focus_panel(self.panel_in_use)

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""
        state = self.state
        standing = self.actions.standing()
        self.topics.show(state.topics(), standing)
        changes = state.changes()
        self.scores.show(self._scores(self.actions.summary(changes)))
        self.changes.show(changes, self.actions.hint())
        self.decisions.show_listing(state.topic, state.list_decisions(), self._nothing_listed(), standing)
        self.update_footer()

    def _scores(self, summary: tuple[str, ...]) -> Scores:
        state = self.state
        if not state.known:
            note = "reading the decision log …" if state.loading else "no topic is selected"
            return Scores(note="ctrl+r tries again" if state.problem else note)
        figures = state.overview[state.topic]
        keys = summary if self.has_class("-low") else KEYS
        return Scores(state.topic, figures.labelled, figures.decisions, state.plot, keys=keys)

    def _nothing_listed(self) -> str:
        state = self.state
        if not state.known or state.table is None:
            return ""
        if state.moved:
            return "No logged decision would have gone otherwise with these cuts."
        left_out = state.table.left_out_of(state.topic)
        if left_out:
            return f"{left_out:,} decisions were logged under another preset and cannot be replayed."
        if state.overview[state.topic].decisions:
            return (
                "No cut moves what was decided about this topic: "
                "its triggers, a schedule or a person settled it."
            )
        return (
            "Nothing was decided about this topic yet. Decisions are logged as messages come in; "
            "y and n label them here."
        )

    def panel_named(self, name: TunePanel) -> Panel:
        """A panel by its name."""
        return self.query_one(f"#{name}", Panel)

    def focus_panel(self, name: TunePanel) -> None:
        """Gives a panel the keys, at once: the next key typed may be there already."""
        self.set_focus(self.prompt.input if name == "filter" else self.panel_named(name))
        self.panel_in_use = name
        self.update_footer()

    def open_prompt(self) -> None:
        """Gives the line the keys, to type what to look for."""
        if self.panel_in_use != "filter":
            self.panel_before = self.panel_in_use
        self.prompt.display = True
        self.prompt.enter_mode("filter", value=self.state.query, about="topics")
        self.lay_out()
        self.focus_panel("filter")

    def leave_prompt(self) -> None:
        """Gives the keys back to where they came from."""
        self.focus_panel(self.panel_before)
        self.prompt.display = False
        self.lay_out()

    @property
    def situation(self) -> Situation:
        """What the keys depend on."""
        state, status, name = self.state, self.bench.status, self.panel_in_use
        return Situation(
            panel=name,
            zoomed=self.zoomed is not None,
            filtered=bool(state.query),
            question=bool(self.bench.questions.open),
            read_only=status is not None and status.read_only,
            rows=0 if name == "filter" else self.panel_named(name).row_count,
            topic=state.topic if state.known else "",
            file=self.actions.file(),
            problems=len(status.problems) if status is not None else 0,
            loading=state.loading,
            moved=state.moved,
            decision=self.decisions.selected is not None,
            fitting=bool(state.fitting),
        )

    def update_footer(self) -> None:
        """Shows the keys that matter now."""
        if self.is_mounted:
            self.query_one(Footer).show(footer(self.situation))

    def say(self, text: str, *, trouble: bool = False) -> None:
        """Tells the person something in passing."""
        self.notify(visible(text, 400), severity="error" if trouble else "information", markup=False)

    # What comes in

    @on(EventsArrived)
    def _events_arrived(self) -> None:
        if self._burst is None:
            rest = self._rest_until - self.bench.clock.monotonic()
            self._burst = self.set_timer(max(BURST_S, rest), self._take_burst)

    def _take_burst(self) -> None:
        self._burst = None
        burst = self.work.bridge.take()
        if burst.keys or "status" in burst.parts:
            self.work.read()

    @on(TableRead)
    def _table_read(self, read: TableRead) -> None:
        state = self.state
        for name in (*read.labelled, *read.refused):
            state.saving.pop(name, None)
        if read.table is not None and read.total is not None:
            state.take(read.table, read.overview, read.total, relabelled=bool(read.labelled))
            self._rest_until = self.bench.clock.monotonic() + PATIENCE * read.seconds
        if read.problem and state.table is None:
            state.problem = read.problem
        elif read.problem:
            self.say(read.problem, trouble=True)
        self.show()

    @on(Proposed)
    def _proposed(self, proposed: Proposed) -> None:
        self.actions.proposed(proposed)

    @on(Written)
    def _written(self, written: Written) -> None:
        self.actions.written(written)

    # What a person does

    @on(TopicsPanel.Chosen)
    def _topic_chosen(self, chosen: TopicsPanel.Chosen) -> None:
        self.choose_row(chosen.index)

    def choose_row(self, index: int) -> None:
        """Goes to the topic in a row of the list."""
        if 0 <= index < len(self.state.names):
            self.state.choose(self.state.names[index])
            self.show()

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.update_footer()

    @on(DescendantFocus)
    def _focus_moved(self) -> None:
        # The event may be older than the focus is: keys come faster than it does.
        holder = self.focused
        if isinstance(holder, Panel):
            self.panel_in_use = _named(holder.name_of)
        elif holder is not None:
            self.panel_in_use = "filter"
        self.update_footer()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        self.state.filter(edited.value)
        self.show()

    @on(PromptLine.Entered)
    def _entered(self) -> None:
        self.leave_prompt()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key means something here; if not it goes to the line that is being typed."""
        if action != "press":
            return super().check_action(action, parameters)
        here = Situation(
            panel=self.panel_in_use, question=bool(self.bench.questions.open), moved=self.state.moved
        )
        return resolve(str(parameters[0]), here) is not None

    def action_press(self, key: str) -> None:
        """A key of the catalogue was pressed: does what it means here, or says why not."""
        situation = self.situation
        command = resolve(key, situation)
        if command is not None:
            self.actions.perform(command, situation)

    def do(self, command: type[Command]) -> None:
        """Does a command that was chosen by name."""
        if self.panel_in_use == "filter":
            self.leave_prompt()
        situation = self.situation
        if command.applies(situation):
            self.actions.perform(command, situation)


_NAMES: tuple[TunePanel, ...] = ("topics", "scores", "decisions")


def _named(name: PanelName) -> TunePanel:
    return next((each for each in _NAMES if each == name), "scores")
