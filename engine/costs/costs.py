"""The one object that everybody uses to whom calls of models cost something."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from engine.costs.account import Account
from engine.costs.guard import CostGuard
from engine.costs.log import CostLog
from engine.errors import AutopoiesisError, CostLimit
from engine.providers import pricing

if TYPE_CHECKING:
    from engine.config import CostSettings
    from engine.costs.model import Operation
    from engine.providers.pricing import PriceTable
    from engine.store.files import Files


class Asked(Protocol):
    """A service: any provider is one."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def address(self) -> str: ...


class Costs:
    """Log, budgets and prices of a workspace. Safe to use from several threads.

    Args:
        files: The workspace's write path.
        settings: Today's limits.
        clock: Now, UTC.
        on_problem: Told what stops nothing.

    Attributes:
        log: What calls have cost.
        guard: Whether more may be spent.
    """

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
        """Where calls of a service for one purpose are put down to.

        Args:
            operation: The purpose.
            service: Who is asked.
            error: What is raised when the budget is spent.
        """
        return Account(self, operation, service.name, service.model, service.address, error)

    def close(self) -> None:
        """Writes down what waits."""
        self.log.close()
