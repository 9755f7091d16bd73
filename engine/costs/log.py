"""The cost log (design 2): every call of a model, what it used and what it cost; no text of messages.

``logs/costs-YYYY-MM.jsonl``, append-only. What cannot be written down now is written with the next call, and
counts until then in this process.
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
FREE = frozenset({"local", "ask"})
"""Providers that ask no service."""
BY_SERVICE = "the service"
"""Where a price came from that the service itself said."""

_LOCK_WAIT_S = 0.5
_LAST_WAIT_S = 3.0
_MOST_WAITING = 10_000


class CostLog:
    """Writes and reads the cost log of a workspace. Safe to use from several threads and processes.

    ``on_problem`` is called when a call could not be written down, and when the person's own prices cannot be
    used.
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
        self._told: set[str] = set()

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
        """Writes a call down. Takes half a second at most and never raises.

        Args:
            cost_usd: What it cost, where the service itself or the caller knows better than the table.
            address: The server that was asked; empty for the provider's own. Elsewhere only the person's own
                prices count.
            topics: The topics that it was about.
            estimated: The tokens were counted here.
            batched: It was many calls, which ``cost_usd`` is the sum of, by the table.

        Returns:
            The record; ``None`` where something went wrong before there was one, which is reported.
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
            self._tell(f"a call of {model or provider} was not recorded: {type(error).__name__}: {error}")
            return None
        return record

    def close(self) -> None:
        """Writes down what is still waiting; what cannot be written is reported."""
        if self.waiting():
            self._write(_LAST_WAIT_S)
        left = self.waiting()
        if left:
            self._on_problem(f"{len(left)} calls of models are not in the cost log")

    def waiting(self) -> tuple[CostRecord, ...]:
        """Calls that are not written down yet, oldest first."""
        with self._guard:
            return tuple(self._waiting)

    def records(self, since: date | None = None) -> Iterator[CostRecord]:
        """Every call in the log, oldest month first; lines that cannot be read are passed over.

        ``since`` is the first day, UTC.
        """
        first = "" if since is None else since.isoformat()
        return (record for record in records_in(self.months.records()) if record.day >= first)

    def sums(self, by: Key = "day", since: date | None = None) -> Sums:
        """What calls have cost, by one key; see ``records``."""
        return sums(self.records(since), by)

    def _priced(self, record: CostRecord, *, elsewhere: bool, batched: bool) -> CostRecord:
        if record.provider in FREE:
            return replace(record, cost_usd=0.0, price_from="free")
        table = self._prices()
        for problem in table.problems:
            self._tell(str(problem))
        price = table.price(record.model, elsewhere=elsewhere)
        saved = 0.0 if price is None or batched else price.saved(record.usage)
        if record.cost_usd is not None:
            # Storage is charged by time, and of a batch each call is, so the caller calculates, by the table.
            by_table = price is not None and (batched or record.operation == "cache")
            source = price.source if price is not None and by_table else BY_SERVICE
            return replace(record, price_from=source, saved_usd=saved)
        if price is None or batched:
            return record
        return replace(record, cost_usd=price.cost(record.usage), price_from=price.source, saved_usd=saved)

    def _write(self, wait_s: float) -> None:
        try:
            # Lock order: the workspace's, then ours; code that appends to the log holds no other.
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
            self._tell(f"a call of a model is not in the cost log yet: {error}")

    def _tell(self, text: str) -> None:
        """Reports each error once: a background job would repeat it with every call."""
        if text not in self._told:
            self._told.add(text)
            self._on_problem(text)
