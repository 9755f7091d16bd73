"""Runs a line of the workbench's command line as a shell would: the same command, in its own process."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from engine.errors import AutopoiesisError
from engine.store import programs

DEADLINE_S = 600.0
"""Longest time a command may take; longer work belongs in a shell."""
NEEDS_A_SCREEN = frozenset({"open", "demo", "watch", "serve"})
"""Commands that would draw a screen or never end."""
_START = "from tui.cli import main; sys.argv[0] = 'autopoiesis'; main()"


def run_line(root: Path, line: str, *, deadline_s: float = DEADLINE_S) -> str:
    """Runs a command line on a workspace.

    Args:
        root: The workspace.
        line: What would be typed after ``autopoiesis``.
        deadline_s: Seconds after which it is stopped.

    Returns:
        What it printed.

    Raises:
        AutopoiesisError: The line cannot be read, or the command failed; the text is what it printed.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise AutopoiesisError(f"the line cannot be read: {error}", cure="close its quotes") from error
    if words and words[0] in NEEDS_A_SCREEN:
        raise AutopoiesisError(f"{words[0]} needs a terminal of its own", cure="run it in another window")
    plain = {"NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8:replace"}
    try:
        done = subprocess.run(
            programs.python(_START, "-C", str(root), *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=programs.surroundings(plain),
            timeout=deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AutopoiesisError(f"stopped after {deadline_s:.0f} s", cure="run it in a shell") from error
    output = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        raise AutopoiesisError(output.strip() or f"it ended with {done.returncode}")
    return output
