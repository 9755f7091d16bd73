"""Accounts for paid model calls: whether a call is allowed, and what it used.

For budgets the log is authoritative, since several processes spend; only its new lines are read. Days and
months are UTC. Calls in progress when a limit is reached continue, so they may exceed it.

The log (design 2) has usage and cost of every model call, without message text:
``logs/costs-YYYY-MM.jsonl``, append-only. A record that cannot be written now is written with the next call;
until then it counts in this process only.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from engine.costs.model import CostRecord, Key, Operation, Sums, line_of, record_in, records_in, sums
from engine.errors import AutopoiesisError, CostLimit, DocumentError
from engine.providers import pricing
from engine.providers.chat import ChatReply, ModelService, Usage
from engine.store.monthly import Added, AnotherFile, Mark, MonthlyLog, MonthStamp, record_of

if TYPE_CHECKING:
    from engine.providers.pricing import PriceTable
    from engine.settings.model import CostSettings
    from engine.store.files import Files


class Costs:
    """Log, budgets and prices of a workspace. Thread-safe. ``on_problem`` gets non-fatal problems."""

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

    def priced_name(self, model: str) -> str:
        """The model name reported by the service, or the requested name if only that has a price."""
        price, elsewhere = self.costs.prices.price, bool(self.address)
        known = model and price(model, elsewhere=elsewhere) is not None
        if known or (model and price(self.model, elsewhere=elsewhere) is None):
            return model
        return self.model


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """Spending and limits of the current day and month, UTC."""

    today_usd: float
    month_usd: float
    daily_usd: float  # the limit; 0 for none
    monthly_usd: float  # the limit; 0 for none
    today_unpriced: int  # calls without a known price, which count as 0
    month_unpriced: int
    warning: str  # empty if there is none


@dataclass(slots=True)
class _Spent:
    usd: float = 0.0
    unpriced: int = 0

    def add(self, usd: float, unpriced: int) -> None:
        self.usd += usd
        self.unpriced += unpriced


@dataclass(slots=True)
class _Month:
    """The part of a month's file read so far."""

    name: str = ""
    mark: Mark = field(default_factory=Mark)
    days: dict[str, _Spent] = field(default_factory=dict)


