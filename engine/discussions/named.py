"""A named prefix cache at the service: create, use, recreate, delete (3.2 of ``cache-friendly-context.md``).

It is billed for as long as it exists, so a discussion gets one when it sends a prefix a second time, and
another one once it has expired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, SendFailed
from engine.providers.chat import TTL_SECONDS, CacheGone, ChatRequest, NamedCaches, StoredCache, Tool, Ttl
from engine.providers.loop import LoopThread
from engine.redaction.detect import redact

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.discussions.caches import DiscussionCaches, DiscussionCacheState
    from engine.providers.chat import ChatProvider, ChatReply

ASIDE_S = 20.0
"""Timeout of cache maintenance besides the reply itself, seconds."""

_LEAST_LEFT_S = 60.0


@dataclass
class NamedCache:
    """The cache of one discussion at one service, for one message."""

    provider: ChatProvider
    caches: DiscussionCaches
    state: DiscussionCacheState
    ttl_s: int  # requested lifetime of a cache in seconds; 0 for no cache
    now: datetime  # UTC
    held: StoredCache | None = None  # the cache used for the reply
    stored_s: float = 0.0  # seconds for which storage was bought for this message
    error: str = ""  # why there is no cache, or an old one may remain; empty on success

    async def chat(self, request: ChatRequest, timeout: float, on_text: Callable[[str], None]) -> ChatReply:
        """A reply, with the prefix read from the cache if possible; otherwise the prefix is sent.

        Raises:
            SendFailed: As ``ChatProvider.chat``.
        """
        service = self.provider
        if not self.ttl_s or not isinstance(service, NamedCaches) or not request.prefix:
            return await service.chat(request, timeout=timeout, on_text=on_text)
        self.held = self.held or await self._taken(service, request)
        try:
            reply = await service.chat(self._named(request), timeout=timeout, on_text=on_text)
        except CacheGone as gone:
            if gone.partial or self.held is None:
                raise
            self.held = await self._made(service, request)
            reply = await service.chat(self._named(request), timeout=timeout, on_text=on_text)
        await self._end_previous(service)
        return reply

    def _named(self, request: ChatRequest) -> ChatRequest:
        return request if self.held is None else replace(request, cached_content=self.held.name)

    async def _taken(self, service: NamedCaches, request: ChatRequest) -> StoredCache | None:
        """The cache for the prefix, created when due."""
        state = self.state
        if state.prefix != prefix_hash(request) or state.provider != service.name:
            return None
        expires_at = state.expires_at
        if state.cached_content and expires_at and (expires_at - self.now).total_seconds() > _LEAST_LEFT_S:
            return StoredCache(state.cached_content, expires_at, state.tokens_cached)
        return await self._made(service, request)

    async def _made(self, service: NamedCaches, request: ChatRequest) -> StoredCache | None:
        try:
            made = await service.create_cache(request, self.ttl_s, timeout=ASIDE_S)
        except SendFailed as error:
            self.error = str(error)
            return None
        self.stored_s += self.ttl_s
        return made

    async def _end_previous(self, service: NamedCaches) -> None:
        """Deletes the cache that this discussion used before."""
        before = self.state.cached_content
        if not before or (self.held is not None and self.held.name == before):
            return
        try:
            await service.delete_cache(before, timeout=ASIDE_S)
        except SendFailed as error:
            self.error = f"the previous cache may remain until it expires: {error}"
        self.state = replace(self.state, cached_content="")

    def noted(
        self,
        exchange: Sequence[tuple[ChatRequest, ChatReply]],
        compiled: Compiled,
        broken: str,
        least: int,
    ) -> DiscussionCacheState:
        """Records and returns the state of the discussion's cache after a message.

        ``broken`` says where the prefix changed, empty if it did not; ``least`` is the model's minimum
        cacheable prefix in tokens.
        """
        session, held = self.state.discussion_id, self.held
        state = self.caches.get(session)
        for request, reply in exchange:
            if self.provider.name == "local" or (not reply.usage.input_tokens and held is None):
                continue  # no call, or no usage reported
            ttl_s: float | None = TTL_SECONDS[request.ttl] if request.ttl else None
            state = self.caches.note(
                session,
                provider=self.provider.name,
                model=reply.model,
                usage=reply.usage,
                prefix=prefix_hash(request),
                sources=(
                    section.source for section in compiled.sections if section.layer <= 7 and section.source
                ),
                ttl_s=ttl_s if held is None else (held.expires_at - self.now).total_seconds(),
                cached_content="" if held is None else held.name,
                why=self.error or _why_not_read(state, broken, self.now, least),
            )
        return state


def _why_not_read(state: DiscussionCacheState, broken: str, now: datetime, least: int) -> str:
    """Why nothing was read from a cache, as far as that is known."""
    if not state.enabled:
        return "caching is switched off for this discussion"
    if not state.calls:
        return "the first call of the discussion"
    given_up = state.why if state.invalidated_at is not None and state.cached_at is None else ""
    if broken:
        return broken
    if state.expires_at is not None and state.expires_at <= now:
        return "the cache had expired"
    return given_up or f"the provider cached nothing; it caches prefixes from {least:,} tokens"


LEAST_MORE = 128
"""Minimum extra tokens that justify another cache boundary."""

_KEY = 32
"""Characters of the prefix hash in a cache key; services accept 64 in all."""


def request_for(
    compiled: Compiled,
    *,
    least: int,
    count: Callable[[str], int],
    max_tokens: int,
    ttl: Ttl | None,
    generation: int | None = None,
    tools: tuple[Tool, ...] = (),
) -> ChatRequest:
    """The request for a prompt.

    Args:
        least: The model's minimum cacheable prefix in tokens; no cache is requested for a shorter one.
        count: Counts tokens.
        generation: Part of the key shared by requests with the same prefix; ``None`` for no key.
    """
    prefix = compiled.text[: compiled.stable_prefix_length]
    pieces = _pieces(prefix, compiled.boundaries, least, count)
    pays = count(prefix) >= least
    request = ChatRequest(
        prefix=pieces,
        rest=compiled.text[compiled.stable_prefix_length :],
        max_tokens=max_tokens,
        ttl=ttl if pays else None,
        tools=tools,
    )
    if generation is None or not pays:
        return request
    return replace(request, cache_key=f"{prefix_hash(request)[:_KEY]}.{generation}")


def without_secrets(request: ChatRequest) -> tuple[ChatRequest, int]:
    """The request with secrets redacted, and the number of redactions (N3).

    Redaction is deterministic, so a stable prefix stays stable.
    """
    found = 0

    def clean(text: str) -> str:
        nonlocal found
        said, count = redact(text)
        found += count
        return said

    return replace(request, prefix=tuple(map(clean, request.prefix)), rest=clean(request.rest)), found


def prefix_hash(request: ChatRequest) -> str:
    """sha256 of the prefix; empty if there is none."""
    text = "".join(request.prefix)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""


def _pieces(
    prefix: str, boundaries: Sequence[int], least: int, count: Callable[[str], int]
) -> tuple[str, ...]:
    """Cuts the prefix into pieces, each long enough for a cache to exist and pay off."""
    if not prefix:
        return ()
    cuts: list[int] = []
    reached = 0
    for boundary in sorted(each for each in set(boundaries) if 0 < each < len(prefix)):
        tokens = count(prefix[:boundary])
        if tokens >= max(least, 1) and tokens - reached >= LEAST_MORE:
            cuts.append(boundary)
            reached = tokens
    if cuts and count(prefix[cuts[-1] :]) < LEAST_MORE:
        cuts.pop()
    cuts = cuts[-2:]
    return tuple(prefix[start:end] for start, end in zip([0, *cuts], [*cuts, len(prefix)], strict=True))


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
