"""``cache``: what providers cache of each discussion's prompts, what that saves, and what broke it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from engine.discussions.caches import tree_of
from tui.cli.base import emit, emit_json, emitted_json, group, plain, table
from tui.cli.costs import cost_text, signed
from tui.render.figures import count, dollars, left, plural
from tui.render.words import SETTINGS, cached_now, last_miss, stays

if TYPE_CHECKING:
    from engine.context.stability import Break
    from engine.discussions.caches import DiscussionCacheState
    from engine.discussions.overview import CacheOverview, DiscussionCache, ProviderCaches
    from engine.engine import Engine
    from engine.stability.check import Check, CheckedTurn
    from engine.stability.record import Misses

_TITLE = 40
"""Characters of a title shown in the list."""
_NONE = "no discussions yet; send a message with: autopoiesis send TEXT"
_DAYS = 30
_MOST_DAYS = 365


@group("list", "overview", "check")
def cache() -> None:
    """Show what providers cache of each discussion's stable prefix, and why the last call missed."""


@cache.verb("list", "--json")
def cache_list(engine: Engine, as_json: bool) -> None:
    """List the discussions, most recently used first."""
    from engine.discussions.overview import with_titles  # noqa: PLC0415 — `--help` must not load the engine

    now, found = engine.clock(), with_titles(engine.caches.all(), engine.workspace)
    if as_json:
        emit_json([discussion_tree(each, now) for each in found])
    elif not found:
        emit(_NONE)
    else:
        table(
            [_cells(each, now) for each in found],
            ["discussion", "provider", "cached", "tokens", "read by", "title", ""],
        )


def _cells(each: DiscussionCache, now: datetime) -> list[str]:
    state = each.state
    title = each.title if len(each.title) <= _TITLE else f"{each.title[: _TITLE - 1]}…"
    return [
        state.discussion_id,
        state.provider or "–",
        cached(state, now),
        f"{state.tokens_cached:,}",
        f"{state.hits:,} of {plural(state.calls, 'call')}",
        " ".join(title.split()) or "–",
        state.why,
    ]


def discussion_tree(each: DiscussionCache, now: datetime) -> dict[str, Any]:
    """A discussion's cache state as JSON."""
    return {**tree_of(each.state, now), "title": each.title, "path": each.path}


@cache.verb("show", "ses_1a2b3c4d")
@click.argument("discussion", metavar="ID")
def cache_show(engine: Engine, discussion: str, as_json: bool) -> None:
    """Show one discussion's cache."""
    _print(engine.caches.get(discussion), engine.clock(), as_json)


@cache.verb("invalidate", "ses_1a2b3c4d")
@click.argument("discussion", metavar="ID")
def cache_invalidate(engine: Engine, discussion: str, as_json: bool) -> None:
    """Invalidate a discussion's cache: the next call starts a new one."""
    state = engine.discussions.ending.invalidate(discussion, "invalidated by hand")
    _print(state, engine.clock(), as_json)


@cache.verb("disable", "ses_1a2b3c4d")
@click.argument("discussion", metavar="ID")
def cache_disable(engine: Engine, discussion: str, as_json: bool) -> None:
    """Turn caching off for a discussion."""
    _print(engine.discussions.ending.disable(discussion), engine.clock(), as_json)


@cache.verb("enable", "ses_1a2b3c4d")
@click.argument("discussion", metavar="ID")
def cache_enable(engine: Engine, discussion: str, as_json: bool) -> None:
    """Turn caching on again for a discussion."""
    _print(engine.discussions.ending.enable(discussion), engine.clock(), as_json)


def cached(state: DiscussionCacheState, now: datetime) -> str:
    """Says whether a discussion is cached, and for how long: ``yes, 4:32 left``."""
    if not state.enabled:
        return "off"
    if not state.is_cached(now):
        return "no"
    seconds = state.seconds_left(now)
    return "yes" if seconds is None else f"yes, {left(seconds)} left"