class CostGuard:
    """Checks calls against the budgets. Safe to use from several threads and processes."""

    def __init__(
        self,
        settings: Callable[[], CostSettings],
        log: CostLog,
        files: Files,
        clock: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._log = log
        self._files = files
        self._clock = clock
        self._guard = threading.Lock()
        self._month = _Month()

    def status(self) -> BudgetStatus:
        """Current spending.

        Raises:
            DocumentError, PathRefused: This month's log exists but cannot be read.
        """
        settings = self._settings()
        now = self._clock()
        today, month = self._spent(f"{now:%Y-%m-%d}")
        pairs = (
            ("today", today.usd, settings.daily_usd),
            ("this month", month.usd, settings.monthly_usd),
        )
        warnings = [
            f"{dollars(spent)} of {dollars(limit)} spent {when}"
            for when, spent, limit in pairs
            if limit and spent >= limit * settings.warn_at
        ]
        unknown = today.unpriced if settings.daily_usd else month.unpriced if settings.monthly_usd else 0
        if unknown:
            calls = "1 call" if unknown == 1 else f"{unknown:,} calls"
            warnings.append(
                f"the price of {calls} is unknown and not included" if warnings else _unknown(calls)
            )
        return BudgetStatus(
            today_usd=today.usd,
            month_usd=month.usd,
            daily_usd=settings.daily_usd,
            monthly_usd=settings.monthly_usd,
            today_unpriced=today.unpriced,
            month_unpriced=month.unpriced,
            warning="; ".join(warnings),
        )

    def allow(self, estimate_usd: float | None = None) -> None:
        """Checks that the budgets cover a call, including its maximum cost if known.

        Without limits nothing is read.

        Raises:
            CostLimit: The daily or monthly limit is spent or would be exceeded, or the log cannot be read.
        """
        settings = self._settings()
        if not settings.daily_usd and not settings.monthly_usd:
            return
        try:
            status = self.status()
        except AutopoiesisError as error:
            raise CostLimit(
                f"spending is unknown: {error}",
                where="costs.daily_usd" if settings.daily_usd else "costs.monthly_usd",
                hint="make the cost log readable, or set the limit to 0",
            ) from error
        more = max(0.0, estimate_usd or 0.0)
        _check("day", status.today_usd, status.daily_usd, more, "costs.daily_usd", "until midnight UTC")
        _check(
            "month",
            status.month_usd,
            status.monthly_usd,
            more,
            "costs.monthly_usd",
            "for the next month, UTC",
        )

    def _spent(self, day: str) -> tuple[_Spent, _Spent]:
        month = day[:7]
        with self._guard:
            # Pending calls may be written in the meantime: read first, some may count twice, none is lost.
            waiting = self._log.waiting()
            days = self._days()
            # A call is logged in the month in which it was written, and counts on its own day.
            spent = [(name, each.usd, each.unpriced) for name, each in days.items()]
        spent += [(record.day, record.cost_usd or 0.0, record.cost_usd is None) for record in waiting]
        today, whole = _Spent(), _Spent()
        for name, usd, unpriced in spent:
            for total in (today,) * (name == day) + (whole,) * (name[:7] == month):
                total.add(usd, unpriced)
        return today, whole

    def _days(self) -> dict[str, _Spent]:
        """Spending by day of the calls logged in this month."""
        try:
            stamp = self._log.months.this_month()
        except OSError as error:
            raise DocumentError(
                f"cannot be read ({error.strerror})",
                where=self._log.months.path(),
                hint="check its permissions",
            ) from error
        if stamp is None or stamp.name != self._month.name:
            self._month = _Month("" if stamp is None else stamp.name)
        if stamp is not None and not self._month.mark.is_of(stamp):
            try:
                self._read(stamp)
            except AnotherFile:
                self._month = _Month(stamp.name)
                self._read(stamp)
        return self._month.days

    def _read(self, stamp: MonthStamp) -> None:
        added = Added(self._files, stamp, self._month.mark)
        for line in added:
            tree = record_of(line)
            record = None if tree is None else record_in(tree)
            if record is not None:
                day = self._month.days.setdefault(record.day, _Spent())
                day.add(record.cost_usd or 0.0, record.cost_usd is None)
        self._month.mark = added.mark


def dollars(value: float) -> str:
    """US dollars as text: two decimals, or up to four for amounts below one dollar."""
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}".rstrip("0").rstrip(".")


def _unknown(calls: str) -> str:
    return f"the price of {calls} is unknown, so the limits do not count them"


def _check(period: str, spent: float, limit: float, more: float, where: str, rest: str) -> None:
    if not limit:
        return
    if spent >= limit:
        what = f"the budget of the {period} is spent: {dollars(spent)} of {dollars(limit)}"
    elif spent + more > limit:
        what = (
            f"this call may cost {dollars(more)}, but only {dollars(limit - spent)}"
            f" of the {period}'s {dollars(limit)} is left"
        )
    else:
        return
    raise CostLimit(what, where=where, hint=f"raise it, or wait {rest}")


KIND = "costs"
FREE = frozenset({"agent", "local", "ask"})
"""Providers that call no service."""
BY_SERVICE = "the service"
"""Price source of costs reported by the service itself."""

_LOCK_WAIT_S = 0.5
_LAST_WAIT_S = 3.0
_MOST_WAITING = 10_000


