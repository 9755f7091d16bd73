"""The ``claude`` command line, which uses its own login or key.

It prints one JSON object per line: stream events with pieces of the text, each block of the reply again as a
whole, and finally the usage. A completion is a chat of one message without stream events. The stable prefix
is passed as the system prompt, which Claude Code caches itself; it is passed in a file, since arguments are
visible to every user and limited in length.

The process is isolated, has private input, and is killed together with its children. It runs in print mode,
without tools, hooks, MCP servers, the user's instructions or a session on disk: the prompt is the whole
conversation, its transcript should not be imported later, and none of our hooks may start it again. The
prompt is passed on standard input, or in a file that only the user can read, since the arguments of a
process are visible to everybody on the machine.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import signal
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.errors import AutopoiesisError, SendFailed
from engine.providers.attempts import excerpt, timeout_error
from engine.providers.chat import ChatReply, ChatRequest, Usage
from engine.providers.keys import CHAT, CLAUDE_GATE, GATE, OWN_KEY_VARIABLES, PURPOSE_KEY_VARIABLES, Purpose
from engine.providers.outgoing import sendable
from engine.providers.pricing import CHAT_MODELS
from engine.providers.reply import Pieces, count_of, usage_of
from engine.store import programs

DEFAULT_MODEL = "haiku"
CHAT_LIMIT = 64 * 1024 * 1024
"""Maximum bytes of output of a chat; a piece of a few characters takes a few hundred bytes."""
COMPLETION_LIMIT = 1024 * 1024
"""Maximum bytes of output of a completion, which has a few thousand."""

_PREFIX_FILE = "prefix.txt"
_STREAM = ("--output-format", "stream-json", "--verbose")
_NO_PREFIX = "You answer messages."
"""Without a system prompt it would use its default, about tools that it does not have here."""


WHERE = "claude-code"


class ClaudeCode:
    """Asks a Claude model through Claude Code; a ``ChatProvider``.

    Token limit and temperature cannot be set and are ignored. Claude Code retries for a while itself, so
    nothing is retried here. The model is a name or alias known to ``claude --model``; empty for the purpose's
    default.
    """

    name = WHERE
    address = ""
    takes_tools = False

    def __init__(self, model: str = "", *, purpose: Purpose) -> None:
        self.model = model or (CHAT_MODELS[WHERE] if purpose is CHAT else DEFAULT_MODEL)
        self.purpose = CLAUDE_GATE if purpose is GATE else purpose

    def __repr__(self) -> str:
        return f"ClaudeCode(model={self.model!r})"

    async def aclose(self) -> None:
        """Does nothing: no connection stays open between requests."""

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        """As ``ChatProvider.chat``."""
        output = _Output(on_text, at_once=request.at_once)
        pieces = () if request.at_once else ("--include-partial-messages",)
        variables = {"MAX_THINKING_TOKENS": "0"} if request.at_once else {}
        purpose = self.purpose
        if os.environ.get(WITHIN_VARIABLE):
            what, hint = "called from within a claude-code call", "send from outside it"
            if purpose is not CHAT:
                what = "called from within one of our own calls"
                hint = "nothing to do: the outer call needs no other"
            raise purpose.error(what, where=provider_setting(purpose), hint=hint)
        command = command_for(purpose)
        prefix = "".join(request.prefix)
        system = ("--system-prompt-file", _PREFIX_FILE) if prefix else ("--system-prompt", _NO_PREFIX)
        wrong: AutopoiesisError
        try:
            async with asyncio.timeout(timeout):
                status, errors = await run(
                    (command, *FLAGS, *_STREAM, *pieces, "--model", self.model, *system),
                    request.rest,
                    output.feed,
                    model_setting=purpose.model,
                    files={_PREFIX_FILE: prefix} if prefix else {},
                    variables=variables,
                )
            return output.reply(status, errors, model=self.model)
        except TimeoutError:
            wrong = timeout_error(self.name, timeout, purpose)
        except NoReply as error:
            refused = purpose.error(error.what, where=error.where, hint=error.hint)
            wrong = refused.until_changed() if error.lasting else refused
        # Outside the handlers: a chained traceback would lead to frames that hold the prompt.
        if isinstance(wrong, SendFailed):
            wrong.partial = output.pieces.text
        raise wrong


class _Output:
    """Parses the command's output line by line."""

    def __init__(self, on_text: Callable[[str], None], *, at_once: bool) -> None:
        self.pieces = Pieces(on_text)
        self._limit = COMPLETION_LIMIT if at_once else CHAT_LIMIT
        self._at_once = at_once
        self._line = bytearray()
        self._bytes = 0
        self._block = ""
        self._stop_reason = ""
        self._model = ""
        self._result: Mapping[str, Any] | None = None

    def feed(self, more: bytes) -> None:
        """Parses the next bytes of output.

        Raises:
            NoReply: There is too much output, or the reply was restarted.
        """
        self._bytes += len(more)
        if self._bytes > self._limit:
            raise NoReply(
                f"wrote more than {self._limit >> 20} MiB", "check that claude is the Claude Code command"
            )
        self._line += more
        if b"\n" in more:
            *lines, rest = bytes(self._line).split(b"\n")
            self._line = bytearray(rest)
            for line in lines:
                self._read(line)

    def reply(self, status: int, errors: bytes, *, model: str) -> ChatReply:
        """The reply, once the command has ended.

        Raises:
            NoReply: The command reports a failure, or there is no valid reply.
        """
        self._read(bytes(self._line))
        self._line.clear()
        self.pieces.end()
        result = self._result or {}
        answer = result.get("result")
        text = answer if isinstance(answer, str) else ""
        wrong = result.get("is_error", False) is not False or str(result.get("subtype")).startswith("error")
        if status != 0 or wrong:
            raise failure_for(status, text or errors.decode("utf-8", "replace"))
        if not isinstance(answer, str):
            what = "the reply was cut off" if self.pieces.text else "the reply could not be read"
            raise NoReply(what, "update it with claude update")
        if not self.pieces.text:
            self.pieces.add(text)
            self.pieces.end()
        return ChatReply(
            text=self.pieces.text,
            usage=_usage(result.get("usage")),
            model=model if self._at_once else self._model or model,
            cut="max_tokens" in (result.get("stop_reason"), self._stop_reason),
            cost_usd=reported_cost(result.get("total_cost_usd")),
        )

    def _read(self, line: bytes) -> None:
        try:
            event = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return
        # Other lines, such as those of newer versions, are ignored.
        match event:
            case {"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": str(text)}}}:
                self._block += text
                self.pieces.add(text)
            case {"type": "stream_event", "event": {"delta": {"stop_reason": str(reason)}}}:
                self._stop_reason = reason
            case {"type": "assistant", "message": {"content": list(blocks), "model": str(model)}}:
                # Its own error messages are also presented as a model's.
                if model != "<synthetic>":
                    self._model = model
                    self._complete_block("".join(_text(block) for block in blocks))
            case {"type": "result"}:
                if self._result is not None and self._at_once:
                    raise NoReply("the reply could not be read", "update it with claude update")
                self._result = event

    def _complete_block(self, text: str) -> None:
        """Adds the part of a complete block that has not been streamed yet."""
        before, self._block = self._block, ""
        if text and not text.startswith(before):
            raise NoReply("the reply was cut off and restarted", "try again")
        if text:
            self.pieces.add(text[len(before) :])
        else:
            self._block = before


