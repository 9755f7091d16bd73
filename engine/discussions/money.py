"""What a sent message may cost, and what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.providers.chat import Usage

if TYPE_CHECKING:
    from engine.costs.costs import Costs
    from engine.providers.chat import Asked, ChatReply


class Bills:
    """The costs of a workspace, as sending needs them."""

    def __init__(self, costs: Costs) -> None:
        self._costs = costs

    def allow(self, service: Asked, input_tokens: int = 0, output_tokens: int = 0) -> None:
        """Does nothing while a call of at most so many tokens may be paid for.

        Raises:
            CostLimit: The budget is spent, or the call could take more than is left of it.
        """
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        self._costs.account("chat", service).allow(usage)

    def least_cacheable(self, service: Asked) -> int:
        """Tokens below which the service's model caches nothing."""
        return self._costs.prices.least_cacheable(service.model, service.name)

    def stored(self, service: Asked, discussion: str, tokens: int, seconds: float) -> float | None:
        """Records storage that was bought for a cache; gives what it cost, where that is known."""
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
        self, service: Asked, reply: ChatReply, discussion: str, *, estimated: bool = False
    ) -> float | None:
        """Records a call; gives what it cost in US dollars, where that is known.

        ``estimated``: its tokens were counted here, since the service did not come to say them.
        """
        return self._costs.account("chat", service).spent(reply, (), discussion, estimated=estimated)
