"""The page of a command that was typed into the line: what it printed, or that it still runs."""

from __future__ import annotations

import threading
from typing import ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType

from tui.kit.messages import CommandRan
from tui.kit.page import Builder, PageScreen
from tui.render.draw import Row, wrap
from tui.render.roles import Roles
from tui.render.safe import visible_lines

OUTPUT_LINES = 20_000
"""Lines of a command's output that a page shows; it says how many more there were."""
RUNNING_KEYS = "esc stops it · q leaves it running"


class OutputPage(PageScreen):
    """While the command runs esc and ctrl+c stop it; the other keys that close a page leave it running."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False, priority=True),
        Binding("ctrl+c", "stop", show=False, priority=True),
    ]

    def __init__(self, line: str, stop: threading.Event) -> None:
        super().__init__(f":{line}", _text("running …"), keys=RUNNING_KEYS)
        self.title_of = f":{line}"
        self.stop = stop
        self.running = True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What has ended cannot be stopped."""
        return self.running if action == "stop" else super().check_action(action, parameters)

    def action_stop(self) -> None:
        """Stops the command; what it printed is shown when it has ended."""
        self.stop.set()
        self.panel.turn_to(self.title_of, _text("stopping …"), RUNNING_KEYS)

    def action_back(self) -> None:
        """Stops a command that runs, closes the page of one that has ended."""
        if self.running:
            self.action_stop()
        else:
            self.action_close()

    def end(self, ran: CommandRan) -> None:
        """Shows what the command printed."""
        self.running = False
        output = ran.output if ran.output.strip() else "done; it printed nothing"
        self.panel.turn_to(self.title_of, _text(output, failed=ran.failed))


def _line(line: str, width: int, style: Style) -> list[Row]:
    """A line of output with its indent kept, so that columns stay columns."""
    text = line.lstrip(" ")
    indent = min(len(line) - len(text), width // 2)
    return [Row().gap(indent).extend(row) for row in wrap([(text, style)], width - indent)]


def _text(output: str, *, failed: bool = False) -> Builder:
    lines = visible_lines(output)
    shown, rest = lines[:OUTPUT_LINES], len(lines) - OUTPUT_LINES

    def build(width: int, roles: Roles) -> list[Row]:
        style = roles.error if failed else roles.normal
        rows = [row for line in shown for row in _line(line, width, style)]
        if rest > 0:
            rows.append(
                Row((f"{rest:,} more lines; in the shell they can be piped into a pager", roles.gate))
            )
        return rows

    return build
