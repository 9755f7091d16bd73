"""The bridge from threads to the event loop on which models are called."""

from __future__ import annotations

import asyncio
import gc
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import CancelledError, Future
from typing import Any

import anyio
import pytest

from engine.discussions.sending import Exchange
from engine.providers.chat import ChatProvider, ChatRequest
from engine.providers.keys import CHAT
from engine.providers.loop import LoopThread
from engine.providers.openai import OpenAI
from tests.discussions.scripted import Scripted


async def echo(value: str) -> str:
    await asyncio.sleep(0)
    return value


def test_the_thread_starts_with_the_first_task_and_ends_when_closed() -> None:
    loop, ended = LoopThread("some name"), []

    async def last() -> None:
        ended.append(threading.current_thread().name)

    def named() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "some name"]

    assert not named()
    assert [loop.run(echo(text)) for text in "ab"] == ["a", "b"]
    (thread,) = named()
    loop.close(last)
    thread.join(60)  # closing itself waits for no more than a second
    assert not thread.is_alive() and ended == ["some name"]
    assert loop.run(echo("c")) is None, "the closed loop was started again"
    with pytest.raises(CancelledError):
        loop.start(echo("d")).result(0)


@pytest.mark.parametrize("kept", [False, True])
def test_a_generator_that_was_left_before_its_end_is_closed_with_the_loop(
    caplog: pytest.LogCaptureFixture, kept: bool
) -> None:
    gc.freeze()  # what the tests before have left
    caplog.clear()
    closed, held = [], []

    async def events() -> AsyncGenerator[int, None]:
        try:
            yield 1
            yield 2
        finally:
            for _ in range(9):
                await asyncio.sleep(0)
            closed.append(True)

    async def leave() -> None:
        stream = events()
        if kept:
            held.append(stream)
        async for _ in stream:
            break

    loop = LoopThread()
    loop.run(leave() if kept else echo("a"))
    loop.close(None if kept else leave)
    assert closed == [True]
    gc.collect()
    assert "destroyed" not in caplog.text


def test_an_exception_in_a_task_reaches_the_waiting_thread() -> None:
    async def fails() -> None:
        raise ValueError("a bug")

    loop = LoopThread()
    with pytest.raises(ValueError, match="a bug"):
        loop.run(fails())
    loop.close()


def test_a_task_that_takes_too_long_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, cancelled = threading.Event(), threading.Event()
    result = Future.result

    def result_once_begun(future: Future[object], timeout: float | None = None) -> object:
        assert begun.wait(60)
        return result(future, timeout)

    async def hangs() -> None:
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            cancelled.set()

    loop = LoopThread()
    monkeypatch.setattr(Future, "result", result_once_begun)
    assert loop.run(hangs(), timeout=0.05) is None
    assert cancelled.wait(60)
    loop.close()


def test_closing_abandons_a_task_that_ignores_cancellation() -> None:
    begun, release = threading.Event(), threading.Event()

    async def stubborn() -> None:
        begun.set()
        while not release.is_set():
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                continue

    loop, given = LoopThread(), list[object]()
    waiting = threading.Thread(target=lambda: given.append(loop.run(stubborn())))
    waiting.start()
    assert begun.wait(30)
    loop.close()
    waiting.join(30)
    assert given == [None]
    release.set()


def test_a_task_cancelled_while_connecting_awaits_its_subtasks(
    recwarn: pytest.WarningsRecorder,
) -> None:
    """A client connects in its own tasks; one cancelled before its first step would cause a warning."""
    loop, begun, ended = LoopThread(), threading.Event(), list[str]()

    async def connect() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            ended.append("connect")

    async def work() -> None:
        here = asyncio.get_running_loop()
        begun.set()
        while not here._ready:  # type: ignore[attr-defined]
            time.sleep(0.001)  # Until the cancellation is the next step.
        await asyncio.sleep(0)
        async with anyio.create_task_group() as group:
            group.start_soon(connect)

    gc.freeze()  # what the tests before have left
    future = loop.start(work())
    assert begun.wait(30)
    loop.close()
    with pytest.raises(CancelledError):
        future.result(30)
    gc.collect()
    assert ended == ["connect"]
    assert not [each for each in recwarn.list if "connect" in str(each.message)]


def test_a_forked_child_has_its_own_thread() -> None:
    code = (
        "import asyncio, os\n"
        "from engine.providers.loop import LoopThread\n"
        "loop = LoopThread()\n"
        "assert loop.run(asyncio.sleep(0, 'parent')) == 'parent'\n"
        "child = os.fork()\n"
        "said = loop.run(asyncio.sleep(0, 'child'), timeout=30)\n"
        "if not child:\n"
        "    os._exit(said != 'child')\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_hanging_name_lookup_does_not_block_a_cancelled_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looking, release = threading.Event(), threading.Event()

    def lookup(*_: Any, **__: Any) -> list[Any]:
        looking.set()
        release.wait(60)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    monkeypatch.setenv("AUTOPOIESIS_CHAT_API_KEY", "some-key")
    provider = OpenAI("m", "http://nowhere.example/v1", purpose=CHAT)
    exchange = exchange_of(provider, lambda _text: None)

    def stop() -> None:
        assert looking.wait(60)
        exchange.cancel()

    stopping = threading.Thread(target=stop)
    stopping.start()
    assert exchange.run(600) == "openai: stopped"
    assert not release.is_set()
    release.set()
    stopping.join()


def test_the_listener_runs_on_the_waiting_thread() -> None:
    provider, heard = Scripted(["Good morning to all."]), list[tuple[str, int]]()
    exchange = exchange_of(provider, lambda text: heard.append((text, threading.get_ident())))
    assert exchange.run(9) == ""
    ((_, reply),) = exchange.done
    assert "".join(text for text, _ in heard) == reply.text == "Good morning to all."
    assert {thread for _, thread in heard} == {threading.get_ident()}
    assert provider.closed == 1


def test_an_exception_in_the_listener_ends_the_call_and_keeps_the_text() -> None:
    provider = Scripted(["Good morning."], hangs=True)

    def closed(_text: str) -> None:
        raise BrokenPipeError("the pager was closed")

    exchange = exchange_of(provider, closed)
    assert exchange.run(9) == "anthropic: unexpected BrokenPipeError"
    ((_, reply),) = exchange.done
    assert reply.text == "Good mo" and provider.closed == 1


def exchange_of(provider: ChatProvider, on_text: Callable[[str], None]) -> Exchange:
    return Exchange(
        provider,
        ChatRequest((), "Hello?", 10),
        lambda request, timeout, take: provider.chat(request, timeout=timeout, on_text=take),
        on_text=on_text,
        answer=lambda _use: "",
        on_round=lambda *_: None,
    )
