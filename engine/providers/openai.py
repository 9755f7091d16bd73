"""OpenAI, or any server with its chat interface, through OpenAI's own client.

OpenAI itself is asked by its ``responses`` interface, and nothing of it is stored there. Compatible servers
(Ollama, vLLM, llama.cpp, gateways) are asked by chat completions, which all of them have; so is one that
stands in OpenAI's place and has nothing else, and so is every model that is to answer at once. Servers share
the interface, not the parameters: a request starts in the form that fits the server best and is adapted when
something in it is refused. What is asked for at once is not streamed either: organizations that OpenAI has
not verified may ask its newer models, but not have their replies streamed.

Caching is the same with both. Models from GPT-5.6 on find a cache only where a breakpoint ended it, and
charge for writing: the ends of the prefix pieces are marked for them, and nothing else is kept, since what
follows changes with every message.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from engine.providers.attempts import ServiceFailure, refusal, told_within
from engine.providers.chat import ChatRequest, Tool, Usage
from engine.providers.outgoing import guarded
from engine.providers.reply import Told, tool_use, usage_of
from engine.providers.transport import (
    CLIENT_TIMEOUT_S,
    LIMIT_SAID,
    ChatForm,
    ChatService,
    Form,
    Service,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_REASONING = re.compile(r"gpt-[5-9]|o\d")
_MARKED = re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)")
"""Models that take breakpoints."""
_TOO_FEW_SAID = re.compile(r"minimum|at least|>=|below|could not finish|too small|greater than")
_KEPT_THOUGHTS: Any = ["reasoning.encrypted_content"]
_STATUS = {
    "rate_limit_exceeded": 429,
    "insufficient_quota": 402,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
}
"""The statuses of errors within a reply by their codes; all others are the service's own."""

