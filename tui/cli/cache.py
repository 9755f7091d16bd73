"""``cache``: what providers cache of each discussion's prompts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from engine.discussions.caches import tree_of
from tui.cli.base import emit, emit_json, group, table
from tui.render.figures import left, plural

if TYPE_CHECKING:
    from engine.discussions.caches import DiscussionCacheState
    from engine.discussions.overview import DiscussionCache
    from engine.engine import Engine

_TITLE = 40
"""Characters of a title shown in the list."""
_NONE = "no discussions yet; send a message with: autopoiesis send TEXT"


@group(
    "autopoiesis cache list",
    "autopoiesis cache overview",
    "autopoiesis cache check",
    late={"overview": "tui.cli.cache_overview:cache_overview", "check": "tui.cli.cache_check:cache_check"},
)
def cache() -> None:
    """Show what providers cache of each discussion's stable prefix, and why the last call missed."""


@cache.verb("list", "autopoiesis cache list --json")
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


@cache.verb("show", "autopoiesis cache show ses_1a2b3c4d")
@click.argument("discussion", metavar="ID")
def cache_show(engine: Engine, discussion: str, as_json: bool) -> None:
    """Show one discussion's cache."""
    _print(engine.caches.get(discussion), engine.clock(), as_json)


@cache.verb("invalidate", "autopoiesis cache invalidate ses_1a2b3c4d")
@click.argument("discussion", metavar="ID")
def cache_invalidate(engine: Engine, discussion: str, as_json: bool) -> None:
    """Invalidate a discussion's cache: the next call starts a new one."""
    state = engine.discussions.ending.invalidate(discussion, "invalidated by hand")
    _print(state, engine.clock(), as_json)


@cache.verb("disable", "autopoiesis cache disable ses_1a2b3c4d")
@click.argument("discussion", metavar="ID")
def cache_disable(engine: Engine, discussion: str, as_json: bool) -> None:
    """Turn caching off for a discussion."""
    _print(engine.discussions.ending.disable(discussion), engine.clock(), as_json)


@cache.verb("enable", "autopoiesis cache enable ses_1a2b3c4d")
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
    if as_json:
        emit_json(tree_of(state, now))
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
