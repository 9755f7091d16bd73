"""The person's own command, run once for each event: the prompt goes in, what it says is kept (spec 4.4)."""

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

from engine.signals.log import MOST_SAID
from engine.store import programs

_PIECE = 64 * 1024
_LOOK_S = 0.5


def run_command(
    argv: Sequence[str],
    prompt: str,
    deadline_s: float,
    variables: Mapping[str, str],
    leaving: Callable[[], bool],
) -> tuple[bool, str] | None:
    """Runs a command without a shell, in the person's home folder: nothing of a workspace lies on its path.

    It is ended, with all that it started, when its time is up or the program is left.

    Args:
        prompt: What it reads.
        variables: Set for it besides.

    Returns:
        Whether it went well, and how its output ended; ``None`` when the program is left.
    """
    found = programs.find(argv[0])
    if found is None:
        return False, f"{argv[0]} was not found on PATH; name it by its full path in events.command"
    end = time.monotonic() + deadline_s
    with tempfile.TemporaryFile() as asked:
        asked.write(prompt.encode("utf-8", "replace"))
        asked.seek(0)
        try:
            process = subprocess.Popen(
                [found, *argv[1:]],
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=Path.home(),
                env=programs.surroundings(variables),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return False, f"cannot be started: {error}"
    assert process.stdout is not None
    said, why, is_open = b"", "", True
    with process.stdout:
        while is_open or process.poll() is None:
            if leaving() or time.monotonic() > end:
                why = f"it took longer than {deadline_s:g} s"
                break
            if not is_open:  # it closed its output, and works on
                time.sleep(0.01)
            elif select.select([process.stdout], [], [], _LOOK_S)[0]:
                piece = os.read(process.stdout.fileno(), _PIECE)
                is_open, said = bool(piece), (said + piece)[-4 * MOST_SAID :]
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    if why and leaving():
        return None
    text = said.decode("utf-8", "replace").strip()
    text = f"{text}\n{why}".strip() if why else text or f"status {status}"
    return not why and status == 0, text[-MOST_SAID:]
