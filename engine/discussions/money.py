"""Cost limits and cost records of sent messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.providers.chat import Usage

if TYPE_CHECKING:
    from engine.costs.costs import Costs
    from engine.providers.chat import ChatReply, ModelService


class Bills:
    """The costs of a workspace, as needed for sending."""

    def __init__(self, costs: Costs) -> None:
        self._costs = costs

    def allow(self, service: ModelService, input_tokens: int = 0, output_tokens: int = 0) -> None:
        """Checks that the budget covers a call of at most so many tokens.

        Raises:
            CostLimit: The budget is spent, or the call could exceed the rest of it.
        """
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        self._costs.account("chat", service).allow(usage)

    def least_cacheable(self, service: ModelService) -> int:
        """Minimum cacheable prefix of the service's model, in tokens."""
        return self._costs.prices.least_cacheable(service.model, service.name)

    def stored(self, service: ModelService, discussion: str, tokens: int, seconds: float) -> float | None:
        """Records cache storage; returns its cost, if known."""
        usage = Usage(cache_write_tokens=tokens)
        cost = None if service.address else self._costs.prices.storage(service.model, tokens, seconds)
        self._costs.log.record(
            "cache",
            service.name,
            service.model,
            usage,
            cost_usd=cost,
            address=service.address,
            discussion=discussion,
        )
        return cost

    def spent(
        self, service: ModelService, reply: ChatReply, discussion: str, *, estimated: bool = False
    ) -> float | None:
        """Records a call; returns its cost in US dollars, if known.

        ``estimated``: the tokens were counted here because the service did not report them.
        """
        return self._costs.account("chat", service).spent(reply, (), discussion, estimated=estimated)
