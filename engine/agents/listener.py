"""Answers hooks for a workspace that is open in this process, over a local socket.

The first program to open a workspace listens for it; when it ends, another one takes over. A background
process that only lingers after a hook stops when a workbench or server starts.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from engine.agents.hooks import Hooks
from engine.agents.wire import (
    DONE,
    GREETING,
    HERE,
    LEAVE,
    MAX_BYTES,
    SECONDS,
    make_socket_folder,
    socket_path,
    take_lock,
)

if TYPE_CHECKING:
    from engine.engine import Engine

_RETRY_S = 2.0
_READY_S = 0.005
_REQUEST_S = 5.0
_MAX_CONNECTIONS = 512
"""Maximum number of hooks that are heard; any further hook tries again."""
_MAX_CONCURRENT = 4
"""Maximum number of hooks that are answered at the same time, in the order in which they came."""
_JOIN_S = 10.0


@contextlib.contextmanager
def listening(engine: Engine) -> Iterator[None]:
    """Answers hooks inside the ``with`` block, unless the workspace is read-only."""
    if engine.files.read_only:
        yield
        return
    listener = Listener(engine)
    listener.start()
    try:
        yield
    finally:
        listener.stop()


def linger(engine: Engine, seconds: float, started: Callable[[], None]) -> None:
    """Answers hooks until there have been none for ``seconds``, or another program wants to listen.

    Args:
        started: Called as soon as hooks are answered, here or by another program.
    """
    listener = Listener(engine, lingers=True)
    listener.start()
    try:
        while not listener.listening.is_set() and not listener.wait_to_leave(_READY_S):
            pass
        started()
        while not listener.wait_to_leave(_RETRY_S) and time.monotonic() - listener.used < seconds:
            pass
    finally:
        listener.stop()


class Listener:
    """Answers the hooks of one workspace in threads, from ``start`` to ``stop``.

    Args:
        lingers: Stop when another program wants to listen, or is already listening.

    Attributes:
        listening: Set while listening.
        used: Time of the last request, by the monotonic clock.
    """

    def __init__(self, engine: Engine, *, lingers: bool = False) -> None:
        self._engine = engine
        self._lingers = lingers
        self._leaving = threading.Event()
        self.used = time.monotonic()
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._hooks = Hooks(engine, self._jobs.put)
        self._connections = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self._slots = threading.BoundedSemaphore(_MAX_CONCURRENT)
        self._stopping = threading.Event()
        self._socket: socket.socket | None = None
        self.listening = threading.Event()
        self._threads = [
            threading.Thread(target=self._listen, name="autopoiesis-hooks", daemon=True),
            threading.Thread(target=self._work, name="autopoiesis-captures", daemon=True),
        ]

    def start(self) -> None:
        """Starts listening, or waiting for the listening program to end."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stops listening, and finishes the work in progress."""
        self._stopping.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._jobs.put(None)
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(timeout=_JOIN_S)

    def wait_to_leave(self, seconds: float) -> bool:
        """Waits for up to ``seconds``; returns whether to stop listening."""
        return self._leaving.wait(seconds)

    def _listen(self) -> None:
        reported = ""
        while not self._stopping.is_set():
            try:
                self._serve()
            except OSError as error:  # such as too many open files, or a folder that is not mounted
                if self._lingers:
                    self._leaving.set()
                if str(error) != reported:
                    reported = str(error)
                    self._engine.report_error(f"cannot listen for agents: {reported}")
            self._stopping.wait(_RETRY_S)

    def _serve(self) -> None:
        """Answers hooks until stopped; returns at once if another program does."""
        make_socket_folder()
        address = socket_path(str(self._engine.workspace.root))
        lock = take_lock(f"{address}.lock")
        if lock is None:
            if self._lingers:
                self._leaving.set()
            else:
                _ask_to_leave(address)
            return
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as listening, contextlib.closing(lock):
            _bind(listening, address)
            self._socket = listening
            self.listening.set()
            try:
                self._accept(listening, address)
            finally:
                self.listening.clear()
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(address)  # noqa: PTH108

    def _accept(self, listening: socket.socket, address: str) -> None:
        """Answers connections until stopped, or until the workspace is no longer at ``address``."""
        while not self._stopping.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                if self._stopping.is_set():
                    return
                raise
            if not self._is_here(address):
                # It was moved or deleted: a hook that finds it at its new place does the work itself.
                connection.close()
                if self._lingers:
                    self._leaving.set()
                return
            if not self._connections.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _is_here(self, address: str) -> bool:
        """Whether the workspace that is open here still has that socket."""
        try:
            return socket_path(str(self._engine.workspace.root)) == address
        except OSError:
            return False

    def _answer(self, connection: socket.socket) -> None:
        try:
            # A client that has disconnected in the meantime needs no answer.
            with connection, contextlib.suppress(OSError):
                self.used = asked = time.monotonic()
                connection.settimeout(_REQUEST_S)
                with contextlib.suppress(OSError):  # one that asks to leave does not wait for anything
                    connection.sendall(HERE)
                request = _read(connection)
                head, found, payload = request.removeprefix(GREETING).partition(b"\n")
                agent, _, left = head.decode("utf-8", "replace").partition(" ")
                if request == LEAVE:
                    if self._lingers:
                        self._leaving.set()
                elif found and request.startswith(GREETING):
                    until = asked + (int(left) / 1000 if left.isdecimal() else SECONDS)
                    with self._slots:
                        answer = self._hooks.answer(agent, payload, until)
                    connection.sendall(DONE + answer.encode("utf-8", "replace"))
        finally:
            self._connections.release()

    def _work(self) -> None:
        """Captures sessions, one at a time."""
        while (job := self._jobs.get()) is not None:
            job()


def _bind(listening: socket.socket, address: str) -> None:
    """Makes a socket accept connections at ``address``, where one may be left by a program that was killed.

    It gets that name once it listens, so that no client finds a socket that refuses it.
    """
    unready = f"{address}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(unready)  # noqa: PTH108
    listening.bind(unready)
    listening.listen(128)
    os.replace(unready, address)  # noqa: PTH105


def _ask_to_leave(address: str) -> None:
    """Asks the listening program to stop, which it does if it only lingers."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_REQUEST_S)
        connection.connect(address)
        connection.sendall(LEAVE)


def _read(connection: socket.socket) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size <= MAX_BYTES and (part := connection.recv(1 << 16)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)
