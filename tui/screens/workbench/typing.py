"""What happens in the line a person types in: trying a message, filtering a list, running a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style

from tui.kit.messages import CommandRan
from tui.kit.page import Builder, PageScreen
from tui.render.draw import Row, wrap
from tui.render.roles import Roles
from tui.render.safe import visible_lines
from tui.render.shown import Shown

if TYPE_CHECKING:
    from engine.activation.trace import Trace
    from tui.screens.workbench.screen import Workbench

OUTPUT_LINES = 20_000
"""Lines of a command's output that a page shows; it says how many more there were."""


class Typing:
    """The line of one workbench, in its three modes."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench

    def try_message(self) -> None:
        """Takes the keys into the line, to type a message."""
        value = self.bench.shown.text if self.bench.shown.trying else ""
        self.bench.open_line("try", "try", value)

    def command_line(self) -> None:
        """Takes the keys into the line, to type a command."""
        self.bench.open_line("try", "command")

    def filter(self) -> None:
        """Takes the keys into the line, to type what to look for."""
        bench = self.bench
        bench.filtering = bench.panel_in_use
        bench.open_line("try", "filter", self.filter_of(bench.filtering), about=bench.filtering)

    def leave_prompt(self) -> None:
        """Gives the keys back to where they came from."""
        bench = self.bench
        bench.rest_typing()
        bench.prompt.enter_mode("try", value=bench.shown.text if bench.shown.trying else "")
        bench.focus_panel(bench.panel_before)

    def set_filter(self, name: str, query: str) -> None:
        """Narrows the list of a panel; an empty query shows all of it."""
        bench = self.bench
        if name == "feed":
            bench.feed.filter(query)
        elif name == "ledger":
            bench.ledger_panel.filter(query)
        elif name == "activation":
            bench.activation.filter(query)
        bench.update_footer()

    def filter_of(self, name: str) -> str:
        """What a list is narrowed by."""
        bench = self.bench
        queries = {
            "feed": bench.feed.query_text,
            "ledger": bench.ledger_panel.query_text,
            "activation": bench.activation.query_text,
        }
        return queries.get(name, "")

    def match(self, step: int) -> None:
        """Goes to the next row the filter found, round the end."""
        bench = self.bench
        rows = bench.ledger_panel if bench.panel_in_use == "ledger" else bench.feed
        if rows.row_count:
            rows.select((rows.cursor + step) % rows.row_count)

    def draft(self, text: str) -> None:
        """Shows what a message would do while it is typed; an empty one ends the try."""
        if not text.strip():
            self.end_try()
            return
        shown = self.bench.shown
        if shown.trying and shown.text == text:
            return
        kept = shown if shown.trying else Shown()
        self.bench.show_message(
            Shown("draft", text, None, kept.trace, kept.compiled, pending=kept.trace is None)
        )
        # Nobody is asked, and nothing is spent, about half a sentence.
        self.bench.conductor.try_text(text, ask=False)

    def keep(self, text: str) -> None:
        """Keeps a tried message in view and gives the keys to its trace."""
        bench = self.bench
        same = bench.shown.trying and bench.shown.text == text
        old = bench.shown if same else Shown()
        bench.show_message(
            Shown("kept", text, None, old.trace, old.compiled, pending=old.trace is None, problem=old.problem)
        )
        if not same or _is_open(old.trace):
            bench.conductor.try_text(text, ask=True)
        bench.prompt.enter_mode("try", value=text)
        bench.focus_panel("activation" if bench.zoomed is None else bench.zoomed)

    def end_try(self) -> None:
        """Goes back to the feed's message, following if it was followed."""
        bench = self.bench
        bench.prompt.enter_mode("try")
        bench.shown = Shown()
        if bench.feed.following and bench.feed.row_count:
            bench.feed.follow()
        bench.show_row()

    def run_line(self, line: str) -> None:
        """Runs a command line and opens a page for its output."""
        line = line.strip().removeprefix("autopoiesis ").strip()
        self.leave_prompt()
        if not line:
            return
        if line in ("q", "quit", "exit"):
            self.bench.app.exit(0)
            return
        self.bench.output = PageScreen(f":{line}", _text("running …"))
        self.bench.app.push_screen(self.bench.output)
        self.bench.conductor.run(line)

    def show_output(self, ran: CommandRan) -> None:
        """Fills the page with what the command printed."""
        page = self.bench.output
        if page is not None and page.is_attached:
            output = ran.output if ran.output.strip() else "done; it printed nothing"
            page.panel.turn_to(f":{ran.line}", _text(output, failed=ran.failed))


def _line(line: str, width: int, style: Style) -> list[Row]:
    """A line of output with its indent kept, so that columns stay columns."""
    text = line.lstrip(" ")
    indent = min(len(line) - len(text), width // 2)
    return [Row().gap(indent).extend(row) for row in wrap([(text, style)], width - indent)]


def _text(output: str, *, failed: bool = False) -> Builder:
    lines = visible_lines(output)
    shown, rest = lines[:OUTPUT_LINES], len(lines) - OUTPUT_LINES

    def build(width: int, roles: Roles) -> list[Row]:
        style = roles.trouble if failed else roles.normal
        rows = [row for line in shown for row in _line(line, width, style)]
        if rest > 0:
            rows.append(
                Row((f"{rest:,} more lines; in the shell they can be piped into a pager", roles.gate))
            )
        return rows

    return build


def _is_open(trace: Trace | None) -> bool:
    """Whether the gate still has something to say about a message."""
    return trace is None or any(row.gate is not None and row.gate.answer == "failed" for row in trace.rows)
