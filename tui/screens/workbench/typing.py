"""The workbench's input line: trying a message, filtering a list, running a command."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.widgets import Input

from tui.kit.messages import CommandRan
from tui.kit.prompt import PromptLine
from tui.render.shown import Shown
from tui.screens.workbench.commandline import completions
from tui.screens.workbench.layout import WorkbenchLayout
from tui.screens.workbench.output import OutputPage

if TYPE_CHECKING:
    from engine.activation.trace import Trace
    from tui.screens.workbench.activation_panel import ActivationPanel
    from tui.screens.workbench.feed_panel import FeedPanel
    from tui.screens.workbench.ledger import LedgerPanel

TYPING_S = 0.15
"""The pause in typing after which a message is tried."""


class WorkbenchTyping(WorkbenchLayout):
    """The workbench and its input line, which has three modes."""

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
        self.open_line("try", "filter", self.filter_of(self.filtering), about=self.filtering)

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

    def filter_of(self, name: str) -> str:
        """A panel's current filter; empty for none."""
        return self.lists[name].query_text if name in self.lists else ""

    def go_to_match(self, step: int) -> None:
        """Moves the selection by ``step`` matches, wrapping around."""
        rows = self.ledger_panel if self.panel_in_use == "ledger" else self.feed
        if rows.row_count:
            rows.select((rows.cursor + step) % rows.row_count)

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
        """Runs a command line and opens a page for its output."""
        line = line.strip().removeprefix("autopoiesis ").strip()
        self.leave_line()
        if not line:
            return
        if line in ("q", "quit", "exit"):
            self.app.exit(0)
            return
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
