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

import json
import re
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from engine.providers.attempts import ServiceFailure, quoted, refusal, told_within
from engine.providers.batches import CANCELED, EXPIRED, BatchService, Outcome, Standing
from engine.providers.chat import ChatRequest
from engine.providers.openai_form import (
    NEXT_EFFORT,
    OpenAIForm,
    add_piece,
    called,
    function,
    functions,
    items_of,
    limit,
    messages_of,
    take_item,
    usage_said,
)
from engine.providers.outgoing import guarded
from engine.providers.reply import Told
from engine.providers.transport import CLIENT_TIMEOUT_S, LIMIT_SAID, Form, Service

if TYPE_CHECKING:
    from datetime import datetime

    from openai import AsyncOpenAI

_REASONING = re.compile(r"gpt-[5-9]|o\d")
_MARKED = re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)")
"""Models that take breakpoints."""
_TOO_FEW_SAID = re.compile(r"minimum|at least|>=|below|could not finish|too small|greater than")
_KEPT_THOUGHTS: Any = ["reasoning.encrypted_content"]
_COMPLETIONS: Literal["/v1/chat/completions"] = "/v1/chat/completions"
_LABEL = "autopoiesis"
_FILE_S = 2 * 24 * 3600
"""How long the service keeps what it was asked: a batch takes a day at most."""
_ENDED = frozenset({"completed", "expired", "cancelled", "failed"})
_UNDONE = {"batch_expired": EXPIRED, "batch_cancelled": CANCELED}
_STATUS = {
    "rate_limit_exceeded": 429,
    "insufficient_quota": 402,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
}
"""The statuses of errors within a reply by their codes; all others are the service's own."""


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


