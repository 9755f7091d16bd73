"""Turns a compiled prompt into a request, with the stable prefix cut at cache boundaries (design 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from engine.providers.chat import ChatRequest, Tool, Ttl
from engine.redaction.detect import redact

if TYPE_CHECKING:
    from engine.context.compiled import Compiled

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
