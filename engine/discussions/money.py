"""What a sent message may cost, and what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.costs.costs import Asked, Costs
    from engine.providers.chat import Usage


class Bills:
    """The costs of a workspace, as sending needs them.

    Args:
        costs: Log, budgets and prices.
    """

    def __init__(self, costs: Costs) -> None:
        self._costs = costs

    def allow(self, service: Asked, input_tokens: int = 0, output_tokens: int = 0) -> None:
        """Does nothing while a call may be paid for.

        Args:
            service: Who is asked.
            input_tokens: The most that is sent.
            output_tokens: The longest reply.

        Raises:
            CostLimit: The budget is spent, or the call could take more than is left of it.
        """
        from engine.providers.chat import Usage  # noqa: PLC0415 — as below

        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        self._costs.account("chat", service).allow(usage)

    def least_cacheable(self, service: Asked) -> int:
        """Tokens below which the service's model caches nothing."""
        return self._costs.prices.least_cacheable(service.model, service.name)

    def stored(self, service: Asked, discussion: str, tokens: int, seconds: float) -> float | None:
        """Records storage that was bought for a cache; gives what it cost, where that is known."""
        from engine.providers.chat import Usage  # noqa: PLC0415 — hardly ever needed

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
        self,
        service: Asked,
        model: str,
        discussion: str,
        usage: Usage,
        told_usd: float | None,
        *,
        estimated: bool = False,
    ) -> float | None:
        """Records a call; gives what it cost in US dollars, where that is known."""
        record = self._costs.log.record(
            "chat",
            service.name,
            self._costs.account("chat", service).priced_name(model),
            usage,
            cost_usd=told_usd,
            address=service.address,
            discussion=discussion,
            estimated=estimated,
        )
        return None if record is None else record.cost_usd
