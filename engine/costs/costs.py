"""Accounts for paid model calls: whether a call is allowed, and what it used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from engine.costs.guard import CostGuard
from engine.costs.log import FREE, CostLog
from engine.costs.model import Operation
from engine.errors import AutopoiesisError, CostLimit
from engine.providers import pricing
from engine.providers.chat import ChatReply, ModelService, Usage

if TYPE_CHECKING:
    from engine.providers.pricing import PriceTable
    from engine.settings.model import CostSettings
    from engine.store.files import Files


class Costs:
    """Log, budgets and prices of a workspace. Thread-safe. ``on_problem`` gets non-fatal problems."""

    batch_share = pricing.BATCH_SHARE
    """Price of a batched call as a share of the normal price."""

    def __init__(
        self,
        files: Files,
        settings: Callable[[], CostSettings],
        clock: Callable[[], datetime],
        on_problem: Callable[[str], None],
    ) -> None:
        self.log = CostLog(files, clock, on_problem)
        self.guard = CostGuard(settings, self.log, files, clock)

    @property
    def prices(self) -> PriceTable:
        """Current prices, including the person's own."""
        return pricing.current()

    def account(
        self, operation: Operation, service: ModelService, error: type[AutopoiesisError] = CostLimit
    ) -> Account:
        """The account for calls of a service for one purpose; raises ``error`` when the budget is spent."""
        return Account(self, operation, service.name, service.model, service.address, error)

    def close(self) -> None:
        """Writes pending records."""
        self.log.close()


@dataclass(frozen=True, slots=True)
class Account:
    """The account of calls for one purpose."""

    costs: Costs
    operation: Operation
    provider: str  # as the settings call it
    model: str
    address: str = ""  # the server asked; empty for the provider's own
    error: type[AutopoiesisError] = CostLimit  # what ``allow`` raises

    def allow(self, usage: Usage | None = None) -> None:
        """Checks that the budget covers a call.

        A self-hosted server without a price is free and always allowed. ``usage`` is the maximum that the
        call can take; without it the call is refused only once the budget is spent.

        Raises:
            AutopoiesisError: ``error``: the budget is spent.
        """
        self._allow(None if usage is None else self.price_of(usage))

    def allow_batch(self, calls: Sequence[Usage]) -> None:
        """As ``allow``, for batched calls."""
        price = self.costs.prices.price(self.model, elsewhere=bool(self.address))
        self._allow(None if price is None else pricing.BATCH_SHARE * sum(map(price.cost, calls)))

    def _allow(self, usd: float | None) -> None:
        if self.provider in FREE:
            return
        if self.address and self.costs.prices.price(self.model, elsewhere=True) is None:
            return
        refused: CostLimit | None = None
        try:
            self.costs.guard.allow(usd)
        except CostLimit as error:
            refused = error
        if refused is not None:
            raise self.error(refused.what, where=refused.where, hint=refused.hint)

    def price_of(self, usage: Usage) -> float | None:
        """Maximum cost of a call in US dollars; ``None`` if no price is known.

        Cache use is not known in advance: all input counts as uncached, or as written to a five-minute cache
        if that costs more.
        """
        if self.provider in FREE:
            return 0.0
        price = self.costs.prices.price(self.model, elsewhere=bool(self.address))
        if price is None:
            return None
        return max(price.cost(usage), price.cost(replace(usage, cache_write_tokens=usage.input_tokens)))

    def spent(
        self,
        completed: ChatReply,
        topics: Sequence[str] = (),
        discussion: str = "",
        *,
        estimated: bool = False,
    ) -> float | None:
        """Records a call; returns its cost in US dollars, if known.

        Takes at most half a second and never raises. ``estimated``: the tokens were counted here because the
        service did not report them.
        """
        record = self.costs.log.record(
            self.operation,
            self.provider,
            self.priced_name(completed.model),
            completed.usage,
            # Only this service's own statement of its price is trusted.
            cost_usd=completed.cost_usd if self.provider == "claude-code" else None,
            address=self.address,
            topics=topics,
            discussion=discussion,
            estimated=estimated,
        )
        return None if record is None else record.cost_usd

    def billed(self, batch: str, replies: Sequence[ChatReply]) -> None:
        """Records a batch as one call; does nothing if it is already recorded."""
        name = f"batch {batch}"
        if not replies or any(record.discussion == name for record in self.costs.log.records()):
            return
        costs = [each.cost_usd for each in replies]
        self.costs.log.record(
            self.operation,
            self.provider,
            self.priced_name(replies[0].model),
            Usage(*map(sum, zip(*(astuple(each.usage) for each in replies), strict=True))),
            cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
            address=self.address,
            discussion=name,
            batched=True,
        )

    def priced_name(self, model: str) -> str:
        """The model name reported by the service, or the requested name if only that has a price."""
        price, elsewhere = self.costs.prices.price, bool(self.address)
        known = model and price(model, elsewhere=elsewhere) is not None
        if known or (model and price(self.model, elsewhere=elsewhere) is None):
            return model
        return self.model