def _text(block: object) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
    return ""


def _usage(found: object) -> Usage:
    usage: Mapping[str, Any] = found if isinstance(found, dict) else {}
    written = usage.get("cache_creation")
    cached = count_of(usage.get("cache_read_input_tokens"))
    stored = count_of(usage.get("cache_creation_input_tokens"))
    return usage_of(
        count_of(usage.get("input_tokens")) + cached + stored,
        usage.get("output_tokens"),
        cached,
        stored,
        written.get("ephemeral_1h_input_tokens") if isinstance(written, dict) else 0,
    )


COMMAND = "claude"
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
_REAPED_S = 10
"""A killed process ends at once, but for one that hangs in the kernel."""
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
    """Kills the process and its children, drains its pipes, closes those still open, and reaps it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    errors.cancel()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await asyncio.wait([errors])
                await process.communicate()
    finally:
        # Cancelled, or with a pipe that a process outside the group holds open, it would be collected after
        # the loop has ended, and fail.
        transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]
        for pipe in map(transport.get_pipe_transport, range(3)):
            if pipe is not None:
                pipe.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_REAPED_S):
                await process.wait()
        transport.close()


def _stderr_of(process: Process) -> asyncio.Future[bytes]:
    assert process.stderr
    return asyncio.ensure_future(_read_start(process.stderr))


async def _read_start(stream: asyncio.StreamReader) -> bytes:
    """The start of a stream; the rest is read and dropped, or its writer would block forever."""
    kept = bytearray()
    while more := await stream.read(_CHUNK):
        kept += more[: _ERRORS_LIMIT - len(kept)]
    return bytes(kept)
