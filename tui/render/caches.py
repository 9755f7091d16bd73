"""Helpers for cache overviews, shared by command line and workbench; no drawing, so imports stay fast."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.discussions.caches import DiscussionCacheState
    from engine.discussions.overview import CacheOverview, DiscussionCache

SETTINGS = ("anthropic", "anthropic_ttl", "gemini", "gemini_ttl_minutes", "gemini_long", "openai")
"""The cache settings in display order."""


@dataclass(frozen=True, slots=True)
class LastMiss:
    """The last call that missed a cache, or the last cache invalidated since."""

    entry: DiscussionCache
    at: datetime | None
    """``None`` if unknown."""
    given_up: bool
    """The cache was invalidated, so the next call will miss it."""


def last_miss(overview: CacheOverview) -> LastMiss | None:
    """The last miss; ``None`` if no discussion's last call missed, or caching is off."""
    known = (each for each in overview.discussions if each.state.calls and each.state.enabled)
    entry = next((each for each in known if each.state.why), None)
    if entry is None:
        return None
    state = entry.state
    given_up = state.invalidated_at is not None and state.cached_at is None
    return LastMiss(entry, state.invalidated_at if given_up else state.cached_at, given_up)


def cached_now(states: Iterable[DiscussionCacheState], provider: str, now: datetime) -> int:
    """The number of discussions with a cache at a provider."""
    return sum(state.provider == provider and state.is_cached(now) for state in states)


def stays(seconds: float) -> str:
    """A cache's expected lifetime: ``5 min``, ``1 h``."""
    minutes = seconds / 60
    return f"{minutes / 60:g} h" if minutes >= 60 else f"{minutes:g} min"
