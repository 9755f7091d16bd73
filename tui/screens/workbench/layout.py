"""The workbench without its commands: panels, events, and the input line with its three modes (design 8)."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.timer import Timer
from textual.widgets import Input

from engine.context.views import DigestView, LedgerView, StatusView
from engine.events import IndexProgress
from tui.kit.bars import Header, bars
from tui.kit.conductor import Conductor, RunLine
from tui.kit.full_screen import LOW, FullScreen
from tui.kit.messages import ALL_PARTS, Burst, CommandRan, Learned, PartsRead, TraceRead, Tried
from tui.kit.prompt import PromptLine
from tui.kit.questions import Clock, Questions
from tui.kit.rows import RowList
from tui.render.figures import plural
from tui.render.shown import Shown
from tui.screens.workbench.commandline import completions
from tui.screens.workbench.memory_panels import BudgetPanel, DigestPanel, LedgerPanel, MemoryPanel
from tui.screens.workbench.pages import OutputPage
from tui.screens.workbench.panels import ActivationPanel, FeedPanel

if TYPE_CHECKING:
    from engine.activation.trace import Trace
    from engine.engine import Engine
    from engine.playbooks.past import Replay
    from tui.kit.bench import Played
    from tui.screens.harvest.run import HarvestRun

FOLDED = frozenset({"digest", "ledger", "budget"})
"""Panels reduced to one line each on small screens."""
PATIENCE_S = 0.12
"""How long the last trace stays while the next is fetched, so that moving through rows does not flicker."""
FULL = (100, 32)
"""Minimum columns and lines to show all five panels."""
TYPING_S = 0.15
"""The pause in typing after which a message is tried."""


class WorkbenchTyping(FullScreen):
    """The screen. State arrives as messages and is passed to the panels; keys arrive as commands."""

    area = "body"
    line = "try"
    line_passes = False
    burst_s = 0.05

    def __init__(self, engine: Engine, clock: Clock, run_line: RunLine) -> None:
        super().__init__(self, "feed")
        self.engine = engine
        self.clock = clock
        self.conductor = Conductor(engine, self.post_message, run_line)
        self.shown = Shown()
        self.status: StatusView | None = None
        self.digest: DigestView | None = None
        self.ledger: LedgerView | None = None
        self.progress: IndexProgress | None = None
        self.questions = Questions(self, clock, self.conductor.answer, self.lay_out)
        self.searched = ""
        """The last search query."""
        self.harvesting: HarvestRun | None = None
        self.backtest: Played | None = None
        self.replays: Mapping[str, Replay] | None = None
        self.filtering: str = "feed"
        self.outputs: dict[threading.Event, OutputPage] = {}
        """Pages of running commands, by the event that stops each."""
        self.followers: list[Callable[[], None]] = []
        """Called when the shown message or its details change."""
        self._typing: Timer | None = None
        self._patience: Timer | None = None

    def body(self) -> ComposeResult:
        self.feed = FeedPanel(id="feed")
        self.activation = ActivationPanel(id="activation")
        self.digest_panel = DigestPanel(id="digest")
        self.ledger_panel = LedgerPanel(id="ledger")
        self.budget = BudgetPanel(id="budget")
        self.memory = MemoryPanel(id="memory")
        yield Container(
            Horizontal(self.feed, self.activation, id="upper"),
            Horizontal(self.digest_panel, self.ledger_panel, self.budget, id="lower"),
            self.memory,
            id="body",
        )

    def below(self) -> ComposeResult:
        yield self.prompt

    def begin(self) -> None:
        """Starts the engine and reads everything once."""
        self.conductor.start()
        self.conductor.read(ALL_PARTS)

    @property
    def waiting(self) -> bool:
        """Whether a burst or a pause in typing is still pending."""
        return super().waiting or self._typing is not None

    def end(self) -> None:
        self.conductor.stop()

    # What is on the screen

    @property
    def compact(self) -> bool:
        """Whether panels 3 to 5 are folded."""
        return self.app.size.width < FULL[0] or self.app.size.height < FULL[1]

    def lay_out(self) -> None:
        """Arranges the panels for the current size."""
        size, zoom = self.app.size, self.zoomed
        low = size.height < LOW
        upper, lower = ("feed", "activation"), ("digest", "ledger", "budget")
        self.lay_out_frame(
            {
                "-low": low,
                "-compact": self.compact,
                "-zoomed": zoom is not None,
                "-wide": size.width >= 160,
                "-narrow": size.width < 72,
            },
            "#prompt",
        )
        self.query_one("#upper").display = zoom is None or zoom in upper
        self.query_one("#lower").display = zoom in lower or (zoom is None and not self.compact)
        asked = bool(self.questions.open)
        self.memory.display = zoom is None and self.compact and not low and not asked
        for panel in (*upper, *lower):
            self.query_one(f"#{panel}").display = zoom is None or zoom == panel
        self.update_footer()

    def in_view(self) -> tuple[str, ...]:
        """The visible panels, without folded ones."""
        if self.zoomed is not None:
            return (self.zoomed,)
        return tuple(name for name in self.panels if not (self.compact and name in FOLDED))

    def home(self) -> str:
        """The panel that gets the focus when the focused one is folded."""
        return "activation"

    def show_bars(self) -> None:
        """Updates headers (of covering screens too), folded panels and footer."""
        compiled = self.budget.compiled
        for header in bars(self, Header):
            header.show(self.status, compiled, self.progress)
        self.memory.show(self.digest, self.ledger, compiled)
        self.update_footer()

    # What is selected

    @property
    def selected_topic(self) -> str:
        """The selected topic; empty for none."""
        row = self.activation.selected
        return row.topic if row is not None else ""

    @property
    def selected_sha256(self) -> str:
        """The SHA-256 of the selected ledger entry; empty for none."""
        item = self.ledger_panel.selected
        return item.sha256 if item is not None else ""

    # Which message is shown

    def show_message(self, shown: Shown) -> None:
        """Shows a message, or more detail about it, in all panels and on covering screens."""
        self.shown = shown
        self.activation.show(shown)
        if shown.compiled is not None or not shown.pending:
            self.budget.show(shown.compiled)
            self.show_bars()
        for follower in self.followers:
            follower()

    def show_row(self) -> None:
        """Shows the selected feed row; its trace follows once fetched."""
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
        if moved.panel is self.feed and moved.by_hand and self.feed.at_past:
            self.conductor.read_older()
        self.update_footer()

    @on(ActivationPanel.Moved)
    def _topic_moved(self) -> None:
        self.update_footer()

    @on(TraceRead)
    def _trace_read(self, read: TraceRead) -> None:
        if read.key == self.shown.key:
            text, entry = self.shown.text, self.shown.entry
            self.show_message(Shown("feed", text, entry, read.trace, read.compiled, problem=read.problem))

    @on(Learned)
    def _learned(self, learned: Learned) -> None:
        self.activation.show_learned(learned)
        if learned.key == self.shown.key:
            self.refetch()

    @on(Tried)
    def _tried(self, tried: Tried) -> None:
        if self.shown.trying and tried.text == self.shown.text:
            source = self.shown.source
            self.show_message(
                Shown(source, tried.text, None, tried.trace, tried.compiled, problem=tried.problem)
            )

    def refetch(self) -> None:
        """Traces and compiles the message shown again; what is known stays visible until then."""
        if self.shown.key:
            self.conductor.fetch(self.shown.key)
        elif self.shown.trying:
            self.conductor.try_text(self.shown.text, ask=self.shown.source == "kept")

    # Events from the engine

    def handle_events(self, burst: Burst) -> None:
        self.conductor.read(burst.parts)
        # Search results are part of the prompt, so a newly indexed file can change it.
        if burst.written or (burst.indexed and self.shown.key and self.shown.compiled):
            self.refetch()
        elif self.shown.key in burst.keys:
            self.conductor.fetch(self.shown.key)
        self.questions.update(burst.asked, burst.closed)
        for error in burst.errors[-3:]:
            self.say(error, error=True)
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
            rules, items = read.status.waiting_rules, read.status.waiting_items
            reminders = {}
            if rules:
                reminders[self.key_of("open_rules")] = plural(
                    rules, "rule waits for you", "rules wait for you"
                )
            if items:
                reminders[self.key_of("open_review")] = plural(items, "item to review", "items to review")
            self.prompt.remind(reminders)
        if read.feed is not None:
            self.activation.show_imported(any(entry.key for entry in read.feed))
            self.feed.show(read.feed)
        self.show_bars()

    def try_message(self) -> None:
        self.open_line("try", "try", self._tried_text)

    def type_command(self) -> None:
        self.open_line("try", "command")

    def cycle(self, step: int) -> None:
        """Completes a command, and otherwise goes to the next panel or the line."""
        if not (self.in_line and self.prompt.mode == "command"):
            super().cycle(step)
        elif step > 0:
            self.complete()

    def complete(self) -> None:
        """Extends the last word of the command as far as it is certain, and lists what it can be."""
        line = self.prompt.input.value
        found = completions(self.engine.workspace.root, line)
        if not found:
            return
        start = line[: len(line) - len(re.split(r"\s", line)[-1])]
        end = " " if len(found) == 1 and not found[0].endswith("/") else ""
        common = os.path.commonprefix(found)  # noqa: RUF071 — of words, not of paths
        with self.prompt.prevent(Input.Changed):
            self.prompt.input.put(f"{start}{common}{end}")
        self.prompt.tell(" · ".join(found) if len(found) > 1 else "")

    def type_filter(self) -> None:
        self.filtering = self.panel_in_use
        reach = self.feed.reach if self.filtering == "feed" else ""
        about = " · ".join(filter(None, (self.filtering, reach)))
        self.open_line("try", "filter", self.filter_of(self.filtering), about=about)

    def leave_line(self) -> None:
        """Returns the focus to the previous panel and the line to its message."""
        self._cancel_typing()
        self.prompt.enter_mode("try", value=self._tried_text)
        self.focus_panel(self.panel_before)

    @property
    def _tried_text(self) -> str:
        return self.shown.text if self.shown.trying else ""

    @property
    def lists(self) -> dict[str, FeedPanel | ActivationPanel | LedgerPanel]:
        """The panels that can be filtered, by name."""
        return {"feed": self.feed, "activation": self.activation, "ledger": self.ledger_panel}

    def set_filter(self, name: str, query: str) -> None:
        """Filters a panel's list; an empty query shows all rows."""
        self.lists[name].filter(query)
        self.update_footer()

    def try_draft(self, text: str) -> None:
        """Shows what a message would do while it is being typed; an empty one ends the try."""
        self._typing = None
        if not text.strip():
            self.end_try()
            return
        shown = self.shown
        if shown.trying and shown.text == text:
            return
        kept = shown if shown.trying else Shown()
        self.show_message(Shown("draft", text, None, kept.trace, kept.compiled, pending=kept.trace is None))
        # Half a sentence is not worth the cost of a gate call.
        self.conductor.try_text(text, ask=False)

    def keep_try(self, text: str) -> None:
        """Keeps a tried message in view and focuses its trace."""
        same = self.shown.trying and self.shown.text == text
        old = self.shown if same else Shown()
        self.show_message(
            Shown("kept", text, None, old.trace, old.compiled, pending=old.trace is None, problem=old.problem)
        )
        if not same or _is_open(old.trace):
            self.conductor.try_text(text, ask=True)
        self.prompt.enter_mode("try", value=text)
        self.focus_panel("activation" if self.zoomed is None else self.zoomed)

    def end_try(self) -> None:
        """Returns to the feed's message and resumes following if it was on."""
        self.prompt.enter_mode("try")
        self.shown = Shown()
        if self.feed.following and self.feed.row_count:
            self.feed.follow()
        self.show_row()

    def run_command(self, line: str) -> None:
        """Runs a command line that was typed."""
        line = line.strip().removeprefix("autopoiesis ").strip()
        self.leave_line()
        if not line:
            return
        if line in ("q", "quit", "exit"):
            self.app.exit(0)
            return
        self.show_output(line)

    def show_output(self, line: str) -> None:
        """Runs a command and opens a page for its output."""
        stop = self.conductor.run(line)
        self.outputs[stop] = OutputPage(line, stop)
        self.app.push_screen(self.outputs[stop])

    @on(CommandRan)
    def _command_ran(self, ran: CommandRan) -> None:
        page = self.outputs.pop(ran.run)
        if page.is_attached:
            page.end(ran)
        else:
            reason = ran.output.strip().partition("\n")[0]
            self.say(
                f":{ran.line} failed: {reason}" if ran.failed else f":{ran.line} finished", error=ran.failed
            )

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "filter":
            self.set_filter(self.filtering, edited.value)
        elif edited.mode == "command":
            self.prompt.tell("")
        elif edited.mode == "try":
            self._cancel_typing()
            self._typing = self.set_timer(TYPING_S, partial(self.try_draft, edited.value))

    def _cancel_typing(self) -> None:
        """Drops the pending try of what was typed last."""
        if self._typing is not None:
            self._typing.stop()
            self._typing = None

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        self._cancel_typing()
        if entered.mode == "filter":
            self.leave_line()
        elif entered.mode == "command":
            self.run_command(entered.value)
        elif entered.value.strip():
            self.keep_try(entered.value)


def _is_open(trace: Trace | None) -> bool:
    """Whether the gate has not answered yet or failed for some topic."""
    return trace is None or any(row.gate is not None and row.gate.answer == "failed" for row in trace.rows)
