"""What both faces read out of an overview of caches. Nothing here draws: the command line starts quickly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.discussions.overview import CacheOverview, DiscussionCache
    from engine.discussions.state import DiscussionCacheState

SETTINGS = ("anthropic", "anthropic_ttl", "gemini", "gemini_ttl_minutes", "gemini_long", "openai")
"""The settings of caches, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class LastMiss:
    """The last call that read nothing from a cache, or the last cache that was given up since."""

    entry: DiscussionCache
    at: datetime | None
    """When, as far as that is known."""
    given_up: bool
    """No call has missed it yet; the next one will."""


def last_miss(overview: CacheOverview) -> LastMiss | None:
    """The last miss; ``None`` where the last call of every discussion was served from a cache.

    Where caching is switched off, nothing is missed.
    """
    known = (each for each in overview.discussions if each.state.calls and each.state.enabled)
    entry = next((each for each in known if each.state.why), None)
    if entry is None:
        return None
    state = entry.state
    given_up = state.invalidated_at is not None and state.cached_at is None
    return LastMiss(entry, state.invalidated_at if given_up else state.cached_at, given_up)


def cached_now(states: Iterable[DiscussionCacheState], provider: str, now: datetime) -> int:
    """How many discussions have a cache at a provider."""
    return sum(state.provider == provider and state.is_cached(now) for state in states)


def stays(seconds: float) -> str:
    """How long a cache is taken to stay: ``5 min``, ``1 h``."""
    minutes = seconds / 60
    return f"{minutes / 60:g} h" if minutes >= 60 else f"{minutes:g} min"
