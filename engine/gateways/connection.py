"""HTTP connections with a deadline for their request (robustness H1).

The server accepts a limited number of connections. Without a deadline, a few dozen that send half a request
would lock everyone else out. When all slots are taken, a new connection replaces the one that has been idle
longest.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 5.0
"""Seconds for a complete request, from the start of a connection or the first byte of a later request."""
STALLED_S = 10.0
"""Seconds for a client to read on, once the buffer of its response is full."""
STOP_S = 1.0
"""The same while the server stops."""


class TimelyProtocol(H11Protocol):
    """HTTP/1.1 that closes connections whose request is not complete in time."""

    _deadline: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the deadline."""
        super().connection_made(transport)
        self._make_room()
        self._deadline = self.loop.call_later(REQUEST_S, self._abort)

    def data_received(self, data: bytes) -> None:
        """Stops the deadline once the request is complete."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._cancel_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_S, self._abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancels the timers."""
        self._cancel_deadline()
        self._cancel_stalled()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Starts the timer of a client that does not read its response."""
        super().pause_writing()
        self._stalled = self._stalled or self.loop.call_later(STALLED_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancels that timer."""
        super().resume_writing()
        self._cancel_stalled()

    def shutdown(self) -> None:
        """Ends the connection once its response is sent; a client that does not read it gets little time."""
        super().shutdown()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = self.loop.call_later(STOP_S, self.transport.abort)

    def _cancel_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _make_room(self) -> None:
        """Closes the connection idle longest if this one takes the last slot."""
        others = [each for each in self.connections if not each.transport.is_closing()]
        if self.limit_concurrency is None or len(others) < self.limit_concurrency:
            return
        idle = {each: handle for each in others if (handle := _timer(each)) is not None and each is not self}
        if idle:
            min(idle, key=lambda each: idle[each].when()).transport.abort()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _abort(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.abort()


def _timer(connection: object) -> asyncio.TimerHandle | None:
    """The timer of a connection that waits for a request; None if it has one."""
    if not isinstance(connection, TimelyProtocol):
        return None
    return connection._deadline or connection.timeout_keep_alive_task
