"""``cache overview``: what caches serve and save, when they expire, and what broke prefixes."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from tui.cli.base import emit, emit_json, plain, table, verb
from tui.cli.cache import discussion_tree
from tui.cli.costs import cost_text, signed
from tui.render.caches import SETTINGS, cached_now, last_miss, stays
from tui.render.figures import count, dollars, left, plural

if TYPE_CHECKING:
    from engine.discussions.overview import CacheOverview, ProviderCaches
    from engine.engine import Engine
    from engine.stability.record import Misses

_DAYS = 30
_MOST_DAYS = 365


@verb("autopoiesis cache overview", "autopoiesis cache overview --days 7 --json", name="overview")
@click.option(
    "--days",
    type=click.IntRange(1, _MOST_DAYS),
    default=_DAYS,
    show_default=True,
    help="How many days to sum up, including today.",
)
def cache_overview(engine: Engine, days: int, as_json: bool) -> None:
    """Show what provider caches serve and save, why the last call missed, and what broke prefixes."""
    found, now = engine.discussions.overview(days), engine.clock()
    if as_json:
        emit_json(_tree(found, now))
    else:
        _print(found, now, days)


def _tree(found: CacheOverview, now: datetime) -> dict[str, Any]:
    last = last_miss(found)
    return {
        "at": found.at,
        "since": found.since,
        "providers": [_provider_tree(each, now) for each in found.providers],
        "discussions": [discussion_tree(each, now) for each in found.discussions],
        "last_miss": last
        and {
            "discussion_id": last.entry.state.discussion_id,
            "at": last.at,
            "given_up": last.given_up,
            "why": last.entry.state.why,
        },
        "misses": {**plain(found.misses), "broken": found.misses.broken},
        "provider": found.provider,
        "model": found.model,
        "settings": found.settings,
    }


def _provider_tree(each: ProviderCaches, now: datetime) -> dict[str, Any]:
    return {
        "provider": each.provider,
        **asdict(each.totals),
        "hit_rate": each.hit_rate,
        "cached": each.cached,
        "expires_at": each.expires_at,
        "seconds_left": each.seconds_left(now),
    }


def _print(found: CacheOverview, now: datetime, days: int) -> None:
    emit(f"providers, {'today' if days == 1 else f'the last {days} days'} (since {found.since}, UTC)")
    table(
        [
            ["  " + cell if at == 0 else cell for at, cell in enumerate(_row(each, found, now))]
            for each in found.providers
        ],
        ["  provider", "calls", "input", "cached", "hit", "written", "cost", "saved", "cached now", "ttl"],
    )
    model = "local (no model)" if found.provider == "local" else f"{found.provider} {found.model}".strip()
    emit(f"chat model: {model}")
    emit()
    cached = sum(each.state.is_cached(now) for each in found.discussions)
    emit(f"{count(cached)} of {plural(len(found.discussions), 'discussion')} cached: autopoiesis cache list")
    last = last_miss(found)
    if last is not None:
        what = "last cache invalidated" if last.given_up else "last miss"
        when = f" ({last.at:%Y-%m-%d %H:%M} UTC)" if last.at is not None else ""
        name = last.entry.title or last.entry.state.discussion_id
        emit(f"{what}{when}: {last.entry.state.why}, in {name}")
    _print_misses(found.misses)
    emit()
    emit("cache settings; change one with: autopoiesis config set NAME VALUE")
    table([[f"  cache.{name}", _value_text(getattr(found.settings, name))] for name in SETTINGS])


def _row(each: ProviderCaches, found: CacheOverview, now: datetime) -> list[str]:
    totals = each.totals
    number = cached_now((entry.state for entry in found.discussions), each.provider, now)
    seconds = each.seconds_left(now)
    return [
        each.provider,
        count(totals.calls),
        count(totals.input_tokens),
        count(totals.cached_tokens),
        "–" if each.hit_rate is None else f"{each.hit_rate:.0%}",
        count(totals.cache_write_tokens),
        cost_text(totals),
        signed(totals.saved_usd),
        count(number),
        "up to the provider" if seconds is None else left(seconds) if seconds else "–",
    ]


def _print_misses(found: Misses) -> None:
    text = f"{count(found.turns)} prompts this month and last; of {count(found.followed)} sent in time for a "
    text += f"{stays(found.ttl_s)} cache, {count(found.broken)} had a broken prefix"
    if found.broken:
        text += f": {count(found.lost)} tokens sent again"
        text += "" if found.dollars is None else f", {dollars(found.dollars)}"
    emit(text)
    table(
        [
            [
                f"  {count(each.times)} ×",
                f"{count(each.lost)} tokens",
                "" if each.dollars is None else dollars(each.dollars),
                f"layer {each.layer} ({each.name})" if each.layer else "unknown",
                each.source,
            ]
            for each in found.culprits
        ]
    )


def _value_text(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