Effort = Literal["none", "minimal", "low"]
_NEXT_EFFORT: dict[Effort, Effort | None] = {"none": "minimal", "minimal": "low", "low": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIForm(ChatForm):
    """The parameters that models and servers differ in."""

    api: Literal["responses", "completions"]
    limit: Literal["max_tokens", "max_completion_tokens"]
    effort: Effort | None
    marked: bool
    keyed: bool
    thoughts: bool
    with_usage: bool = True
    swapped: bool = False


class OpenAIServer(Service["AsyncOpenAI", Form]):
    """OpenAI's server, or a compatible one, whatever it is asked for.

    The key is read from ``OPENAI_API_KEY``; see ``keys`` for other servers.
    """

    name = "openai"
    key_variable = "OPENAI_API_KEY"
    address_variable = "OPENAI_BASE_URL"

    def _connect(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient  # noqa: PLC0415 — half a second

        return AsyncOpenAI(
            api_key=self._key(),
            base_url=self.address or None,
            max_retries=0,  # retries share one deadline, which the client does not know
            timeout=CLIENT_TIMEOUT_S,
            http_client=guarded(DefaultAsyncHttpxClient()),
        )

    def _errors(self) -> tuple[type[Exception], ...]:
        from openai import OpenAIError  # noqa: PLC0415 — imported with the client

        return (OpenAIError,)

    def _failure(self, error: Exception) -> ServiceFailure:
        import openai  # noqa: PLC0415 — imported with the client

        if isinstance(error, openai.APIStatusError):
            return refusal(error.status_code, error.body, error.request.headers, error.response.headers)
        if type(error) is openai.APIError and isinstance(error.body, Mapping):  # told within a reply
            code = error.body.get("code")
            return told_within(error.body, _STATUS.get(str(code), code), error.request.headers)
        return ServiceFailure(0 if isinstance(error, openai.APIConnectionError) else -1)


class OpenAI(OpenAIServer[OpenAIForm], ChatService["AsyncOpenAI", OpenAIForm]):
    """Asks a model of OpenAI, or of a compatible server. Tokens are not counted by it beforehand."""

    def _first_form(self) -> OpenAIForm:
        at_home = not self.address
        reasons = _REASONING.match(self.model) is not None
        return OpenAIForm(
            api="responses" if at_home else "completions",
            limit="max_completion_tokens" if at_home else "max_tokens",
            temperature=not (at_home and reasons),
            effort="none" if at_home and reasons else None,
            least_tokens=16 if at_home and reasons else 1,
            marked=at_home and _MARKED.match(self.model) is not None,
            keyed=at_home,
            thoughts=reasons,
        )

    async def _stream(
        self, client: AsyncOpenAI, form: OpenAIForm, request: ChatRequest, told: Told
    ) -> AsyncGenerator[str, None]:
        if request.at_once:
            yield await self._at_once(client, form, request, told)
            return
        ask = self._responses if form.api == "responses" else self._completions
        async for text in ask(client, form, request, told):
            yield text

    async def _at_once(self, client: AsyncOpenAI, form: OpenAIForm, request: ChatRequest, told: Told) -> str:
        from openai import omit  # noqa: PLC0415 — imported with the client

        create: Any = client.chat.completions.create
        reply = await create(
            model=self.model,
            messages=_messages(form, request),
            temperature=0.0 if form.temperature else omit,
            reasoning_effort=form.effort or omit,
            **_limit(form, request),
        )
        choice = reply.choices[0]
        text = choice.message.content
        told.usage = _usage(reply.usage, "prompt", "completion")
        told.model = str(reply.model or "")
        told.cut = choice.finish_reason == "length"
        told.has_ended = True
        return text if isinstance(text, str) else ""

    async def _responses(
        self, client: AsyncOpenAI, form: OpenAIForm, request: ChatRequest, told: Told
    ) -> AsyncGenerator[str, None]:
        from openai import omit  # noqa: PLC0415 — imported with the client

        offered = form.offers(request)
        # Of what a model may say there are some sixty kinds of events.
        stream: Any = await client.responses.create(
            model=self.model,
            input=_input(form, request),
            max_output_tokens=form.tokens(request),
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
                        told.model = str(event.response.model or "")
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
        self, client: AsyncOpenAI, form: OpenAIForm, request: ChatRequest, told: Told
    ) -> AsyncGenerator[str, None]:
        from openai import omit  # noqa: PLC0415 — imported with the client

        create: Any = client.chat.completions.create
        functions = [{"type": "function", "function": _function(tool)} for tool in request.tools]
        stream = await create(
            model=self.model,
            messages=_messages(form, request),
            prompt_cache_key=(request.cache_key or omit) if form.keyed else omit,
            prompt_cache_options={"mode": "explicit"} if form.marked else omit,  # as above
            tools=functions if form.offers(request) else omit,
            stream=True,
            stream_options={"include_usage": True} if form.with_usage else omit,
            **_limit(form, request),
        )
        said, calls = "", list[dict[str, Any]]()
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

    def _adapt(self, form: OpenAIForm, failure: ServiceFailure, request: ChatRequest) -> OpenAIForm | None:
        said = failure.said.lower()
        not_there = failure.status in (404, 405)
        if not request.at_once and form.api == "responses":
            if (not_there and "model" not in said) or "responses" in said:
                return replace(form, api="completions")
            if form.thoughts and "encrypted" in said:
                return replace(form, thoughts=False)
        if not_there:
            return None
        if request.at_once and form.effort is not None and "reasoning" in said:
            return replace(form, effort=_NEXT_EFFORT[form.effort])
        if form.with_usage and ("stream_options" in said or "include_usage" in said):
            return replace(form, with_usage=False)
        if form.marked and ("prompt_cache_options" in said or "breakpoint" in said):
            return replace(form, marked=False)
        if form.keyed and "prompt_cache_key" in said:
            return replace(form, keyed=False)
        other = super()._adapt(form, failure, request)
        about_name = other is None or (
            other.least_tokens != form.least_tokens and _TOO_FEW_SAID.search(said) is None
        )
        if about_name and not form.swapped and LIMIT_SAID.search(said):
            name: Literal["max_tokens", "max_completion_tokens"] = (
                "max_completion_tokens" if form.limit == "max_tokens" else "max_tokens"
            )
            return replace(form, limit=name, swapped=True)
        return other


def _limit(form: OpenAIForm, request: ChatRequest) -> dict[str, int]:
    return {form.limit: form.tokens(request)}


def _function(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.input_schema),
        "strict": False,
    }


def _functions(request: ChatRequest) -> list[Any]:
    return [{"type": "function", **_function(tool)} for tool in request.tools]


def _system(form: OpenAIForm, request: ChatRequest, kind: str) -> list[Any]:
    """The prefix as a message; none where there is none."""
    if not request.prefix:
        return []
    if form.marked and request.cache_key:
        mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
        parts = [{"type": kind, "text": piece, **mark} for piece in request.prefix]
        return [{"role": "system", "content": parts}]
    return [{"role": "system", "content": "".join(request.prefix)}]


def _input(form: OpenAIForm, request: ChatRequest) -> list[Any]:
    items = [*_system(form, request, "input_text"), {"role": "user", "content": request.rest}]
    for each in request.rounds:
        items += each.items
        items += [
            {"type": "function_call_output", "call_id": call.id, "output": answer}
            for call, answer in each.answers
        ]
    return items


def _messages(form: OpenAIForm, request: ChatRequest) -> list[Any]:
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


def _add(calls: list[dict[str, Any]], piece: Any) -> None:
    """Puts a piece of a call to those before it; some servers number all calls alike and name each."""
    place = piece.index or 0
    call = next((each for each in reversed(calls) if each["place"] == place), None)
    if call is None or (piece.id and call["id"] and piece.id != call["id"]):
        call = {"place": place, "id": "", "name": "", "arguments": ""}
        calls.append(call)
    call["id"] = piece.id or call["id"]
    if piece.function is not None:
        call["name"] = piece.function.name or call["name"]
        call["arguments"] += piece.function.arguments or ""


def _called(said: str, calls: list[dict[str, Any]], told: Told) -> None:
    """Takes over the calls of a reply that has ended."""
    told.calls = [tool_use(call["name"], call["arguments"], call["id"]) for call in calls]
    functions = [
        {
            "type": "function",
            "id": call["id"],
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for call in calls
    ]
    told.items = [{"role": "assistant", "content": said or None, "tool_calls": functions}]


def _failed(error: object, sent: Mapping[str, str]) -> ServiceFailure:
    """An error that was told within a response."""
    code = str(getattr(error, "code", ""))
    return told_within({"message": getattr(error, "message", "") or code}, _STATUS.get(code), sent)


def _usage(usage: object, sent: str, written: str) -> Usage:
    details = getattr(usage, f"{sent}_tokens_details", None)
    return usage_of(
        getattr(usage, f"{sent}_tokens", None),
        getattr(usage, f"{written}_tokens", None),
        getattr(details, "cached_tokens", None),
        getattr(details, "cache_write_tokens", None),
    )
