"""Completions from Anthropic's Messages API, through its own client."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.providers.attempts import ServiceFailure
from engine.providers.base import Completion, count_of
from engine.providers.network import CLIENT_TIMEOUT_S, NetworkProvider, Request, Service, refusal
from engine.providers.outgoing import guarded

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_WITHOUT_TEMPERATURE = re.compile(r"claude-(?:fable|mythos|(?:opus|sonnet|haiku)-5|opus-4-[78])")
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The statuses of errors by their types."""


@dataclass(frozen=True, slots=True)
class Form:
    """The parameters that models differ in."""

    temperature: bool
    thinking_off: bool = True
    least_tokens: int = 1


class AnthropicService(Service["AsyncAnthropic"]):
    """Anthropic's server, or one with its interface. The key is read from ``ANTHROPIC_API_KEY``."""

    name = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    address_variable = "ANTHROPIC_BASE_URL"

    def _connect(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient  # noqa: PLC0415 — more than a second

        return AsyncAnthropic(
            api_key=self._key(),
            base_url=self.address or None,
            max_retries=0,  # retries share one deadline, which the client does not know
            timeout=CLIENT_TIMEOUT_S,
            http_client=guarded(DefaultAsyncHttpxClient()),
        )

    def _errors(self) -> tuple[type[Exception], ...]:
        from anthropic import AnthropicError  # noqa: PLC0415 — imported with the client

        return (AnthropicError,)

    def _failure(self, error: Exception) -> ServiceFailure:
        import anthropic  # noqa: PLC0415 — imported with the client

        if isinstance(error, anthropic.APIStatusError):
            status = error.status_code
            if status < 400:  # told within a reply that had begun
                status = _STATUS.get(str(error.type), 500)
            return refusal(status, error.body, error.request.headers, error.response.headers)
        return ServiceFailure(0 if isinstance(error, anthropic.APIConnectionError) else -1)


class Anthropic(AnthropicService, NetworkProvider[Form, "AsyncAnthropic"]):
    """Asks a Claude model."""

    def _first_form(self) -> Form:
        # Recent models refuse a temperature; knowing that saves the first question a round trip.
        return Form(temperature=_WITHOUT_TEMPERATURE.match(self.model) is None)

    async def _completion(self, client: AsyncAnthropic, form: Form, request: Request) -> Completion:
        from anthropic import omit  # noqa: PLC0415 — imported with the client

        message = await client.messages.create(
            model=self.model,
            max_tokens=max(request.max_tokens, form.least_tokens),
            system=request.system,
            messages=[{"role": "user", "content": request.prompt}],
            thinking={"type": "disabled"} if form.thinking_off else omit,
            # The client has no such parameter any more; older models still take it.
            extra_body={"temperature": request.temperature} if form.temperature else None,
        )
        texts = [block.text for block in message.content if block.type == "text"]
        usage = message.usage
        cached = count_of(usage.cache_read_input_tokens)
        cache_written = count_of(usage.cache_creation_input_tokens)
        sent = count_of(usage.input_tokens) + cached + cache_written
        written = count_of(usage.output_tokens)
        return Completion(
            text="".join(texts),
            input_tokens=sent,
            output_tokens=written,
            model=str(message.model),
            cost_usd=self._cost(sent, written, cached, cache_written),
            cut=message.stop_reason == "max_tokens",
            cached_tokens=cached,
            cache_write_tokens=cache_written,
        )

    def _adapt(self, form: Form, failure: ServiceFailure) -> Form | None:
        said = failure.said.lower()
        if form.temperature and "temperature" in said:
            return replace(form, temperature=False)
        if form.thinking_off and "thinking" in said:
            return replace(form, thinking_off=False)
        if form.least_tokens < 16 and "max_tokens" in said:
            return replace(form, least_tokens=16)
        return None
