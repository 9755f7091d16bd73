"""Cache statistics of all discussions: by provider, by discussion, and losses (spec 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from engine.costs.model import Totals
from engine.transcripts.format import parse
from engine.transcripts.places import read_head, session_files

if TYPE_CHECKING:
    from engine.costs.model import CostRecord
    from engine.discussions.caches import DiscussionCacheState
    from engine.settings.model import CacheSettings
    from engine.stability.record import Misses
    from engine.store.paths import Workspace

PROVIDERS = ("anthropic", "gemini", "openai")
"""Providers with cache settings; always listed, even if unused."""
DAYS = 30
"""Default number of days in the sums."""

_ASKING = frozenset({"chat", "cache"})


@dataclass(frozen=True, slots=True)
class ProviderCaches:
    """Tokens sent to one provider by discussions, and how many its caches served."""

    provider: str  # as the settings call it
    totals: Totals
    """Includes the cost of storing named caches, though no call sent those tokens."""
    expires_at: datetime | None  # expiry of the last of its caches, UTC; ``None`` if unknown
    cached: int  # discussions with a live cache

    @property
    def hit_rate(self) -> float | None:
        """Share of sent tokens that were read from a cache; ``None`` if none were sent."""
        return self.totals.cached_share

    def seconds_left(self, now: datetime) -> float | None:
        """Seconds until the last of its caches expires; 0 if there is none, ``None`` if unknown."""
        if not self.cached:
            return 0.0
        return None if self.expires_at is None else max(0.0, (self.expires_at - now).total_seconds())


@dataclass(frozen=True, slots=True)
class DiscussionCache:
    """A discussion and its cache."""

    state: DiscussionCacheState
    title: str  # empty if the transcript is missing or has no title
    path: str  # the transcript's, workspace-relative; empty if it is missing


@dataclass(frozen=True, slots=True)
class CacheOverview:
    """The caches of a workspace."""

    at: datetime  # time of this overview, UTC
    since: date  # the first day of the sums, UTC
    providers: tuple[ProviderCaches, ...]  # ``PROVIDERS`` in order, then others in use
    discussions: tuple[DiscussionCache, ...]  # most recently used first
    misses: Misses  # cost of broken prefixes
    provider: str  # configured for chats; likewise the model
    model: str
    settings: CacheSettings


def by_provider(
    records: Iterable[CostRecord], states: Sequence[DiscussionCacheState], now: datetime
) -> tuple[ProviderCaches, ...]:
    """Sums of calls and states by provider."""
    sums = {name: Totals() for name in PROVIDERS}
    for record in records:
        if record.operation not in _ASKING:
            continue
        totals = sums.setdefault(record.provider, Totals())
        if record.operation == "chat":
            totals.add(record)
        else:
            totals.cost_usd += record.cost_usd or 0.0
    return tuple(_provider(name, totals, states, now) for name, totals in sums.items())


def _provider(
    name: str, totals: Totals, states: Sequence[DiscussionCacheState], now: datetime
) -> ProviderCaches:
    cached = [state for state in states if state.provider == name and state.is_cached(now)]
    ends = [state.expires_at for state in cached if state.expires_at is not None]
    known = len(ends) == len(cached)
    return ProviderCaches(name, totals, max(ends) if ends and known else None, len(cached))


def with_titles(states: Sequence[DiscussionCacheState], workspace: Workspace) -> tuple[DiscussionCache, ...]:
    """The discussions of some states, with the titles of their transcripts."""
    wanted = {state.discussion_id for state in states}
    found: dict[str, tuple[str, str]] = {}
    for path in session_files(workspace) if wanted else ():
        if not _may_be_of(path.name, wanted):
            continue
        relative = workspace.relative(path)
        head = parse(read_head(path), relative)
        if head.session_id in wanted:
            found[head.session_id] = head.title, relative
            wanted.discard(head.session_id)
        if not wanted:
            break
    return tuple(DiscussionCache(state, *found.get(state.discussion_id, ("", ""))) for state in states)


def _may_be_of(name: str, sessions: set[str]) -> bool:
    """True if a transcript's name contains one of the ids after its time."""
    parts = name[5:].split("-")
    return any("-".join(parts[:count]) in sessions for count in range(1, len(parts)))
