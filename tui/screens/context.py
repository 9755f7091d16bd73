"""The context screen: the prompt as it will be sent, why each part is in it, and what is not (design 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus, Resize
from textual.timer import Timer
from textual.types import CSSPathType

from tui.commands.command import Command, ContextPanel, PanelName, Situation
from tui.commands.context import CONTEXT
from tui.commands.lookup import all_keys, footer, resolve
from tui.messages import EventsArrived
from tui.safe import visible
from tui.screens.commanded import Commanded
from tui.screens.context_actions import ContextActions
from tui.screens.context_state import ContextState, Listed
from tui.screens.context_view import ContextView
from tui.screens.context_work import (
    Bare,
    Compared,
    CompareWish,
    ContextWork,
    Kept,
    Numbered,
    Ready,
)
from tui.widgets.bars import Footer, Header, QuestionBar, TooSmall
from tui.widgets.context_bar import SummaryBar
from tui.widgets.context_list import LeftOutPanel, SectionsPanel
from tui.widgets.context_text import SlotsPanel, TextPanel
from tui.widgets.panel import Panel
from tui.widgets.prompt import PromptLine
from tui.widgets.rows import RowList

if TYPE_CHECKING:
    from tui.screens.workbench import Workbench

BURST_S = 0.3
"""How long news of files may gather before the prompt is compiled anew."""


class ContextScreen(Commanded):
    """The screen over the workbench, on whose message it is. Work that may block is done by ``ContextWork``.

    Args:
        bench: The workbench it was opened from.
    """

    AUTO_FOCUS = "#sections"
    CSS_PATH: ClassVar[CSSPathType | None] = "context.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"press('{key}')", show=False, priority=True) for key in all_keys(CONTEXT)
    ]

    def __init__(self, bench: Workbench) -> None:
        super().__init__()
        self.bench = bench
        self.state = ContextState()
        self.work = ContextWork(bench.engine, self.post_message)
        self.view = ContextView(self)
        self.actions = ContextActions(self)
        self.zoomed: ContextPanel | None = None
        self.out_open = False
        self.panel_in_use: ContextPanel = "sections"
        self.panel_before: ContextPanel = "sections"
        self._burst: Timer | None = None

    def compose(self) -> ComposeResult:
        """Header and summary; sections and budget on the left; text and what was left out on the right."""
        self.summary = SummaryBar(id="summary")
        self.sections = SectionsPanel(id="sections")
        self.slots = SlotsPanel(id="slots")
        self.text = TextPanel(id="text")
        self.left_out = LeftOutPanel(id="left-out")
        self.prompt = PromptLine(id="prompt")
        yield Header(self.bench.engine.workspace.root, id="header")
        yield self.summary
        with Horizontal(id="context"):
            with Vertical(id="context-left"):
                yield self.sections
                yield self.slots
            with Vertical(id="context-right"):
                yield self.text
                yield self.left_out
        yield QuestionBar(id="question")
        yield self.prompt
        yield Footer(id="footer")
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """Begins to follow the workbench."""
        self.prompt.display = False
        self.view.lay_out()
        self.bench.show_bars()
        self.bench.questions.show()
        self.bench.followers.append(self.follow)
        self.work.start()
        self.follow()

    def on_unmount(self) -> None:
        """Lets go of workbench and engine."""
        self.bench.followers.remove(self.follow)
        self.work.stop()

    @property
    def waiting(self) -> bool:
        """Whether something is under way that will change the screen."""
        return self.work.busy or self._burst is not None

    @property
    def gone(self) -> bool:
        """Whether it was left, or is being taken down; what comes in after that is for nobody."""
        return self not in self.app.screen_stack or not self.query(Footer)

    # What is on the screen

    def on_resize(self, _event: Resize) -> None:
        """Another size may have room for more, or less."""
        self.view.lay_out()
        self.view.show(stay=True)
        self.call_after_refresh(self._keep_focus)

    def _keep_focus(self) -> None:
        if not self.query_one("#context").display:
            return
        shown = self.view.in_view()
        if self.panel_in_use not in (*shown, "name"):
            self.focus_panel(shown[0])
        elif self.focused is None:
            self.focus_panel(self.panel_in_use)

    def panel_named(self, name: ContextPanel) -> Panel:
        """A panel by its name."""
        return self.query_one(f"#{name}", Panel)

    def focus_panel(self, name: ContextPanel) -> None:
        """Gives a panel the keys, at once: the next key typed may be there already."""
        if name != "name" and self.panel_in_use != name:
            self.panel_in_use = name
            self.view.lay_out()
        self.set_focus(self.prompt.input if name == "name" else self.panel_named(name))
        self.panel_in_use = name
        self.update_footer()

    @property
    def listed(self) -> Listed:
        """The list that a filter is about."""
        used = self.panel_before if self.panel_in_use == "name" else self.panel_in_use
        return "left-out" if used == "left-out" else "sections"

    @property
    def situation(self) -> Situation:
        """What the keys depend on."""
        state, status, name = self.state, self.bench.status, self.panel_in_use
        return Situation(
            panel=name,
            zoomed=self.zoomed is not None,
            filtered=bool(state.queries[self.listed]),
            question=bool(self.bench.questions.open),
            read_only=status is not None and status.read_only,
            rows=0 if name == "name" else self.panel_named(name).row_count,
            file=self.actions.file(),
            problems=len(status.problems) if status is not None else 0,
            prompt=state.compiled is not None,
        )

    def update_footer(self) -> None:
        """Shows the keys that matter now."""
        if self.is_mounted and not self.gone:
            self.query_one(Footer).show(footer(self.situation))

    def say(self, text: str, *, trouble: bool = False) -> None:
        """Tells the person something in passing."""
        self.notify(visible(text, 400), severity="error" if trouble else "information", markup=False)

    # What comes in

    def follow(self) -> None:
        """The workbench shows another message, or more about it."""
        wanted = self.state.follow(self.bench.shown)
        if wanted == "place" and self.state.wanted is not None:
            self.work.place(self.state.wanted)
        elif wanted == "bare":
            self.work.bare()
        self.view.show(stay=True)

    @on(Ready)
    def _ready(self, ready: Ready) -> None:
        before = self.state.chosen
        if self.state.take(ready.placed):
            after = self.state.chosen
            self.compare()
            same = before is not None and after is not None and before.label == after.label
            self.view.show(stay=same)

    @on(Bare)
    def _bare(self, bare: Bare) -> None:
        state = self.state
        if not state.without:  # another message is shown by now
            return
        if bare.compiled is None:
            state.fail(bare.problem)
            self.view.show()
        else:
            state.wanted = bare.compiled
            self.work.place(bare.compiled)

    @on(Numbered)
    def _numbered(self, numbered: Numbered) -> None:
        state = self.state
        if numbered.placed is state.placed:
            state.numbers[numbered.index] = numbered.lines
            if numbered.index == state.section and not state.whole and not state.comparing:
                self.view.show_text(stay=True)

    def compare(self) -> None:
        """Asks for the comparison, while there is to be one."""
        state = self.state
        if not state.comparing or state.compiled is None or state.comparison is not None:
            return
        shown = self.bench.shown
        entry = self.bench.feed.selected
        if shown.key:
            self.work.compare(CompareWish(state.compiled, shown.key))
        elif shown.trying and entry is not None and entry.key:
            self.work.compare(CompareWish(state.compiled, entry.key, with_key=True))
        else:
            state.compare_with(state.compiled, None, "There is no message before it to compare with.")

    @on(Compared)
    def _compared(self, compared: Compared) -> None:
        note = compared.problem
        if not note and compared.comparison is None:
            note = "This is the first message of its conversation: there is no prompt before it."
        self.state.compare_failed = bool(compared.problem)
        self.state.compare_with(compared.compiled, compared.comparison, note)
        self.view.show()

    @on(Kept)
    def _kept(self, kept: Kept) -> None:
        self.actions.kept(kept)

    @on(EventsArrived)
    def _events_arrived(self) -> None:
        if self._burst is None:
            self._burst = self.set_timer(BURST_S, self._take_burst)

    def _take_burst(self) -> None:
        self._burst = None
        if self.work.bridge.take().parts & {"status", "digest"}:  # files, topics or settings are others
            self.refetch()

    def refetch(self) -> None:
        """Compiles the prompt in view anew; it stays in view until the new one is there."""
        shown, conductor = self.bench.shown, self.bench.conductor
        if shown.key:
            conductor.fetch(shown.key)
        elif shown.trying:
            conductor.try_text(shown.text, ask=shown.source == "kept")
        elif self.state.without:
            self.work.bare()

    # What a person does

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        if not moved.by_hand:
            return
        state = self.state
        if moved.panel is self.left_out and self.left_out.entry is not None:
            state.left_out = self.left_out.entry.index
            self.view.frame_lists()
        elif moved.panel is self.sections and self.sections.entry is not None:
            index = self.sections.entry.index
            if state.comparing:
                state.change = index
            else:
                state.section = index
            self.view.show_text()
        self.update_footer()

    @on(DescendantFocus)
    def _focus_moved(self) -> None:
        # The event may be older than the focus is: keys come faster than it does.
        holder = self.focused
        before = self.panel_in_use
        if isinstance(holder, Panel):
            self.panel_in_use = _named(holder.name_of)
        elif holder is not None:
            self.panel_in_use = "name"
        if self.panel_in_use != before:
            self.view.lay_out()
        self.update_footer()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "filter":
            self.actions.narrow(edited.value)

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        self.actions.entered(entered.mode, entered.value)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key means something here; if not it goes to the line that is being typed."""
        if action != "press":
            return super().check_action(action, parameters)
        here = Situation(panel=self.panel_in_use, question=bool(self.bench.questions.open))
        return resolve(str(parameters[0]), here) is not None

    def action_press(self, key: str) -> None:
        """A key of the catalogue was pressed: does what it means here, or says why not."""
        situation = self.situation
        command = resolve(key, situation)
        if command is not None:
            self.actions.perform(command, situation)

    def do(self, command: type[Command]) -> None:
        """Does a command that was chosen by name."""
        if self.panel_in_use == "name":
            self.actions.leave_line()
        situation = self.situation
        if command.applies(situation):
            self.actions.perform(command, situation)


_NAMES: tuple[ContextPanel, ...] = ("sections", "text", "left-out", "slots")


def _named(name: PanelName) -> ContextPanel:
    return next((each for each in _NAMES if each == name), "sections")
