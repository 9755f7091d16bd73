"""``costs``: what model calls have cost, the budgets, and estimates at today's prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from tui.cli.base import emit, emit_json, emit_problems, plain, table, verb
from tui.render.figures import count, dollars, plural

if TYPE_CHECKING:
    from engine.costs.costs import BudgetStatus
    from engine.costs.estimates import Estimates
    from engine.costs.model import Sums, Totals
    from engine.engine import Engine
    from engine.settings.model import Config

_KEYS = ("day", "model", "operation", "topic", "discussion")
_NONE = "no model calls yet"
_GROUPS = {
    "interaction": "per interaction",
    "scheduled": "scheduled",
    "extraction": "extraction, per session",
    "embedding": "embeddings",
}


@verb("--by model", "--by topic --since 2026-06-01 --json", "--estimate")
@click.option("--by", type=click.Choice(_KEYS), default="day", show_default=True, help="What to group by.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE",
              help="The first day (UTC), such as 2026-06-01.")  # fmt: skip
@click.option("--estimate", is_flag=True,
              help="Estimate what a workspace costs at today's prices, and what this one used.")  # fmt: skip
def costs(engine: Engine, by: Any, since: datetime | None, estimate: bool, as_json: bool) -> None:
    """Show what model calls have cost, and how much of the budgets is spent. Days are in UTC."""
    if estimate:
        found = _estimates(engine)
        if as_json:
            emit_json(found)
        else:
            _print_estimates(found)
    else:
        sums = engine.costs.log.sums(by, None if since is None else since.date())
        status = engine.costs.guard.status()
        if as_json:
            emit_json(_tree(sums, status, engine.costs.prices.as_of))
        else:
            _print_sums(sums, status)
    emit_problems(engine.costs.prices.problems)


def _print_sums(sums: Sums, status: BudgetStatus) -> None:
    if not sums.total.calls:
        emit(_NONE)
    else:
        rows = [[name or "–", *_cells(totals)] for name, totals in sums.rows.items()]
        heads = [sums.by, "calls", "input", "cached", "output", "cost", "saved"]
        table([*rows, ["total", *_cells(sums.total)]], heads)
        if sums.total.estimated:
            calls = plural(sums.total.estimated, "call")
            emit(f"~: includes {calls} that broke off, with tokens counted locally")
        if sums.unpriced:
            from engine.providers.pricing import own_file  # noqa: PLC0415 — `--help` must not load the engine

            calls = plural(sums.total.unpriced, "call")
            emit(f"not included: {calls} to {', '.join(sums.unpriced)}, whose price is unknown")
            emit(f"  add it to {own_file()}, as models: {{MODEL: {{input: 1.00, output: 5.00}}}}")
    spent = (
        ("today", status.today_usd, status.daily_usd),
        ("this month", status.month_usd, status.monthly_usd),
    )
    emit(" · ".join(f"{when} {dollars(usd)} {_limit(limit)}" for when, usd, limit in spent))
    if status.warning:
        emit(f"! {status.warning}")


def _cells(totals: Totals) -> list[str]:
    share = totals.cached_share
    return [
        count(totals.calls),
        count(totals.input_tokens),
        "–" if share is None else f"{share:.0%}",
        count(totals.output_tokens),
        cost_text(totals),
        signed(totals.saved_usd),
    ]


def cost_text(totals: Totals) -> str:
    """Formats a sum: ``~`` if tokens were counted locally, ``+?`` if some prices are unknown."""
    if totals.calls and totals.unpriced == totals.calls:
        return "unknown"
    return f"{'~' if totals.estimated else ''}{dollars(totals.cost_usd)}{' +?' if totals.unpriced else ''}"


def estimate_text(price: float | None) -> str:
    """Formats the price of requests that are not sent yet."""
    return "price unknown" if price is None else f"about {dollars(price)} plus the replies"


def usage_text(tokens: int, costs: Sequence[float | None]) -> str:
    """Formats tokens and their cost, which is unknown if one of ``costs`` is."""
    cost = "price unknown" if None in costs else dollars(sum(cost or 0 for cost in costs))
    return f"{tokens:,} tokens, {cost}"


def signed(value: float) -> str:
    """Formats US dollars that may be negative."""
    return f"-{dollars(-value)}" if value < 0 else dollars(value)


def _limit(limit: float) -> str:
    return f"of {dollars(limit)}" if limit else "(no limit)"


def _tree(sums: Sums, status: BudgetStatus, as_of: str) -> dict[str, Any]:
    rows = [{sums.by: name, **_sums_tree(totals)} for name, totals in sums.rows.items()]
    return {
        "by": sums.by,
        "rows": rows,
        "total": _sums_tree(sums.total),
        "unpriced": sums.unpriced,
        "standing": plain(status),
        "prices_as_of": as_of,
    }


def _sums_tree(totals: Totals) -> dict[str, Any]:
    return {**asdict(totals), "cached_share": totals.cached_share}


def _estimates(engine: Engine) -> Estimates:
    from engine.costs.estimates import estimate, recent_use  # noqa: PLC0415 — not for `--help`

    small, large, embedding = _models(engine.config)
    used = recent_use(engine.costs.log.records(), engine.clock().date())
    return estimate(engine.costs.prices, small=small, large=large, embedding=embedding, used=used)


def _models(config: Config) -> tuple[str, str, str]:
    """The models in the settings, or the specification's defaults."""
    from engine.costs.estimates import EMBEDDING, LARGE, SMALL  # noqa: PLC0415 — not for `--help`
    from engine.providers.pricing import CHAT_MODELS, DEFAULT_MODELS  # noqa: PLC0415 — not for `--help`

    gate, chat, search = config.gate, config.chat, config.search
    return (
        gate.model or DEFAULT_MODELS.get(gate.provider, SMALL),
        chat.model or CHAT_MODELS.get(chat.provider, LARGE),
        search.embedding_model if search.embedding == "openai" else EMBEDDING,
    )


def _print_estimates(found: Estimates) -> None:
    emit(f"Estimated costs at the prices of {found.as_of}")
    for group, title in _GROUPS.items():
        emit()
        emit(title)
        table(
            [
                [
                    f"  {each.job.name}",
                    each.model,
                    count(each.job.input_tokens),
                    count(each.job.output_tokens),
                    _dollars(each.cost_usd),
                    each.job.often,
                ]
                for each in found.jobs
                if each.job.group == group
            ],
            ["  job", "model", "input", "output", "cost", "how often"],
        )
    emit()
    emit("per month: extraction, scheduled jobs and embeddings; gate and flush depend on usage")
    table(
        [
            [
                f"  {month.sessions}",
                _dollars(month.extraction_usd),
                _dollars(month.scheduled_usd),
                _dollars(month.embedding_usd),
                _dollars(month.total_usd),
            ]
            for month in found.months
        ],
        ["  sessions/day", "extraction", "scheduled", "embeddings", "total"],
    )
    if found.used is None:
        emit()
        emit("No calls logged for this workspace yet. Local vectors and the local gate are free.")
        return
    days = found.used.days
    emit()
    emit(f"this workspace, per day (over the last {plural(days, 'day')})")
    table(
        [
            [
                f"  {operation}",
                f"{totals.calls / days:.1f}",
                count(round(totals.input_tokens / days)),
                count(round(totals.output_tokens / days)),
                "unknown" if totals.unpriced == totals.calls else dollars(totals.cost_usd / days),
            ]
            for operation, totals in found.used.rows.items()
        ],
        ["  operation", "calls", "input", "output", "cost"],
    )


def _dollars(value: float | None) -> str:
    return "unknown" if value is None else dollars(value)
