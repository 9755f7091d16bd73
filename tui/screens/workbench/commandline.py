"""Runs a line from the workbench's command line in its own process, as a shell would."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path

from engine.errors import AutopoiesisError
from engine.store import programs

DEADLINE_S = 600.0
"""Maximum run time of a command; longer work belongs in a shell."""
GRACE_S = 2.0
"""Time a command and its children have to end after each signal."""
_POLL_S = 0.05
_NEEDS_TERMINAL = frozenset({"open", "demo", "watch", "serve"})
"""Commands that draw a screen or never end."""
_TEXTS = frozenset({"text", "question"})
"""Arguments that are free text."""
_START = "from tui.cli import main; sys.argv[0] = 'autopoiesis'; main()"


def run_line(
    root: Path, line: str, stop: threading.Event | None = None, *, deadline_s: float = DEADLINE_S
) -> str:
    """Runs a command line on a workspace and returns its output.

    Args:
        line: The arguments after ``autopoiesis``.
        stop: Stops the command and its children once set; the output then ends with a line that says so.

    Raises:
        AutopoiesisError: The line cannot be parsed, or the command failed; the message is its output.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise AutopoiesisError(f"cannot parse the line: {error}", hint="close the quotes") from error
    words = [*words[1:], "--help"] if words[:1] == ["help"] else _with_one_text(words)
    if words and words[0] in _NEEDS_TERMINAL:
        raise AutopoiesisError(f"{words[0]} needs its own terminal", hint="run it in another window")
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
                output = process.communicate(timeout=_POLL_S)[0].decode("utf-8", "replace")
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
        raise AutopoiesisError(output.strip() or f"exit code {process.returncode}")
    return output


def _with_one_text(words: list[str]) -> list[str]:
    """Joins the words of a text that a command takes as its last argument, as in ``trace can you review``."""
    # Imports click and the command that the line starts with.
    import click  # noqa: PLC0415

    from tui.cli import cli  # noqa: PLC0415

    command: click.Command | None = cli
    first = 0
    context = click.Context(cli)
    while isinstance(command, click.Group) and first < len(words):
        command = command.get_command(context, words[first])
        first += 1
    taken = [each for each in command.params if isinstance(each, click.Argument)] if command else []
    if not taken or taken[-1].name not in _TEXTS or taken[-1].nargs != 1:
        return words
    first += len(taken) - 1
    end = next((at for at in range(first, len(words)) if words[at].startswith("-")), len(words))
    if any(word.startswith("-") for word in words[:first]) or end - first < 2:
        return words
    return [*words[:first], " ".join(words[first:end]), *words[end:]]


def completions(root: Path, line: str) -> list[str]:
    """What the last word of a line can be: a command, an option, one of an argument's values, or else a file.

    Files are relative to the workspace; folders end with a slash.
    """
    # Imports click and the command that the line starts with.
    from click.shell_completion import ShellComplete  # noqa: PLC0415

    from tui.cli import COMMANDS, cli  # noqa: PLC0415

    *words, last = re.split(r"\s+", line.lstrip())
    if not words:
        return sorted(name for name in COMMANDS if name.startswith(last) and name not in _NEEDS_TERMINAL)
    if words[0] not in COMMANDS:
        return []
    found = ShellComplete(cli, {}, "autopoiesis", "").get_completions(words, last)
    return [item.value for item in found if item.type == "plain"] or _files(root, last)


def _files(root: Path, start: str) -> list[str]:
    folder, slash, name = start.rpartition("/")
    try:
        inside = sorted((root / folder).iterdir())
    except (OSError, ValueError):
        return []
    return [
        f"{folder}{slash}{shlex.quote(each.name)}{'/' if each.is_dir() else ''}"
        for each in inside
        if each.name.startswith(name) and (name or not each.name.startswith("."))
    ]


def _end(process: subprocess.Popen[bytes]) -> str:
    """Ends a command and its children; returns their output, ending with a newline if not empty."""
    printed = b""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        try:
            printed = process.communicate(timeout=GRACE_S)[0]
            break
        except (
            subprocess.TimeoutExpired
        ) as error:  # a child that left the group may hold the pipe open forever
            printed = error.output or b""
    text = printed.decode("utf-8", "replace")
    return text if not text or text.endswith("\n") else f"{text}\n"
