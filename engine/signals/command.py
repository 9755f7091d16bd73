"""Runs the user's command once per event, with the prompt on stdin, and keeps its output (spec 4.4)."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from engine.signals.log import OUTPUT_CHARS
from engine.store import programs

_CHUNK = 64 * 1024
_POLL_S = 0.5


def run_command(
    argv: Sequence[str],
    prompt: str,
    deadline_s: float,
    variables: Mapping[str, str],
    is_closing: Callable[[], bool],
) -> tuple[bool, str] | None:
    """Runs a command without a shell, in the home folder, so that it cannot pick up a workspace file by name.

    It is killed with its children when its time is up or this program exits.

    Args:
        prompt: Written to its stdin.
        variables: Added to its environment.

    Returns:
        True if it succeeded, and the end of its output; ``None`` if this program exits.
    """
    program = programs.find(argv[0])
    if program is None:
        return False, f"{argv[0]} not found on PATH; give its full path in events.command"
    end = time.monotonic() + deadline_s
    with tempfile.TemporaryFile() as stdin:
        stdin.write(prompt.encode("utf-8", "replace"))
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                [program, *argv[1:]],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=Path.home(),
                env=programs.surroundings(variables),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return False, f"cannot start: {error}"
    assert process.stdout is not None
    output, reason, is_open = b"", "", True
    with process.stdout:
        while is_open or process.poll() is None:
            if is_closing() or time.monotonic() > end:
                reason = f"timed out after {deadline_s:g} s"
                break
            if not is_open:  # it closed its output but is still running
                time.sleep(0.01)
            elif select.select([process.stdout], [], [], _POLL_S)[0]:
                chunk = os.read(process.stdout.fileno(), _CHUNK)
                is_open, output = bool(chunk), (output + chunk)[-4 * OUTPUT_CHARS :]
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    if reason and is_closing():
        return None
    text = output.decode("utf-8", "replace").strip()
    text = f"{text}\n{reason}".strip() if reason else text or f"status {status}"
    return not reason and status == 0, text[-OUTPUT_CHARS:]
