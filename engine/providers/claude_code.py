"""Completions from the ``claude`` command line, which answers with the login or key it has itself.

It runs in print mode, without tools, hooks, servers, instructions of the user or a session kept on disk: the
question is the whole conversation, its transcript is nothing to import later, and no hook that asks this
product can start it anew. The prompt goes through standard input, since the arguments of a process are shown
to everybody on the machine. What is started ends with its whole process group.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import shutil
import signal
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress

from engine.errors import GateError
from engine.providers.attempts import quoted
from engine.providers.base import Completion, count_of
from engine.providers.keys import GATE_KEY_VARIABLE, OWN_KEY_VARIABLES

COMMAND = "claude"
DEFAULT_MODEL = "haiku"
OUTPUT_LIMIT = 1024 * 1024
"""Bytes of output read; a reply has a few thousand."""
WITHIN_VARIABLE = "AUTOPOIESIS_WITHIN_GATE"
"""Set for what is started here: a question asked from there would be a question about a question."""

_PIECE = 64 * 1024
_ERRORS_LIMIT = 8 * 1024
_GRACE_S = 0.3
_FLAGS = (
    "-p",
    "--output-format",
    "json",
    "--max-turns",
    "1",
    "--tools",
    "",
    "--strict-mcp-config",
    "--settings",
    '{"disableAllHooks":true}',
    "--no-session-persistence",
)
_SET = {"CLAUDE_CODE_SAFE_MODE": "1", "MAX_THINKING_TOKENS": "0", WITHIN_VARIABLE: "1"}
_LEFT_OUT = frozenset(
    {
        # Set inside a session, where a second one refuses to start.
        *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
        # A key goes to its own provider only.
        *(variable for variable in OWN_KEY_VARIABLES if variable != "ANTHROPIC_API_KEY"),
        GATE_KEY_VARIABLE,
    }
)
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_UNKNOWN_OPTION = re.compile(r"unknown option '?(--[\w-]+)")
_LOGIN_SAID = re.compile(r"log ?in|api key|authenticat|oauth|unauthorized|credential", re.IGNORECASE)


class ClaudeCode:
    """Asks a Claude model through Claude Code, as ``CompletionProvider``.

    Longest answer and temperature cannot be set there and are ignored. Claude Code repeats what fails for a
    while by itself, so nothing is tried twice.

    Args:
        model: A model or alias that ``claude --model`` knows; empty for ``haiku``.
    """

    name = "claude-code"
    address = ""

    def __init__(self, model: str = "") -> None:
        self.model = model or DEFAULT_MODEL

    def __repr__(self) -> str:
        return f"ClaudeCode(model={self.model!r})"

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, temperature: float, timeout: float
    ) -> Completion:
        """As ``CompletionProvider.complete``."""
        command = _command()
        ended: tuple[int, bytes, bytes] | None = None
        trouble = ""
        try:
            async with asyncio.timeout(timeout):
                ended = await _run(
                    [command, *_FLAGS, "--model", self.model, "--system-prompt", system], prompt
                )
        except TimeoutError:
            pass
        except OSError as error:
            trouble = error.strerror or type(error).__name__
        except ValueError:
            trouble = "gate.model cannot be given to a command"
        if trouble:
            raise GateError(f"cannot be started: {trouble}", where=command, cure="check the installation")
        if ended is None:
            raise GateError(
                f"no answer within {timeout:.3g} s",
                where=self.name,
                cure="raise gate.claude_code_deadline_s, or try again later",
            )
        return _read(*ended, model=self.model)

    async def aclose(self) -> None:
        """Nothing stays open between questions."""


def _command() -> str:
    if os.environ.get(WITHIN_VARIABLE):
        raise GateError(
            "asked from within a gate question",
            where="gate.provider: claude-code",
            cure="nothing to do: the question itself needs no gate",
        )
    command = shutil.which(COMMAND)
    if command is None:
        raise GateError(
            f"the {COMMAND} command was not found on PATH",
            where="gate.provider: claude-code",
            cure=f"install Claude Code and run {COMMAND} once to log in, or set gate.provider: local",
        )
    return command


async def _run(argv: list[str], prompt: str) -> tuple[int, bytes, bytes]:
    """Exit status, output and errors; an output beyond its limit is given up and cut one byte behind it."""
    environment = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT} | _SET
    # An empty folder: what a project says to its agents is no part of the question.
    with tempfile.TemporaryDirectory(prefix="autopoiesis-gate-", ignore_cleanup_errors=True) as folder:
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
        try:
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Cancelled itself it would kill the command alone, and wait for all that this has started.
            with suppress(OSError, ValueError):  # it cannot be started
                process = await starting
                await _end(process, _errors_of(process))
            raise
        errors = _errors_of(process)
        assert process.stdin and process.stdout
        try:
            process.stdin.write(prompt.encode("utf-8", "replace"))
            process.stdin.close()
            output = bytearray()
            while len(output) <= OUTPUT_LIMIT and (more := await process.stdout.read(_PIECE)):
                output += more
            if len(output) > OUTPUT_LIMIT:
                await _end(process, errors)
                return 0, bytes(output[: OUTPUT_LIMIT + 1]), b""
            return await process.wait(), bytes(output), await errors
        except BaseException:
            await _end(process, errors)
            raise


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


def _read(status: int, output: bytes, errors: bytes, *, model: str) -> Completion:
    """The completion in the command's output.

    Raises:
        GateError: It says that it failed, or is none.
    """
    where = "claude-code"
    if len(output) > OUTPUT_LIMIT:
        raise GateError(f"wrote more than {OUTPUT_LIMIT >> 20} MiB", where=where, cure="check what claude is")
    reply = _reply(output)
    text = reply.get("result")
    if status != 0 or reply.get("is_error", False) is not False:
        raise _failure(status, text if isinstance(text, str) and text else errors.decode("utf-8", "replace"))
    if reply.get("type") != "result" or not isinstance(text, str):
        raise GateError("the reply could not be read", where=where, cure="update it with claude update")
    found = reply.get("usage")
    usage: Mapping[str, object] = found if isinstance(found, dict) else {}
    return Completion(
        text=text,
        input_tokens=count_of(usage.get("input_tokens"))
        + count_of(usage.get("cache_read_input_tokens"))
        + count_of(usage.get("cache_creation_input_tokens")),
        output_tokens=count_of(usage.get("output_tokens")),
        model=model,
        cost_usd=_cost(reply.get("total_cost_usd")),
        cut=reply.get("stop_reason") == "max_tokens",
    )


def _cost(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < math.inf else None


def _reply(output: bytes) -> Mapping[str, object]:
    try:
        reply = json.loads(output)
    except (ValueError, RecursionError):
        return {}
    return reply if isinstance(reply, dict) else {}


def _failure(status: int, text: str) -> GateError:
    said = quoted(text, *(os.environ.get(variable, "").strip() for variable in _KEYS))
    unknown = _UNKNOWN_OPTION.search(said)
    if unknown:
        what, cure = f"this version does not know {unknown[1]}", "update it with claude update"
    else:
        what = f"failed with status {status}" if status else "failed"
        what = f"{what}: {said}" if said else what
        login = _LOGIN_SAID.search(said) is not None
        cure = "run claude once to log in" if login else "run claude -p hello to see what it says"
    return GateError(what, where="claude-code", cure=cure)
