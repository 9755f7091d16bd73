"""Completions: a chat of one message, answered at once, with its cost."""

from __future__ import annotations

from dataclasses import replace

from engine.providers.chat import ChatProvider, ChatReply, ChatRequest
from engine.providers.pricing import current


async def complete(
    provider: ChatProvider, system: str, prompt: str, *, max_tokens: int, timeout: float
) -> ChatReply:
    """Requests the reply to one message, with its cost if the price is known.

    ``system`` may be empty; ``max_tokens`` is raised if the model refuses so few.

    Raises:
        AutopoiesisError: As ``ChatProvider.chat``.
    """
    request = ChatRequest((system,) if system else (), prompt, max_tokens, at_once=True)
    reply = await provider.chat(request, timeout=timeout)
    if reply.cost_usd is not None:
        return reply
    cost = current().cost(provider.model, reply.usage, elsewhere=bool(provider.address))
    return replace(reply, cost_usd=cost)