class CostLog:
    """Writes and reads the cost log of a workspace. Safe to use from several threads and processes.

    ``on_problem`` is called when a call could not be written or the person's own prices are invalid.
    """

    def __init__(
        self,
        files: Files,
        clock: Callable[[], datetime],
        on_problem: Callable[[str], None],
        prices: Callable[[], PriceTable] = pricing.current,
    ) -> None:
        self.months = MonthlyLog(files, KIND, clock)
        self._files = files
        self._clock = clock
        self._on_problem = on_problem
        self._prices = prices
        self._guard = threading.Lock()
        self._waiting: deque[CostRecord] = deque(maxlen=_MOST_WAITING)
        self._reported: set[str] = set()

    def record(
        self,
        operation: Operation,
        provider: str,
        model: str,
        usage: Usage,
        *,
        cost_usd: float | None = None,
        address: str = "",
        topics: Sequence[str] = (),
        discussion: str = "",
        estimated: bool = False,
    ) -> CostRecord | None:
        """Records a call. Takes at most half a second and never raises.

        Args:
            cost_usd: The cost, if the service or the caller knows better than the price table.
            address: The server; empty for the provider's own. For others, only the person's own prices count.
            topics: The topics that the call was about.
            estimated: The tokens were counted here.

        Returns:
            The record; ``None`` if it could not be created, which is reported.
        """
        try:
            record = self._priced(
                CostRecord(
                    at=self._clock().isoformat(timespec="seconds"),
                    provider=provider,
                    model=model,
                    operation=operation,
                    topics=tuple(topics),
                    discussion=discussion,
                    usage=usage,
                    cost_usd=cost_usd,
                    estimated=estimated,
                ),
                elsewhere=bool(address),
            )
            with self._guard:
                self._waiting.append(record)
            self._write(_LOCK_WAIT_S)
        except Exception as error:  # noqa: BLE001 — a call that was answered must not fail for its bill
            self._report(f"a call of {model or provider} was not recorded: {type(error).__name__}: {error}")
            return None
        return record

    def close(self) -> None:
        """Writes pending records and reports those that cannot be written."""
        if self.waiting():
            self._write(_LAST_WAIT_S)
        left = self.waiting()
        if left:
            self._on_problem(f"{len(left)} model calls are not in the cost log")

    def waiting(self) -> tuple[CostRecord, ...]:
        """Calls not written yet, oldest first."""
        with self._guard:
            return tuple(self._waiting)

    def records(self, since: date | None = None) -> Iterator[CostRecord]:
        """Every call in the log since a day (UTC), oldest month first; invalid lines are skipped."""
        first = "" if since is None else since.isoformat()
        return (record for record in records_in(self.months.records()) if record.day >= first)

    def sums(self, by: Key = "day", since: date | None = None) -> Sums:
        """Costs by one key; see ``records``."""
        return sums(self.records(since), by)

    def _priced(self, record: CostRecord, *, elsewhere: bool) -> CostRecord:
        if record.provider in FREE:
            return replace(record, cost_usd=0.0, price_from="free")
        table = self._prices()
        for problem in table.problems:
            self._report(str(problem))
        price = table.price(record.model, elsewhere=elsewhere)
        saved = 0.0 if price is None else price.saved(record.usage)
        if record.cost_usd is not None:
            # Storage is charged by time, so the caller computes the cost from the table.
            by_table = price is not None and record.operation == "cache"
            source = price.source if price is not None and by_table else BY_SERVICE
            return replace(record, price_from=source, saved_usd=saved)
        if price is None:
            return record
        return replace(record, cost_usd=price.cost(record.usage), price_from=price.source, saved_usd=saved)

    def _write(self, wait_s: float) -> None:
        try:
            # Lock order: the workspace's, then ours; code that appends to the log holds no other lock.
            with self._files.lock(timeout=wait_s):
                while True:
                    with self._guard:
                        if not self._waiting:
                            return
                        record = self._waiting[0]
                    self.months.append(line_of(record))
                    with self._guard:
                        if self._waiting and self._waiting[0] is record:
                            self._waiting.popleft()
        except AutopoiesisError as error:
            self._report(f"a model call is not in the cost log yet: {error}")

    def _report(self, text: str) -> None:
        """Reports each error once, because a background job would repeat it with every call."""
        if text not in self._reported:
            self._reported.add(text)
            self._on_problem(text)
