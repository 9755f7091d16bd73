"""The ``claude`` command as a process: isolated, with private input, and killed together with its children.

It runs in print mode, without tools, hooks, MCP servers, the user's instructions or a session on disk: the
prompt is the whole conversation, its transcript should not be imported later, and none of our hooks may start
it again. The prompt is passed on standard input, or in a file that only the user can read, since the
arguments of a process are visible to everybody on the machine.
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

from engine.providers.attempts import excerpt
from engine.providers.keys import OWN_KEY_VARIABLES, PURPOSE_KEY_VARIABLES, Purpose
from engine.providers.outgoing import sendable
from engine.store import programs

COMMAND = "claude"
WHERE = "claude-code"
WITHIN_VARIABLE = "AUTOPOIESIS_WITHIN_GATE"
"""Set for the processes started here, which must not call us recursively."""
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

_CHUNK = 64 * 1024
_ERRORS_LIMIT = 8 * 1024
_GRACE_S = 0.3
_SET = {"CLAUDE_CODE_SAFE_MODE": "1", WITHIN_VARIABLE: "1", "AUTOPOIESIS_HOOKS": "off"}
_REMOVED = frozenset(
    {
        # Set inside a session; a nested session refuses to start.
        *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
        # A key is sent to its own provider only.
        *(variable for variable in OWN_KEY_VARIABLES if variable != "ANTHROPIC_API_KEY"),
        *PURPOSE_KEY_VARIABLES,
    }
)
_KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_UNKNOWN_OPTION = re.compile(r"unknown option '?(--[\w-]+)")
_LOGIN_MESSAGE = re.compile(r"log ?in|api key|authenticat|oauth|unauthorized|credential", re.IGNORECASE)


class NoReply(Exception):
    """There is no reply; ``lasting`` if a person has to change something first."""

    def __init__(self, what: str, hint: str, *, where: str = WHERE, lasting: bool = False) -> None:
        super().__init__(what)
        self.what, self.hint, self.where, self.lasting = what, hint, where, lasting


def command_for(purpose: Purpose) -> str:
    """The path of the command.

    Raises:
        AutopoiesisError: The purpose's error: it is not installed.
    """
    command = programs.find(COMMAND)
    if command is None:
        raise purpose.error(
            f"the {COMMAND} command was not found on PATH",
            where=provider_setting(purpose),
            hint=f"install Claude Code and run {COMMAND} once to log in, or set {purpose.keyless_setting}",
        ).until_changed()
    return command


def provider_setting(purpose: Purpose) -> str:
    """The setting that selects this provider."""
    return f"{purpose.keyless_setting.partition(':')[0]}: {WHERE}"


async def run(
    argv: Sequence[str],
    prompt: str,
    on_output: Callable[[bytes], None],
    *,
    model_setting: str,
    files: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """Runs the command; returns its exit status and stderr.

    Args:
        prompt: Written to its stdin.
        on_output: Called with each chunk of its stdout; the process is killed if this raises.
        model_setting: The setting to blame if an argument is invalid.
        files: Files in its working folder, by name.

    Raises:
        NoReply: It cannot be started.
    """
    environment = {name: value for name, value in programs.surroundings().items() if name not in _REMOVED}
    environment |= {**_SET, **(variables or {})}
    # A separate folder: a project's instructions to its agents are not part of the prompt.
    with tempfile.TemporaryDirectory(prefix="autopoiesis-claude-", ignore_cleanup_errors=True) as folder:
        for name, text in (files or {}).items():
            (Path(folder) / name).write_bytes(sendable(text).encode())
        process = await _start([*map(sendable, argv)], folder, environment, model_setting)
        errors = _stderr_of(process)
        assert process.stdin and process.stdout
        try:
            process.stdin.write(sendable(prompt).encode())
            process.stdin.close()
            while more := await process.stdout.read(_CHUNK):
                on_output(more)
            return await process.wait(), await errors
        except BaseException:
            await _end(process, errors)
            raise


def failure_for(status: int, text: str) -> NoReply:
    """The error for an exit status and the command's message."""
    message = excerpt(text, *(os.environ.get(variable, "").strip() for variable in _KEY_VARIABLES))
    unknown = _UNKNOWN_OPTION.search(message)
    if unknown:
        return NoReply(f"this version does not know {unknown[1]}", "update it with claude update")
    what = f"failed with status {status}" if status else "failed"
    what = f"{what}: {message}" if message else what
    if _LOGIN_MESSAGE.search(message):
        return NoReply(what, "run claude once to log in", lasting=True)
    return NoReply(what, "run claude -p hello to see what it says")


def reported_cost(value: object) -> float | None:
    """The reported cost of a call in US dollars; ``None`` if it is invalid."""
    return float(value) if isinstance(value, int | float) and 0 <= value < math.inf else None


async def _start(
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
        # Cancelling the start itself would kill only the command and wait for its children.
        with suppress(OSError, ValueError):  # it could not be started
            process = await starting
            await _end(process, _stderr_of(process))
        raise
    except OSError as error:
        why = error.strerror or type(error).__name__
    except ValueError:
        why = f"{model_setting} cannot be passed to a command"
    raise NoReply(f"cannot be started: {why}", "check the installation", where=argv[0], lasting=True)


async def _end(process: Process, errors: asyncio.Future[bytes]) -> None:
    """Kills the process and its children, and drains its pipes so that they close."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    errors.cancel()
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_S):
            await asyncio.wait([errors])
            await process.communicate()


def _stderr_of(process: Process) -> asyncio.Future[bytes]:
    assert process.stderr
    return asyncio.ensure_future(_read_start(process.stderr))


async def _read_start(stream: asyncio.StreamReader) -> bytes:
    """The start of a stream; the rest is read and dropped, or its writer would block forever."""
    kept = bytearray()
    while more := await stream.read(_CHUNK):
        kept += more[: _ERRORS_LIMIT - len(kept)]
    return bytes(kept)
