"""Answers a hook without a running workbench or server: loads the engine for this one event.

A background process keeps the workspace open for a while and listens (``hooks.linger_minutes``), so that only
the first prompt waits for the engine to load; hooks that run meanwhile are answered by it. It also does the
work the agent does not wait for and runs due jobs. A workbench that is opened later takes over.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from engine.agents.call import HookCall, read_call
from engine.agents.contracts import WAITED_FOR
from engine.agents.failures import note_failure
from engine.agents.wire import SECONDS, Lock, detach
from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.engine import Engine

_POLL_S = 0.02


def answer_standalone(
    agent: str, workspace: str, payload: bytes, seconds: float, lock: Lock | None = None
) -> bytes:
    """The output of the hook.

    Args:
        seconds: After which the process ends without injecting anything.
        lock: Makes other hooks wait; closed as soon as they need not.
    """
    try:
        call = read_call(agent, payload)
    except AutopoiesisError as error:
        note_failure(str(error))
        return b""
    if call is None:
        return b""
    silence = call.contract.silence.encode()
    until = time.monotonic() + seconds
    is_waited_for = call.event.moment in WAITED_FOR
    if is_waited_for:
        signal.signal(signal.SIGALRM, partial(_end, call, False))
        if seconds > 0:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        else:
            _end(call, is_loaded=False)
        gc.disable()  # the process is short-lived; collection would take a twentieth of its time
        # As in ``autopoiesis``: the matrices are small, and numpy's threads cost more than they save.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from engine.agents.hooks import Hooks  # noqa: PLC0415 — loads the engine, once for both processes
        from engine.agents.listener import linger  # noqa: F401, PLC0415 — as above
        from engine.context import tokens  # noqa: PLC0415 — loads the prompt code
        from engine.engine import Engine  # noqa: F401, PLC0415 — as above
    parent = os.getpid()
    if not os.fork():
        _in_background(call, parent, workspace, b"" if is_waited_for else payload, lock)
    if not is_waited_for:
        return silence
    signal.signal(signal.SIGALRM, partial(_end, call, True))
    try:
        with _opened(workspace, call) as engine, tokens.remembering():
            # The background process does the rest.
            return Hooks(engine, lambda _job: None).answer(call.contract.agent, payload, until).encode()
    except AutopoiesisError as error:
        note_failure(f"{call.contract.agent} {call.event.moment}: {error}")
        return silence


def _opened(workspace: str, call: HookCall) -> Engine:
    from engine.engine import Engine  # noqa: PLC0415 — takes a third of a second
    from engine.events import EngineEvent, ErrorReported  # noqa: PLC0415 — likewise

    def report(event: EngineEvent) -> None:
        if isinstance(event, ErrorReported):
            note_failure(f"{call.contract.agent} {call.event.moment}: {event.text}")

    engine = Engine.open(workspace)
    engine.is_patient = False
    engine.subscribe(report)
    return engine


def _in_background(
    call: HookCall, parent: int, workspace: str, payload: bytes, lock: Lock | None
) -> NoReturn:
    """Detaches from the agent, listens for a while, and does the work the agent does not wait for.

    Args:
        parent: The hook. No work is done before it has ended.
        payload: The event, unless it is answered already.
    """
    try:
        gc.enable()
        detach()
        with _opened(workspace, call) as engine:
            os.chdir(workspace)
            minutes = 0 if engine.files.read_only else engine.config.hooks.linger_minutes

            def work() -> None:
                if lock is not None:
                    lock.close()
                _wait_for_end(parent)
                engine.recover()
                if payload:
                    Hooks(engine).answer(call.contract.agent, payload)
                engine.pipeline.relearn()
                if minutes:
                    # Journals, rules and maintenance also happen if the workbench is never opened.
                    engine.schedule.start("hooks")
                    engine.catch_up_index()

            from engine.agents.hooks import Hooks  # noqa: PLC0415 — loads the engine
            from engine.agents.listener import linger  # noqa: PLC0415 — likewise

            if minutes:
                linger(engine, minutes * 60, work)
            else:
                work()
    except Exception as error:  # noqa: BLE001 — there is nobody to raise it to
        note_failure(f"{call.contract.agent} {call.event.moment}, in the background: {error}")
    finally:
        os._exit(0)


def _wait_for_end(parent: int) -> None:
    until = time.monotonic() + SECONDS + 1
    while os.getppid() == parent and time.monotonic() < until:
        time.sleep(_POLL_S)


def _end(call: HookCall, is_loaded: bool, _signal: int = 0, _frame: FrameType | None = None) -> None:
    """Lets the agent go on when its time is up; no write is left half done.

    What is not loaded yet is loaded to the end, in another process, for the hooks that wait for it.
    """
    note_failure(f"{call.contract.agent} {call.event.moment}: timed out")
    sys.stdout.buffer.write(call.contract.silence.encode())
    sys.stdout.flush()
    if is_loaded or os.fork():
        os._exit(0)
    detach()
