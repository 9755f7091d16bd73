"""A connection that has to say what it wants in time (robustness H1).

The server answers a limited number of connections. One that sends half a request and then nothing would keep
its place for ever, and a few dozen of them would lock everyone else out. So it has some seconds; and where
all places are taken, a new connection replaces the one that has been waiting longest.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 5.0
"""Seconds from the first moment of a connection, or the first byte of a further request, to its end."""
STALLED_S = 10.0
"""Seconds in which a client has to take more of an answer, once so much of it waits that no more is made."""


class TimelyProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose request is not complete in time."""

    _deadline: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for the request."""
        super().connection_made(transport)
        self._make_room()
        self._deadline = self.loop.call_later(REQUEST_S, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Takes a part of a request in, and waits on while it is not whole."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits no more."""
        self._stop_waiting()
        self._goes_on()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begins to wait for a client that takes nothing of its answer."""
        super().pause_writing()
        self._stalled = self._stalled or self.loop.call_later(STALLED_S, self.transport.abort)

    def resume_writing(self) -> None:
        """It has taken some."""
        super().resume_writing()
        self._goes_on()

    def _goes_on(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _make_room(self) -> None:
        """Closes a connection that asks nothing now, where this one would take the last place."""
        there = [each for each in self.connections if not each.transport.is_closing()]
        if self.limit_concurrency is None or len(there) < self.limit_concurrency:
            return
        idle = {each: handle for each in there if (handle := _waits(each)) is not None and each is not self}
        if idle:
            min(idle, key=lambda each: idle[each].when()).transport.abort()

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.abort()


def _waits(connection: object) -> asyncio.TimerHandle | None:
    """What ends a connection that has sent no whole request yet, or no further one; ``None`` for others."""
    if not isinstance(connection, TimelyProtocol):
        return None
    return connection._deadline or connection.timeout_keep_alive_task
