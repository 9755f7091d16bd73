"""The pages of a command's output and of a reply."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message

from engine.errors import AutopoiesisError
from tui.kit.lanes import Lane
from tui.kit.messages import CommandRan
from tui.kit.overlays import Builder, PageScreen
from tui.kit.panel import Motion
from tui.render.draw import Row, wrap
from tui.render.reply import reply_lines
from tui.render.roles import Roles
from tui.render.safe import visible_lines

if TYPE_CHECKING:
    from engine.discussions.sending import Sending
    from engine.discussions.turn import Sent, Step
    from engine.engine import Engine

OUTPUT_LINES = 20_000
"""Maximum lines of output that a page shows."""
RUNNING_KEYS = "esc stops it · q leaves it running"
LEAVE_S = 0.5
"""How long closing the workbench waits for a reply to be saved."""


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


class ReplyProgress(Message):
    """More of the reply arrived, or a step finished."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ReplyProgress)


@dataclass
class ReplyEnded(Message):
    """The reply is complete, stopped or failed."""

    sent: Sent | None
    problem: str = ""


class ReplyScreen(PageScreen):
    """Sends a message and shows the reply.

    Args:
        key: The feed key of the turn in view; its session is continued if that is still open.
    """

    def __init__(self, engine: Engine, text: str, key: str) -> None:
        super().__init__("sending", self._draw, full=True)
        self._engine = engine
        self._text = text
        self._key = key
        self._guard = threading.Lock()
        self._received: list[str] = []
        self._step: Step | None = None
        self._sending: Sending | None = None
        self._stopped = False
        self.ended: ReplyEnded | None = None
        self._lane: Lane[str, Sent] = Lane(
            self._send,
            lambda _text, sent: self._post(ReplyEnded(sent)),
            lambda _text, error: self._post(ReplyEnded(None, error)),
        )

    @property
    def busy(self) -> bool:
        """Whether the reply is still streaming."""
        return self.ended is None

    @property
    def reply(self) -> str:
        """The text received so far."""
        with self._guard:
            return "".join(self._received)

    def on_mount(self) -> None:
        self._frame("esc stops the reply")
        self._lane.ask(self._text)

    def on_unmount(self) -> None:
        """Stops the reply; the part received so far is saved."""
        self._stop()
        self._lane.stop(LEAVE_S)

    def action_close(self) -> None:
        """Stops a running reply; closes the page once it has ended."""
        if self.ended is not None:
            self.dismiss(None)
        elif not self._stopped:
            self._frame("stopping …")
            self._stop()

    @on(ReplyProgress)
    def _grew(self) -> None:
        self._show()

    @on(ReplyEnded)
    def _end(self, ended: ReplyEnded) -> None:
        self.ended = ended
        self._frame("esc closes · j k move · Y copies")
        self._show()

    def _show(self) -> None:
        follows = self.panel.rest() <= 0
        self.panel.changed()
        if follows:
            self.panel.move(Motion.LAST)

    def _frame(self, below: str) -> None:
        self.panel.set_frame("reply" if self.ended is not None else "sending", below)

    def _draw(self, width: int, roles: Roles) -> list[Row]:
        ended = self.ended
        sent, problem = (None, "") if ended is None else (ended.sent, ended.problem)
        text = self.reply or (sent.reply.text if sent is not None else "")
        return reply_lines(self._text, text, self._step, sent, problem, width, roles)

    # On the lane's thread

    def _send(self, text: str) -> Sent:
        session = self._engine.discussions.to_continue(self._key)
        sending = self._engine.discussions.sending()
        with self._guard:
            self._sending = sending
            stopped = self._stopped
        if stopped:
            raise AutopoiesisError("nothing was sent")
        return sending.send(text, session_id=session, on_text=self._add_text, on_step=self._set_step)

    def _add_text(self, text: str) -> None:
        with self._guard:
            self._received.append(text)
        self._post(ReplyProgress())

    def _set_step(self, step: Step) -> None:
        self._step = step
        self._post(ReplyProgress())

    def _stop(self) -> None:
        with self._guard:
            self._stopped = True
            sending = self._sending
        if sending is not None:
            sending.stop()

    def _post(self, message: Message) -> None:
        if self.is_attached:
            self.post_message(message)
