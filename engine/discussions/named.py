"""A prefix kept at the service under a name: made, used, kept for longer, made anew, ended (3.2 of
``cache-friendly-context.md``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from engine.discussions.request import prefix_hash
from engine.errors import SendFailed
from engine.providers.caches import CacheGone, NamedCaches, StoredCache

if TYPE_CHECKING:
    from engine.discussions.state import DiscussionCacheState
    from engine.providers.chat import ChatProvider, ChatReply, ChatRequest

ASIDE_S = 20.0
"""Longest wait for what is done about a cache beside the reply itself, seconds."""

_LEAST_LEFT_S = 60.0


@dataclass
class NamedCache:
    """The cache of one discussion at one service, through one call.

    Args:
        provider: The service.
        state: What is known of the discussion's cache.
        ttl_s: Seconds that a cache is asked to stay.
        now: The time, UTC.

    Attributes:
        held: The cache that the reply was made with; ``None`` without one.
        stored_s: Seconds for which storage was bought in this call.
        trouble: Why there is none, or why an old one may still be there; empty when all is well.
    """

    provider: ChatProvider
    state: DiscussionCacheState
    ttl_s: int
    now: datetime
    held: StoredCache | None = None
    stored_s: float = 0.0
    trouble: str = ""

    async def chat(self, request: ChatRequest, timeout: float, on_text: Callable[[str], None]) -> ChatReply:
        """A reply, with the prefix taken from the cache where that can be.

        Raises:
            SendFailed: As ``ChatProvider.chat``. That there is no cache fails nothing: the prefix is sent.
        """
        service = self.provider
        if not isinstance(service, NamedCaches) or not request.prefix:
            return await service.chat(request, timeout=timeout, on_text=on_text)
        self.held = self._known(request) or await self._made(service, request)
        if self.held is not None:
            try:
                named = replace(request, cached_content=self.held.name)
                reply = await service.chat(named, timeout=timeout, on_text=on_text)
            except CacheGone as gone:
                if gone.partial:
                    raise
                self.held = await self._made(service, request)
            else:
                await self._aside(service)
                return reply
        named = request if self.held is None else replace(request, cached_content=self.held.name)
        reply = await service.chat(named, timeout=timeout, on_text=on_text)
        await self._aside(service)
        return reply

    def _known(self, request: ChatRequest) -> StoredCache | None:
        state = self.state
        fits = state.cached_content and state.prefix == prefix_hash(request) and state.is_cached(self.now)
        if not fits or state.expires_at is None:
            return None
        return StoredCache(state.cached_content, state.expires_at, state.tokens_cached)

    async def _made(self, service: NamedCaches, request: ChatRequest) -> StoredCache | None:
        name, made = self._display_name(request), None
        if self.state.calls and not self.state.cached_content:
            # One may have been made whose answer was lost; it is paid for like any other.
            with contextlib.suppress(SendFailed):
                made = await service.find_cache(name, timeout=ASIDE_S)
        if made is None or (made.expires_at - self.now).total_seconds() < _LEAST_LEFT_S:
            try:
                made = await service.create_cache(
                    "".join(request.prefix), self.ttl_s, display_name=name, timeout=ASIDE_S
                )
            except SendFailed as error:
                self.trouble = str(error)
                return None
        self.stored_s += self.ttl_s
        return made

    def _display_name(self, request: ChatRequest) -> str:
        """What the cache is called at the service, the same for the same prefix in the same discussion."""
        state = self.state
        what = (state.discussion_id, str(state.generation), self.provider.model, prefix_hash(request))
        return f"autopoiesis-{sha256(' '.join(what).encode()).hexdigest()[:32]}"

    async def _aside(self, service: NamedCaches) -> None:
        """What can wait for the reply: the cache in use stays on, the one before it ends."""
        held, before = self.held, self.state.cached_content
        if held is not None and held.name == before:
            left = (held.expires_at - self.now).total_seconds()
            if left < self.ttl_s / 2:
                with contextlib.suppress(SendFailed):  # it stays for what it has
                    self.held = await service.refresh_cache(held.name, self.ttl_s, timeout=ASIDE_S)
                    self.stored_s += self.ttl_s - left
        elif before:
            await self.end(service)

    async def end(self, service: NamedCaches) -> None:
        """Ends the cache that the state knows of."""
        try:
            await service.delete_cache(self.state.cached_content, timeout=ASIDE_S)
        except SendFailed as error:
            self.trouble = f"the cache before it may stay until it expires: {error}"
