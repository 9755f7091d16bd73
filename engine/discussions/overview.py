"""What the caches of all discussions come to: by provider, by discussion, and what was lost (spec 5)."""

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
    from engine.discussions.state import DiscussionCacheState
    from engine.settings.model import CacheSettings
    from engine.stability.misses import Misses
    from engine.store.paths import Workspace

PROVIDERS = ("anthropic", "gemini", "openai")
"""Those whose caches there are settings for; they are listed whether or not they were asked."""
DAYS = 30
"""How far back sums go unless somebody asks for more or less."""

_ASKING = frozenset({"chat", "cache"})


@dataclass(frozen=True, slots=True)
class ProviderCaches:
    """What calls of discussions have sent to one provider, and what its caches served."""

    provider: str  # as the settings call it
    totals: Totals
    """Storage of named caches is in the cost, its tokens are not: they were sent by no call."""
    expires_at: datetime | None  # when the last of its caches goes, UTC; ``None`` where that is not known
    cached: int  # discussions that have one now

    @property
    def hit_rate(self) -> float | None:
        """Share of the tokens sent that were read from a cache; ``None`` where none was sent."""
        return self.totals.cached_share

    def seconds_left(self, now: datetime) -> float | None:
        """Until the last of its caches goes; 0 where there is none, ``None`` where nobody says."""
        if not self.cached:
            return 0.0
        return None if self.expires_at is None else max(0.0, (self.expires_at - now).total_seconds())


@dataclass(frozen=True, slots=True)
class DiscussionCache:
    """A discussion and its cache."""

    state: DiscussionCacheState
    title: str  # empty where the transcript is gone or names none
    path: str  # the transcript's, workspace-relative; empty where it is gone


@dataclass(frozen=True, slots=True)
class CacheOverview:
    """The caches of a workspace."""

    at: datetime  # when this was looked up, UTC
    since: date  # the first day of the sums, UTC
    providers: tuple[ProviderCaches, ...]  # ``PROVIDERS`` in their order, then others that were asked
    discussions: tuple[DiscussionCache, ...]  # the one used last first
    misses: Misses  # what broken prefixes have cost
    provider: str  # that of chats, by the settings; likewise its model
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
    """The discussions of some states, with what their transcripts are called."""
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
    """Whether one of some ids stands in a transcript's name, behind its time."""
    parts = name[5:].split("-")
    return any("-".join(parts[:count]) in sessions for count in range(1, len(parts)))
