"""The cache state of every discussion, kept in one file (``cache-friendly-context.md`` 5).

Nothing here contacts a provider: a state is what the last replies reported. Invalidating a cache means that
it no longer counts, and that the next call uses a new name where providers name caches. The provider may
still read its own copy of the same bytes until that expires.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engine.errors import AutopoiesisError, TranscriptError
from engine.store.paths import valid_session_id
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.providers.chat import Usage
    from engine.store.files import Files

PATH = "logs/caches.json"
KEPT = 500
"""Maximum number of discussions kept; the least recently used go first, except those a person changed."""

_LIMIT = 4 * 1024 * 1024


@dataclass(eq=False)
class DiscussionCaches:
    """Reads and changes the states. Safe to use from several processes.

    ``on_problem`` is called when the file cannot be read; the states are then unknown until the next calls.
    """

    files: Files
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None] = lambda _text: None

    def all(self) -> tuple[DiscussionCacheState, ...]:
        """Every known state, most recently used first."""
        return tuple(sorted(self._read().values(), key=_used_last))

    def get(self, discussion_id: str) -> DiscussionCacheState:
        """The state of a discussion; a fresh one if it is unknown.

        Raises:
            TranscriptError: Invalid session id.
        """
        return self._read().get(discussion_id) or DiscussionCacheState(_checked(discussion_id))

    def note(
        self,
        discussion_id: str,
        *,
        provider: str,
        model: str,
        usage: Usage,
        prefix: str,
        sources: Iterable[str],
        ttl_s: float | None,
        cached_content: str = "",
        why: str = "",
    ) -> DiscussionCacheState:
        """Updates the state from a call.

        Args:
            prefix: sha256 of the prefix that was sent.
            sources: The files in the prefix.
            ttl_s: Seconds until the cache expires; ``None`` if unknown.
            cached_content: The name of the cache used, if it has one.
            why: Why nothing was read from the cache, if known.
        """
        now = self.clock()
        cached = usage.cached_tokens + usage.cache_write_tokens

        def noted(state: DiscussionCacheState) -> DiscussionCacheState:
            return replace(
                state,
                provider=provider,
                model=model,
                cached_at=now if cached else state.cached_at,
                expires_at=now + timedelta(seconds=ttl_s) if cached and ttl_s is not None else None,
                hits=state.hits + bool(usage.cached_tokens),
                calls=state.calls + 1,
                tokens_cached=cached,
                prefix=prefix,
                sources=tuple(sorted(set(sources))),
                why="" if usage.cached_tokens else why,
                cached_content=cached_content,
            )

        return self._change(discussion_id, noted)

    def invalidate(self, discussion_id: str, why: str, *, by_hand: bool = False) -> DiscussionCacheState:
        """Invalidates a cache; ``by_hand``: a person wants a new one, even for the same bytes."""
        return self._change(discussion_id, lambda state: _given_up(state, why, self.clock(), by_hand))

    def set_enabled(self, discussion_id: str, enabled: bool) -> DiscussionCacheState:
        """Enables or disables caching for a discussion; disabling invalidates the current cache."""

        def chosen(state: DiscussionCacheState) -> DiscussionCacheState:
            if state.enabled == enabled:
                return state
            if not enabled:
                state = _given_up(state, "switched off", self.clock(), by_hand=False)
            return replace(state, enabled=enabled, why="" if enabled else state.why)

        return self._change(discussion_id, chosen)

    def forget_name(self, discussion_id: str, name: str, error: str) -> DiscussionCacheState:
        """Forgets a named cache that was deleted or is left to expire; ``error`` is the reason, if any."""

        def forgotten(state: DiscussionCacheState) -> DiscussionCacheState:
            if state.cached_content != name:
                return state  # another call has created a new one in the meantime
            return replace(state, cached_content="", why=error or state.why)

        return self._change(discussion_id, forgotten)

    def files_changed(self, paths: Iterable[str]) -> tuple[DiscussionCacheState, ...]:
        """Invalidates every cache whose prefix contains one of the files; returns their states."""
        changed = set(paths)
        if not any(
            changed.intersection(state.sources) for state in self._read().values() if state.tokens_cached
        ):
            return ()
        now = self.clock()
        given_up: list[DiscussionCacheState] = []
        with self.files.lock():
            states = self._read()
            for name, state in states.items():
                hit = sorted(changed.intersection(state.sources))
                if hit and state.tokens_cached:
                    more = f" and {len(hit) - 1} more" if len(hit) > 1 else ""
                    states[name] = _given_up(state, f"{hit[0]}{more} changed", now, by_hand=False)
                    given_up.append(states[name])
            if given_up:
                self._write(states)
        return tuple(given_up)

    def _change(
        self, discussion_id: str, change: Callable[[DiscussionCacheState], DiscussionCacheState]
    ) -> DiscussionCacheState:
        name = _checked(discussion_id)
        with self.files.lock():
            states = self._read()
            before = states.get(name) or DiscussionCacheState(name)
            after = change(before)
            if after != before:
                states[name] = after
                self._write(states)
        return after

    def _read(self) -> dict[str, DiscussionCacheState]:
        try:
            data = json.loads(self.files.read(PATH, limit=_LIMIT))
            rows = data["discussions"]
            return {state.discussion_id: state for state in map(_state, rows)}
        except FileNotFoundError:
            return {}
        except (OSError, AutopoiesisError, ValueError, KeyError, TypeError, RecursionError) as error:
            self.on_problem(
                f"{PATH}: cannot be read ({error}); cache states are unknown until the next calls"
            )
            return {}

    def _write(self, states: Mapping[str, DiscussionCacheState]) -> None:
        kept = sorted(states.values(), key=lambda state: (state.enabled, *_used_last(state)))[:KEPT]
        rows = [_row(state) for state in sorted(kept, key=lambda state: state.discussion_id)]
        text = json.dumps({"discussions": rows}, ensure_ascii=False, indent=1)
        self.files.replace(PATH, f"{text}\n".encode("utf-8", "replace"))


def _checked(discussion_id: str) -> str:
    if not valid_session_id(discussion_id):
        raise TranscriptError(f"invalid session id {discussion_id!r:.80}", hint="see: autopoiesis cache list")
    return discussion_id


def _given_up(state: DiscussionCacheState, why: str, now: datetime, by_hand: bool) -> DiscussionCacheState:
    return replace(
        state,
        cached_at=None,
        expires_at=None,
        tokens_cached=0,
        invalidated_at=now,
        why=why,
        generation=state.generation + by_hand,
    )


def _used_last(state: DiscussionCacheState) -> tuple[float, str]:
    moments = [moment.timestamp() for moment in (state.cached_at, state.invalidated_at) if moment is not None]
    return -max(moments, default=0.0), state.discussion_id


def tree_of(state: DiscussionCacheState, now: datetime) -> dict[str, Any]:
    """A state for JSON, with the current ``cached`` and ``seconds_left``."""
    return {**_row(state), "cached": state.is_cached(now), "seconds_left": state.seconds_left(now)}


def _row(state: DiscussionCacheState) -> dict[str, Any]:
    return {
        name: value.isoformat(timespec="seconds") if isinstance(value, datetime) else value
        for name, value in asdict(state).items()
    }


def _state(row: Mapping[str, Any]) -> DiscussionCacheState:
    """Parses a stored state.

    Raises:
        ValueError, KeyError, TypeError: Invalid state.
    """
    state = typed(DiscussionCacheState, row)
    if not valid_session_id(state.discussion_id):
        raise ValueError("discussion_id is not a session id")
    return state


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
