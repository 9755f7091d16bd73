"""Model calls in the cost log, and their sums."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Literal, get_args

from engine.providers.chat import Usage

if TYPE_CHECKING:
    from engine.store.monthly import Record

Operation = Literal[
    "chat", "gate", "flush", "harvest", "extract", "condense", "rules", "commit", "embedding", "count",
    "cache", "playbook",
]  # fmt: skip
"""Purpose of a call; ``count`` counts the tokens of a prompt, ``cache`` creates or extends a named cache."""
OPERATIONS: tuple[str, ...] = get_args(Operation)

Key = Literal["day", "model", "operation", "topic", "discussion"]
"""Keys to group costs by."""

UNNAMED = ""
"""The key of calls without a topic or discussion."""

_USAGE = {
    "input": "input_tokens",
    "cached": "cached_tokens",
    "written": "cache_write_tokens",
    "written_1h": "cache_write_1h_tokens",
    "output": "output_tokens",
}


@dataclass(frozen=True, slots=True)
class CostRecord:
    """A model call."""

    at: str  # when it was answered, ISO 8601, UTC
    provider: str  # as the settings call it
    model: str  # as the service names it
    operation: Operation
    topics: tuple[str, ...] = ()  # several for a gate's list call, which they share evenly
    discussion: str = ""  # the session it belongs to; may be empty
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None  # ``None`` if unknown
    price_from: str = ""
    """``prices of 2026-11``, the person's own file, ``the service`` if it reported the cost, ``free`` for
    local models; empty if there is none."""
    saved_usd: float = 0.0
    """Savings by caches at the prices of the time; negative if writing them cost more."""
    estimated: bool = False  # the tokens were counted here because the service did not report them

    @property
    def day(self) -> str:
        """The day in UTC, as ``2026-06-12``."""
        return self.at[:10]


@dataclass(slots=True)
class Totals:
    """Sums of calls."""

    calls: int = 0  # a call about several topics counts for each of them
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0  # of calls with a known price
    unpriced: int = 0  # calls without a known price
    saved_usd: float = 0.0  # net savings by caches
    estimated: int = 0  # calls whose tokens are not the service's own count

    @property
    def cached_share(self) -> float | None:
        """Share of sent tokens that were read from a cache; ``None`` if none were sent."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else None

    def add(self, record: CostRecord, part: int = 0, parts: int = 1) -> None:
        """Adds a call, or one of ``parts`` equal parts of it; leftover tokens go to the first parts."""

        def share(tokens: int) -> int:
            return tokens // parts + (part < tokens % parts)

        usage = record.usage
        self.calls += 1
        self.input_tokens += share(usage.input_tokens)
        self.cached_tokens += share(usage.cached_tokens)
        self.cache_write_tokens += share(usage.cache_write_tokens)
        self.output_tokens += share(usage.output_tokens)
        self.cost_usd += (record.cost_usd or 0.0) / parts
        self.unpriced += record.cost_usd is None
        self.saved_usd += record.saved_usd / parts
        self.estimated += record.estimated


@dataclass(frozen=True, slots=True)
class Sums:
    """Costs by one key."""

    by: Key
    rows: dict[str, Totals]  # by value of the key: days in order, otherwise most expensive first
    total: Totals  # of all calls, each counted once
    unpriced: dict[str, int] = field(default_factory=dict)
    """Models without a known price, by number of calls."""


def sums(records: Iterable[CostRecord], by: Key) -> Sums:
    """Sums calls by a key."""
    rows: dict[str, Totals] = defaultdict(Totals)
    total = Totals()
    unpriced: dict[str, int] = defaultdict(int)
    for record in records:
        total.add(record)
        keys = keys_of(record, by)
        for part, key in enumerate(keys):
            rows[key].add(record, part, len(keys))
        if record.cost_usd is None:
            unpriced[record.model or record.provider] += 1
    if by == "day":
        order = sorted(rows)
    else:
        order = sorted(rows, key=lambda key: (-rows[key].cost_usd, -rows[key].input_tokens, key))
    return Sums(by, {key: rows[key] for key in order}, total, dict(sorted(unpriced.items())))


def keys_of(record: CostRecord, by: Key) -> tuple[str, ...]:
    """The values of a key that a call counts for."""
    return record.topics or (UNNAMED,) if by == "topic" else (getattr(record, by),)


def line_of(record: CostRecord) -> Record:
    """A call as its log line; empty fields are left out."""
    tokens = {short: getattr(record.usage, name) for short, name in _USAGE.items()}
    line: Record = {
        "at": record.at,
        "provider": record.provider,
        "model": record.model,
        "operation": record.operation,
        "topics": list(record.topics),
        "discussion": record.discussion,
        "tokens": {short: count for short, count in tokens.items() if count},
        "usd": record.cost_usd,
        "price_from": record.price_from,
        "saved_usd": record.saved_usd,
        "estimated": record.estimated,
    }
    return {name: value for name, value in line.items() if value or name in ("provider", "usd")}


def record_in(line: Record) -> CostRecord | None:
    """Parses a log line; ``None`` if it is invalid."""
    try:
        tokens = line.get("tokens", {})
        usage = Usage(**{name: _count(tokens.get(short, 0)) for short, name in _USAGE.items()})
        if line["operation"] not in OPERATIONS:
            return None
        cost = line["usd"]
        return CostRecord(
            at=_day(line["at"]),
            provider=_text(line["provider"]),
            model=_text(line.get("model", "")),
            operation=line["operation"],
            topics=tuple(map(_text, line.get("topics", ()))),
            discussion=_text(line.get("discussion", "")),
            usage=usage,
            cost_usd=None if cost is None else _dollars(cost, least=0.0),
            price_from=_text(line.get("price_from", "")),
            saved_usd=_dollars(line.get("saved_usd", 0.0)),
            estimated=line.get("estimated", False) is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def records_in(lines: Iterable[Record]) -> Iterator[CostRecord]:
    """Parses log lines; invalid ones are skipped."""
    return (record for record in map(record_in, lines) if record is not None)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _day(value: object) -> str:
    text = _text(value)
    date.fromisoformat(text[:10])
    return text


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 53:
        raise ValueError(value)
    return value


def _dollars(value: object, least: float = -math.inf) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(value)
    if not math.isfinite(value) or value < least:
        raise ValueError(value)
    return float(value)
