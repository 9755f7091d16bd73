"""``autopoiesis-hook AGENT [-C DIR]``: the program an agent runs for each event, in a new process.

It passes the event to a program that has the workspace open, over a Unix socket, and prints the reply. If
there is none, one hook loads the engine and does the work itself (``standalone``); others that run meanwhile
wait until it listens. A hook never blocks an agent: whatever happens, it ends in time with exit code 0.

Only modules that are cheap to import are used here.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time

from engine.agents.wire import (
    DONE,
    GREETING,
    HERE,
    MAX_BYTES,
    SECONDS,
    STARTING,
    Lock,
    detach,
    is_private,
    make_socket_folder,
    socket_folder,
    socket_path,
    take_lock,
)

SWITCH = "AUTOPOIESIS_HOOKS"
"""``off`` in the environment disables the hooks, including for agents that we run ourselves."""

_GRACE_S = 0.02
_HERE_PART = 0.2
"""The part of the time within which a program that listens says so; one that was stopped never does."""
_PAUSES_S = 0.02, 0.1
"""The first and the longest pause while another hook loads the engine."""
_STOPPED_S = 30.0
"""The time after which a hook that loads the engine is not waited for."""
_LATE_S = 60.0
"""The time for passing on an event when the agent has stopped waiting."""
_OLDEST_S = 60.0
"""An age of this process beyond this is not believed: not every kernel tells when a process was started."""


def main() -> None:
    try:
        _run(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 — no error here may stop the agent
        from engine.agents.failures import note_failure  # noqa: PLC0415 — rarely needed

        note_failure(f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)  # interpreter shutdown would take as long as everything above


def _run(arguments: list[str]) -> None:
    until = time.monotonic() + SECONDS - _age()
    if os.environ.get(SWITCH) == "off" or not arguments:
        return
    agent, folder = arguments[0], _workspace(arguments[1:])
    payload = _read_stdin(until)
    if not payload:
        return
    if answer := _answer(folder, agent, payload, until):
        sys.stdout.buffer.write(answer)
        sys.stdout.flush()


def _answer(folder: str, agent: str, payload: bytes, until: float) -> bytes:
    """From the program that has the workspace open, which another hook may be starting; else from here."""
    pause, longest = _PAUSES_S
    end = until
    while True:
        try:
            answer = _request(folder, agent, payload, until)
        except OSError:
            answer = None
        if answer is not None:
            return answer
        is_ours, lock = _turn(folder)
        if is_ours:
            from engine.agents.standalone import answer_standalone  # noqa: PLC0415 — loads the engine

            return answer_standalone(agent, folder, payload, until - time.monotonic(), lock)
        if time.monotonic() + pause > end:
            if end > until or os.fork():
                return b""
            # The agent goes on, but its session may have to be captured.
            detach()
            end = until + _LATE_S
        time.sleep(pause)
        pause = min(2 * pause, longest)


def _turn(workspace: str) -> tuple[bool, Lock | None]:
    """Whether to do the work here, and the lock that makes other hooks wait for it, if it can be had.

    One that is held for very long is ignored: the hook that holds it was stopped.
    """
    try:
        make_socket_folder()
        path = f"{socket_path(workspace)}{STARTING}"
        lock = take_lock(path)
        is_ours = lock is not None or time.time() - os.stat(path).st_mtime > _STOPPED_S  # noqa: PTH116
    except FileNotFoundError:
        return not os.path.exists(workspace), None  # noqa: PTH110 — it was released just now
    except OSError:
        return True, None
    return is_ours, lock


def _age() -> float:
    """Seconds since this process was started, most of them spent on loading Python; 0 if unknown."""
    try:
        with open("/proc/self/stat", "rb") as stream:  # noqa: PTH123 — importing pathlib takes too long here
            started = int(stream.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return age if 0 < age < _OLDEST_S else 0.0


def _workspace(arguments: list[str]) -> str:
    """As for every command: ``-C``, ``$AUTOPOIESIS_HOME`` or ``~/.autopoiesis``."""
    if len(arguments) == 2 and arguments[0] == "-C":
        return os.path.expanduser(arguments[1])  # noqa: PTH111 — importing pathlib takes too long here
    return os.path.expanduser(os.environ.get("AUTOPOIESIS_HOME") or "~/.autopoiesis")  # noqa: PTH111


def _read_stdin(until: float) -> bytes:
    """The event on standard input: one JSON object. Not every agent closes the stream."""
    parts: list[bytes] = []
    size, may_be_all = 0, False
    while size < MAX_BYTES:
        left = max(0.0, until - time.monotonic())
        if not select.select([0], [], [], min(left, _GRACE_S) if may_be_all else left)[0]:
            if not may_be_all or _is_json(b"".join(parts)):
                break
            may_be_all = False  # a slow agent paused after a brace in the middle
            continue
        part = os.read(0, 1 << 16)
        if not part:
            break
        parts.append(part)
        size += len(part)
        may_be_all = part.rstrip().endswith(b"}")
    return b"".join(parts)


def _is_json(data: bytes) -> bool:
    import json  # noqa: PLC0415 — only for a stream that stays open

    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _request(workspace: str, agent: str, payload: bytes, until: float) -> bytes | None:
    """The reply of the program that has the workspace open; ``None`` if there is none, empty if it is late.

    Raises:
        OSError: It cannot be asked.
    """
    address = socket_path(workspace)
    if not is_private(socket_folder()):
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_HERE_PART * SECONDS)
        connection.connect(address)
        left = max(0, round((until - time.monotonic()) * 1000))
        connection.sendall(GREETING + f"{agent} {left}\n".encode() + payload)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(1 << 16)
        try:
            while answer and (part := _received(connection, until)):
                answer += part
        except TimeoutError:
            return b""  # it handles the event nevertheless
    return answer.removeprefix(HERE + DONE) if answer.startswith(HERE + DONE) else None


def _received(connection: socket.socket, until: float) -> bytes:
    connection.settimeout(max(0.001, until - time.monotonic()))
    return connection.recv(1 << 16)
