"""The ``:`` line: any command of the command line, run beside the workbench."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from engine.errors import AutopoiesisError

TIMEOUT_S = 600.0
"""Longest time a command may take; an import of thousands of sessions needs minutes."""

OUTPUT_LIMIT = 200_000
"""Characters of output that are kept."""

_NEEDS_A_SCREEN = frozenset({"open", "demo", "watch"})


def run_command(root: Path, line: str) -> str:
    """Runs one command on a workspace and returns what it printed.

    It runs in a process of its own, so that whatever it does or prints leaves the screen alone.

    Args:
        root: The workspace.
        line: The command without ``autopoiesis``, quoted as in a shell.

    Raises:
        AutopoiesisError: The line cannot be read, the command needs the terminal, failed, or took too long.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise AutopoiesisError(
            f"the line cannot be read: {error}", cure="close the quotation mark"
        ) from error
    if words and words[0] in ("autopoiesis", "apo"):
        words = words[1:]
    if not words:
        return ""
    if words[0] in _NEEDS_A_SCREEN:
        raise AutopoiesisError(f"{words[0]} needs a terminal of its own", cure="run it in another window")
    environment = dict(os.environ, PYTHONIOENCODING="utf-8", NO_COLOR="1", TERM="dumb")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tui.cli", "-C", str(root), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AutopoiesisError(
            f"{words[0]} was stopped after {TIMEOUT_S:.0f} s", cure="run it in a terminal of its own"
        ) from error
    out = done.stdout.decode("utf-8", "replace")
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode and not out.strip():
        raise AutopoiesisError(said.strip().removeprefix("autopoiesis: ") or f"{words[0]} failed")
    text = (out + said).rstrip()
    return (
        text if len(text) <= OUTPUT_LIMIT else f"{text[:OUTPUT_LIMIT]}\n… cut at {OUTPUT_LIMIT:,} characters"
    )
