"""What is known of the cache that a provider holds for a discussion (``cache-friendly-context.md`` 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class DiscussionCacheState:
    """The cache of one discussion's stable prefix, as far as the provider's answers tell."""

    discussion_id: str  # the session's
    provider: str = ""  # whose cache it is
    model: str = ""  # likewise: no model reads another one's
    cached_at: datetime | None = None  # when it was written, or read last; UTC
    expires_at: datetime | None = None
    """When it goes unless it is read before; ``None`` where the provider does not say."""
    hits: int = 0  # calls that read from it
    calls: int = 0  # all calls of the discussion
    tokens_cached: int = 0  # that the last call read from it and wrote to it
    prefix: str = ""  # sha256 of the one that was sent last; empty before the first
    sources: tuple[str, ...] = field(default=())  # the files that the prefix is made of, workspace-relative
    enabled: bool = True  # whether caches may be asked for at all; a person's choice
    invalidated_at: datetime | None = None  # when it was given up last
    why: str = ""
    """Why it was given up, or why the last call read nothing from it; empty when all is well."""
    generation: int = 0  # how often a person gave it up; part of the key that leads to a cache
    cached_content: str = ""  # the cache's name at a provider that names them

    def is_cached(self, now: datetime) -> bool:
        """Whether a call would find it now. Where the provider names no end, it may be gone sooner."""
        if not self.enabled or not self.tokens_cached or self.cached_at is None:
            return False
        return self.expires_at is None or now < self.expires_at

    def seconds_left(self, now: datetime) -> float | None:
        """Until it goes; 0 when it is gone, ``None`` where the provider does not say."""
        if not self.is_cached(now):
            return 0.0
        return None if self.expires_at is None else (self.expires_at - now).total_seconds()
