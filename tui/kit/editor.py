"""Which editor a person wants, how it is run, and which file a row stands for."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from engine.store import programs

FALLBACKS = ("nano", "vim", "vi", "emacs")


PLUS_LINE = frozenset(
    {"nano", "pico", "vim", "vi", "nvim", "view", "gvim", "emacs", "emacsclient", "micro", "kak", "joe",
     "jed", "ne", "mg", "gedit"}
)  # fmt: skip
"""Editors that take ``+12`` before a file."""
COLON_LINE = frozenset({"hx", "helix", "subl", "zed"})
"""Editors that take ``file:12``."""
GOTO_LINE = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
"""Editors that take ``--goto file:12``."""


def editor_command(path: Path, environment: Mapping[str, str] | None = None, *, line: int = 0) -> list[str]:
    """The command that opens a file: ``$VISUAL``, ``$EDITOR``, or the first usual editor that is there.

    Args:
        environment: Where the variables are looked up; the process's own by default.
        line: The line to go to, from 1; editors that are not known to take one open the file as always.

    Returns:
        Program and arguments; empty where there is no editor at all.
    """
    environment = os.environ if environment is None else environment
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environment.get(name, ""))
        except ValueError:
            continue
        if words:
            return [*words, *_at(path, words[0], line)]
    found = next((program for program in FALLBACKS if programs.find(program)), None)
    return [found, *_at(path, found, line)] if found else []


def _at(path: Path, program: str, line: int) -> list[str]:
    name = Path(program).stem
    if line < 1:
        return [str(path)]
    if name in PLUS_LINE:
        return [f"+{line}", str(path)]
    if name in GOTO_LINE:
        return ["--goto", f"{path}:{line}"]
    return [f"{path}:{line}" if name in COLON_LINE else str(path)]


def with_terminal(command: list[str]) -> tuple[int, str]:
    """Runs a program that has the terminal meanwhile.

    Ctrl+C and ctrl+\\ reach every process of the terminal's foreground group; they are meant for the program.

    Args:
        command: Program, by its full path, and arguments.

    Returns:
        Its exit code, and why it could not be started; empty where it was. It never raises ``OSError``: one
        that leaves ``App.suspend`` would leave the application suspended.
    """
    # Handlers, not SIG_IGN: the program would inherit that.
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        return subprocess.run(command, env=programs.surroundings(), check=False).returncode, ""
    except OSError as error:
        return 0, error.strerror or str(error)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def file_of(root: Path, *candidates: str) -> str:
    """The first candidate that names a regular file inside the workspace, relative to it; else empty.

    Args:
        candidates: Relative paths; a ``#…`` behind one (the key of a turn) is not part of it.
    """
    for candidate in candidates:
        relative = candidate.partition("#")[0]
        if not relative or "\0" in relative or len(relative) > 1024 or relative.startswith("/"):
            continue
        try:
            path = (root / relative).resolve()
            if path.is_relative_to(root.resolve()) and path.is_file():
                return relative
        except (OSError, ValueError, RuntimeError):
            continue
    return ""
