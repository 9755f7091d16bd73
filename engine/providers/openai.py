"""Completions from OpenAI, or from any server with its chat interface, through OpenAI's own client.

Compatible servers (Ollama, vLLM, llama.cpp, gateways) share the interface, not the parameters: the request
starts in the form that fits the server best and is adapted when something in it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engine.providers.attempts import ServiceFailure
from engine.providers.base import Completion, count_of
from engine.providers.network import CLIENT_TIMEOUT_S, NetworkProvider, Request, Service, refusal
from engine.providers.outgoing import guarded

if TYPE_CHECKING:
    from openai import AsyncOpenAI

REASONING = re.compile(r"gpt-[5-9]|o\d")
LIMIT_SAID = re.compile(r"max_(?:completion_|output_)?tokens")
_TOO_FEW_SAID = re.compile(r"minimum|at least|>=|below|could not finish|too small|greater than")

Effort = Literal["none", "minimal", "low"]
_NEXT_EFFORT: dict[Effort, Effort | None] = {"none": "minimal", "minimal": "low", "low": None}
_MORE_TOKENS = {1: 16, 16: 256}


@dataclass(frozen=True, slots=True)
class Form:
    """The parameters that models and servers differ in."""

    temperature: bool
    effort: Effort | None
    limit: Literal["max_tokens", "max_completion_tokens"]
    least_tokens: int = 1
    swapped: bool = False


class OpenAIService(Service["AsyncOpenAI"]):
    """OpenAI's server, or a compatible one.

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
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            return refusal(status, error.body, error.request.headers, {})
        return ServiceFailure(0 if isinstance(error, openai.APIConnectionError) else -1)


class OpenAI(OpenAIService, NetworkProvider[Form, "AsyncOpenAI"]):
    """Asks a model of OpenAI, or of a compatible server."""

    def _first_form(self) -> Form:
        reasons = not self.address and REASONING.match(self.model) is not None
        return Form(
            temperature=not reasons,
            effort="none" if reasons else None,
            limit="max_tokens" if self.address else "max_completion_tokens",
            least_tokens=16 if reasons else 1,
        )

    async def _completion(self, client: AsyncOpenAI, form: Form, request: Request) -> Completion:
        from openai import omit  # noqa: PLC0415 — imported with the client

        tokens = max(request.max_tokens, form.least_tokens)
        reply = await client.chat.completions.create(
            model=self.model,
            messages=[
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.prompt},
            ],
            max_tokens=tokens if form.limit == "max_tokens" else omit,
            max_completion_tokens=tokens if form.limit == "max_completion_tokens" else omit,
            temperature=request.temperature if form.temperature else omit,
            reasoning_effort=form.effort or omit,
        )
        choice = reply.choices[0]
        text = choice.message.content
        sent = count_of(reply.usage.prompt_tokens) if reply.usage else 0
        written = count_of(reply.usage.completion_tokens) if reply.usage else 0
        details = reply.usage.prompt_tokens_details if reply.usage else None
        cached = min(count_of(getattr(details, "cached_tokens", 0)), sent)
        return Completion(
            text=text if isinstance(text, str) else "",
            input_tokens=sent,
            output_tokens=written,
            model=str(reply.model),
            cost_usd=self._cost(sent, written, cached),
            cut=choice.finish_reason == "length",
            cached_tokens=cached,
        )

    def _adapt(self, form: Form, failure: ServiceFailure) -> Form | None:
        said = failure.said.lower()
        if form.temperature and "temperature" in said:
            return replace(form, temperature=False)
        if form.effort is not None and "reasoning" in said:
            return replace(form, effort=_NEXT_EFFORT[form.effort])
        if LIMIT_SAID.search(said) is None:
            return None
        if _TOO_FEW_SAID.search(said) and form.least_tokens in _MORE_TOKENS:
            return replace(form, least_tokens=_MORE_TOKENS[form.least_tokens])
        if not form.swapped:
            other: Literal["max_tokens", "max_completion_tokens"] = (
                "max_completion_tokens" if form.limit == "max_tokens" else "max_tokens"
            )
            return replace(form, limit=other, swapped=True)
        if form.least_tokens in _MORE_TOKENS:
            return replace(form, least_tokens=_MORE_TOKENS[form.least_tokens])
        return None
