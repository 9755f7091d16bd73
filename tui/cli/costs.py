"""``costs``: what model calls have cost, and the budgets."""

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
    from engine.costs.model import Sums, Totals
    from engine.engine import Engine

_KEYS = ("day", "model", "operation", "topic", "discussion")
_NONE = "no model calls yet"


@verb("--by model", "--by topic --since 2026-06-01 --json")
@click.option("--by", type=click.Choice(_KEYS), default="day", show_default=True, help="What to group by.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE",
              help="The first day (UTC), such as 2026-06-01.")  # fmt: skip
def costs(engine: Engine, by: Any, since: datetime | None, as_json: bool) -> None:
    """Show what model calls have cost, and how much of the budgets is spent. Days are in UTC."""
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
