"""The page that sends a message and streams the reply. esc stops the reply, then closes the page."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from engine.errors import AutopoiesisError
from tui.kit.lanes import Lane
from tui.kit.page import PageScreen
from tui.kit.panel import Motion
from tui.render.draw import Row
from tui.render.reply import reply_lines
from tui.render.roles import Roles

if TYPE_CHECKING:
    from engine.discussions.sending import Sending
    from engine.discussions.turn import Sent, Step
    from engine.engine import Engine

LEAVE_S = 0.5
"""How long closing the workbench waits for a reply to be saved."""


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
        follows = self.panel.rest() == 0
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
