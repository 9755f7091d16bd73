"""Invalidating a cache by hand; the service's copy is deleted too if it has a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.discussions.named import ASIDE_S
from engine.errors import AutopoiesisError
from engine.providers.caches import NamedCaches
from engine.providers.loop import LoopThread

if TYPE_CHECKING:
    from engine.discussions.caches import DiscussionCaches
    from engine.discussions.state import DiscussionCacheState
    from engine.providers.chat import ChatProvider


@dataclass(eq=False)
class Ending:
    """Ends caches by hand. ``provider`` creates the provider of a cache from its name and model."""

    caches: DiscussionCaches
    provider: Callable[[str, str], ChatProvider]

    def invalidate(self, discussion_id: str, why: str) -> DiscussionCacheState:
        """Invalidates a discussion's cache; the next call starts a new one.

        Raises:
            TranscriptError: Invalid session id.
        """
        before = self.caches.get(discussion_id)
        after = self.caches.invalidate(discussion_id, why, by_hand=True)
        return self._ended(before, after)

    def disable(self, discussion_id: str) -> DiscussionCacheState:
        """Disables caching for a discussion.

        Raises:
            TranscriptError: Invalid session id.
        """
        before = self.caches.get(discussion_id)
        return self._ended(before, self.caches.set_enabled(discussion_id, False))

    def enable(self, discussion_id: str) -> DiscussionCacheState:
        """Enables caching for a discussion again.

        Raises:
            TranscriptError: Invalid session id.
        """
        return self.caches.set_enabled(discussion_id, True)

    def _ended(self, before: DiscussionCacheState, after: DiscussionCacheState) -> DiscussionCacheState:
        if not before.cached_content:
            return after
        kept = ""
        if self.caches.others_hold(after.discussion_id, before.cached_content):
            return self.caches.forget_name(after.discussion_id, before.cached_content, kept)
        self.caches.shared.gone(before.cached_content)
        try:
            service = self.provider(before.provider, before.model)
            if isinstance(service, NamedCaches):
                loop = LoopThread()
                try:
                    loop.run(service.delete_cache(before.cached_content, timeout=ASIDE_S))
                finally:
                    loop.close(service.aclose)
        except AutopoiesisError as error:
            kept = f"{after.why}; the service's copy stays until it expires: {error}"
        return self.caches.forget_name(after.discussion_id, before.cached_content, kept)
