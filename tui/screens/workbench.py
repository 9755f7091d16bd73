"""The first screen: what came in, what fired and why, what the prompt holds, how full it is (design 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.events import DescendantFocus, Resize
from textual.timer import Timer

from engine.events import IndexProgress
from engine.views import DigestView, LedgerView, StatusView
from tui.bridge import ALL_PARTS
from tui.clock import Clock
from tui.commands.command import FOLDED, Command, PanelName, Situation
from tui.commands.lookup import all_keys, footer, resolve
from tui.conductor import Conductor
from tui.messages import CommandRan, EventsArrived, PartsRead, Said, TraceRead, Tried
from tui.safe import visible
from tui.screens.actions import Actions
from tui.screens.commanded import Commanded
from tui.screens.page import PageScreen
from tui.screens.questions import Questions
from tui.screens.typing import Typing
from tui.session import WorkbenchEngine
from tui.shown import Shown
from tui.widgets.activation import ActivationPanel
from tui.widgets.bars import Bar, Footer, Header, QuestionBar, TooSmall
from tui.widgets.feed import FeedPanel
from tui.widgets.ledger import LedgerPanel
from tui.widgets.memory import BudgetPanel, DigestPanel, MemoryPanel
from tui.widgets.panel import Panel
from tui.widgets.prompt import Mode, PromptLine
from tui.widgets.rows import RowList

AnyBar = TypeVar("AnyBar", bound=Bar)

BURST_S = 0.05
"""How long a burst of events may gather before the screen looks at it."""
PATIENCE_S = 0.12
"""How long the last trace stays while the next is fetched, so that moving through rows does not flicker."""
TYPING_S = 0.15
"""How long the typing must rest before a message is tried."""
SMALLEST = (60, 16)
FULL = (100, 32)
"""Columns and lines from which all five panels have room."""
LOW = 20
"""Lines below which the folded panels are left out as well."""


class Workbench(Commanded):
    """The screen. State comes in as messages and is handed to the panels; keys come in as commands."""

    AUTO_FOCUS = "#feed"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"press('{key}')", show=False, priority=True) for key in all_keys()
    ]

    def __init__(self, engine: WorkbenchEngine, clock: Clock, run_line: Callable[[str], str]) -> None:
        super().__init__()
        self.engine = engine
        self.clock = clock
        self.conductor = Conductor(engine, self.post_message, run_line)
        self.typing = Typing(self)
        self.actions = Actions(self)
        self.shown = Shown()
        self.status: StatusView | None = None
        self.digest: DigestView | None = None
        self.ledger: LedgerView | None = None
        self.progress: IndexProgress | None = None
        self.questions = Questions(self, clock)
        self.zoomed: PanelName | None = None
        self.panel_in_use: PanelName = "feed"
        self.panel_before: PanelName = "feed"
        self.filtering: PanelName = "feed"
        self.output: PageScreen | None = None
        self.followers: list[Callable[[], None]] = []
        """Called when another message is shown, or more about it."""
        self._burst: Timer | None = None
        self._typing: Timer | None = None
        self._patience: Timer | None = None

    def compose(self) -> ComposeResult:
        """Header, panels, the line to type in, footer."""
        self.feed = FeedPanel(id="feed")
        self.activation = ActivationPanel(id="activation")
        self.digest_panel = DigestPanel(id="digest")
        self.ledger_panel = LedgerPanel(id="ledger")
        self.budget = BudgetPanel(id="budget")
        self.memory = MemoryPanel(id="memory")
        self.prompt = PromptLine(id="prompt")
        yield Header(self.engine.workspace.root, id="header")
        with Container(id="body"):
            with Horizontal(id="upper"):
                yield self.feed
                yield self.activation
            with Horizontal(id="lower"):
                yield self.digest_panel
                yield self.ledger_panel
                yield self.budget
            yield self.memory
        yield QuestionBar(id="question")
        yield self.prompt
        yield Footer(id="footer")
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """Starts listening and reads everything once."""
        self.query_one(QuestionBar).display = False
        self.lay_out()
        self.show_bars()
        self.conductor.start()
        self.conductor.read(ALL_PARTS)

    @property
    def waiting(self) -> bool:
        """Whether a burst or a pause in typing is being waited for."""
        return self._burst is not None or self._typing is not None

    def on_unmount(self) -> None:
        """Lets go of the engine."""
        self.conductor.stop()

    # What is on the screen

    @property
    def compact(self) -> bool:
        """Whether panels 3 to 5 are folded into one."""
        return self.app.size.width < FULL[0] or self.app.size.height < FULL[1]

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        size, zoom = self.app.size, self.zoomed
        small = size.width < SMALLEST[0] or size.height < SMALLEST[1]
        low = size.height < LOW
        upper, lower = ("feed", "activation"), ("digest", "ledger", "budget")
        for name, wanted in (
            ("-low", low),
            ("-compact", self.compact),
            ("-zoomed", zoom is not None),
            ("-wide", size.width >= 160),
            ("-narrow", size.width < 72),
        ):
            self.set_class(wanted, name)
        self.query_one(TooSmall).display = small
        for name in ("#header", "#body", "#prompt", "#footer"):
            self.query_one(name).display = not small
        self.query_one("#upper").display = zoom is None or zoom in upper
        self.query_one("#lower").display = zoom in lower or (zoom is None and not self.compact)
        asked = bool(self.questions.open)
        self.memory.display = zoom is None and self.compact and not low and not asked
        for panel in (*upper, *lower):
            self.query_one(f"#{panel}").display = zoom is None or zoom == panel
        self.update_footer()

    def on_resize(self, _event: Resize) -> None:
        """Another size may have room for more, or less."""
        self.lay_out()
        self.call_after_refresh(self._keep_focus)

    def _keep_focus(self) -> None:
        folded = self.compact and self.zoomed is None and self.panel_in_use in FOLDED
        if (folded or self.focused is None) and self.query_one("#body").display:
            self.focus_panel("activation" if folded else self.panel_in_use)

    def panel_named(self, name: PanelName) -> Panel:
        """A panel by its name."""
        return self.query_one(f"#{name}", Panel)

    def focus_panel(self, name: PanelName) -> None:
        """Gives a panel the keys, at once: the next key typed may be there already."""
        self.set_focus(self.prompt.input if name == "try" else self.panel_named(name))
        self.panel_in_use = name
        self.update_footer()

    def open_prompt(self, mode: Mode, value: str = "", about: str = "") -> None:
        """Gives the line the keys."""
        if self.panel_in_use != "try":
            self.panel_before = self.panel_in_use
        self.prompt.enter_mode(mode, value=value, about=about)
        self.focus_panel("try")

    @property
    def situation(self) -> Situation:
        """What the keys depend on."""
        name = self.panel_in_use
        row = self.activation.selected
        return Situation(
            panel=name,
            compact=self.compact,
            zoomed=self.zoomed is not None,
            filtered=bool(self.typing.filter_of(name)),
            trying=self.shown.trying,
            question=bool(self.questions.open),
            read_only=self.status is not None and self.status.read_only,
            rows=0 if name == "try" else self.panel_named(name).row_count,
            topic=row.topic if row is not None else "",
            key=self.activation.shown.key,
            file=self.actions.file_of(name),
            problems=len(self.status.problems) if self.status is not None else 0,
        )

    def update_footer(self) -> None:
        """Shows the keys that matter now."""
        if self.is_mounted:
            self.query_one(Footer).show(footer(self.situation))

    def show_bars(self) -> None:
        """Header, folded panel and footer; the header of a screen that lies over this one as well."""
        compiled = self.budget.compiled
        for header in self.each(Header):
            header.show(self.status, compiled, self.progress)
        self.memory.show(self.digest, self.ledger, compiled)
        self.update_footer()

    def each(self, kind: type[AnyBar]) -> list[AnyBar]:
        """The bars of a kind on this screen and on those over it."""
        screens = dict.fromkeys((self, *self.app.screen_stack))
        return [bar for screen in screens for bar in screen.query(kind)]

    def say(self, text: str, *, trouble: bool = False) -> None:
        """Tells the person something in passing."""
        self.notify(visible(text, 400), severity="error" if trouble else "information", markup=False)

    # Which message is shown

    def show_message(self, shown: Shown) -> None:
        """Shows another message, or more about it, wherever it is shown."""
        self.shown = shown
        self.activation.show(shown)
        if shown.compiled is not None or not shown.pending:
            self.budget.show(shown.compiled)
            self.show_bars()
        for follower in self.followers:
            follower()

    def show_row(self) -> None:
        """Shows the selected row of the feed; its trace follows when it is there."""
        entry = self.feed.selected
        if entry is None:
            self.show_message(Shown())
            return
        if self.shown.source == "feed" and self.shown.entry == entry:
            return
        shown = Shown("feed", entry.text, entry, pending=bool(entry.key))
        if not entry.key:
            self.show_message(shown)
            return
        self.shown = shown
        self.conductor.fetch(entry.key)
        if self._patience is None:
            self._patience = self.set_timer(PATIENCE_S, self._still_pending)

    def _still_pending(self) -> None:
        self._patience = None
        if self.shown.pending:
            self.show_message(self.shown)

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        if moved.panel is self.feed and (moved.by_hand or not self.shown.trying):
            self.show_row()
        self.update_footer()

    @on(ActivationPanel.Moved)
    def _topic_moved(self) -> None:
        self.update_footer()

    @on(TraceRead)
    def _trace_read(self, read: TraceRead) -> None:
        if read.key == self.shown.key:
            text, entry = self.shown.text, self.shown.entry
            self.show_message(Shown("feed", text, entry, read.trace, read.compiled, problem=read.problem))

    @on(Tried)
    def _tried(self, tried: Tried) -> None:
        if self.shown.trying and tried.text == self.shown.text:
            source = self.shown.source
            self.show_message(
                Shown(source, tried.text, None, tried.trace, tried.compiled, problem=tried.problem)
            )

    # What comes in from the engine

    @on(EventsArrived)
    def _events_arrived(self) -> None:
        if self._burst is None:
            self._burst = self.set_timer(BURST_S, self._take_burst)

    def _take_burst(self) -> None:
        self._burst = None
        burst = self.conductor.bridge.take()
        self.conductor.read(burst.parts)
        if self.shown.key in burst.keys:
            self.conductor.fetch(self.shown.key)
        self.questions.heard(burst.asked, burst.closed)
        for trouble in burst.troubles[-3:]:
            self.say(trouble, trouble=True)
        if burst.progress is not None:
            self.progress = burst.progress
            self.show_bars()

    @on(PartsRead)
    def _parts_read(self, read: PartsRead) -> None:
        if read.digest is not None and read.digest != self.digest:
            self.digest = read.digest
            self.digest_panel.show(read.digest)
        if read.ledger is not None and read.ledger != self.ledger:
            self.ledger = read.ledger
            self.ledger_panel.show_view(read.ledger)
        if read.status is not None:
            self.status = read.status
        if read.feed is not None:
            self.feed.show(read.feed)
        self.show_bars()

    @on(Said)
    def _said(self, said: Said) -> None:
        self.say(said.text, trouble=said.trouble)

    @on(CommandRan)
    def _command_ran(self, ran: CommandRan) -> None:
        self.typing.show_output(ran)

    # What a person does

    @on(DescendantFocus)
    def _focus_moved(self) -> None:
        # The event may be older than the focus is: keys come faster than it does.
        holder = self.focused
        if holder is not None:
            self.panel_in_use = holder.name_of if isinstance(holder, Panel) else "try"
        self.update_footer()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "filter":
            self.typing.set_filter(self.filtering, edited.value)
        elif edited.mode == "try":
            self.rest_typing()
            self._typing = self.set_timer(TYPING_S, lambda: self._typed(edited.value))

    def _typed(self, text: str) -> None:
        self._typing = None
        self.typing.draft(text)

    def rest_typing(self) -> None:
        """What was typed last is not tried any more."""
        if self._typing is not None:
            self._typing.stop()
            self._typing = None

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        self.rest_typing()
        if entered.mode == "filter":
            self.typing.leave_prompt()
        elif entered.mode == "command":
            self.typing.run_line(entered.value)
        elif entered.value.strip():
            self.typing.keep(entered.value)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key means something here; if not it goes to the line that is being typed.

        Keys are looked at before any widget gets them. So what is typed fast after the key that opens the
        line lands in the line, and never acts on the panel that had the keys a moment ago.
        """
        if action != "press":
            return super().check_action(action, parameters)
        here = Situation(panel=self.panel_in_use, question=bool(self.questions.open))
        return resolve(str(parameters[0]), here) is not None

    def action_press(self, key: str) -> None:
        """A key of the catalog was pressed: does what it means here, or says why not."""
        situation = self.situation
        command = resolve(key, situation)
        if command is not None:
            self.actions.perform(command, situation)

    def do(self, command: type[Command]) -> None:
        """Does a command that was chosen by name."""
        situation = self.situation
        if situation.panel == "try" and not command.applies(situation):
            self.typing.leave_prompt()
            situation = self.situation
        if command.applies(situation):
            self.actions.perform(command, situation)
        else:
            self.say("this belongs to another panel: " + ", ".join(sorted(command.panels)))
