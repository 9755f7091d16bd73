"""``autopoiesis-hook AGENT [-C DIR]``: what an agent runs at its events, a new process for each.

It passes the event to a workbench or server that has the workspace open, over a Unix socket, and prints the
reply. If none is running it does the work itself (``alone``). It never blocks an agent: whatever happens, it
ends in time with exit code 0.

Only modules that are cheap to import are used here.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time

from engine.agents.wire import DONE, GREETING, MOST_BYTES, SECONDS, address_of, is_own, socket_folder

SWITCH = "AUTOPOIESIS_HOOKS"
"""``off`` in the environment disables the hooks, also for agents that we run ourselves."""

_AFTER_THE_END_S = 0.02


def main() -> None:
    """The entry point."""
    try:
        _run(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 — nothing that goes wrong here may stop the agent
        from engine.agents.failures import note_failure  # noqa: PLC0415 — rarely needed

        note_failure(f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)  # interpreter shutdown would take as long as everything above


def _run(arguments: list[str]) -> None:
    until = time.monotonic() + SECONDS
    if os.environ.get(SWITCH) == "off" or not arguments:
        return
    agent, folder = arguments[0], _workspace(arguments[1:])
    payload = _said(until)
    if not payload:
        return
    try:
        answer = _asked(folder, agent, payload, until)
    except OSError:
        answer = None
    if answer is None and time.monotonic() < until:
        from engine.agents.alone import answer_alone  # noqa: PLC0415 — loads the engine

        answer = answer_alone(agent, folder, payload, until - time.monotonic())
    if answer:
        sys.stdout.buffer.write(answer)
        sys.stdout.flush()


def _workspace(arguments: list[str]) -> str:
    """As for every command: ``-C``, ``$AUTOPOIESIS_HOME`` or ``~/.autopoiesis``."""
    if len(arguments) == 2 and arguments[0] == "-C":
        return os.path.expanduser(arguments[1])  # noqa: PTH111 — importing pathlib takes too long here
    return os.path.expanduser(os.environ.get("AUTOPOIESIS_HOME") or "~/.autopoiesis")  # noqa: PTH111


def _said(until: float) -> bytes:
    """The event on standard input: one JSON object. Not every agent closes the stream."""
    parts: list[bytes] = []
    size, wait = 0, until - time.monotonic()
    while size < MOST_BYTES and select.select([0], [], [], max(0.0, wait))[0]:
        part = os.read(0, 1 << 16)
        if not part:
            break
        parts.append(part)
        size += len(part)
        seems_whole = part.rstrip().endswith(b"}")
        wait = _AFTER_THE_END_S if seems_whole else until - time.monotonic()
    return b"".join(parts)


def _asked(workspace: str, agent: str, payload: bytes, until: float) -> bytes | None:
    """The reply of the program that has the workspace open; ``None`` if there is none."""
    address = address_of(workspace)
    if not is_own(socket_folder()):
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(max(0.1, until - time.monotonic()))
        connection.connect(address)
        connection.sendall(GREETING + agent.encode() + b"\n" + payload)
        connection.shutdown(socket.SHUT_WR)
        parts: list[bytes] = []
        while part := connection.recv(1 << 16):
            parts.append(part)
    answer = b"".join(parts)
    return answer[len(DONE) :] if answer.startswith(DONE) else None
