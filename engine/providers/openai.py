"""OpenAI, or any server with its chat API, through the official client.

OpenAI itself is called through the Responses API, without storing anything there. Compatible servers
(Ollama, vLLM, llama.cpp, gateways) are called through chat completions, which all of them support; the same
goes for a proxy of OpenAI that has nothing else, and for all ``at_once`` requests. Servers share the API,
not the parameters: the form describes how they differ. A request starts in the form most likely to be
accepted and is adapted when a parameter is rejected. ``at_once`` requests are not streamed: organizations
that OpenAI has not verified may use its newer models, but not stream their replies.

Caching works the same way in both APIs. Models from GPT-5.6 on only find a cache that ends at a breakpoint,
and bill cache writes: the ends of the prefix pieces become breakpoints, and nothing else is cached, since the
rest changes with every message.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from engine.providers.attempts import ServiceFailure, http_failure, stream_failure
from engine.providers.chat import ChatRequest, Tool, Usage
from engine.providers.outgoing import redacting
from engine.providers.reply import ReplyInfo, tool_use, usage_of
from engine.providers.transport import CLIENT_TIMEOUT_S, LIMIT_MESSAGE, ChatForm, ChatService, Form, Service

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_REASONING = re.compile(r"gpt-[5-9]|o\d")
_SUPPORTS_BREAKPOINTS = re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)")
"""Models that support cache breakpoints."""
_TOO_FEW_MESSAGE = re.compile(r"minimum|at least|>=|below|could not finish|too small|greater than")
_INCLUDE_REASONING: Any = ["reasoning.encrypted_content"]
_STATUS = {
    "rate_limit_exceeded": 429,
    "insufficient_quota": 402,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
}
"""HTTP status by code of an error within a reply; all others count as errors of the service."""


Effort = Literal["none", "minimal", "low"]


NEXT_EFFORT: dict[Effort, Effort | None] = {"none": "minimal", "minimal": "low", "low": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIForm(ChatForm):
    """The parameters that models and servers differ in."""

    api: Literal["responses", "completions"]
    token_limit: Literal["max_tokens", "max_completion_tokens"]
    effort: Effort | None
    breakpoints: bool
    cache_key: bool
    reasoning: bool
    include_usage: bool = True
    limit_swapped: bool = False


class OpenAIServer(Service["AsyncOpenAI", Form]):
    """OpenAI's server, or a compatible one, for any kind of request.

    The key is read from ``OPENAI_API_KEY``; see ``keys`` for other servers.
    """

    name = "openai"
    key_variable = "OPENAI_API_KEY"
    address_variable = "OPENAI_BASE_URL"

    def _connect(self) -> AsyncOpenAI:
        key = self._key()  # before the import: without a key it would be for nothing
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient  # noqa: PLC0415 — half a second

        return AsyncOpenAI(
            api_key=key,
            base_url=self.address or None,
            max_retries=0,  # retries share one deadline, which the client does not know about
            timeout=CLIENT_TIMEOUT_S,
            http_client=redacting(DefaultAsyncHttpxClient()),
        )

    def _errors(self) -> tuple[type[Exception], ...]:
        from openai import OpenAIError  # noqa: PLC0415 — imported with the client

        return (OpenAIError,)

    def _failure(self, error: Exception) -> ServiceFailure:
        import openai  # noqa: PLC0415 — imported with the client

        if isinstance(error, openai.APIStatusError):
            return http_failure(error.status_code, error.body, error.request.headers, error.response.headers)
        if type(error) is openai.APIError and isinstance(error.body, Mapping):  # within a reply
            code = error.body.get("code")
            return stream_failure(error.body, _STATUS.get(str(code), code), error.request.headers)
        return ServiceFailure(0 if isinstance(error, openai.APIConnectionError) else -1)


class OpenAI(OpenAIServer[OpenAIForm], ChatService["AsyncOpenAI", OpenAIForm]):
    """Asks a model of OpenAI, or of a compatible server; it cannot count tokens in advance."""

    def _first_form(self) -> OpenAIForm:
        is_official = not self.address
        reasons = _REASONING.match(self.model) is not None
        return OpenAIForm(
            api="responses" if is_official else "completions",
            token_limit="max_completion_tokens" if is_official else "max_tokens",
            temperature=not (is_official and reasons),
            effort="none" if is_official and reasons else None,
            min_tokens=16 if is_official and reasons else 1,
            breakpoints=is_official and _SUPPORTS_BREAKPOINTS.match(self.model) is not None,
            cache_key=is_official,
            reasoning=reasons,
        )

    async def _stream(
        self, client: AsyncOpenAI, form: OpenAIForm, request: ChatRequest, info: ReplyInfo
    ) -> AsyncGenerator[str, None]:
        if request.at_once:
            yield await self._at_once(client, form, request, info)
            return
        ask = self._responses if form.api == "responses" else self._completions
        async for text in ask(client, form, request, info):
            yield text

    async def _at_once(
        self, client: AsyncOpenAI, form: OpenAIForm, request: ChatRequest, info: ReplyInfo
    ) -> str:
        create: Any = client.chat.completions.create
        return _read_completion(await create(**self._body(form, request)), info)

    def _body(self, form: OpenAIForm, request: ChatRequest) -> dict[str, Any]:
        """The body of a non-streamed chat completion request."""
        return {
            "model": self.model,
            "messages": chat_messages(form, request),
            **({"temperature": 0.0} if form.temperature else {}),
            **({"reasoning_effort": form.effort} if form.effort else {}),
            **token_limit(form, request),
        }

    async def _responses(
        self, client: AsyncOpenAI, form: OpenAIForm, request: ChatRequest, info: ReplyInfo
    ) -> AsyncGenerator[str, None]:
        from openai import omit  # noqa: PLC0415 — imported with the client

        offered = form.offers_tools(request)
        # Typed as Any: there are some sixty kinds of events.
        stream: Any = await client.responses.create(
            model=self.model,
            input=response_input(form, request),
            max_output_tokens=form.max_tokens_for(request),
            prompt_cache_key=(request.cache_key or omit) if form.cache_key else omit,
            # Without a breakpoint, this disables caching.
            prompt_cache_options={"mode": "explicit"} if form.breakpoints else omit,
            tools=response_tools(request) if offered else omit,
            # Since nothing is stored, reasoning has to be sent back with the tools' answers.
            include=_INCLUDE_REASONING if offered and form.reasoning else omit,
            store=False,
            stream=True,
        )
        async with stream:
            async for event in stream:
                info.has_begun = True
                match event.type:
                    case "response.created":
                        info.model = str(event.response.model or "")
                    case "response.output_text.delta" | "response.refusal.delta":
                        yield event.delta
                    case "response.output_item.done":
                        add_item(event.item.to_dict(), info)
                    case "response.completed" | "response.incomplete":
                        why = getattr(event.response.incomplete_details, "reason", None)
                        info.usage = usage_from(event.response.usage, "input", "output")
                        info.has_ended = True
                        info.cut = why == "max_output_tokens"
                        info.declined = "content filter" if why == "content_filter" else ""
                        return
                    case "response.failed":
                        info.usage = usage_from(event.response.usage, "input", "output")
                        raise _error_event(event.response.error, stream.response.request.headers)
                    case "error":
                        raise _error_event(event, stream.response.request.headers)

    async def _completions(
        self, client: AsyncOpenAI, form: OpenAIForm, request: ChatRequest, info: ReplyInfo
    ) -> AsyncGenerator[str, None]:
        from openai import omit  # noqa: PLC0415 — imported with the client

        create: Any = client.chat.completions.create
        nested = [{"type": "function", "function": function_schema(tool)} for tool in request.tools]
        stream = await create(
            model=self.model,
            messages=chat_messages(form, request),
            prompt_cache_key=(request.cache_key or omit) if form.cache_key else omit,
            prompt_cache_options={"mode": "explicit"} if form.breakpoints else omit,  # as above
            tools=nested if form.offers_tools(request) else omit,
            stream=True,
            stream_options={"include_usage": True} if form.include_usage else omit,
            **token_limit(form, request),
        )
        content, calls = "", list[dict[str, Any]]()
        async with stream:
            async for chunk in stream:
                usage = getattr(chunk, "usage", None)
                if usage is not None:
                    info.usage = usage_from(usage, "prompt", "completion")
                for choice in getattr(chunk, "choices", None) or ():
                    info.has_begun = True
                    info.model = str(chunk.model or "")
                    for text in (choice.delta.content, choice.delta.refusal):
                        if isinstance(text, str):
                            content += text
                            yield text
                    for piece in choice.delta.tool_calls or ():
                        add_call_delta(calls, piece)
                    if choice.finish_reason:
                        info.has_ended = True
                        info.cut = choice.finish_reason == "length"
                        if choice.finish_reason == "content_filter":
                            info.declined = "content filter"
                        finish_calls(content, calls, info)
                if info.has_ended and (usage is not None or not form.include_usage):
                    return

    def _adapt(self, form: OpenAIForm, failure: ServiceFailure, request: ChatRequest) -> OpenAIForm | None:
        message = failure.message.lower()
        not_found = failure.status in (404, 405)
        if not request.at_once and form.api == "responses":
            if (not_found and "model" not in message) or "responses" in message:
                return replace(form, api="completions")
            if form.reasoning and "encrypted" in message:
                return replace(form, reasoning=False)
        if not_found:
            return None
        if request.at_once and form.effort is not None and "reasoning" in message:
            return replace(form, effort=NEXT_EFFORT[form.effort])
        if form.include_usage and ("stream_options" in message or "include_usage" in message):
            return replace(form, include_usage=False)
        if form.breakpoints and ("prompt_cache_options" in message or "breakpoint" in message):
            return replace(form, breakpoints=False)
        if form.cache_key and "prompt_cache_key" in message:
            return replace(form, cache_key=False)
        other = super()._adapt(form, failure, request)
        about_name = other is None or (
            other.min_tokens != form.min_tokens and _TOO_FEW_MESSAGE.search(message) is None
        )
        if about_name and not form.limit_swapped and LIMIT_MESSAGE.search(message):
            name: Literal["max_tokens", "max_completion_tokens"] = (
                "max_completion_tokens" if form.token_limit == "max_tokens" else "max_tokens"
            )
            return replace(form, token_limit=name, limit_swapped=True)
        return other


def _read_completion(reply: Any, info: ReplyInfo) -> str:
    """The text of a non-streamed reply; everything else is stored in ``info``."""
    choice = reply.choices[0]
    text = choice.message.content
    info.usage = usage_from(reply.usage, "prompt", "completion")
    info.model = str(reply.model or "")
    info.cut = choice.finish_reason == "length"
    info.has_ended = True
    return text if isinstance(text, str) else ""


def _error_event(error: object, sent: Mapping[str, str]) -> ServiceFailure:
    """The failure reported by an error event within a response."""
    code = str(getattr(error, "code", ""))
    return stream_failure({"message": getattr(error, "message", "") or code}, _STATUS.get(code), sent)


def token_limit(form: OpenAIForm, request: ChatRequest) -> dict[str, int]:
    """The token limit of the reply, under the server's name for it."""
    return {form.token_limit: form.max_tokens_for(request)}


