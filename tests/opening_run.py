"""A run of the program that reports what it opened and started, for ``test_openers.py``.

``python opening_run.py WORKSPACE REPORT [--sample]`` runs commands as a person would, in a new workspace or
in the sample one, and writes the events seen by an audit hook as JSON. It is a separate program so that
nothing done by pytest is recorded.
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
    # Test the program next to the tests, even if another version is installed.
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
"""Keys that open a screen of the workbench."""
PATIENCE_S = 30.0

OPENED = {"open": 0, "os.listdir": 0, "os.scandir": 0, "os.chdir": 0, "ctypes.dlopen": 0}
"""By event: the index of the argument with the opened path."""
CHANGED = {
    "os.mkdir": ((0, 2),), "os.remove": ((0, 1),), "os.rmdir": ((0, 1),), "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)), "os.symlink": ((1, 2),), "os.chmod": ((0, 2),), "os.utime": ((0, 3),),
    "os.truncate": ((0, None),), "shutil.rmtree": ((0, 1),), "shutil.copyfile": ((1, None),),
    "shutil.move": ((1, None),),
}  # fmt: skip
"""By event: the indexes of each changed path and of the open folder it is relative to."""
STARTED = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "pty.spawn")
NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto")


async def until(met: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    async with asyncio.timeout(PATIENCE_S):
        while not met():
            await asyncio.sleep(0.02)


async def open_screens(root: Path) -> Iterable[str]:
    """Run the workbench without a terminal: try a message, then open and leave every screen.

    Returns:
        The names of the screens.
    """
    import textual.app

    from engine.engine import Engine
    from tui.app import WorkbenchApp

    async def briefly(*_: float) -> None:
        """In place of waiting, up to a second, until the engine's threads take no processor."""
        await asyncio.sleep(0.02)

    vars(textual.app)["wait_for_idle"] = briefly
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
    """Run the commands and write the report: lists of ``[kind, what, flags]``."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
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
                return  # already open
            flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else 0
            seen.append((event, place(path), flags))
        elif event in CHANGED:
            for at, of in CHANGED[event]:
                folder = arguments[of] if of is not None and len(arguments) > of else None
                seen.append(("change", place(arguments[at], folder), 0))
        elif event in STARTED:
            words = arguments[1] if event == "subprocess.Popen" else arguments
            seen.append(("start", json.dumps([os.fsdecode(str(word)) for word in words]), 0))
        elif event in NETWORK:
            seen.append(("speak", f"{event} {arguments[1]}", 0))

    from engine.activation.scorer import texts
    from tui.cli import cli
    from tui.cli.base import run
    from tui.screens.workbench import commandline

    few = texts.nothing()[::10]
    vars(texts)["nothing"] = lambda: few  # a fit against all of them takes seconds and opens nothing else
    sys.addaudithook(hook)
    ended: list[tuple[str, int, str]] = []

    def run_command(command: str, is_done: Callable[[Callable[[], str]], bool] | None = None) -> None:
        """Run a command; interrupt it once ``is_done`` returns true for its output."""
        sys.argv = ["autopoiesis", *command.format(root=root).split()]
        out = io.BytesIO()
        text = io.TextIOWrapper(out, "utf-8", write_through=True)

        def output() -> str:
            return out.getvalue().decode()

        def wait_and_interrupt() -> None:
            until = time.monotonic() + PATIENCE_S
            while is_done and not is_done(output) and time.monotonic() < until:
                time.sleep(0.05)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        other = threading.Thread(target=wait_and_interrupt)
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            if is_done:
                other.start()
            code = run(cli)
            if is_done:
                other.join()
        ended.append((command, code, output()[-600:]))

    def query_server(output: Callable[[], str]) -> bool:
        """Query the server's caches once it has printed its address."""
        lines = output().splitlines()
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

    def trigger_watch(output: Callable[[], str]) -> bool:
        """Change a file; return whether the change was reported."""
        with (Path(root) / "knowledge" / "watched.md").open("a") as file:
            file.write("- seen\n")
        return "watched.md" in output()

    for command in (" ".join(("init", *sample, "{root}")), *COMMANDS):
        run_command(command)
    run_command("-C {root} serve --port 0 --show-token", query_server)
    run_command("-C {root} watch --json", trigger_watch)
    ended.append(("workbench", 0, " ".join(asyncio.run(open_screens(Path(root))))))
    ended.append((":topics list", 0, commandline.run_line(Path(root), "topics list")[-600:]))
    with open(report, "w") as file:
        json.dump({"seen": list(dict.fromkeys(seen)), "ended": ended}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
