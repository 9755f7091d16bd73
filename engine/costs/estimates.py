"""Cost estimates for a memory at current prices, from the jobs and tokens of spec 12."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal

from engine.costs.model import CostRecord, Totals
from engine.providers.chat import Usage
from engine.providers.pricing import ALIASES

if TYPE_CHECKING:
    from engine.providers.pricing import PriceTable

SESSIONS = (5, 15, 30)
"""Sessions per day: light, medium and heavy use."""
SMALL, LARGE, EMBEDDING = "haiku", "sonnet", "text-embedding-3-small"
"""The models of the specification."""
WINDOW_DAYS = 30
"""Days of the log over which actual use is averaged."""

_DAYS = 30
_WEEKS = _DAYS / 7
_FILES_A_SESSION, _QUERIES_A_SESSION = 10, 20
"""Spec 12 assumes 50 files and 100 queries a day for 5 sessions."""
_REINDEXED = 5_000_000

Group = Literal["interaction", "scheduled", "extraction", "embedding"]


@dataclass(frozen=True, slots=True)
class Job:
    """A job that calls a model."""

    group: Group  # its table in the specification
    name: str
    size: Literal["small", "large", "embedding"]
    input_tokens: int  # of one call
    output_tokens: int  # of one call
    often: str  # in words
    is_made: bool = True  # implemented in this version


JOBS = (
    Job("interaction", "gate question", "small", 200, 1, "0–3 a message"),
    Job("interaction", "commit message", "small", 1_000, 50, "every 30 minutes"),
    Job("interaction", "flush", "large", 2_000, 500, "every 2–4 hours"),
    Job("scheduled", "journal summary", "large", 4_000, 500, "daily"),
    Job("scheduled", "MEMORY.md rollup", "large", 6_000, 2_000, "weekly"),
    Job("scheduled", "distillation", "large", 10_000, 3_000, "monthly"),
    Job("scheduled", "pruning", "large", 4_000, 2_000, "weekly"),
    Job("extraction", "decisions", "small", 3_000, 200, "a session"),
    Job("extraction", "journal", "small", 3_000, 300, "a session"),
    Job("extraction", "lessons", "small", 3_000, 200, "a session"),
    Job("extraction", "people", "small", 3_000, 200, "a session"),
    Job("embedding", "file indexed", "embedding", 1_000, 0, "10 a session"),
    Job("embedding", "search query", "embedding", 100, 0, "20 a session"),
    Job("embedding", "full reindex, 5,000 files", "embedding", _REINDEXED, 0, "monthly"),
)
_A_MONTH = {"daily": float(_DAYS), "weekly": _WEEKS, "monthly": 1.0}


@dataclass(frozen=True, slots=True)
class Estimated:
    """Cost of one call of a job in US dollars; ``None`` if the model's price is unknown."""

    job: Job
    model: str
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Monthly:
    """Cost of a month in US dollars; excludes the gate and the flush, as the specification does."""

    sessions: int  # per day
    extraction_usd: float | None
    scheduled_usd: float | None
    embedding_usd: float | None
    total_usd: float | None  # ``None`` if any part is unknown


@dataclass(frozen=True, slots=True)
class Used:
    """Actual use of a workspace on an average day."""

    days: int
    rows: dict[str, Totals]  # by operation: calls, tokens and US dollars over all these days


@dataclass(frozen=True, slots=True)
class Estimates:
    """Cost estimates for a memory."""

    as_of: str  # date of the shipped prices
    jobs: tuple[Estimated, ...]  # cost of one call per job
    months: tuple[Monthly, ...]
    used: Used | None = None  # ``None`` if the log is empty for these days


def estimate(
    prices: PriceTable,
    *,
    small: str = SMALL,
    large: str = LARGE,
    embedding: str = EMBEDDING,
    used: Used | None = None,
) -> Estimates:
    """The estimates of spec 12 at current prices.

    Models: ``small`` for short questions, ``large`` for summaries, ``embedding`` for vectors.
    """
    models = {"small": small, "large": large, "embedding": embedding}

    def priced(job: Job) -> Estimated:
        model = ALIASES.get(models[job.size], models[job.size])
        usage = Usage(input_tokens=job.input_tokens, output_tokens=job.output_tokens)
        return Estimated(job, model, prices.cost(model, usage))

    jobs = tuple(map(priced, JOBS))
    months = tuple(_month(jobs, sessions) for sessions in SESSIONS)
    return Estimates(prices.as_of, jobs, months, used)


def recent_use(records: Iterable[CostRecord], today: date) -> Used | None:
    """Use over the last 30 days including today; ``None`` if there were no calls.

    A younger workspace is averaged over the days since its first call.
    """
    first = today - timedelta(days=WINDOW_DAYS - 1)
    rows: dict[str, Totals] = defaultdict(Totals)
    begun = ""
    for record in records:
        if first.isoformat() <= record.day <= today.isoformat():
            rows[record.operation].add(record)
            begun = min(begun or record.day, record.day)
    if not rows:
        return None
    return Used((today - date.fromisoformat(begun)).days + 1, dict(sorted(rows.items())))


def _month(jobs: Sequence[Estimated], sessions: int) -> Monthly:
    of_group: dict[Group, list[Estimated]] = defaultdict(list)
    for job in jobs:
        of_group[job.job.group].append(job)
    a_month = sessions * _DAYS
    extraction = _sum((job.cost_usd, a_month) for job in of_group["extraction"])
    scheduled = _sum((job.cost_usd, _A_MONTH[job.job.often]) for job in of_group["scheduled"])
    indexed, query, reindex = of_group["embedding"]
    embedding = _sum(
        [
            (indexed.cost_usd, a_month * _FILES_A_SESSION),
            (query.cost_usd, a_month * _QUERIES_A_SESSION),
            (reindex.cost_usd, 1),
        ]
    )
    total = _sum([(extraction, 1), (scheduled, 1), (embedding, 1)])
    return Monthly(sessions, extraction, scheduled, embedding, total)


def _sum(parts: Iterable[tuple[float | None, float]]) -> float | None:
    total = 0.0
    for cost, times in parts:
        if cost is None:
            return None
        total += cost * times
    return total
