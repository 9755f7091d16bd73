"""Chats with OpenAI, or with any server that has its chat interface, through OpenAI's own client.

OpenAI itself is asked by its ``responses`` interface, and nothing of it is stored there. Compatible servers
(Ollama, vLLM, llama.cpp, gateways) are asked by chat completions, which all of them have; so is one that
stands in OpenAI's place and has nothing else. Caching is the same with both. Models from GPT-5.6 on find a
cache only where a breakpoint ended it, and charge for writing: the ends of the prefix pieces are marked for
them, and nothing else is kept, since what follows changes with every message.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from engine.providers.attempts import ServiceFailure, said_by
from engine.providers.base import count_of
from engine.providers.chat import ChatRequest, Tool, Usage
from engine.providers.chat_network import ChatNetwork, Told, lower_limit, tool_use
from engine.providers.keys import key_sent
from engine.providers.openai import LIMIT_SAID, REASONING, OpenAIService

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MARKED = re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)")
"""Models that take breakpoints."""
_KEPT_THOUGHTS: Any = ["reasoning.encrypted_content"]
_STATUS = {"rate_limit_exceeded": 429, "invalid_prompt": 400}
"""The statuses of errors by their codes; all others are the service's own."""


@dataclass(frozen=True, slots=True)
class Form:
    """The parameters that models and servers differ in."""

    api: Literal["responses", "completions"]
    limit: Literal["max_tokens", "max_completion_tokens"]
    marked: bool
    keyed: bool
    thoughts: bool
    with_usage: bool = True
    most_tokens: int | None = None
    swapped: bool = False
    tools: bool = True


class OpenAIChat(OpenAIService, ChatNetwork[Form, "AsyncOpenAI"]):
    """Chats with a model of OpenAI, or of a compatible server. Tokens are not counted by it beforehand."""

    def _first_form(self) -> Form:
        return Form(
            api="completions" if self.address else "responses",
            limit="max_tokens" if self.address else "max_completion_tokens",
            marked=not self.address and _MARKED.match(self.model) is not None,
            keyed=not self.address,
            thoughts=REASONING.match(self.model) is not None,
        )

    def _offers(self, form: Form) -> bool:
        return form.tools

    async def _stream(self, form: Form, request: ChatRequest, told: Told) -> AsyncGenerator[str, None]:
        client = await self._connections.get()
        ask = self._responses if form.api == "responses" else self._completions
        async for text in ask(client, form, request, told):
            yield text

    async def _responses(
        self, client: AsyncOpenAI, form: Form, request: ChatRequest, told: Told
    ) -> AsyncGenerator[str, None]:
        from openai import omit  # noqa: PLC0415 — imported with the client

        offered = form.tools and bool(request.tools)
        # Of what a model may say there are some sixty kinds of events.
        stream: Any = await client.responses.create(
            model=self.model,
            input=_input(form, request),
            max_output_tokens=min(request.max_tokens, form.most_tokens or request.max_tokens),
            prompt_cache_key=(request.cache_key or omit) if form.keyed else omit,
            # Without a breakpoint this means: keep nothing.
            prompt_cache_options={"mode": "explicit"} if form.marked else omit,
            tools=_functions(request) if offered else omit,
            # What is not stored there has to come back with the answers of tools.
            include=_KEPT_THOUGHTS if offered and form.thoughts else omit,
            store=False,
            stream=True,
        )
        async with stream:
            async for event in stream:
                told.has_begun = True
                match event.type:
                    case "response.created":
                        told.model = str(event.response.model)
                    case "response.output_text.delta" | "response.refusal.delta":
                        yield event.delta
                    case "response.output_item.done":
                        _item(event.item.to_dict(), told)
                    case "response.completed" | "response.incomplete":
                        why = getattr(event.response.incomplete_details, "reason", None)
                        told.usage = _usage(event.response.usage, "input", "output")
                        told.has_ended = True
                        told.cut = why == "max_output_tokens"
                        told.declined = "content filter" if why == "content_filter" else ""
                        return
                    case "response.failed":
                        told.usage = _usage(event.response.usage, "input", "output")
                        raise _failed(event.response.error, stream.response.request.headers)
                    case "error":
                        raise _failed(event, stream.response.request.headers)

    async def _completions(
        self, client: AsyncOpenAI, form: Form, request: ChatRequest, told: Told
    ) -> AsyncGenerator[str, None]:
        from openai import omit  # noqa: PLC0415 — imported with the client

        tokens = min(request.max_tokens, form.most_tokens or request.max_tokens)
        offered = form.tools and bool(request.tools)
        create: Any = client.chat.completions.create
        stream = await create(
            model=self.model,
            messages=_messages(form, request),
            max_tokens=tokens if form.limit == "max_tokens" else omit,
            max_completion_tokens=tokens if form.limit == "max_completion_tokens" else omit,
            prompt_cache_key=(request.cache_key or omit) if form.keyed else omit,
            prompt_cache_options={"mode": "explicit"} if form.marked else omit,  # as above
            tools=[{"type": "function", "function": _function(tool)} for tool in request.tools]
            if offered
            else omit,
            stream=True,
            stream_options={"include_usage": True} if form.with_usage else omit,
        )
        said, calls = "", dict[int, dict[str, Any]]()
        async with stream:
            async for chunk in stream:
                usage = getattr(chunk, "usage", None)
                if usage is not None:
                    told.usage = _usage(usage, "prompt", "completion")
                for choice in getattr(chunk, "choices", None) or ():
                    told.has_begun = True
                    told.model = str(chunk.model or "")
                    for text in (choice.delta.content, choice.delta.refusal):
                        if isinstance(text, str):
                            said += text
                            yield text
                    for piece in choice.delta.tool_calls or ():
                        _add(calls, piece)
                    if choice.finish_reason:
                        told.has_ended = True
                        told.cut = choice.finish_reason == "length"
                        if choice.finish_reason == "content_filter":
                            told.declined = "content filter"
                        _called(said, calls, told)
                if told.has_ended and (usage is not None or not form.with_usage):
                    return

    def _adapt(self, form: Form, failure: ServiceFailure, request: ChatRequest) -> Form | None:
        said = failure.said.lower()
        if form.api == "responses" and (
            (failure.status in (404, 405) and "model" not in said) or "responses" in said
        ):
            return replace(form, api="completions")
        if failure.status in (404, 405):
            return None
        if form.thoughts and "encrypted" in said:
            return replace(form, thoughts=False)
        if form.tools and request.tools and "tool" in said:
            return replace(form, tools=False)
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


