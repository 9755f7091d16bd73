"""The one object for code whose model calls cost money.

It gives accounts: code that asks a model for one purpose learns whether it may, and reports what it used.
"""

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
from engine.providers.chat import Asked, ChatReply, Usage

if TYPE_CHECKING:
    from engine.providers.pricing import PriceTable
    from engine.settings.model import CostSettings
    from engine.store.files import Files


class Costs:
    """Log, budgets and prices of a workspace. Safe to use from several threads.

    ``on_problem`` is called with problems that stop nothing.
    """

    batch_share = pricing.BATCH_SHARE
    """What a call costs in a batch, as a share of what it costs alone."""

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
        """Today's prices, the person's own among them."""
        return pricing.current()

    def account(
        self, operation: Operation, service: Asked, error: type[AutopoiesisError] = CostLimit
    ) -> Account:
        """The account that calls of a service for one purpose are charged to.

        ``error`` is raised when the budget is spent.
        """
        return Account(self, operation, service.name, service.model, service.address, error)

    def close(self) -> None:
        """Writes down what waits."""
        self.log.close()


@dataclass(frozen=True, slots=True)
class Account:
    """What calls for one purpose are charged to."""

    costs: Costs
    operation: Operation
    provider: str  # as the settings call it
    model: str
    address: str = ""  # the server asked; empty for the provider's own
    error: type[AutopoiesisError] = CostLimit  # what ``allow`` raises

    def allow(self, usage: Usage | None = None) -> None:
        """Does nothing while a call may be paid for.

        A self-hosted server without a price counts as free, and is not refused.
        Without a ``usage``, the most tokens that the call can take, it is refused only once all is spent.

        Raises:
            AutopoiesisError: ``error``: the budget is spent; it says which, where and what to do.
        """
        self._allow(None if usage is None else self.price_of(usage))

    def allow_batch(self, calls: Sequence[Usage]) -> None:
        """As ``allow`` for calls that are made in a batch."""
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
        """US dollars that a call may cost; ``None`` where no price is known.

        What it takes of caches is not known before it is made: all is counted as sent in full, or, where
        that is dearer, as written to a cache that stays for five minutes.
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
        """Records a call; gives what it cost in US dollars, where that is known.

        Takes half a second at most and never raises. ``estimated``: its tokens were counted here, since the
        service did not come to say them.
        """
        record = self.costs.log.record(
            self.operation,
            self.provider,
            self.priced_name(completed.model),
            completed.usage,
            # Of what a service itself says of its price, only that of this one is believed.
            cost_usd=completed.cost_usd if self.provider == "claude-code" else None,
            address=self.address,
            topics=topics,
            discussion=discussion,
            estimated=estimated,
        )
        return None if record is None else record.cost_usd

    def billed(self, batch: str, replies: Sequence[ChatReply]) -> None:
        """Records what a batch has taken, as one; of one that is recorded already, nothing."""
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
        """The name that the service gives, or the one it was asked by where only that has a price."""
        price, elsewhere = self.costs.prices.price, bool(self.address)
        known = model and price(model, elsewhere=elsewhere) is not None
        if known or (model and price(self.model, elsewhere=elsewhere) is None):
            return model
        return self.model
