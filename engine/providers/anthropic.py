"""Completions from Anthropic's Messages API, through its own client."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.providers.attempts import ServiceFailure, persist, said_by, seconds_to_wait
from engine.providers.base import Completion, Connections, count_of
from engine.providers.keys import key_for, key_sent, shown_address
from engine.providers.pricing import cost_of, model_named

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

KEY_VARIABLE = "ANTHROPIC_API_KEY"

_ADDRESS_VARIABLE = "ANTHROPIC_BASE_URL"
_CLIENT_TIMEOUT_S = 600.0
_WITHOUT_TEMPERATURE = re.compile(r"claude-(?:fable|mythos|(?:opus|sonnet|haiku)-5|opus-4-[78])")


@dataclass(frozen=True, slots=True)
class _Form:
    """The parameters that models differ in."""

    temperature: bool
    thinking_off: bool = True
    least_tokens: int = 1


class Anthropic:
    """Asks a Claude model.

    The key is read from ``ANTHROPIC_API_KEY`` when the first question is asked.

    Args:
        model: The model, an alias such as ``haiku``, or empty for the cheapest.
        address: Another server with the same interface (``gate.base_url``); empty for Anthropic's own, or
            what ``ANTHROPIC_BASE_URL`` names.
    """

    name = "anthropic"

    def __init__(self, model: str = "", address: str = "") -> None:
        self.model = model_named(self.name, model)
        self.address = address
        # Recent models refuse a temperature; knowing that saves the first question a round trip.
        self._form = _Form(temperature=_WITHOUT_TEMPERATURE.match(self.model) is None)
        self._connections = Connections(self._connect)

    def __repr__(self) -> str:
        return f"Anthropic(model={self.model!r}, address={shown_address(self.address)!r})"

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, temperature: float, timeout: float
    ) -> Completion:
        """As ``CompletionProvider.complete``. Models that think first are asked not to, where they can."""

        async def attempt(form: _Form) -> Completion:
            return await self._attempt(form, system, prompt, max_tokens, temperature)

        completion, self._form = await persist(
            attempt, self._form, _adapt, provider=self, key_variable=KEY_VARIABLE, timeout=timeout
        )
        return completion

    async def aclose(self) -> None:
        """Closes the connections that were opened on the running event loop."""
        await self._connections.close()

    def _connect(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic  # noqa: PLC0415 — more than a second

        return AsyncAnthropic(
            api_key=key_for(KEY_VARIABLE, self.address, _ADDRESS_VARIABLE),
            base_url=self.address or None,
            max_retries=0,  # retries share one deadline, which the client does not know
            timeout=_CLIENT_TIMEOUT_S,
        )

    async def _attempt(
        self,
        form: _Form,
        system: str,
        prompt: str,
        max_tokens: int,
        temperature: float,
    ) -> Completion:
        import anthropic  # noqa: PLC0415 — more than a second

        failure: ServiceFailure
        try:
            client = await self._connections.get()
            message = await client.messages.create(
                model=self.model,
                max_tokens=max(max_tokens, form.least_tokens),
                system=system,
                messages=[{"role": "user", "content": prompt}],
                thinking={"type": "disabled"} if form.thinking_off else anthropic.omit,
                # The client has no such parameter any more; older models still take it.
                extra_body={"temperature": temperature} if form.temperature else None,
            )
            texts = [block.text for block in message.content if block.type == "text"]
            usage = message.usage
            sent = (
                count_of(usage.input_tokens)
                + count_of(usage.cache_read_input_tokens)
                + count_of(usage.cache_creation_input_tokens)
            )
            written = count_of(usage.output_tokens)
            return Completion(
                text="".join(texts),
                input_tokens=sent,
                output_tokens=written,
                model=str(message.model),
                cost_usd=None if self.address else cost_of(self.model, sent, written),
                cut=message.stop_reason == "max_tokens",
            )
        except anthropic.APIStatusError as error:
            said = said_by(error.body, key_sent(error.request.headers))
            failure = ServiceFailure(error.status_code, said, seconds_to_wait(error.response.headers))
        except (anthropic.APIConnectionError, OSError):
            failure = ServiceFailure(0)
        except (anthropic.AnthropicError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
            failure = ServiceFailure(-1)
        raise failure


def _adapt(form: _Form, failure: ServiceFailure) -> _Form | None:
    said = failure.said.lower()
    if form.temperature and "temperature" in said:
        return replace(form, temperature=False)
    if form.thinking_off and "thinking" in said:
        return replace(form, thinking_off=False)
    if form.least_tokens < 16 and "max_tokens" in said:
        return replace(form, least_tokens=16)
    return None