def function_schema(tool: Tool) -> dict[str, Any]:
    """A tool in the format of chat completions."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.input_schema),
        "strict": False,
    }


def response_tools(request: ChatRequest) -> list[Any]:
    """The tools of a request in the format of the Responses API."""
    return [{"type": "function", **function_schema(tool)} for tool in request.tools]


def _system(form: OpenAIForm, request: ChatRequest, kind: str) -> list[Any]:
    """The prefix as a system message; no message if it is empty."""
    if not request.prefix:
        return []
    if form.breakpoints and request.cache_key:
        mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
        parts = [{"type": kind, "text": piece, **mark} for piece in request.prefix]
        return [{"role": "system", "content": parts}]
    return [{"role": "system", "content": "".join(request.prefix)}]


def response_input(form: OpenAIForm, request: ChatRequest) -> list[Any]:
    """A request in the format of the Responses API."""
    items = [*_system(form, request, "input_text"), {"role": "user", "content": request.rest}]
    for each in request.rounds:
        items += each.items
        items += [
            {"type": "function_call_output", "call_id": call.id, "output": answer}
            for call, answer in each.answers
        ]
    return items


def chat_messages(form: OpenAIForm, request: ChatRequest) -> list[Any]:
    """A request in the format of chat completions."""
    messages = [*_system(form, request, "text"), {"role": "user", "content": request.rest}]
    for each in request.rounds:
        messages += each.items
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": answer} for call, answer in each.answers
        ]
    return messages


def add_item(item: dict[str, Any], info: ReplyInfo) -> None:
    """Stores a finished item of a reply, except reasoning that cannot be sent back."""
    if item["type"] == "function_call":
        info.calls.append(tool_use(item["name"], item["arguments"], item["call_id"]))
    if item["type"] != "reasoning" or item.get("encrypted_content"):
        info.items.append(item)


def add_call_delta(calls: list[dict[str, Any]], piece: Any) -> None:
    """Appends a piece to its tool call; some servers give all calls the same index but different ids."""
    index = piece.index or 0
    call = next((each for each in reversed(calls) if each["index"] == index), None)
    if call is None or (piece.id and call["id"] and piece.id != call["id"]):
        call = {"index": index, "id": "", "name": "", "arguments": ""}
        calls.append(call)
    call["id"] = piece.id or call["id"]
    if piece.function is not None:
        call["name"] = piece.function.name or call["name"]
        call["arguments"] += piece.function.arguments or ""


def finish_calls(content: str, calls: list[dict[str, Any]], info: ReplyInfo) -> None:
    """Stores the tool calls of a finished reply."""
    info.calls = [tool_use(call["name"], call["arguments"], call["id"]) for call in calls]
    tool_calls = [
        {
            "type": "function",
            "id": call["id"],
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for call in calls
    ]
    info.items = [{"role": "assistant", "content": content or None, "tool_calls": tool_calls}]


def usage_from(usage: object, sent: str, written: str) -> Usage:
    """The tokens of a call; ``sent`` and ``written`` are the API's names for input and output."""
    details = getattr(usage, f"{sent}_tokens_details", None)
    return usage_of(
        getattr(usage, f"{sent}_tokens", None),
        getattr(usage, f"{written}_tokens", None),
        getattr(details, "cached_tokens", None),
        getattr(details, "cache_write_tokens", None),
    )
