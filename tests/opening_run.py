"""A run of the program that tells what it opened and started, for ``test_openers.py``.

``python opening_run.py WORKSPACE REPORT`` runs commands as a person would, with an audit hook of the
interpreter, and writes what that saw as JSON. It is a program of its own, so that nothing of pytest is seen.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

COMMANDS = (
    "init --sample {root}",
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
    "-C {root} cache check",
)

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


def main(root: str, report: str) -> None:
    """Runs the commands and writes the report: lists of ``[kind, what, flags]``."""
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
            seen.append(("speak", repr(arguments[1:]), 0))

    from tui import commandline
    from tui.cli import cli
    from tui.cli.base import run

    sys.addaudithook(hook)
    ended = []
    for command in COMMANDS:
        sys.argv = ["autopoiesis", *command.format(root=root).split()]
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run(cli)
        out.seek(0)
        ended.append((command, code, out.read()[-300:]))
    ended.append((":topics list", 0, commandline.run_line(Path(root), "topics list")[-300:]))
    with open(report, "w") as file:
        json.dump({"seen": list(dict.fromkeys(seen)), "ended": ended}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
