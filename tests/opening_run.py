"""A run of the program that tells what it opened and started, for ``test_openers.py``.

``python opening_run.py WORKSPACE REPORT [--sample]`` runs commands as a person would, with an audit hook of
the interpreter, and writes what that saw as JSON, in a new workspace or in the sample one. It is a program of
its own, so that nothing of pytest is seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # The program under test is the one that lies beside the tests, whatever is installed.
    sys.path.insert(0, str(Path(__file__).parents[1]))

COMMANDS = (
    "init --hooks {root}",
    "-C {root} doctor",
    "-C {root} index --verify",
    "-C {root} search deploy",
    "-C {root} trace deploy",
    "-C {root} compile --record deploy",
    "-C {root} session start --id ses_openers",
    "-C {root} topics list",
    "-C {root} config list",
    "-C {root} costs",
    "-C {root} harvest",
    "-C {root} review list",
    "-C {root} ledger list",
    "-C {root} knowledge list",
    "-C {root} notes",
    "-C {root} import",
    "-C {root} import claude-code",
    "-C {root} cache check",
)
SCREENS = "tcsCKvLh"
"""Keys of the workbench that open one."""
PATIENCE_S = 30.0

OPENED = {"open": 0, "os.listdir": 0, "os.scandir": 0, "os.chdir": 0, "ctypes.dlopen": 0}
"""Where an event names the path that is opened."""
CHANGED = {
    "os.mkdir": ((0, 2),), "os.remove": ((0, 1),), "os.rmdir": ((0, 1),), "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)), "os.symlink": ((1, 2),), "os.chmod": ((0, 2),), "os.utime": ((0, 3),),
    "os.truncate": ((0, None),), "shutil.rmtree": ((0, 1),), "shutil.copyfile": ((1, None),),
    "shutil.move": ((1, None),),
}  # fmt: skip
"""Where an event names a path that is changed, and the open folder that this is relative to."""
STARTED = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "pty.spawn")
SPOKEN = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto")


async def until(met: Callable[[], bool]) -> None:
    """Waits until something is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not met():
            await asyncio.sleep(0.02)


async def shown(root: Path) -> Iterable[str]:
    """The workbench without a terminal: a message is tried in it, and every screen opened and left.

    Returns:
        The names of the screens.
    """
    from engine.engine import Engine
    from tui.app import WorkbenchApp

    seen = []
    with Engine.open(root) as engine:
        app = WorkbenchApp(engine)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("i", "d", "ctrl+s")
            await until(lambda: len(app.screen_stack) > 1)
            for key in ("", *SCREENS):
                if key:
                    await pilot.press(key)
                    await until(lambda: len(app.screen_stack) > 1)
                    seen.append(type(app.screen).__name__)
                while len(app.screen_stack) > 1:
                    await pilot.press("escape")
                    await pilot.pause(0.05)
            await app.workers.wait_for_complete()
    return seen


def main(root: str, report: str, *sample: str) -> None:
    """Runs the commands and writes the report: lists of ``[kind, what, flags]``."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored
    seen: list[tuple[str, str, int]] = []

    def place(path: object, folder: object = None) -> str:
        if isinstance(path, int):
            return os.readlink(f"/proc/self/fd/{path}")
        text = os.fsdecode(path if isinstance(path, str | bytes | os.PathLike) else str(path))
        if isinstance(folder, int) and folder >= 0 and not os.path.isabs(text):
            return f"{os.readlink(f'/proc/self/fd/{folder}')}/{text}"
        return text

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in OPENED:
            path = arguments[0]
            if isinstance(path, int) or path is None:
                return  # open already
            flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else 0
            seen.append((event, place(path), flags))
        elif event in CHANGED:
            for at, of in CHANGED[event]:
                folder = arguments[of] if of is not None and len(arguments) > of else None
                seen.append(("change", place(arguments[at], folder), 0))
        elif event in STARTED:
            words = arguments[1] if event == "subprocess.Popen" else arguments
            seen.append(("start", json.dumps([os.fsdecode(str(word)) for word in words]), 0))
        elif event in SPOKEN:
            seen.append(("speak", f"{event} {arguments[1]}", 0))

    from tui.cli import cli
    from tui.cli.base import run
    from tui.screens.workbench import commandline

    sys.addaudithook(hook)
    ended: list[tuple[str, int, str]] = []

    def typed(command: str, meanwhile: Callable[[Callable[[], str]], bool] | None = None) -> None:
        """Runs a command; one that would not end is interrupted once ``meanwhile`` has seen enough of it."""
        sys.argv = ["autopoiesis", *command.format(root=root).split()]
        out = io.BytesIO()
        text = io.TextIOWrapper(out, "utf-8", write_through=True)

        def said() -> str:
            return out.getvalue().decode()

        def watched() -> None:
            until = time.monotonic() + PATIENCE_S
            while meanwhile and not meanwhile(said) and time.monotonic() < until:
                time.sleep(0.05)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        other = threading.Thread(target=watched)
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            if meanwhile:
                other.start()
            code = run(cli)
            if meanwhile:
                other.join()
        ended.append((command, code, said()[-300:]))

    def asked(said: Callable[[], str]) -> bool:
        """Asks the server for its caches, once it has said where it is."""
        lines = said().splitlines()
        address = re.search(r"http://([\d.]+):(\d+)", lines[0]) if len(lines) > 1 else None
        if address is None:
            return False
        host, port = address[1], int(address[2])
        head = f"GET /api/cache HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {lines[1]}\r\n"
        with socket.socket() as client:
            client.connect((host, port))
            client.sendall(f"{head}Connection: close\r\n\r\n".encode())
            ended.append(("GET /api/cache", 0, client.recv(1000).decode()))
        return True

    def changed(said: Callable[[], str]) -> bool:
        """Changes a file until that is told."""
        with (Path(root) / "knowledge" / "watched.md").open("a") as file:
            file.write("- seen\n")
        return "watched.md" in said()

    for command in (" ".join(("init", *sample, "{root}")), *COMMANDS):
        typed(command)
    typed("-C {root} serve --port 0 --show-token", asked)
    typed("-C {root} watch --json", changed)
    ended.append(("workbench", 0, " ".join(asyncio.run(shown(Path(root))))))
    ended.append((":topics list", 0, commandline.run_line(Path(root), "topics list")[-300:]))
    with open(report, "w") as file:
        json.dump({"seen": list(dict.fromkeys(seen)), "ended": ended}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
