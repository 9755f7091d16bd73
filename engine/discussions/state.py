"""The known state of a provider's cache for a discussion (``cache-friendly-context.md`` 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class DiscussionCacheState:
    """The cache of one discussion's stable prefix, as reported by the provider."""

    discussion_id: str  # the session's
    provider: str = ""  # whose cache it is
    model: str = ""  # likewise: models do not share caches
    cached_at: datetime | None = None  # last written or read, UTC
    expires_at: datetime | None = None
    """When it expires unless it is read before; ``None`` if the provider does not report it."""
    hits: int = 0  # calls that read from it
    calls: int = 0  # all calls of the discussion
    tokens_cached: int = 0  # read and written by the last call
    prefix: str = ""  # sha256 of the last one sent; empty before the first
    sources: tuple[str, ...] = field(default=())  # the files in the prefix, workspace-relative
    enabled: bool = True  # whether caching is allowed; set by a person
    invalidated_at: datetime | None = None  # when it was last invalidated
    why: str = ""
    """Why it was invalidated, or why the last call read nothing from it; empty otherwise."""
    generation: int = 0  # how often a person invalidated it; part of the cache key
    cached_content: str = ""  # the cache's name, for providers that name caches

    def is_cached(self, now: datetime) -> bool:
        """True if a call would find it now. Without a reported expiry it may be gone sooner."""
        if not self.enabled or not self.tokens_cached or self.cached_at is None:
            return False
        return self.expires_at is None or now < self.expires_at

    def seconds_left(self, now: datetime) -> float | None:
        """Seconds until it expires; 0 if expired, ``None`` if the provider does not report it."""
        if not self.is_cached(now):
            return 0.0
        return None if self.expires_at is None else (self.expires_at - now).total_seconds()
