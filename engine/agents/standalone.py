"""Answers a hook without a running workbench or server: loads the engine for this one event.

A background process keeps the workspace open for a while and listens (``hooks.linger_minutes``), so that only
the first prompt waits for the engine to load. It also does the work the agent does not wait for and runs due
jobs. A workbench that is opened later takes over.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

from engine.agents.call import HookCall, read_call
from engine.agents.contracts import WAITED_FOR
from engine.agents.failures import note_failure
from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.agents.hooks import Later
    from engine.engine import Engine

_POLL_S = 0.02


def answer_standalone(agent: str, workspace: str, payload: bytes, seconds: float) -> bytes:
    """The output of the hook.

    Args:
        seconds: After which the process ends without injecting anything.
    """
    try:
        call = read_call(agent, payload)
    except AutopoiesisError as error:
        note_failure(str(error))
        return b""
    if call is None:
        return b""
    until = time.monotonic() + seconds
    is_waited_for = call.event.moment in WAITED_FOR
    parent = os.getpid()
    gc.disable()  # the process is short-lived; collection would take a twentieth of its time
    if not os.fork():
        gc.enable()
        _detach(parent, seconds)
        _linger(call, workspace, b"" if is_waited_for else payload)
        os._exit(0)
    if not is_waited_for:
        return call.contract.silence.encode()
    _set_deadline(seconds, call)
    try:
        from engine.context import tokens  # noqa: PLC0415 — loads the prompt code

        with _opened(workspace, call) as engine, tokens.remembering():
            # The background process does the rest.
            return _answer(engine, call, payload, lambda _job: None, until)
    except AutopoiesisError as error:
        note_failure(f"{call.contract.agent} {call.event.moment}: {error}")
        return call.contract.silence.encode()


def _opened(workspace: str, call: HookCall) -> Engine:
    from engine.engine import Engine  # noqa: PLC0415 — takes a third of a second
    from engine.events import EngineEvent, ErrorReported  # noqa: PLC0415 — likewise

    def report(event: EngineEvent) -> None:
        if isinstance(event, ErrorReported):
            note_failure(f"{call.contract.agent} {call.event.moment}: {event.text}")

    engine = Engine.open(workspace)
    engine.subscribe(report)
    return engine


def _answer(
    engine: Engine, call: HookCall, payload: bytes, later: Later, until: float | None = None
) -> bytes:
    from engine.agents.hooks import Hooks  # noqa: PLC0415 — loads the engine

    return Hooks(engine, later).answer(call.contract.agent, payload, until).encode()


def _detach(parent: int, seconds: float) -> None:
    """Detaches from the agent: new process session, no terminal. Returns once the hook has ended."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    until = time.monotonic() + seconds + 1
    while os.getppid() == parent and time.monotonic() < until:
        time.sleep(_POLL_S)


def _linger(call: HookCall, workspace: str, payload: bytes) -> None:
    """Does the work the agent did not wait for, then listens for a while."""
    from engine.agents.listener import linger  # noqa: PLC0415 — loads the engine

    try:
        os.chdir(workspace)
        with _opened(".", call) as engine:
            engine.recover()
            if payload:
                _answer(engine, call, payload, lambda job: job())
            minutes = engine.config.hooks.linger_minutes
            if minutes:
                # Journals, rules and maintenance also happen if the workbench is never opened.
                engine.schedule.start("hooks")
                linger(engine, minutes * 60)
    except (AutopoiesisError, OSError) as error:
        note_failure(f"{call.contract.agent} {call.event.moment}, in the background: {error}")


def _set_deadline(seconds: float, call: HookCall) -> None:
    """Ends the process when its time is up, since the agent is waiting; no write is left half done."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        note_failure(f"{call.contract.agent} {call.event.moment}: timed out after {seconds:.0f} s")
        sys.stdout.buffer.write(call.contract.silence.encode())
        sys.stdout.flush()
        os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
