"""The ``claude`` command as a process: started alone, asked in private, ended with all that it has started.

It runs in print mode, without tools, hooks, servers, instructions of the user or a session kept on disk: what
is asked is the whole conversation, its transcript is nothing to import later, and no hook that asks this
product can start it anew. What is asked goes through standard input, or stands in a file of a folder that
nobody else may read, since the arguments of a process are shown to everybody on the machine.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import signal
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from engine.providers.attempts import quoted
from engine.providers.keys import OWN_KEY_VARIABLES, PURPOSE_KEY_VARIABLES, Purpose
from engine.providers.outgoing import sendable
from engine.store import programs

COMMAND = "claude"
WHERE = "claude-code"
WITHIN_VARIABLE = "AUTOPOIESIS_WITHIN_GATE"
"""Set for what is started here: a question asked from there would be a question about a question."""
FLAGS = (
    "-p",
    "--max-turns",
    "1",
    "--tools",
    "",
    "--strict-mcp-config",
    "--settings",
    '{"disableAllHooks":true}',
    "--no-session-persistence",
)

_PIECE = 64 * 1024
_ERRORS_LIMIT = 8 * 1024
_GRACE_S = 0.3
_SET = {"CLAUDE_CODE_SAFE_MODE": "1", WITHIN_VARIABLE: "1", "AUTOPOIESIS_HOOKS": "off"}
_LEFT_OUT = frozenset(
    {
        # Set inside a session, where a second one refuses to start.
        *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
        # A key goes to its own provider only.
        *(variable for variable in OWN_KEY_VARIABLES if variable != "ANTHROPIC_API_KEY"),
        *PURPOSE_KEY_VARIABLES,
    }
)
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_UNKNOWN_OPTION = re.compile(r"unknown option '?(--[\w-]+)")
_LOGIN_SAID = re.compile(r"log ?in|api key|authenticat|oauth|unauthorized|credential", re.IGNORECASE)


class Unusable(Exception):
    """There is no reply, and will be none; ``lasting`` where a person has to change something first."""

    def __init__(self, what: str, hint: str, *, where: str = WHERE, lasting: bool = False) -> None:
        super().__init__(what)
        self.what, self.hint, self.where, self.lasting = what, hint, where, lasting


def command_for(purpose: Purpose) -> str:
    """The path of the command.

    Raises:
        AutopoiesisError: ``purpose.error``: it is not installed.
    """
    command = programs.find(COMMAND)
    if command is None:
        raise purpose.error(
            f"the {COMMAND} command was not found on PATH",
            where=setting_of(purpose),
            hint=f"install Claude Code and run {COMMAND} once to log in, or set {purpose.without}",
        ).until_changed()
    return command


def setting_of(purpose: Purpose) -> str:
    """The setting that means this provider."""
    return f"{purpose.without.partition(':')[0]}: {WHERE}"


async def run(
    argv: Sequence[str],
    prompt: str,
    take: Callable[[bytes], None],
    *,
    model_setting: str,
    files: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """Exit status and errors.

    Args:
        prompt: What it reads.
        take: Gets its output in pieces; the process is ended when this raises.
        model_setting: The setting that is to blame when an argument cannot be given.
        files: What stands in the folder in which it runs, by name.

    Raises:
        Unusable: It cannot be started.
    """
    environment = {name: value for name, value in programs.surroundings().items() if name not in _LEFT_OUT}
    environment |= {**_SET, **(variables or {})}
    # A folder of its own: what a project says to its agents is no part of the question.
    with tempfile.TemporaryDirectory(prefix="autopoiesis-claude-", ignore_cleanup_errors=True) as folder:
        for name, text in (files or {}).items():
            (Path(folder) / name).write_bytes(sendable(text).encode())
        process = await _started([*map(sendable, argv)], folder, environment, model_setting)
        errors = _errors_of(process)
        assert process.stdin and process.stdout
        try:
            process.stdin.write(sendable(prompt).encode())
            process.stdin.close()
            while more := await process.stdout.read(_PIECE):
                take(more)
            return await process.wait(), await errors
        except BaseException:
            await _end(process, errors)
            raise


def failed(status: int, text: str) -> Unusable:
    """What has happened, after a status and the command's own words."""
    said = quoted(text, *(os.environ.get(variable, "").strip() for variable in _KEYS))
    unknown = _UNKNOWN_OPTION.search(said)
    if unknown:
        return Unusable(f"this version does not know {unknown[1]}", "update it with claude update")
    what = f"failed with status {status}" if status else "failed"
    what = f"{what}: {said}" if said else what
    if _LOGIN_SAID.search(said):
        return Unusable(what, "run claude once to log in", lasting=True)
    return Unusable(what, "run claude -p hello to see what it says")


def cost_told(value: object) -> float | None:
    """US dollars that it says a call cost; ``None`` for anything else."""
    return float(value) if isinstance(value, int | float) and 0 <= value < math.inf else None


async def _started(
    argv: Sequence[str], folder: str, environment: Mapping[str, str], model_setting: str
) -> Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    )
    why = ""
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Cancelled itself it would kill the command alone, and wait for all that this has started.
        with suppress(OSError, ValueError):  # it cannot be started
            process = await starting
            await _end(process, _errors_of(process))
        raise
    except OSError as error:
        why = error.strerror or type(error).__name__
    except ValueError:
        why = f"{model_setting} cannot be passed to a command"
    raise Unusable(f"cannot be started: {why}", "check the installation", where=argv[0], lasting=True)


async def _end(process: Process, errors: asyncio.Future[bytes]) -> None:
    """Kills the process with all it has started, and takes what is left in its pipes so that they close."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    errors.cancel()
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_S):
            await asyncio.wait([errors])
            await process.communicate()


def _errors_of(process: Process) -> asyncio.Future[bytes]:
    assert process.stderr
    return asyncio.ensure_future(_drained(process.stderr))


async def _drained(stream: asyncio.StreamReader) -> bytes:
    """The start of what a stream brings; the rest is read and dropped, or its writer would wait for ever."""
    kept = bytearray()
    while more := await stream.read(_PIECE):
        kept += more[: _ERRORS_LIMIT - len(kept)]
    return bytes(kept)
