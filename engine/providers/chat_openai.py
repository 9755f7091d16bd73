"""Chats with OpenAI, or with any server that has its chat interface, through OpenAI's own client.

Both are asked by chat completions: caching is the same there as with responses, and compatible servers
(Ollama, vLLM, llama.cpp, gateways) have nothing else. Models from GPT-5.6 on find a cache only where a
breakpoint ended it, and charge for writing: the ends of the prefix pieces are marked for them, and nothing
else is kept, since what follows changes with every message.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engine.providers.attempts import ServiceFailure
from engine.providers.base import count_of
from engine.providers.chat import ChatRequest, Usage
from engine.providers.chat_network import ChatNetwork, Told, lower_limit
from engine.providers.network import transport_errors, transport_failure
from engine.providers.openai import LIMIT_SAID, OpenAIService

if TYPE_CHECKING:
    from openai import AsyncOpenAI  # noqa: F401 — named in a type parameter
    from openai.types.chat import ChatCompletionContentPartTextParam, ChatCompletionMessageParam

_MARKED = re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)")
"""Models that take breakpoints."""


@dataclass(frozen=True, slots=True)
class Form:
    """The parameters that models and servers differ in."""

    limit: Literal["max_tokens", "max_completion_tokens"]
    marked: bool
    keyed: bool
    with_usage: bool = True
    most_tokens: int | None = None
    swapped: bool = False


class OpenAIChat(OpenAIService, ChatNetwork[Form, "AsyncOpenAI"]):
    """Chats with a model of OpenAI, or of a compatible server. Tokens are not counted by it beforehand."""

    def _first_form(self) -> Form:
        return Form(
            limit="max_tokens" if self.address else "max_completion_tokens",
            marked=not self.address and _MARKED.match(self.model) is not None,
            keyed=not self.address,
        )

    async def _stream(self, form: Form, request: ChatRequest, told: Told) -> AsyncGenerator[str, None]:
        client = await self._connections.get()
        from openai import omit  # noqa: PLC0415 — imported with the client

        tokens = min(request.max_tokens, form.most_tokens or request.max_tokens)
        stream = await client.chat.completions.create(
            model=self.model,
            messages=_messages(form, request),
            max_tokens=tokens if form.limit == "max_tokens" else omit,
            max_completion_tokens=tokens if form.limit == "max_completion_tokens" else omit,
            prompt_cache_key=(request.cache_key or omit) if form.keyed else omit,
            # Without a breakpoint this means: keep nothing.
            prompt_cache_options={"mode": "explicit"} if form.marked else omit,
            stream=True,
            stream_options={"include_usage": True} if form.with_usage else omit,
        )
        async with stream:
            async for chunk in stream:
                usage = getattr(chunk, "usage", None)
                if usage is not None:
                    told.usage = _usage(usage)
                for choice in getattr(chunk, "choices", None) or ():
                    told.has_begun = True
                    told.model = str(chunk.model or "")
                    for text in (choice.delta.content, choice.delta.refusal):
                        if isinstance(text, str):
                            yield text
                    if choice.finish_reason:
                        told.has_ended = True
                        told.cut = choice.finish_reason == "length"
                        if choice.finish_reason == "content_filter":
                            told.declined = "content filter"
                if told.has_ended and (usage is not None or not form.with_usage):
                    return

    def _adapt(self, form: Form, failure: ServiceFailure, request: ChatRequest) -> Form | None:
        said = failure.said.lower()
        if failure.status == 404:
            return None
        if form.with_usage and ("stream_options" in said or "include_usage" in said):
            return replace(form, with_usage=False)
        if form.marked and ("prompt_cache_options" in said or "breakpoint" in said):
            return replace(form, marked=False)
        if form.keyed and "prompt_cache_key" in said:
            return replace(form, keyed=False)
        if LIMIT_SAID.search(said) is None:
            return None
        allowed = lower_limit(said, form.most_tokens or request.max_tokens)
        if allowed is not None:
            return replace(form, most_tokens=allowed)
        if form.swapped:
            return None
        other: Literal["max_tokens", "max_completion_tokens"] = (
            "max_completion_tokens" if form.limit == "max_tokens" else "max_tokens"
        )
        return replace(form, limit=other, swapped=True)

    def _errors(self) -> tuple[type[Exception], ...]:
        return (*super()._errors(), *transport_errors())

    def _failure(self, error: Exception) -> ServiceFailure:
        is_transport = isinstance(error, transport_errors())
        return transport_failure(error) if is_transport else super()._failure(error)


def _messages(form: Form, request: ChatRequest) -> list[ChatCompletionMessageParam]:
    messages: list[ChatCompletionMessageParam] = []
    if request.prefix and form.marked and request.cache_key:
        parts: list[ChatCompletionContentPartTextParam] = [
            {"type": "text", "text": piece, "prompt_cache_breakpoint": {"mode": "explicit"}}
            for piece in request.prefix
        ]
        messages.append({"role": "system", "content": parts})
    elif request.prefix:
        messages.append({"role": "system", "content": "".join(request.prefix)})
    messages.append({"role": "user", "content": request.rest})
    return messages


def _usage(usage: object) -> Usage:
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        input_tokens=count_of(getattr(usage, "prompt_tokens", None)),
        cached_tokens=count_of(getattr(details, "cached_tokens", None)),
        cache_write_tokens=count_of(getattr(details, "cache_write_tokens", None)),
        output_tokens=count_of(getattr(usage, "completion_tokens", None)),
    )