def _print(state: DiscussionCacheState, now: datetime, as_json: bool) -> None:
    if emitted_json(as_json, tree_of(state, now)):
        return
    rows = [
        ["discussion", state.discussion_id],
        ["cached", f"{cached(state, now)}{f' ({state.provider}, {state.model})' if state.provider else ''}"],
        ["tokens", f"{state.tokens_cached:,}"],
        ["read by", f"{state.hits:,} of {plural(state.calls, 'call')}"],
    ]
    if state.why:
        rows.append(["why", state.why])
    if state.sources:
        rows.append(["made of", ", ".join(state.sources)])
    table(rows)


@cache.verb("overview", "", "--days 7 --json")
@click.option("--days", type=click.IntRange(1, _MOST_DAYS), default=_DAYS, show_default=True,
              help="How many days to sum up, including today.")  # fmt: skip
def cache_overview(engine: Engine, days: int, as_json: bool) -> None:
    """Show what provider caches serve and save, why the last call missed, and what broke prefixes."""
    found, now = engine.discussions.overview(days), engine.clock()
    if as_json:
        emit_json(_overview_tree(found, now))
    else:
        _print_overview(found, now, days)


def _overview_tree(found: CacheOverview, now: datetime) -> dict[str, Any]:
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


def _print_overview(found: CacheOverview, now: datetime, days: int) -> None:
    emit(f"providers, {'today' if days == 1 else f'the last {days} days'} (since {found.since}, UTC)")
    table(
        [
            ["  " + cell if at == 0 else cell for at, cell in enumerate(_row(each, found, now))]
            for each in found.providers
        ],
        ["  provider", "calls", "input", "cached", "hit", "written", "cost", "saved", "caches", "ttl"],
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
    _print_all_misses(found.misses)
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


def _print_all_misses(found: Misses) -> None:
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


@cache.verb("check", "", "--session ses_1a2b3c4d --last 5", "--json")
@click.option("--session", "session_id", metavar="ID", help="The session whose turns are compared.")
@click.option(
    "--last", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N", help="How many turns."
)
def cache_check(engine: Engine, session_id: str | None, last: int, as_json: bool) -> None:
    """Show whether the stable prefix stays the same, and what broke it.

    Compares the latest recorded turns with each other, and the last of them with what would be sent now. The
    gate is not asked, and nothing is recorded.
    """
    from engine.stability.check import check  # noqa: PLC0415 — `--help` must not load the engine

    compiled = engine.compile("What is next?", session_id=session_id or "", ask=False)
    found = check(compiled, engine.prefixes, discussion=session_id, last=last)
    if not emitted_json(as_json, found):
        _print_check(found)


def _print_check(found: Check) -> None:
    size = found.prefix
    ends = ", ".join(f"{tokens:,}" for tokens in size.boundaries)
    emit(
        f"prefix   {size.tokens:,} tokens, {size.bytes:,} bytes, {size.sections} sections"
        + (f"; cache boundaries after {ends} tokens" if ends else "")
    )
    if found.used is None:
        emit("turns    none recorded yet; record one with: autopoiesis compile --record TEXT")
        return
    if found.since is None:
        emit(f"since    {_when(found.used.at)}: identical")
    else:
        emit(f"since    {_when(found.used.at)}: {_place(found.since)}")
    _print_turns(found)


def _print_turns(found: Check) -> None:
    name = found.discussion or "prompts without a session"
    emit(f"\nlast {len(found.turns)} of {name}")
    for turn in found.turns:
        emit(f"  {_when(turn.at)}  {turn.prefix.sha256[:8]}  {turn.prefix.tokens:>7,}  {_turn_text(turn)}")


def _turn_text(turn: CheckedTurn) -> str:
    if turn.gap_s is None:
        return "first"
    return f"after {_span(turn.gap_s)}: {'same' if turn.found is None else _place(turn.found)}"


def _place(found: Break) -> str:
    place = found.source or found.label or "an unknown section"
    at = f"byte {found.byte:,}" if found.exact else f"at or after byte {found.byte:,}"
    return (
        f"layer {found.layer} ({found.name}), {place} {found.what}, {at};"
        f" {found.usable:,} tokens still cached, {found.lost:,} sent again"
    )


def _span(seconds: float) -> str:
    """``42 s``, ``5 min``, ``3 h``, ``2 d``."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"


def _when(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M")
