"""The user's editor: which one, how it is run, and which file it opens."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from engine.errors import PathRefused
from engine.store import programs
from engine.store.paths import Workspace

FALLBACKS = ("nano", "vim", "vi", "emacs")
PLUS_LINE = frozenset(
    {"nano", "pico", "vim", "vi", "nvim", "view", "gvim", "emacs", "emacsclient", "micro", "kak", "joe",
     "jed", "ne", "mg", "gedit"}
)  # fmt: skip
"""Editors that accept ``+12 file``."""
COLON_LINE = frozenset({"hx", "helix", "subl", "zed"})
"""Editors that accept ``file:12``."""
GOTO_LINE = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
"""Editors that accept ``--goto file:12``."""


def editor_command(path: Path, environment: Mapping[str, str] | None = None, *, line: int = 0) -> list[str]:
    """The command that opens a file in ``$VISUAL``, ``$EDITOR``, or the first common editor found.

    Args:
        line: The line to go to, from 1; ignored if the editor is not known to accept one.

    Returns:
        Program and arguments; empty if there is no editor.
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
    """Runs a program in the terminal.

    Ctrl+C and ctrl+\\ reach every process of the terminal's foreground group; they are meant for the program.

    Args:
        command: The program's full path, and arguments.

    Returns:
        The exit code, and the error if the program could not be started. It never raises ``OSError``, which
        would leave the application suspended in ``App.suspend``.
    """
    # Handlers, not SIG_IGN, which the program would inherit.
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        return subprocess.run(command, env=programs.surroundings(), check=False).returncode, ""
    except OSError as error:
        return 0, error.strerror or str(error)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def file_of(root: Path, *candidates: str) -> str:
    """The first candidate that is a regular file in the workspace, or empty.

    Args:
        candidates: Relative paths; a trailing ``#…`` (the key of a turn) is ignored.
    """
    for candidate in candidates:
        relative = candidate.partition("#")[0]
        if not relative or "\0" in relative or len(relative) > 1024 or relative.startswith("/"):
            continue
        try:
            if Workspace(root).resolve(relative).is_file():
                return relative
        except (PathRefused, OSError, ValueError):
            continue
    return ""