class OpenAI(OpenAIServer[OpenAIForm], BatchService["AsyncOpenAI", OpenAIForm]):
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
        create: Any = client.chat.completions.create
        return _whole(await create(**self._body(form, request)), told)

    def _body(self, form: OpenAIForm, request: ChatRequest) -> dict[str, Any]:
        """What asks for a reply that comes as one, by chat completions."""
        return {
            "model": self.model,
            "messages": messages_of(form, request),
            **({"temperature": 0.0} if form.temperature else {}),
            **({"reasoning_effort": form.effort} if form.effort else {}),
            **limit(form, request),
        }

    async def _responses(
        self, client: AsyncOpenAI, form: OpenAIForm, request: ChatRequest, told: Told
    ) -> AsyncGenerator[str, None]:
        from openai import omit  # noqa: PLC0415 — imported with the client

        offered = form.offers(request)
        # Of what a model may say there are some sixty kinds of events.
        stream: Any = await client.responses.create(
            model=self.model,
            input=items_of(form, request),
            max_output_tokens=form.tokens(request),
            prompt_cache_key=(request.cache_key or omit) if form.keyed else omit,
            # Without a breakpoint this means: keep nothing.
            prompt_cache_options={"mode": "explicit"} if form.marked else omit,
            tools=functions(request) if offered else omit,
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
                        take_item(event.item.to_dict(), told)
                    case "response.completed" | "response.incomplete":
                        why = getattr(event.response.incomplete_details, "reason", None)
                        told.usage = usage_said(event.response.usage, "input", "output")
                        told.has_ended = True
                        told.cut = why == "max_output_tokens"
                        told.declined = "content filter" if why == "content_filter" else ""
                        return
                    case "response.failed":
                        told.usage = usage_said(event.response.usage, "input", "output")
                        raise _failed(event.response.error, stream.response.request.headers)
                    case "error":
                        raise _failed(event, stream.response.request.headers)

    async def _completions(
        self, client: AsyncOpenAI, form: OpenAIForm, request: ChatRequest, told: Told
    ) -> AsyncGenerator[str, None]:
        from openai import omit  # noqa: PLC0415 — imported with the client

        create: Any = client.chat.completions.create
        nested = [{"type": "function", "function": function(tool)} for tool in request.tools]
        stream = await create(
            model=self.model,
            messages=messages_of(form, request),
            prompt_cache_key=(request.cache_key or omit) if form.keyed else omit,
            prompt_cache_options={"mode": "explicit"} if form.marked else omit,  # as above
            tools=nested if form.offers(request) else omit,
            stream=True,
            stream_options={"include_usage": True} if form.with_usage else omit,
            **limit(form, request),
        )
        said, calls = "", list[dict[str, Any]]()
        async with stream:
            async for chunk in stream:
                usage = getattr(chunk, "usage", None)
                if usage is not None:
                    told.usage = usage_said(usage, "prompt", "completion")
                for choice in getattr(chunk, "choices", None) or ():
                    told.has_begun = True
                    told.model = str(chunk.model or "")
                    for text in (choice.delta.content, choice.delta.refusal):
                        if isinstance(text, str):
                            said += text
                            yield text
                    for piece in choice.delta.tool_calls or ():
                        add_piece(calls, piece)
                    if choice.finish_reason:
                        told.has_ended = True
                        told.cut = choice.finish_reason == "length"
                        if choice.finish_reason == "content_filter":
                            told.declined = "content filter"
                        called(said, calls, told)
                if told.has_ended and (usage is not None or not form.with_usage):
                    return

    # Batches: a file of requests, and files of what came of them.

    async def _submit(
        self, client: AsyncOpenAI, form: OpenAIForm, requests: Mapping[str, ChatRequest], label: str
    ) -> str:
        lines = [
            {"custom_id": key, "method": "POST", "url": _COMPLETIONS, "body": self._body(form, request)}
            for key, request in requests.items()
        ]
        data = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()
        file = await client.files.create(
            file=(f"{label}.jsonl", data, "application/jsonl"),
            purpose="batch",
            expires_after={"anchor": "created_at", "seconds": _FILE_S},
        )
        made = await self._once(
            client.batches.create(
                input_file_id=file.id,
                endpoint=_COMPLETIONS,
                completion_window="24h",
                metadata={_LABEL: label},
            )
        )
        return made.id

    async def _find(
        self, client: AsyncOpenAI, label: str, since: datetime, size: int, known: Collection[str]
    ) -> str:
        found = (await client.batches.list(limit=100)).data
        ours = [each for each in found if (each.metadata or {}).get(_LABEL) == label]
        return next((each.id for each in ours if each.id not in known and each.status != "failed"), "")

    async def _standing(self, client: AsyncOpenAI, batch: str) -> Standing:
        found = await client.batches.retrieve(batch)
        counts = found.request_counts
        done, total = (counts.completed + counts.failed, counts.total) if counts is not None else (0, 0)
        why = [each.message or each.code or "" for each in (found.errors and found.errors.data) or ()]
        refused = (quoted("; ".join(why[:3])) or "no reason given") if found.status == "failed" else ""
        return Standing(done, total, found.status in _ENDED, refused)

    async def _outcomes(self, client: AsyncOpenAI, batch: str) -> dict[str, Outcome]:
        from openai.types.chat import ChatCompletion  # noqa: PLC0415 — imported with the client

        found = await client.batches.retrieve(batch)
        outcomes: dict[str, Outcome] = {}
        for name in filter(None, (found.output_file_id, found.error_file_id)):
            for line in (await client.files.content(name)).text.splitlines():
                each = json.loads(line)
                response, error = each.get("response") or {}, each.get("error") or {}
                key, status = str(each["custom_id"]), response.get("status_code")
                if status == 200:
                    told = Told()
                    outcomes[key] = self._reply(
                        _whole(ChatCompletion.construct(**response["body"]), told), told
                    )
                else:
                    outcomes[key] = _UNDONE.get(str(error.get("code")), f"refused ({status})")
        return outcomes

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
            return replace(form, effort=NEXT_EFFORT[form.effort])
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


def _whole(reply: Any, told: Told) -> str:
    """The text of a reply that came as one; all else goes to ``told``."""
    choice = reply.choices[0]
    text = choice.message.content
    told.usage = usage_said(reply.usage, "prompt", "completion")
    told.model = str(reply.model or "")
    told.cut = choice.finish_reason == "length"
    told.has_ended = True
    return text if isinstance(text, str) else ""


def _failed(error: object, sent: Mapping[str, str]) -> ServiceFailure:
    """An error that was told within a response."""
    code = str(getattr(error, "code", ""))
    return told_within({"message": getattr(error, "message", "") or code}, _STATUS.get(code), sent)
