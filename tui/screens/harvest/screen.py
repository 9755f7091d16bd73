"""The guided harvest: choose, confirm, result; nothing happens before confirmation (design 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container
from textual.timer import Timer

from tui.kit.bars import Bar
from tui.kit.command import Need, command
from tui.kit.commands import ROWS, WRITABLE, goes_to
from tui.kit.full_screen import ListDetail
from tui.kit.lanes import Lane
from tui.kit.prompt import Mode
from tui.kit.questions import Clock
from tui.render.draw import Piece, Row, wrap
from tui.render.figures import count, left, plural, sizes
from tui.render.roles import Roles
from tui.render.words import pieces_in_words
from tui.screens.harvest.draw import (
    SELECTABLE,
    OutcomePanel,
    PickPanel,
    ProgressPanel,
    SwitchesPanel,
    draw_outcome,
)
from tui.screens.harvest.run import HarvestRun
from tui.screens.harvest.state import HarvestState, Price, Step, SurveyRead, read_survey

if TYPE_CHECKING:
    from engine.knowledge.harvest.classify import Candidate
    from engine.knowledge.harvest.report import HarvestRequest, Survey
    from tui.kit.bench import Bench

STEPS: dict[Step, str] = {"pick": "choose", "confirm": "confirm", "result": "result"}
_PANELS: dict[Step, tuple[str, ...]] = {
    "pick": ("pick", "switches"),
    "confirm": ("progress",),
    "result": ("outcome",),
}


class StepsBar(Bar):
    """A bar that grows and shrinks with its lines."""

    def __init__(self, draw: Callable[[int, Roles], list[Row]], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._draw = draw
        self._shown: list[Row] = []

    def fit(self) -> None:
        """Adjusts the height to the lines, and redraws if they changed."""
        width = self.size.width or self.app.size.width
        before, self._shown = self._shown, self._draw(max(10, width - 2), self.roles)
        if [row.pieces for row in before] != [row.pieces for row in self._shown]:
            if len(before) != len(self._shown):
                self.styles.height = max(1, len(self._shown))
            self.refresh()

    def on_resize(self) -> None:
        self.fit()

    def rows(self, width: int) -> list[Row]:
        """The lines, indented by one cell like the text of panels."""
        return [Row().gap().extend(row) for row in self._draw(max(10, width - 2), self.roles)]


def draw_steps(state: HarvestState, clock: Clock, width: int, roles: Roles) -> list[Row]:
    """The trail of steps, and the figures of the current one."""
    rows = [draw_trail(state.step, width, roles)]
    survey, price, progress = state.survey, state.price, state.progress
    if state.step == "result":
        return rows
    if progress is not None and state.run is not None:
        seconds = clock.monotonic() - state.run.began
        done = elapsed(state.done, len(state.run.chosen), seconds)
        tail = " · stopping after this one …" if progress.stopping else " · x stops, b leaves it running"
        moving = bool(state.run.request.consent.number)
        what = "moving to the trash  " if moving else "harvesting  "
        rows.append(Row((what, roles.gate), (done, roles.strong), (tail, roles.muted)).cut(width))
    elif survey is not None and price is not None:
        if state.step == "pick":
            rows += draw_classes(survey, width, roles)
            rows += draw_chosen(state.chosen, state.selectable, width, roles)
            rows += draw_price(price, width, roles)
        else:
            rows += draw_plan(state.request, state.chosen, price, width, roles)
    return rows


def draw_trail(step: Step, width: int, roles: Roles) -> Row:
    """The steps, with the current one marked."""
    row = Row()
    for number, (each, words) in enumerate(STEPS.items(), 1):
        now = each == step
        row.add("  ▸  " if number > 1 else "", roles.faint)
        row.add(f"{number} {words}", roles.accent if now else roles.muted)
    return row.cut(width)


def draw_classes(survey: Survey, width: int, roles: Roles) -> list[Row]:
    """Number and size of the conversations by kind, and what else could be harvested."""
    pieces: list[Piece] = []
    for kind, words in pieces_in_words(survey):
        pieces += [(" · " if pieces else "", roles.faint)]
        pieces += [(words, roles.strong if kind in SELECTABLE else roles.muted)]
    rows = wrap(pieces, width) if pieces else []
    if survey.left:
        left = f"{plural(survey.left, 'transcript')} in raw/ not harvested yet:"
        rows += wrap([(left, roles.muted), (" :harvest --transcripts", roles.accent)], width)
    return rows


def draw_price(price: Price, width: int, roles: Roles) -> list[Row]:
    paid = price.provider != "markers" and price.tokens
    return wrap([(str(price), roles.gate if paid else roles.normal)], width)


def draw_chosen(chosen: Sequence[Candidate], selectable: int, width: int, roles: Roles) -> list[Row]:
    size = sizes(sum(each.text_size or each.size for each in chosen))
    selected = f"{count(len(chosen))} of {count(selectable)} selected"
    return wrap([(selected, roles.strong), (f", {size}", roles.muted)], width)


def draw_plan(
    request: HarvestRequest, chosen: Sequence[Candidate], price: Price, width: int, roles: Roles
) -> list[Row]:
    """What the harvest would do."""
    asked = sum(each.kind == "harvest" for each in chosen)
    rest = len(chosen) - asked
    lines: list[Row] = []
    if request.harvest and asked:
        lines += _bullet(
            f"{plural(asked, 'conversation')} to harvest; the knowledge will be committed", width, roles
        )
        lines += _bullet(str(price), width, roles)
    elif not request.harvest:
        lines += _bullet(f"{plural(len(chosen), 'conversation')} to discard without harvesting", width, roles)
    if not request.reclaim or request.transcripts:
        return lines + _bullet("all conversations stay where they are", width, roles)
    if rest and request.harvest:
        lines += _bullet(f"{plural(rest, 'conversation')} already harvested", width, roles)
    if not request.harvest:
        text = "They move to the trash and stay in the history; r in the ledger restores one."
        return lines + _bullet(text, width, roles)
    text = "Conversations whose knowledge is committed move to the trash; r in the ledger restores one."
    also = [
        "in which no items were found" if request.consent.empty else "",
        "that were only partly read" if request.consent.partial else "",
    ]
    lines += _bullet(text, width, roles)
    if any(also):
        lines += _bullet(f"So do those {' and those '.join(filter(None, also))}.", width, roles)
    return lines


def _bullet(text: str, width: int, roles: Roles) -> list[Row]:
    return wrap([("• ", roles.accent), (text, roles.normal)], width, indent=2)


def elapsed(done: int, whole: int, seconds: float) -> str:
    """``3 of 17 · 0:42``."""
    return f"{count(done)} of {count(whole)} · {left(max(0.0, seconds))}"


CHOSEN = Need(
    lambda here: here.state.run is None and here.state.chosen, "no conversations to harvest are selected"
)
NOT_RUNNING = Need(
    lambda here: not here.state.running, "a harvest is running; x stops it, b leaves it running"
)
RUNNING = Need(lambda here: here.state.running, "no harvest is running")


class HarvestScreen(
    ListDetail,
    panels=("pick", "switches", "progress", "outcome"),
    lines=("pick-filter", "number"),
):
    """Guides the user through a harvest, or shows the one in progress.

    Args:
        failed: SHA-256 of the conversations to preselect; by default all that can be harvested.
    """

    area = "harvest"
    above = ("#steps",)

    def __init__(self, bench: Bench, failed: frozenset[str] = frozenset()) -> None:
        super().__init__(bench)
        self.state = HarvestState(failed)
        self._ticking: Timer | None = None
        self._surveys = self.plain_lane(
            lambda: read_survey(bench.engine.knowledge),
            self._take,
            lambda problem: self._take(SurveyRead(problem=problem)),
        )
        self._runs: Lane[HarvestRun, None] = self.lane(
            lambda run: run.carry_out(bench.engine), lambda _run, _none: None, finish=True
        )
        self._stops = self.plain_lane(
            lambda: bench.engine.knowledge.harvest.stop(), lambda _done: None, finish=True
        )

    def body(self) -> ComposeResult:
        self.steps = StepsBar(partial(draw_steps, self.state, self.bench.clock), id="steps")
        self.pick = PickPanel(id="pick")
        self.switches = SwitchesPanel(id="switches")
        self.progress_list = ProgressPanel(id="progress")
        self.outcome = OutcomePanel(id="outcome")
        yield self.steps
        yield Container(self.pick, self.switches, self.progress_list, self.outcome, id="harvest")

    def look(self) -> None:
        if self.state.step == "pick":
            self._surveys.ask(None)

    # Display

    def offered(self) -> tuple[str, ...]:
        return _PANELS[self.state.step]

    @property
    def line(self) -> str:
        return "number" if self.prompt.mode == "number" else "pick-filter"

    def enter_step(self) -> None:
        """Shows the step's panels and focuses the first."""
        if self.in_line:
            self.leave_line()
        self.panel_in_use = self.offered()[0]
        self.lay_out()
        self.show()
        self.focus_panel(self.offered()[0])

    def show(self) -> None:
        state = self.state
        about = (state.phase, state.problem, self.query_text)
        if state.step == "pick":
            self.pick.show_items(state.choices(), self._note, about)
            self.switches.show_items(state.switches())
        elif state.step == "confirm":
            stages = state.stages()
            current = next((at for at, each in enumerate(stages) if each.sign == "…"), -1)
            self.progress_list.show_stages(stages, current, run=state.run is not None)
        elif state.progress is not None:
            drawing = partial(draw_outcome, state.progress, self.bench.key_of("open_review"))
            self.outcome.show_drawing(drawing, "", None)
        self.steps.fit()
        self.tick_while(state.running)
        self.update_footer()

    def _note(self, width: int, roles: Roles) -> list[Row]:
        state = self.state
        if state.phase == "loading":
            return [Row(("scanning conversations …", roles.faint))]
        if state.phase == "error":
            rows = wrap([("! ", roles.error), (state.problem, roles.error)], width, indent=2)
            return [*rows, Row(), Row(("ctrl+r", roles.accent), (" tries again", roles.muted))]
        if self.query_text:
            return [Row(("no conversation matches; esc shows all", roles.muted))]
        return [
            Row(("No conversations to harvest.", roles.normal)),
            Row(),
            *wrap([("A harvest reads conversations/, not the trash.", roles.muted)], width),
        ]

    def tick_while(self, wanted: bool) -> None:
        """Updates the elapsed time every second, but only while a harvest runs."""
        if wanted and self._ticking is None:
            self._ticking = self.set_interval(1.0, self.steps.fit)
        elif not wanted and self._ticking is not None:
            self._ticking.stop()
            self._ticking = None

    # Results and events

    def _take(self, read: SurveyRead) -> None:
        if self.state.step == "pick":
            self.state.take(read)
            self.show()

    # Navigation

    def to_step(self, step: Step) -> None:
        self.state.step = step
        self.zoomed = None
        self.enter_step()

    @command("enter", "Continue: preview", "continue", 0, panels=["pick", "switches"], needs=[CHOSEN])
    def to_confirm(self) -> None:
        """Continue, and preview the harvest and its cost; nothing happens yet."""
        self.to_step("confirm")

    def back(self) -> None:
        """Go back one step, or from the first to the ledger; while a harvest runs, stop it after this one."""
        state = self.state
        if self.in_line:
            if self.line == "pick-filter":
                self.narrow("")
            self.leave_line()
        elif self.zoomed is not None:
            self.unzoom()
        elif state.running:
            self.stop()
        elif self.query_text:
            self.narrow("")
        elif state.step == "confirm":
            self.to_step("pick")
        else:
            self.quit()

    def quit(self) -> None:
        """Close the harvest screen; a running harvest continues."""
        if self.in_line:
            self.leave_line()
        if self.state.running:
            self.say("the harvest continues in the background; H shows it again")
        self.dismiss(None)

    @command("b", "Leave the harvest running", "leave it running", 4, panels=["progress"], needs=[RUNNING])
    def background(self) -> None:
        """Leave the harvest running and return to the ledger; a notification says when it is done."""
        self.quit()

    @command("slash", "Filter the conversations", "filter", 10, panels=["pick"])
    def filter(self) -> None:
        """Filter the conversations as you type, by path, kind or reason."""
        self.open_line("pick-filter", "filter", self.query_text, "conversations")

    # Choosing

    @command("space", "Select or deselect the conversation", "select", 2, panels=["pick"],
             needs=[Need(lambda here: (item := here.pick.selected) and item.selectable,
                         "this conversation is skipped, for the reason shown")])  # fmt: skip
    def toggle(self) -> None:
        """Select or deselect the conversation for harvesting."""
        item = self.pick.selected
        if item is not None:
            self.state.toggle(item.candidate)
            self.pick.select(self.pick.cursor + 1)
            self.show()

    @command("a", "Select all or none", "all", 4, panels=["pick", "switches"])
    def toggle_all(self) -> None:
        """Select all conversations; if all are selected, deselect them."""
        self.state.toggle_all()
        self.show()

    @command("space", "Toggle the option", "toggle", 2, panels=["switches"], needs=[ROWS])
    def switch(self) -> None:
        """Turn the selected option on or off."""
        item = self.switches.selected
        if item is not None:
            self.state.switch(item.name)
            self.show()

    # Harvesting

    @command("enter", "Start the harvest", "start", 0, panels=["progress"],
             needs=[NOT_RUNNING, CHOSEN, WRITABLE])  # fmt: skip
    def start(self) -> None:
        """Start the harvest. Conversations are sent to the provider shown above, one at a time."""
        state = self.state
        if self._other_run() is not None:
            self.say("another harvest is running")
        elif state.run is None:
            self._run(HarvestRun(state.request, state.chosen, self.bench.clock.monotonic()))

    def _run(self, run: HarvestRun) -> None:
        self.state.run = self.bench.harvesting = run
        self._follow(run)
        self._runs.ask(run)
        self.to_step("confirm")

    @command("x", "Stop the harvest", "stop", 2, panels=["progress"], needs=[RUNNING])
    def stop(self) -> None:
        """Stop after the current conversation; what is harvested so far is kept."""
        run = self.state.run
        if run is not None and not run.progress.stopping:
            run.stop()
            self._stops.ask(None)
            self.show()
            self.say("stopping after the current conversation")

    @command("m", "Confirm the move to the trash", "confirm", 0, panels=["outcome"],
             needs=[Need(lambda here: here.brake, "there is nothing to confirm"), WRITABLE])  # fmt: skip
    def ask_number(self) -> None:
        """Confirm moving many conversations to the trash by typing how many there are."""
        progress = self.state.progress
        if progress is not None and progress.brake:
            about = f"{progress.brake} to move them to the trash"
            self.open_line("number", "number", about=about)

    @property
    def brake(self) -> int:
        """The number to type before that many conversations go to the trash; 0 for none."""
        progress = self.state.progress
        return progress.brake if progress is not None and progress.ended else 0

    def typed(self, text: str) -> None:
        """Moves the conversations only if exactly the right number was typed."""
        run = self.state.confirmed_run(self.bench.clock.monotonic())
        self.leave_line()
        if run is None:
            return
        number = run.request.consent.number
        if text.strip() == str(number):
            self._run(run)
        else:
            self.say(f"nothing was moved: expected {number}, got {text.strip() or 'nothing'}")

    @command("f", "Retry failed conversations", "retry failed", 2, panels=["outcome"],
             needs=[Need(lambda here: here.state.failures, "no harvest failed")])  # fmt: skip
    def retry(self) -> None:
        """Rescan, and select the conversations that failed in this harvest."""
        self._start_over(self.state.failures)

    @command("H", "Start over", needs=[NOT_RUNNING])
    def again(self) -> None:
        """Start over with a new scan of the conversations."""
        self._start_over()

    def _start_over(self, failed: frozenset[str] = frozenset()) -> None:
        self.state.restart(failed)
        if self._other_run() is None:
            self.bench.harvesting = None  # drops a pending confirmation
        self.look()
        self.to_step("pick")

    # Panels

    focus_pick = goes_to("pick", "1", "the conversations", panels=["pick", "switches"])
    focus_switches = goes_to("switches", "2", "the options", panels=["pick", "switches"])

    # State and events

    def begin(self) -> None:
        """Scans the conversations, or shows the harvest that is running or needs confirmation."""
        run = self.bench.harvesting
        if run is None or (run.progress.ended and not run.progress.brake):
            self.look()
            return
        self.state.run = run
        self._follow(run)
        self.to_step("result" if run.progress.ended else "confirm")

    def end(self) -> None:
        """Hands a running harvest over to the workbench, which reports when it is done."""
        if self.state.run is not None:
            self.state.run.follow(None, self.bench.post_message)
        self.tick_while(False)

    def _follow(self, run: HarvestRun) -> None:
        run.follow(partial(self.later, self._progressed), self.bench.post_message)

    def _other_run(self) -> HarvestRun | None:
        """An unfinished run started from another screen."""
        run = self.bench.harvesting
        return run if run is not None and run is not self.state.run and not run.progress.ended else None

    @property
    def waiting(self) -> bool:
        return super().waiting or self.state.running

    def _progressed(self) -> None:
        progress = self.state.progress
        if progress is None or self.state.step == "result":
            return
        if not progress.ended:
            self.show()
            return
        self.bench.conductor.rescan(quietly=True)
        self.to_step("result")
        if progress.brake:
            self.ask_number()

    def entered(self, mode: Mode, text: str) -> None:
        if mode == "number":
            self.typed(text)
        else:
            self.leave_line()