def _function(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.input_schema),
        "strict": False,
    }


def _functions(request: ChatRequest) -> list[Any]:
    return [{"type": "function", **_function(tool)} for tool in request.tools]


def _system(form: Form, request: ChatRequest, kind: str) -> list[Any]:
    """The prefix as a message; none where there is none."""
    if not request.prefix:
        return []
    if form.marked and request.cache_key:
        mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
        parts = [{"type": kind, "text": piece, **mark} for piece in request.prefix]
        return [{"role": "system", "content": parts}]
    return [{"role": "system", "content": "".join(request.prefix)}]


def _input(form: Form, request: ChatRequest) -> list[Any]:
    items = [*_system(form, request, "input_text"), {"role": "user", "content": request.rest}]
    for each in request.rounds:
        items += each.items
        items += [
            {"type": "function_call_output", "call_id": call.id, "output": answer}
            for call, answer in each.answers
        ]
    return items


def _messages(form: Form, request: ChatRequest) -> list[Any]:
    messages = [*_system(form, request, "text"), {"role": "user", "content": request.rest}]
    for each in request.rounds:
        messages += each.items
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": answer} for call, answer in each.answers
        ]
    return messages


def _item(item: dict[str, Any], told: Told) -> None:
    """Takes over a finished item of a reply; a thought that cannot come back is left out."""
    if item["type"] == "function_call":
        told.calls.append(tool_use(item["name"], item["arguments"], item["call_id"]))
    if item["type"] != "reasoning" or item.get("encrypted_content"):
        told.items.append(item)


def _add(calls: dict[int, dict[str, Any]], piece: Any) -> None:
    """Puts a piece of a call to those before it."""
    call = calls.setdefault(piece.index or 0, {"id": "", "name": "", "arguments": ""})
    call["id"] = piece.id or call["id"]
    if piece.function is not None:
        call["name"] = piece.function.name or call["name"]
        call["arguments"] += piece.function.arguments or ""


def _called(said: str, calls: dict[int, dict[str, Any]], told: Told) -> None:
    """Takes over the calls of a reply that has ended."""
    told.calls = [tool_use(call["name"], call["arguments"], call["id"]) for call in calls.values()]
    functions = [
        {
            "type": "function",
            "id": call["id"],
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for call in calls.values()
    ]
    told.items = [{"role": "assistant", "content": said or None, "tool_calls": functions}]


def _failed(error: object, sent: Mapping[str, str]) -> ServiceFailure:
    """An error that was told within a reply."""
    said = said_by({"message": getattr(error, "message", "")}, key_sent(sent))
    return ServiceFailure(_STATUS.get(str(getattr(error, "code", "")), 500), said)


def _usage(usage: object, sent: str, written: str) -> Usage:
    details = getattr(usage, f"{sent}_tokens_details", None)
    return Usage(
        input_tokens=count_of(getattr(usage, f"{sent}_tokens", None)),
        cached_tokens=count_of(getattr(details, "cached_tokens", None)),
        cache_write_tokens=count_of(getattr(details, "cache_write_tokens", None)),
        output_tokens=count_of(getattr(usage, f"{written}_tokens", None)),
    )
