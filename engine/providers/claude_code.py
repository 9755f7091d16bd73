"""The ``claude`` command line, which answers with the login or key it has itself.

Its output is one JSON object a line: pieces of the text as events of a stream, each block of the reply once
more as a whole, and at the end what was used. A completion is a chat of one message, without the pieces. The
stable prefix is its system prompt, which it keeps in Anthropic's cache on its own account; it stands in a
file, since arguments are shown to everybody and short.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from engine.errors import AutopoiesisError, SendFailed
from engine.providers.attempts import late
from engine.providers.chat import ChatReply, ChatRequest, Usage
from engine.providers.claude_process import (
    FLAGS,
    WHERE,
    WITHIN_VARIABLE,
    Unusable,
    command_for,
    cost_told,
    failed,
    run,
    setting_of,
)
from engine.providers.keys import CHAT, CLAUDE_GATE, GATE, Purpose
from engine.providers.pricing import CHAT_MODELS
from engine.providers.reply import Pieces, count_of, usage_of

DEFAULT_MODEL = "haiku"
CHAT_LIMIT = 64 * 1024 * 1024
"""Bytes of output read of a chat; a piece of some characters takes some hundred bytes."""
COMPLETION_LIMIT = 1024 * 1024
"""Bytes of output read of a completion; one has a few thousand."""

_PREFIX_FILE = "prefix.txt"
_STREAM = ("--output-format", "stream-json", "--verbose")
_NO_PREFIX = "You answer messages."
"""Without a system prompt it would take its own, about tools that it does not have here."""


class ClaudeCode:
    """Asks a Claude model through Claude Code, as ``ChatProvider``.

    Longest reply and temperature cannot be set there and are ignored. Claude Code repeats what fails for a
    while by itself, so nothing is tried twice. The model is one or an alias that ``claude --model`` knows;
    empty for the default of the purpose.
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
        """Nothing stays open between questions."""

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
            raise purpose.error(what, where=setting_of(purpose), hint=hint)
        command = command_for(purpose)
        prefix = "".join(request.prefix)
        system = ("--system-prompt-file", _PREFIX_FILE) if prefix else ("--system-prompt", _NO_PREFIX)
        wrong: AutopoiesisError
        try:
            async with asyncio.timeout(timeout):
                status, errors = await run(
                    (command, *FLAGS, *_STREAM, *pieces, "--model", self.model, *system),
                    request.rest,
                    output.take,
                    model_setting=purpose.model,
                    files={_PREFIX_FILE: prefix} if prefix else {},
                    variables=variables,
                )
            return output.reply(status, errors, model=self.model)
        except TimeoutError:
            wrong = late(self.name, timeout, purpose)
        except Unusable as error:
            refused = purpose.error(error.what, where=error.where, hint=error.hint)
            wrong = refused.until_changed() if error.lasting else refused
        # Outside of the handlers: a chained traceback would lead to frames that hold what was asked.
        if isinstance(wrong, SendFailed):
            wrong.partial = output.pieces.text
        raise wrong


class _Output:
    """What the command writes, line by line."""

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

    def take(self, more: bytes) -> None:
        """Reads on.

        Raises:
            Unusable: There is too much of it, or a part of the reply was begun anew.
        """
        self._bytes += len(more)
        if self._bytes > self._limit:
            raise Unusable(
                f"wrote more than {self._limit >> 20} MiB", "check that claude is the Claude Code command"
            )
        self._line += more
        if b"\n" in more:
            *lines, rest = bytes(self._line).split(b"\n")
            self._line = bytearray(rest)
            for line in lines:
                self._read(line)

    def reply(self, status: int, errors: bytes, *, model: str) -> ChatReply:
        """The reply.

        Raises:
            Unusable: It says that it failed, or is none.
        """
        self._read(bytes(self._line))
        self._line.clear()
        self.pieces.end()
        result = self._result or {}
        said = result.get("result")
        text = said if isinstance(said, str) else ""
        wrong = result.get("is_error", False) is not False or str(result.get("subtype")).startswith("error")
        if status != 0 or wrong:
            raise failed(status, text or errors.decode("utf-8", "replace"))
        if not isinstance(said, str):
            what = "the reply broke off" if self.pieces.text else "the reply could not be read"
            raise Unusable(what, "update it with claude update")
        if not self.pieces.text:
            self.pieces.add(text)
            self.pieces.end()
        return ChatReply(
            text=self.pieces.text,
            usage=_usage(result.get("usage")),
            model=model if self._at_once else self._model or model,
            cut="max_tokens" in (result.get("stop_reason"), self._stop_reason),
            cost_usd=cost_told(result.get("total_cost_usd")),
        )

    def _read(self, line: bytes) -> None:
        try:
            event = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return
        # Lines of other kinds and forms are left to newer versions.
        match event:
            case {"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": str(text)}}}:
                self._block += text
                self.pieces.add(text)
            case {"type": "stream_event", "event": {"delta": {"stop_reason": str(reason)}}}:
                self._stop_reason = reason
            case {"type": "assistant", "message": {"content": list(blocks), "model": str(model)}}:
                # Its own words about an error come as those of a model, too.
                if model != "<synthetic>":
                    self._model = model
                    self._whole("".join(_text(block) for block in blocks))
            case {"type": "result"}:
                if self._result is not None and self._at_once:
                    raise Unusable("the reply could not be read", "update it with claude update")
                self._result = event

    def _whole(self, text: str) -> None:
        """A block that may have come in pieces before: what is missing is added."""
        before, self._block = self._block, ""
        if text and not text.startswith(before):
            raise Unusable("the reply broke off and started over", "try again")
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
