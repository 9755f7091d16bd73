"""The search screen: results as you type, their place in the file and why they rank there (design 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.timer import Timer

from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.full_screen import LOW, FullScreen
from tui.kit.lanes import Lane
from tui.kit.messages import Burst
from tui.kit.prompt import PromptLine
from tui.render.safe import visible
from tui.render.search import Hit, Words, lines_of
from tui.screens.search.draw import KINDS, Inventory, NoticeBar, Passage, PreviewPanel, read_passage
from tui.screens.search.results_panel import ResultsPanel, WhyPanel
from tui.screens.search.state import (
    MAX_LIMIT,
    Addition,
    Answer,
    Search,
    SearchState,
    read_inventory,
    run_search,
)

if TYPE_CHECKING:
    from tui.kit.bench import Bench

NARROW = 100
"""Columns below which the preview is under the results."""
HIGH = 34
"""Lines from which the why panel is shown by default."""
WHY_SHARE = 0.5
"""The maximum share of the right side for the why panel."""
TYPING_S = 0.12
"""The pause in typing after which a query is searched for."""
PATIENCE_S = 0.3
"""How long a search may take before the screen says that it is running."""
POLL_S = 1.0
"""How often to check on an index that is being built."""


RESULTS = Need(lambda here: here.results.row_count > 1, "there is no other result")
A_RESULT = Need(lambda here: here.results.selected, "no result is selected")
ITS_FILE = Need(lambda here: here.file, "the file no longer exists")


class SearchScreen(FullScreen, panels=("results", "preview", "why"), lines=("query", "preset")):
    """The screen's panels, lanes and timers, and how answers are handled."""

    AUTO_FOCUS = "#prompt-input"
    area = "search"
    line_passes = False
    burst_s = 1.0  # gives the index time to pick up changes

    def __init__(self, bench: Bench, query: str = "") -> None:
        super().__init__(bench, "query")
        self.panel_before = "results"
        self.state = SearchState(query)
        self.why_wanted: bool | None = None
        self._laid_out: tuple[str, ...] = ()
        self._typing: Timer | None = None
        self._patience: Timer | None = None
        self._poll: Timer | None = None
        engine = bench.engine
        self._searches: Lane[Search, Answer] = self.lane(
            lambda search: run_search(engine, search),
            self._take_answer,
            lambda search, problem: self._take_answer(search, None, problem),
        )
        self._passages: Lane[tuple[Hit, str], Passage] = self.lane(
            lambda wanted: read_passage(wanted[0], Words(wanted[1]), engine.files),
            lambda _wanted, passage: self._take_passage(passage),
        )
        self._looks = self.plain_lane(lambda: read_inventory(engine), self._take_inventory)
        self._adding: Hit | None = None
        self._additions: Lane[Addition, str] = self.lane(
            lambda addition: addition.add(bench.engine.presets),
            lambda _addition, message: self.say(message),
            in_turn=True,
            finish=True,
        )

    def body(self) -> ComposeResult:
        """The query line and the notice; below them the results, with preview and why panel beside them."""
        self.results = ResultsPanel(id="results")
        self.preview = PreviewPanel(id="preview")
        self.why = WhyPanel(id="why")
        yield self.prompt
        yield NoticeBar(id="notice")
        yield Container(self.results, Vertical(self.preview, self.why, id="search-side"), id="search")

    def end(self) -> None:
        self.bench.searched = self.state.query

    # What is on the screen

    @property
    def narrow(self) -> bool:
        return self.app.size.width < NARROW

    @property
    def low(self) -> bool:
        return self.app.size.height < LOW

    @property
    def shows_why(self) -> bool:
        """Whether the why panel is visible, beside the preview or instead of it."""
        if self.why_wanted is not None:
            return self.why_wanted
        return not self.narrow and self.app.size.height >= HIGH

    def in_view(self) -> tuple[str, ...]:
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
        shown = self._laid_out = self.in_view()
        self.lay_out_frame({"-low": self.low, "-narrow": self.narrow, "-alone": len(shown) == 1}, "#prompt")
        for panel in (self.results, self.preview, self.why):
            panel.display = panel.name_of in shown
        self.query_one("#search-side").display = "preview" in shown or "why" in shown
        self._fit_why()
        self._show_notice()

    def _fit_why(self) -> None:
        """Gives the why panel the lines it needs; at most half of them beside the preview."""
        height: int | str = "1fr"
        if self.preview.display and self.why.display:
            side = self.query_one("#search-side").size
            if side.height and side.width:
                height = min(self.why.wanted(side.width), max(6, int(side.height * WHY_SHARE)))
        if str(self.why.styles.height) != str(height):
            self.why.styles.height = height

    def keep_focus(self) -> None:
        """Focuses a visible panel; by now the layout is known, so the why panel can be measured."""
        self._fit_why()
        super().keep_focus()

    def show(self) -> None:
        if self.in_view() != self._laid_out:
            self.lay_out()
        state = self.state
        phase, status = state.phase, state.status
        self.results.show_results(state)
        self.preview.show(
            state.passage if phase == "found" else None,
            help=phase in ("overview", "nothing"),
            meaning=status is not None and status.vectors > 0 and not status.without_vectors,
        )
        self.why.show(self.results.selected if phase == "found" else None)
        self._fit_why()
        self._show_notice()
        self.update_footer()

    def _show_notice(self) -> None:
        status = self.bench.status
        read_only = status is not None and status.read_only
        bar = self.query_one(NoticeBar)
        bar.show(self.state.status, read_only=read_only)
        bar.display = bool(bar.words) and bool(self.query_one("#search").display)

    @property
    def line(self) -> str:
        """The line's name, by what is typed in it."""
        return "preset" if self.prompt.mode == "preset" else "query"

    def leave_line(self) -> None:
        """Returns the focus to the previous panel, or to the results if it is hidden."""
        self.prompt.enter_mode("search", value=self.state.query)
        self.focus_panel(self.panel_before if self.panel_before in self.in_view() else "results")

    # Searches run as a query is typed, when files change and when the index becomes available.

    def look(self) -> None:
        """Reads what can be searched."""
        self._looks.ask(None)

    def typed(self, query: str) -> None:
        """Takes the typed query and searches for it after a pause in typing."""
        state = self.state
        before = state.has_query
        if not state.ask(query):
            return
        self._cancel_typing()
        if state.has_query:
            self._typing = self.set_timer(TYPING_S, self.search)
        else:
            self._searches.drop()
            self.look()
        if state.has_query is not before or state.phase != "found":
            self.show()

    def search_now(self) -> None:
        """Searches for the last typed query without waiting for a pause."""
        if self._typing is not None:
            self.search()

    def repeat_search(self) -> None:
        if self.state.has_query:
            self.state.pending = True
            self.search()

    def search(self) -> None:
        """Starts the current search; late answers to older ones are dropped."""
        self._cancel_typing()
        if not self.state.has_query:
            self._searches.drop()
            return
        self._searches.ask(self.state.wanted)
        if self._patience is None:
            self._patience = self.set_timer(PATIENCE_S, self._still_pending)

    def _cancel_typing(self) -> None:
        if self._typing is not None:
            self._typing.stop()
            self._typing = None

    def _still_pending(self) -> None:
        self._patience = None
        state = self.state
        if state.pending and not state.slow:
            state.slow = True
            self.show()

    def _take_answer(self, search: Search, answer: Answer | None, problem: str = "") -> None:
        if self.state.take(search, answer, problem):
            self._watch_index()
            self.show()
            self.read_selected()

    def read_selected(self) -> None:
        """Reads the selected result's passage, unless it is already shown."""
        state = self.state
        selected = self.results.selected
        if selected is not None and (state.passage is None or state.passage.hit != selected):
            self._passages.ask((selected, state.query))

    def _take_passage(self, passage: Passage) -> None:
        if self.state.take_passage(passage, self.results.selected):
            self.show()

    def _take_inventory(self, inventory: Inventory) -> None:
        """Stores the inventory; searches again if the index has just become ready."""
        state = self.state
        before, state.inventory = state.status, inventory
        self._watch_index()
        self.show()
        if (
            before is not None
            and before.state != "ready"
            and inventory.status.state == "ready"
            and state.has_query
        ):
            self._searches.ask(state.wanted)

    def _watch_index(self) -> None:
        """Polls an index that is being built until it is ready."""
        status = self.state.status
        wanted = status is not None and status.state != "ready" and not status.error
        if wanted and self._poll is None:
            self._poll = self.set_interval(POLL_S, self.look)
        elif not wanted and self._poll is not None:
            self._poll.stop()
            self._poll = None

    def handle_events(self, burst: Burst) -> None:
        """Searches again when files or the index change."""
        if not burst.parts and burst.progress is None and not burst.indexed:
            return
        self.look()
        if self.state.has_query and not self.state.pending:
            self._searches.ask(self.state.wanted)

    def begin(self) -> None:
        """Reads the inventory and runs the remembered query, if any."""
        self.look()
        self.prompt.enter_mode("search", value=self.state.query)
        if self.state.has_query:
            self.prompt.line.action_select_all()
            self.repeat_search()

    @property
    def waiting(self) -> bool:
        return super().waiting or self._typing is not None

    @on(ResultsPanel.Moved)
    def _result_moved(self) -> None:
        self.why.show(self.results.selected if self.state.phase == "found" else None)
        self._fit_why()
        self.read_selected()
        self.update_footer()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "search":
            self.typed(edited.value)

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen with the last query."""
        return cls(bench, bench.searched)

    # Navigation

    def go_to(self, name: str) -> None:
        """Focuses a panel; a hidden one replaces another or is zoomed."""
        if self.zoomed is not None or (self.low and name != "results"):
            self.enlarge(None if self.low and name == "results" else name)
        elif name not in self.in_view():
            self.why_wanted = name == "why"
            self.enlarge(None)
        self.focus_panel(name)

    @command("enter", "Go to the results", "results", 0, panels=["query"], palette=False)
    def to_results(self) -> None:
        """Go to the results of the query."""
        self.prompt.remember(self.prompt.input.value)
        self.search_now()
        self.go_to("results")

    def stops(self) -> tuple[str, ...]:
        """The visible panels, then the query line."""
        return (*self.in_view(), "query")

    @command("slash", "Edit the query", "query", 2)
    def to_line(self) -> None:
        """Edit the query. Results update as you type; enter goes to them."""
        self.open_line("query", "search", self.prompt.input.value)

    @command("n", "Next result", "next / previous", 18, needs=[A_RESULT, RESULTS])
    def next_result(self) -> None:
        """Select the next result, from any panel."""
        self.results.turn(1)

    @command("N", "Previous result", "next / previous", 18, needs=[A_RESULT, RESULTS])
    def previous_result(self) -> None:
        """Select the previous result, from any panel."""
        self.results.turn(-1)

    def unzoom(self) -> None:
        """Show all panels again."""
        super().unzoom()
        if self.panel_in_use not in self.in_view():
            self.focus_panel("results")

    def back(self) -> None:
        """Back out one level: leave the input line, show all panels, search all kinds, or return to the
        workbench.
        """
        state = self.state
        if self.panel_in_use == "preset" or (self.panel_in_use == "query" and state.hits):
            self.leave_line()
        elif self.zoomed is not None:
            self.unzoom()
        elif state.only:
            state.restrict_to("")
            self._search_again()
        else:
            self.dismiss(None)

    # Searching

    @command("c", "Next kind of file", "kind", 6)
    def next_kind(self) -> None:
        """Restrict the search to the next kind of file (identity, memory, journal …); after the last one,
        search all.
        """
        self.state.next_kind(1)
        self._search_again()

    @command("C", "Previous kind of file")
    def previous_kind(self) -> None:
        """Restrict the search to the previous kind of file."""
        self.state.next_kind(-1)
        self._search_again()

    def _search_again(self) -> None:
        self.search()
        self.show()
        if "results" not in self.in_view():
            only = self.state.only
            self.say(f"only {KINDS.get(only, only)}" if only else "all kinds")

    @command("m", "Load more results", needs=[A_RESULT])
    def more(self, *, quietly: bool = False) -> None:
        """Load more than the first 50 results, up to 500. Moving past the last result does the same."""
        state = self.state
        if state.want_more():
            self.search()
        elif not quietly or (state.more and not state.pending):
            self.say(
                f"limited to {MAX_LIMIT} results; add a word to narrow the search"
                if state.more
                else "no more results"
            )

    def rescan(self) -> None:
        """Re-read all files and repeat the search."""
        super().rescan()
        self.look()
        self.repeat_search()

    @command("w", "Why this rank", "why", 4, needs=[A_RESULT])
    def toggle_why(self) -> None:
        """Show or hide why the selected result ranks where it does: score components, ranks and words."""
        shown = "why" in self.in_view()
        in_use = self.panel_in_use
        if self.zoomed is not None or self.low:
            self.enlarge(None if shown else "why")
        else:
            self.why_wanted = not shown
            self.enlarge(None)
        if not self.in_line and in_use not in self.in_view():
            self.focus_panel("results" if shown or "why" not in self.in_view() else "why")

    # The selected result

    @property
    def file(self) -> str:
        """The selected result's file; empty if it no longer exists."""
        selected = self.results.selected
        return self.existing(selected.result.path) if selected is not None else ""

    @command("e", "Edit the file at this line", "edit", 8, needs=[A_RESULT, ITS_FILE])
    def edit(self) -> None:
        """Open the selected result's file in $VISUAL or $EDITOR at its first line, then repeat the search."""
        selected = self.results.selected
        if selected is not None:
            self.edit_file(self.file, selected.result.start_line)
            self.repeat_search()

    @command("y", "Copy path:line", "copy place", 10, needs=[A_RESULT])
    def copy_place(self) -> None:
        """Copy the location of the selected result as path:line."""
        selected = self.results.selected
        if selected is not None:
            path = selected.result.path.encode("utf-8", "replace").decode()
            place = f"{path}:{selected.result.start_line}"
            self.copy_name(place)

    @command("a", "Add the result to a preset", "to preset", 12, needs=[A_RESULT, WRITABLE])
    def ask_preset(self) -> None:
        """Add the selected result's lines to a preset by name; a new name creates a new preset."""
        self._adding = self.results.selected
        if self._adding is not None:
            result = self._adding.result
            about = f"{visible(result.path)}:{lines_of(result)}"
            self.open_line("preset", "preset", about=about)

    # Panels

    focus_results = goes_to("results", "1", "the results", ", best first")
    focus_preview = goes_to("preview", "2", "the preview",
                            ": the selected result with its context in the file")  # fmt: skip
    focus_why = goes_to(
        "why",
        "3",
        "why it ranks there",
        does="Go to the score components of the selected result, showing the panel if it is hidden.",
        needs=[A_RESULT],
    )

    @command("enter o", "Read the result", "read", 0, panels=["results"], needs=[A_RESULT])
    def read(self) -> None:
        """Read the selected result with its context; on small screens over the whole area."""
        self.go_to("preview")

    @command("Y", "Copy the text", needs=[A_RESULT])
    def copy(self) -> None:
        """Copy what the panel shows; in the results, the full text of the selected one."""
        super().copy()

    @on(ResultsPanel.PastTheEnd)
    def _past_the_end(self) -> None:
        self.more(quietly=True)

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        if entered.mode != "preset":
            return
        hit, name = self._adding, entered.value.strip()
        self.leave_line()
        if hit is not None and name:
            self._additions.ask(Addition(name, hit.result.path, lines_of(hit.result)))
