"""``autopoiesis-hook AGENT [-C DIR]``: the program an agent runs for each event, in a new process.

It passes the event to a workbench or server that has the workspace open, over a Unix socket, and prints the
reply. If none is running, it does the work itself (``standalone``). It never blocks an agent: whatever
happens, it ends in time with exit code 0.

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
    is_private,
    socket_folder,
    socket_path,
)

SWITCH = "AUTOPOIESIS_HOOKS"
"""``off`` in the environment disables the hooks, including for agents that we run ourselves."""

_GRACE_S = 0.02
_HERE_PART = 0.2
"""The part of the time within which a program that listens says so; one that was stopped never does."""
_ALONE_PART = 0.3
"""The part of the time that is kept for doing the work here, should the program that listens be too slow."""
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
    try:
        answer = _request(folder, agent, payload, until - _ALONE_PART * SECONDS)
    except OSError:
        answer = None
    if answer is None and time.monotonic() < until:
        from engine.agents.standalone import answer_standalone  # noqa: PLC0415 — loads the engine

        answer = answer_standalone(agent, folder, payload, until - time.monotonic())
    if answer:
        sys.stdout.buffer.write(answer)
        sys.stdout.flush()


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
    """The reply of the program that has the workspace open; ``None`` if there is none.

    Raises:
        OSError: It cannot be asked, or does not answer in time.
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
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
            connection.settimeout(max(0.001, until - time.monotonic()))
    return answer.removeprefix(HERE + DONE) if answer.startswith(HERE + DONE) else None
