"""The page of a command from the input line: its output, or a note that it is still running."""

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
"""Maximum lines of output that a page shows."""
RUNNING_KEYS = "esc stops it · q leaves it running"


class OutputPage(PageScreen):
    """While the command runs, esc and ctrl+c stop it; the other closing keys leave it running."""

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
        """Disables ``stop`` once the command has ended."""
        return self.running if action == "stop" else super().check_action(action, parameters)

    def action_stop(self) -> None:
        """Stops the command; its output is shown when it has ended."""
        self.stop.set()
        self.panel.turn_to(self.title_of, _text("stopping …"), RUNNING_KEYS)

    def action_back(self) -> None:
        """Stops a running command, or closes the page of a finished one."""
        if self.running:
            self.action_stop()
        else:
            self.action_close()

    def end(self, ran: CommandRan) -> None:
        self.running = False
        output = ran.output if ran.output.strip() else "done (no output)"
        self.panel.turn_to(self.title_of, _text(output, failed=ran.failed))


def _line(line: str, width: int, style: Style) -> list[Row]:
    """Wraps a line of output and keeps its indent, so that columns stay aligned."""
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
                Row((f"{rest:,} more lines; run the command in a shell to see all of them", roles.gate))
            )
        return rows

    return build
