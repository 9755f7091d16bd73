"""The cost log (design 2): usage and cost of every model call, without message text.

``logs/costs-YYYY-MM.jsonl``, append-only. A record that cannot be written now is written with the next call;
until then it counts in this process only.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from engine.costs.model import CostRecord, Key, Operation, Sums, line_of, records_in, sums
from engine.errors import AutopoiesisError
from engine.providers import pricing
from engine.store.monthly import MonthlyLog

if TYPE_CHECKING:
    from engine.providers.chat import Usage
    from engine.providers.pricing import PriceTable
    from engine.store.files import Files

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
        batched: bool = False,
    ) -> CostRecord | None:
        """Records a call. Takes at most half a second and never raises.

        Args:
            cost_usd: The cost, if the service or the caller knows better than the price table.
            address: The server; empty for the provider's own. For others, only the person's own prices count.
            topics: The topics that the call was about.
            estimated: The tokens were counted here.
            batched: The record represents many calls; ``cost_usd`` is their total by the price table.

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
                batched=batched,
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

    def _priced(self, record: CostRecord, *, elsewhere: bool, batched: bool) -> CostRecord:
        if record.provider in FREE:
            return replace(record, cost_usd=0.0, price_from="free")
        table = self._prices()
        for problem in table.problems:
            self._report(str(problem))
        price = table.price(record.model, elsewhere=elsewhere)
        saved = 0.0 if price is None or batched else price.saved(record.usage)
        if record.cost_usd is not None:
            # Storage is charged by time and a batch per call, so the caller computes the cost from the table.
            by_table = price is not None and (batched or record.operation == "cache")
            source = price.source if price is not None and by_table else BY_SERVICE
            return replace(record, price_from=source, saved_usd=saved)
        if price is None or batched:
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
