"""Completions from OpenAI, or from any server with its chat interface, through OpenAI's own client.

Compatible servers (Ollama, vLLM, llama.cpp, gateways) share the interface, not the parameters: the request
starts in the form that fits the server best and is adapted when something in it is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engine.providers.attempts import ServiceFailure, persist, said_by, seconds_to_wait
from engine.providers.base import Completion, Connections, count_of
from engine.providers.keys import key_for, key_sent, shown_address
from engine.providers.pricing import cost_of, model_named

if TYPE_CHECKING:
    from openai import AsyncOpenAI

KEY_VARIABLE = "OPENAI_API_KEY"

_ADDRESS_VARIABLE = "OPENAI_BASE_URL"
_CLIENT_TIMEOUT_S = 600.0
_REASONING = re.compile(r"gpt-[5-9]|o\d")
_LIMIT_SAID = re.compile(r"max_(?:completion_|output_)?tokens")
_TOO_FEW_SAID = re.compile(r"minimum|at least|>=|below|could not finish|too small|greater than")

Effort = Literal["none", "minimal", "low"]
_NEXT_EFFORT: dict[Effort, Effort | None] = {"none": "minimal", "minimal": "low", "low": None}
_MORE_TOKENS = {1: 16, 16: 256}


@dataclass(frozen=True, slots=True)
class _Form:
    """The parameters that models and servers differ in."""

    temperature: bool
    effort: Effort | None
    limit: Literal["max_tokens", "max_completion_tokens"]
    least_tokens: int = 1
    swapped: bool = False


class OpenAI:
    """Asks a model of OpenAI, or of a compatible server.

    The key is read from ``OPENAI_API_KEY`` when the first question is asked; see ``keys`` for other servers.

    Args:
        model: The model; empty for the cheapest.
        address: Another server with the same interface (``gate.base_url``); empty for OpenAI's own, or what
            ``OPENAI_BASE_URL`` names.
    """

    name = "openai"

    def __init__(self, model: str = "", address: str = "") -> None:
        self.model = model_named(self.name, model)
        self.address = address
        reasons = not address and _REASONING.match(self.model) is not None
        self._form = _Form(
            temperature=not reasons,
            effort="none" if reasons else None,
            limit="max_tokens" if address else "max_completion_tokens",
            least_tokens=16 if reasons else 1,
        )
        self._connections = Connections(self._connect)

    def __repr__(self) -> str:
        return f"OpenAI(model={self.model!r}, address={shown_address(self.address)!r})"

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, temperature: float, timeout: float
    ) -> Completion:
        """As ``CompletionProvider.complete``. Models that reason first are asked not to, where they can."""

        async def attempt(form: _Form) -> Completion:
            return await self._attempt(form, system, prompt, max_tokens, temperature)

        completion, self._form = await persist(
            attempt, self._form, _adapt, provider=self, key_variable=KEY_VARIABLE, timeout=timeout
        )
        return completion

    async def aclose(self) -> None:
        """Closes the connections that were opened on the running event loop."""
        await self._connections.close()

    def _connect(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI  # noqa: PLC0415 — half a second

        return AsyncOpenAI(
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
        import openai  # noqa: PLC0415 — half a second

        tokens = max(max_tokens, form.least_tokens)
        failure: ServiceFailure
        try:
            client = await self._connections.get()
            reply = await client.chat.completions.create(
                model=self.model,
                messages=[{"role": "system", "content": system}, {"role": "user", "content": prompt}],
                max_tokens=tokens if form.limit == "max_tokens" else openai.omit,
                max_completion_tokens=tokens if form.limit == "max_completion_tokens" else openai.omit,
                temperature=temperature if form.temperature else openai.omit,
                reasoning_effort=form.effort or openai.omit,
            )
            choice = reply.choices[0]
            text = choice.message.content
            sent = count_of(reply.usage.prompt_tokens) if reply.usage else 0
            written = count_of(reply.usage.completion_tokens) if reply.usage else 0
            return Completion(
                text=text if isinstance(text, str) else "",
                input_tokens=sent,
                output_tokens=written,
                model=str(reply.model),
                cost_usd=None if self.address else cost_of(self.model, sent, written),
                cut=choice.finish_reason == "length",
            )
        except openai.APIStatusError as error:
            said = said_by(error.body, key_sent(error.request.headers))
            failure = ServiceFailure(error.status_code, said, seconds_to_wait(error.response.headers))
        except (openai.APIConnectionError, OSError):
            failure = ServiceFailure(0)
        except (openai.OpenAIError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
            failure = ServiceFailure(-1)
        raise failure


def _adapt(form: _Form, failure: ServiceFailure) -> _Form | None:
    said = failure.said.lower()
    if form.temperature and "temperature" in said:
        return replace(form, temperature=False)
    if form.effort is not None and "reasoning" in said:
        return replace(form, effort=_NEXT_EFFORT[form.effort])
    if _LIMIT_SAID.search(said) is None:
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
