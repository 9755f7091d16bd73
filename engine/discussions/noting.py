"""What the replies to a message say of the discussion's cache, taken down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.discussions.request import prefix_hash
from engine.providers.chat import TTL_SECONDS

if TYPE_CHECKING:
    from datetime import datetime

    from engine.context.compiled import Compiled
    from engine.discussions.caches import DiscussionCaches
    from engine.discussions.named import NamedCache
    from engine.discussions.state import DiscussionCacheState
    from engine.providers.chat import ChatReply, ChatRequest


def noted(
    caches: DiscussionCaches,
    session: str,
    exchange: Sequence[tuple[ChatRequest, ChatReply]],
    compiled: Compiled,
    named: NamedCache,
    broken: str,
    least: int,
) -> DiscussionCacheState:
    """The state of a discussion's cache after a message.

    ``broken`` is where the prefix is another than before, empty for nowhere; ``least`` are the tokens below
    which the model caches nothing.
    """
    state, now, held = caches.get(session), named.now, named.held
    for request, reply in exchange:
        if named.provider.name == "local" or (not reply.usage.input_tokens and held is None):
            continue  # there was no call, or the service did not say
        ttl_s: float | None = TTL_SECONDS[request.ttl] if request.ttl else None
        state = caches.note(
            session,
            provider=named.provider.name,
            model=reply.model,
            usage=reply.usage,
            prefix=prefix_hash(request),
            sources=(
                section.source for section in compiled.sections if section.layer <= 7 and section.source
            ),
            ttl_s=ttl_s if held is None else (held.expires_at - now).total_seconds(),
            cached_content="" if held is None else held.name,
            why=named.trouble or _why_not_read(state, broken, now, least),
        )
    return state


def _why_not_read(state: DiscussionCacheState, broken: str, now: datetime, least: int) -> str:
    """Why nothing was read from a cache, as far as that can be told from here."""
    if not state.enabled:
        return "caching is switched off for this discussion"
    if not state.calls:
        return "the first call of the discussion"
    given_up = state.why if state.invalidated_at is not None and state.cached_at is None else ""
    if broken:
        return broken
    if state.expires_at is not None and state.expires_at <= now:
        return "it had expired"
    return given_up or f"the provider kept none; it keeps prefixes from {least:,} tokens"
