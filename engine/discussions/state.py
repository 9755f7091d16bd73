"""What is known of the cache that a provider holds for a discussion (``cache-friendly-context.md`` 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class DiscussionCacheState:
    """The cache of one discussion's stable prefix, as far as the provider's answers tell.

    Attributes:
        discussion_id: The session's id.
        provider: Who holds it.
        model: Whose cache it is: no model reads another one's.
        cached_at: When it was written, or read last; UTC.
        expires_at: When it goes unless it is read before; ``None`` where the provider does not say.
        hits: Calls that read from it.
        calls: All calls of the discussion.
        tokens_cached: Tokens that the last call read from it and wrote to it.
        prefix: sha256 of the prefix that was sent last; empty before the first.
        sources: The files that the prefix is made of, workspace-relative.
        enabled: Whether caches may be asked for at all; a person's choice.
        invalidated_at: When it was given up last; ``None`` for never.
        why: Why it was given up, or why the last call read nothing from it; empty when all is well.
        generation: How often a person gave it up; part of the key that leads to a cache.
        cached_content: The name of the cache at a provider that names them; empty for none.
    """

    discussion_id: str
    provider: str = ""
    model: str = ""
    cached_at: datetime | None = None
    expires_at: datetime | None = None
    hits: int = 0
    calls: int = 0
    tokens_cached: int = 0
    prefix: str = ""
    sources: tuple[str, ...] = field(default=())
    enabled: bool = True
    invalidated_at: datetime | None = None
    why: str = ""
    generation: int = 0
    cached_content: str = ""

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
