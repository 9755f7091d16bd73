"""The ``claude`` command line, which uses its own login or key.

It prints one JSON object per line: stream events with pieces of the text, each block of the reply again as a
whole, and finally the usage. A completion is a chat of one message without stream events. The stable prefix
is passed as the system prompt, which Claude Code caches itself; it is passed in a file, since arguments are
visible to every user and limited in length.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from engine.errors import AutopoiesisError, SendFailed
from engine.providers.attempts import timeout_error
from engine.providers.chat import ChatReply, ChatRequest, Usage
from engine.providers.claude_process import (
    FLAGS,
    WHERE,
    WITHIN_VARIABLE,
    NoReply,
    command_for,
    failure_for,
    provider_setting,
    reported_cost,
    run,
)
from engine.providers.keys import CHAT, CLAUDE_GATE, GATE, Purpose
from engine.providers.pricing import CHAT_MODELS
from engine.providers.reply import Pieces, count_of, usage_of

DEFAULT_MODEL = "haiku"
CHAT_LIMIT = 64 * 1024 * 1024
"""Maximum bytes of output of a chat; a piece of a few characters takes a few hundred bytes."""
COMPLETION_LIMIT = 1024 * 1024
"""Maximum bytes of output of a completion, which has a few thousand."""

_PREFIX_FILE = "prefix.txt"
_STREAM = ("--output-format", "stream-json", "--verbose")
_NO_PREFIX = "You answer messages."
"""Without a system prompt it would use its default, about tools that it does not have here."""


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
