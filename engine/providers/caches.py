"""Named caches: prefixes that a service stores under a name (``cache-friendly-context.md`` 3.2)."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol, runtime_checkable

from engine.errors import SendFailed
from engine.providers.chat import ChatProvider, ChatRequest


class CacheGone(SendFailed):
    """The named cache no longer exists, or not for this model; create a new one."""


class StoredCache(NamedTuple):
    """A cache as reported by the service."""

    name: str  # for ``ChatRequest.cached_content``
    expires_at: datetime  # UTC
    tokens: int  # 0 if the service does not report them


@runtime_checkable
class NamedCaches(ChatProvider, Protocol):
    """A provider whose service offers named caches; their storage is billed while they exist."""

    async def create_cache(
        self, request: ChatRequest, ttl_s: int, *, timeout: float, display_name: str = ""
    ) -> StoredCache:
        """Stores the prefix and the tools of a request for ``ttl_s`` seconds.

        ``find_cache`` finds it by its ``display_name`` if the response is lost; the name must not contain any
        content or a person's name and has at most 128 characters. A cache left by an earlier attempt is
        reused.

        Raises:
            SendFailed: It was not stored, as far as is known.
        """
        ...

    async def find_cache(self, display_name: str, *, timeout: float) -> StoredCache | None:
        """The cache with a display name and this model, of several the one that expires last; ``None`` if
        there is none.

        Raises:
            SendFailed: The service did not answer.
        """
        ...

    async def refresh_cache(self, name: str, ttl_s: int, *, timeout: float) -> StoredCache:
        """Extends a cache to ``ttl_s`` seconds from now.

        Raises:
            CacheGone: It no longer exists.
            SendFailed: The service did not answer.
        """
        ...

    async def delete_cache(self, name: str, *, timeout: float) -> None:
        """Deletes a cache; does nothing if it no longer exists.

        Raises:
            SendFailed: The service did not answer; the cache may remain until it expires.
        """
        ...
