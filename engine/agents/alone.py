"""A hook where no workbench or server has the workspace open: the engine is loaded for this one event."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from engine.agents.call import HookCall, read_call
from engine.agents.failures import note_failure
from engine.errors import AutopoiesisError

_WAITED_FOR = ("session_start", "prompt")
_BEHIND_S = 300
"""Seconds after which what no agent waits for is given up."""


def answer_alone(agent: str, workspace: str, payload: bytes, seconds: float) -> bytes:
    """What the agent is told. What it need not wait for is done by a process of its own.

    Args:
        seconds: Until the process ends, with nothing said.
    """
    try:
        call = read_call(agent, payload)
    except AutopoiesisError as error:
        note_failure(str(error))
        return b""
    if call is None:
        return b""
    if call.event.moment not in _WAITED_FOR:
        if not _in_background(call):
            return call.contract.silence.encode()
        seconds = _BEHIND_S
    _end_after(seconds, call)
    return _answered(call, agent, workspace, payload)


def _answered(call: HookCall, agent: str, workspace: str, payload: bytes) -> bytes:
    from engine.agents.hooks import Hooks  # noqa: PLC0415 — brings the engine
    from engine.engine import Engine  # noqa: PLC0415 — likewise
    from engine.events import EngineEvent, Trouble  # noqa: PLC0415 — likewise

    def tell(event: EngineEvent) -> None:
        if isinstance(event, Trouble):
            note_failure(f"{call.contract.agent} {call.event.moment}: {event.text}")

    try:
        with Engine.open(workspace) as engine:
            engine.subscribe(tell)
            if call.event.moment not in _WAITED_FOR:
                engine.recover()
            return Hooks(engine).answer(agent, payload).encode()
    except AutopoiesisError as error:
        note_failure(f"{call.contract.agent} {call.event.moment}: {error}")
        return call.contract.silence.encode()


def _in_background(call: HookCall) -> bool:
    """Goes on in a process of its own, which nothing waits for; whether this is that process."""
    if os.fork():
        return False
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    return True


def _end_after(seconds: float, call: HookCall) -> None:
    """Ends the process when its time is over: an agent waits for it, and nothing is half written then."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        note_failure(f"{call.contract.agent} {call.event.moment}: not done within {seconds:.0f} s")
        sys.stdout.buffer.write(call.contract.silence.encode())
        sys.stdout.flush()
        os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
