"""Completions from the ``claude`` command line, which answers with the login or key it has itself."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping

from engine.errors import GateError
from engine.providers.base import Completion, count_of
from engine.providers.claude_process import (
    FLAGS,
    WHERE,
    WITHIN_VARIABLE,
    CannotStart,
    cannot_start,
    command_for,
    cost_told,
    failure_text,
    run,
    setting_of,
)
from engine.providers.keys import GATE

DEFAULT_MODEL = "haiku"
_GATE_DEADLINE = "gate.claude_code_deadline_s"
OUTPUT_LIMIT = 1024 * 1024
"""Bytes of output read; a reply has a few thousand."""


class ClaudeCode:
    """Asks a Claude model through Claude Code, as ``CompletionProvider``.

    Longest answer and temperature cannot be set there and are ignored. Claude Code repeats what fails for a
    while by itself, so nothing is tried twice.

    Args:
        model: A model or alias that ``claude --model`` knows; empty for ``haiku``.
    """

    name = WHERE
    address = ""
    purpose = GATE

    def __init__(self, model: str = "") -> None:
        self.model = model or DEFAULT_MODEL

    def __repr__(self) -> str:
        return f"ClaudeCode(model={self.model!r})"

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, temperature: float, timeout: float
    ) -> Completion:
        """As ``CompletionProvider.complete``."""
        purpose = self.purpose
        if os.environ.get(WITHIN_VARIABLE):
            raise purpose.error(
                "asked from within a question of our own",
                where=setting_of(purpose),
                cure="nothing to do: the question itself needs no other",
            )
        command = command_for(purpose)
        argv = (
            *(command, *FLAGS, "--output-format", "json"),
            *("--model", self.model, "--system-prompt", system),
        )
        output = _Output()
        ended: tuple[int, bytes] | None = None
        trouble = ""
        try:
            async with asyncio.timeout(timeout):
                ended = await run(
                    argv,
                    prompt,
                    output.take,
                    model_setting=purpose.model,
                    variables={"MAX_THINKING_TOKENS": "0"},
                )
        except (TimeoutError, _TooMuch):
            pass
        except CannotStart as error:
            trouble = str(error)
        if output.is_too_much:
            raise GateError(
                f"wrote more than {OUTPUT_LIMIT >> 20} MiB", where=WHERE, cure="check what claude is"
            )
        if trouble:
            raise cannot_start(command, trouble, purpose)
        if ended is None:
            deadline = _GATE_DEADLINE if purpose is GATE else purpose.deadline
            raise purpose.error(
                f"no answer within {timeout:.3g} s",
                where=self.name,
                cure=f"raise {deadline}, or try again later",
            )
        status, errors = ended
        return _read(status, bytes(output.all), errors, model=self.model)

    async def aclose(self) -> None:
        """Nothing stays open between questions."""


class _TooMuch(Exception):
    """The output is beyond its limit."""


class _Output:
    def __init__(self) -> None:
        self.all = bytearray()

    @property
    def is_too_much(self) -> bool:
        return len(self.all) > OUTPUT_LIMIT

    def take(self, more: bytes) -> None:
        self.all += more
        if self.is_too_much:
            raise _TooMuch


def _read(status: int, output: bytes, errors: bytes, *, model: str) -> Completion:
    """The completion in the command's output.

    Raises:
        GateError: It says that it failed, or is none.
    """
    reply = _reply(output)
    text = reply.get("result")
    if status != 0 or reply.get("is_error", False) is not False:
        said = text if isinstance(text, str) and text else errors.decode("utf-8", "replace")
        what, cure = failure_text(status, said)
        error = GateError(what, where=WHERE, cure=cure)
        raise error.until_changed() if "log in" in cure else error
    if reply.get("type") != "result" or not isinstance(text, str):
        raise GateError("the reply could not be read", where=WHERE, cure="update it with claude update")
    found = reply.get("usage")
    usage: Mapping[str, object] = found if isinstance(found, dict) else {}
    cached = count_of(usage.get("cache_read_input_tokens"))
    cache_written = count_of(usage.get("cache_creation_input_tokens"))
    return Completion(
        text=text,
        input_tokens=count_of(usage.get("input_tokens")) + cached + cache_written,
        output_tokens=count_of(usage.get("output_tokens")),
        model=model,
        cost_usd=cost_told(reply.get("total_cost_usd")),
        cut=reply.get("stop_reason") == "max_tokens",
        cached_tokens=cached,
        cache_write_tokens=cache_written,
    )


def _reply(output: bytes) -> Mapping[str, object]:
    try:
        reply = json.loads(output)
    except (ValueError, RecursionError):
        return {}
    return reply if isinstance(reply, dict) else {}
