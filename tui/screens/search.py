"""The search screen: what is found while a query is typed, where it stands, why it ranks there (design 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.events import DescendantFocus, Resize
from textual.types import CSSPathType

from tui.commands.command import Command, SearchPanel, Situation
from tui.commands.lookup import all_keys, footer, resolve
from tui.commands.search import SEARCH
from tui.messages import EventsArrived, Said
from tui.render.search_overview import draw_nothing, draw_overview, draw_trouble, notice
from tui.safe import visible
from tui.screens.commanded import Commanded
from tui.screens.search_actions import SearchActions
from tui.screens.search_flow import SearchFlow
from tui.screens.search_state import SearchState
from tui.screens.search_work import MOST, Answered, Looked, PassageRead, SearchWork
from tui.widgets.bars import Footer, Header, QuestionBar, TooSmall
from tui.widgets.panel import Panel
from tui.widgets.prompt import PromptLine
from tui.widgets.search_notice import NoticeBar
from tui.widgets.search_preview import Preview, PreviewPanel, WhyPanel
from tui.widgets.search_results import Body, Results, ResultsPanel

if TYPE_CHECKING:
    from tui.screens.workbench import Workbench

SMALLEST = (60, 16)
NARROW = 100
"""Columns below which the preview stands under the results."""
LOW = 20
"""Lines below which one panel at a time is in view."""
HIGH = 34
"""Lines from which the reasons are in view without being asked for."""
REASONS = 0.5
"""The share of the right side that the reasons may take."""


class SearchScreen(Commanded):
    """The screen over the workbench. What may block is done by ``SearchWork``; typing never waits for it.

    Args:
        bench: The workbench it was opened from.
        query: What to begin with.
    """

    AUTO_FOCUS = "#prompt-input"
    CSS_PATH: ClassVar[CSSPathType | None] = "search.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"press('{key}')", show=False, priority=True) for key in all_keys(SEARCH)
    ]

    def __init__(self, bench: Workbench, query: str = "") -> None:
        super().__init__()
        self.bench = bench
        self.state = SearchState(query)
        self.work = SearchWork(bench.engine, self.post_message)
        self.actions = SearchActions(self)
        self.zoomed: SearchPanel | None = None
        self.why_wanted: bool | None = None
        self.panel_in_use: SearchPanel = "query"
        self.panel_before: SearchPanel = "results"
        self.flow = SearchFlow(self)
        self._laid_out: tuple[SearchPanel, ...] = ()

    def compose(self) -> ComposeResult:
        """Header, the line, results, preview and reasons, footer."""
        self.prompt = PromptLine(id="prompt")
        self.results = ResultsPanel(id="results")
        self.preview = PreviewPanel(id="preview")
        self.why = WhyPanel(id="why")
        yield Header(self.bench.engine.workspace.root, id="header")
        yield self.prompt
        yield NoticeBar(id="notice")
        with Container(id="search"):
            yield self.results
            with Vertical(id="search-side"):
                yield self.preview
                yield self.why
        yield QuestionBar(id="question")
        yield Footer(id="footer")
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """Looks at what can be searched, and searches where there is a query already."""
        self.prompt.enter_mode("search", value=self.state.query)
        self.lay_out()
        self.bench.show_bars()
        self.bench.questions.show()
        self.show()
        self.work.start()
        if self.state.asked:
            self.prompt.input.action_select_all()
            self.flow.again()

    def on_unmount(self) -> None:
        """Lets go of the engine."""
        self.bench.actions.searched = self.state.query
        self.work.stop()

    @property
    def waiting(self) -> bool:
        """Whether something is under way that will change the screen."""
        return self.work.busy or self.flow.waiting

    # What is on the screen

    @property
    def narrow(self) -> bool:
        """Whether the preview stands under the results."""
        return self.app.size.width < NARROW

    @property
    def low(self) -> bool:
        """Whether only one panel has room."""
        return self.app.size.height < LOW

    @property
    def shows_why(self) -> bool:
        """Whether the reasons are in view beside the preview, or instead of it."""
        if self.why_wanted is not None:
            return self.why_wanted
        return not self.narrow and self.app.size.height >= HIGH

    def in_view(self) -> tuple[SearchPanel, ...]:
        """The panels that can be seen, in order."""
        if self.zoomed is not None:
            return (self.zoomed,)
        if self.low:
            return ("results",)
        if not self.state.hits:
            return ("results", "preview")
        if self.narrow:
            return ("results", "why" if self.shows_why else "preview")
        return ("results", "preview", "why") if self.shows_why else ("results", "preview")

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        size = self.app.size
        small = size.width < SMALLEST[0] or size.height < SMALLEST[1]
        shown = self._laid_out = self.in_view()
        for name, wanted in (
            ("-low", self.low),
            ("-narrow", self.narrow),
            ("-alone", len(shown) == 1),
        ):
            self.set_class(wanted, name)
        self.query_one(TooSmall).display = small
        for name in ("#header", "#prompt", "#search", "#footer"):
            self.query_one(name).display = not small
        for panel in (self.results, self.preview, self.why):
            panel.display = panel.name_of in shown
        self.query_one("#search-side").display = "preview" in shown or "why" in shown
        self._fit_why()
        self._show_notice()

    def _fit_why(self) -> None:
        """The reasons take the lines they need, beside the preview at most half of them."""
        height: int | str = "1fr"
        if self.preview.display and self.why.display:
            side = self.query_one("#search-side").size
            if side.height and side.width:
                height = min(self.why.wanted(side.width), max(6, int(side.height * REASONS)))
        if str(self.why.styles.height) != str(height):
            self.why.styles.height = height

    def on_resize(self, _event: Resize) -> None:
        """Another size may have room for more, or less."""
        self.lay_out()
        self.show()
        self.call_after_refresh(self._keep_focus)

    def _keep_focus(self) -> None:
        self._fit_why()
        if not self.query_one("#search").display:
            return
        lost = self.panel_in_use not in ("query", "preset", *self.in_view())
        if lost or self.focused is None:
            self.focus_panel("results" if lost else self.panel_in_use)

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""
        if self.in_view() != self._laid_out:
            self.lay_out()
        state = self.state
        phase = state.phase
        status = state.status
        self.results.show(
            Results(
                hits=state.hits,
                more=state.more,
                can_more=state.wish.limit < MOST,
                found_for=state.found_for,
                only=state.only,
                slow=state.slow,
                body=self._body(),
                about=(phase, state.inventory, state.problem, state.query, state.only, state.answer),
                count=phase in ("found", "nothing"),
                trouble=phase == "trouble",
            )
        )
        self.preview.show(
            Preview(
                state.passage if phase == "found" else None,
                how=phase in ("overview", "nothing"),
                meaning=status is not None and status.vectors > 0 and not status.without_vectors,
            )
        )
        self.why.show(self.results.selected if phase == "found" else None)
        self._fit_why()
        self._show_notice()
        self.update_footer()

    def _body(self) -> Body:
        state = self.state
        answer = state.answer
        match state.phase:
            case "overview":
                return lambda width, height, roles: draw_overview(
                    state.inventory, state.only, width, roles, height
                )
            case "trouble":
                problem = state.problem
                return lambda width, _height, roles: draw_trouble(problem, width, roles)
            case "nothing":
                elsewhere, more = (answer.elsewhere, answer.elsewhere_more) if answer else (0, False)
                return lambda width, _height, roles: draw_nothing(
                    state.query, state.only, elsewhere, more, state.status, width, roles
                )
            case _:
                return lambda _width, _height, _roles: []

    def _show_notice(self) -> None:
        status = self.bench.status
        read_only = status is not None and status.read_only
        words, urgent = notice(self.state.status, read_only=read_only)
        bar = self.query_one(NoticeBar)
        bar.show(words, urgent=urgent)
        bar.display = bool(words) and bool(self.query_one("#search").display)

    def panel_named(self, name: SearchPanel) -> Panel:
        """A panel by its name."""
        return self.query_one(f"#{name}", Panel)

    def focus_panel(self, name: SearchPanel) -> None:
        """Gives a panel the keys, at once: the next key typed may be there already."""
        line = name in ("query", "preset")
        self.set_focus(self.prompt.input if line else self.panel_named(name))
        self.panel_in_use = name
        self.update_footer()

    def open_query(self) -> None:
        """Gives the line the keys, to type what to search for."""
        if self.panel_in_use not in ("query", "preset"):
            self.panel_before = self.panel_in_use
        self.prompt.enter_mode("search", value=self.prompt.input.value)
        self.focus_panel("query")

    def open_preset(self, about: str) -> None:
        """Gives the line the keys, to type a preset's name."""
        self.panel_before = self.panel_in_use
        self.prompt.enter_mode("preset", about=about)
        self.focus_panel("preset")

    def leave_line(self) -> None:
        """Gives the keys back to where they came from, or to the results."""
        self.prompt.enter_mode("search", value=self.state.query)
        self.focus_panel(self.panel_before if self.panel_before in self.in_view() else "results")

    @property
    def situation(self) -> Situation:
        """What the keys depend on."""
        status, name = self.bench.status, self.panel_in_use
        selected = self.results.selected
        return Situation(
            panel=name,
            zoomed=self.zoomed is not None,
            filtered=bool(self.state.only),
            question=bool(self.bench.questions.open),
            read_only=status is not None and status.read_only,
            rows=0 if name in ("query", "preset") else self.panel_named(name).row_count,
            file=self.actions.file(),
            problems=len(status.problems) if status is not None else 0,
            result=selected is not None,
            asked=self.state.asked,
        )

    def update_footer(self) -> None:
        """Shows the keys that matter now."""
        if self.is_mounted:
            self.query_one(Footer).show(footer(self.situation))

    def say(self, text: str, *, trouble: bool = False) -> None:
        """Tells the person something in passing."""
        self.notify(visible(text, 400), severity="error" if trouble else "information", markup=False)

    # What comes in

    @on(Answered)
    def _answered(self, answered: Answered) -> None:
        self.flow.answered(answered)

    @on(PassageRead)
    def _passage_read(self, read: PassageRead) -> None:
        if self.state.take_passage(read.passage, self.results.selected):
            self.show()

    @on(Looked)
    def _looked(self, looked: Looked) -> None:
        self.flow.looked(looked.inventory)

    @on(EventsArrived)
    def _events_arrived(self) -> None:
        self.flow.events_arrived()

    @on(Said)
    def _said(self, said: Said) -> None:
        self.say(said.text, trouble=said.trouble)

    # What a person does

    @on(ResultsPanel.Moved)
    def _result_moved(self) -> None:
        self.why.show(self.results.selected if self.state.phase == "found" else None)
        self._fit_why()
        self.flow.read_selected()
        self.update_footer()

    @on(ResultsPanel.PastTheEnd)
    def _past_the_end(self) -> None:
        self.actions.more(quietly=True)

    @on(DescendantFocus)
    def _focus_moved(self) -> None:
        # The event may be older than the focus is: keys come faster than it does.
        holder = self.focused
        if isinstance(holder, Panel):
            self.panel_in_use = next(name for name in PANELS if name == holder.name_of)
        elif holder is not None:
            self.panel_in_use = "preset" if self.prompt.mode == "preset" else "query"
        self.update_footer()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "search":
            self.flow.typed(edited.value)

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        if entered.mode == "preset":
            self.actions.add(entered.value)

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
        if self.panel_in_use in ("query", "preset") and not command.applies(self.situation):
            self.leave_line()
        situation = self.situation
        if command.applies(situation):
            self.actions.perform(command, situation)
        else:
            self.say("this belongs to another panel: " + ", ".join(sorted(command.panels)))


PANELS: tuple[SearchPanel, ...] = ("results", "preview", "why")
"""The panels, in the order of their numbers."""
