"""One client per event loop, created once, in a thread."""

from __future__ import annotations

import asyncio
import threading

import pytest

from engine.errors import GateError
from engine.providers.transport import Connections


class Client:
    def __init__(self) -> None:
        self.made_in = threading.get_ident()
        self.closed = False

    async def close(self) -> None:
        self.closed = True


def test_concurrent_calls_share_a_client_but_event_loops_do_not() -> None:
    connections = Connections(Client)

    async def get_three() -> list[Client]:
        return await asyncio.gather(*(connections.get() for _ in range(3)))

    first, second = asyncio.run(get_three()), asyncio.run(get_three())
    assert len(set(first)) == len(set(second)) == 1
    assert first[0] is not second[0]
    assert first[0].made_in != threading.get_ident()


async def test_after_closing_the_next_call_gets_a_new_client() -> None:
    connections = Connections(Client)
    client = await connections.get()
    await connections.close()
    assert client.closed
    assert await connections.get() is not client
    await connections.close()
    await connections.close()


async def test_a_failed_connection_is_retried() -> None:
    attempts: list[int] = []

    def connect() -> Client:
        attempts.append(1)
        if len(attempts) < 3:
            raise GateError("there is no key")
        return Client()

    connections = Connections(connect)
    for _ in range(2):
        with pytest.raises(GateError, match="there is no key"):
            await connections.get()
    await connections.close()
    assert isinstance(await connections.get(), Client)
    assert len(attempts) == 3


async def test_a_cancelled_call_does_not_affect_the_client_of_others() -> None:
    held = threading.Event()

    def connect() -> Client:
        held.wait(60)
        return Client()

    connections = Connections(connect)
    impatient = asyncio.ensure_future(connections.get())
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    held.set()
    assert isinstance(await connections.get(), Client)
