"""Caches that a service keeps under a name of their own (``cache-friendly-context.md`` 3.2)."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol, runtime_checkable

from engine.errors import SendFailed
from engine.providers.chat import ChatProvider, ChatRequest


class CacheGone(SendFailed):
    """The named cache no longer exists, or not for this model: create a new one."""


class StoredCache(NamedTuple):
    """A cache as the service tells of it."""

    name: str  # what requests call it, ``ChatRequest.cached_content``
    expires_at: datetime  # UTC
    tokens: int  # what it holds; 0 where the service does not say


@runtime_checkable
class NamedCaches(ChatProvider, Protocol):
    """A provider whose service keeps caches under names; storage is charged while they stay."""

    async def create_cache(
        self, request: ChatRequest, ttl_s: int, *, timeout: float, display_name: str = ""
    ) -> StoredCache:
        """Stores the prefix and the tools of a request for ``ttl_s`` seconds.

        The ``display_name`` is what ``find_cache`` finds it by, should the answer be lost; no content, no
        name of a person, at most 128 characters. One that an attempt before has left there is taken.

        Raises:
            SendFailed: It was not stored, as far as is known.
        """
        ...

    async def find_cache(self, display_name: str, *, timeout: float) -> StoredCache | None:
        """The cache that was made under a display name, of those there are for this model the one that stays
        longest; ``None`` without one.

        Raises:
            SendFailed: The service did not answer.
        """
        ...

    async def refresh_cache(self, name: str, ttl_s: int, *, timeout: float) -> StoredCache:
        """Keeps a cache for ``ttl_s`` seconds from now on.

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
