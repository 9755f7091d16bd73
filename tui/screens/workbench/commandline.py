"""Runs a line of the workbench's command line as a shell would: the same command, in its own process."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path

from engine.errors import AutopoiesisError
from engine.store import programs

DEADLINE_S = 600.0
"""Longest time a command may take; longer work belongs in a shell."""
GRACE_S = 2.0
"""Seconds that a command and what it started have to end after they were told to."""
_STEP_S = 0.05
"""Seconds between two looks at whether it is to be stopped."""
NEEDS_A_SCREEN = frozenset({"open", "demo", "watch", "serve"})
"""Commands that would draw a screen or never end."""
_START = "from tui.cli import main; sys.argv[0] = 'autopoiesis'; main()"


def run_line(
    root: Path, line: str, stop: threading.Event | None = None, *, deadline_s: float = DEADLINE_S
) -> str:
    """Runs a command line on a workspace.

    Args:
        line: What would be typed after ``autopoiesis``.
        stop: Stops the command, and what it started, once it is set.
        deadline_s: Seconds after which it is stopped.

    Returns:
        What it printed; with a last line that says so where it was stopped.

    Raises:
        AutopoiesisError: The line cannot be read, or the command failed; the text is what it printed.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise AutopoiesisError(f"the line cannot be read: {error}", hint="close its quotes") from error
    if words and words[0] in NEEDS_A_SCREEN:
        raise AutopoiesisError(f"{words[0]} needs a terminal of its own", hint="run it in another window")
    plain = {"NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8:replace"}
    ends = time.monotonic() + deadline_s
    with subprocess.Popen(
        programs.python(_START, "-C", str(root), *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=programs.surroundings(plain),
        start_new_session=True,
    ) as process:
        while True:
            try:
                output = process.communicate(timeout=_STEP_S)[0].decode("utf-8", "replace")
                break
            except subprocess.TimeoutExpired:
                if stop is not None and stop.is_set():
                    return f"{_end(process)}stopped\n"
                if time.monotonic() >= ends:
                    printed = _end(process)
                    raise AutopoiesisError(
                        f"{printed}stopped after {deadline_s:.0f} s", hint="run it in a shell"
                    ) from None
    if process.returncode:
        raise AutopoiesisError(output.strip() or f"it ended with {process.returncode}")
    return output


def _end(process: subprocess.Popen[bytes]) -> str:
    """Ends a command with all it has started; returns what they printed, in whole lines."""
    printed = b""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        try:
            printed = process.communicate(timeout=GRACE_S)[0]
            break
        except subprocess.TimeoutExpired as error:  # something that left the group may hold the pipe for ever
            printed = error.output or b""
    text = printed.decode("utf-8", "replace")
    return text if not text or text.endswith("\n") else f"{text}\n"
