"""The cache state of every discussion, kept in one file (``cache-friendly-context.md`` 5).

Nothing here contacts a provider: a state is what the last replies reported. Invalidating a cache means that
it no longer counts, and that the next call uses a new name where providers name caches. The provider may
still read its own copy of the same bytes until that expires.

Named caches at a service belong to a content: discussions with the same prefix share one. They are billed
for as long as they exist. One is created when a prefix is sent a second time within
the cache's lifetime, and by a single process; until then, the others send the prefix.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.errors import AutopoiesisError, TranscriptError
from engine.providers.chat import StoredCache
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

    def __post_init__(self) -> None:
        self.shared = SharedCaches(self.files, self.clock, self.on_problem)  # whichever discussions use them

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

    def others_hold(self, discussion_id: str, name: str) -> bool:
        """True if another discussion uses the named cache."""
        now = self.clock()
        return any(
            state.cached_content == name and state.is_cached(now) and state.discussion_id != discussion_id
            for state in self._read().values()
        )

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


SHARED_PATH = "logs/named-caches.json"
KEPT_SHARED = 200
"""Maximum number of prefixes kept; the least recently sent go first."""
MAKING_S = 60
"""Seconds after which another process's creation of a cache is considered abandoned."""

_SHARED_LIMIT = 1024 * 1024


class Taken(NamedTuple):
    """The cache for a prefix, if any, and what the caller should do."""

    held: StoredCache | None = None
    make: bool = (
        False  # there is none and one would pay off: the caller creates it, and no other process does
    )
    look: bool = False  # one may exist at the service, since the response to an earlier attempt was lost


@dataclass(frozen=True, slots=True)
class _Row:
    """A prefix: when it was last sent, its cache, and who has been creating one since when."""

    seen_at: datetime
    name: str = ""
    expires_at: datetime | None = None
    tokens: int = 0
    making_since: datetime | None = None
    is_lost: bool = False


@dataclass(eq=False)
class SharedCaches:
    """Reads and changes the records of named caches. Safe to use from several processes.

    ``on_problem`` is called when the file cannot be read; caches are then recreated.
    """

    files: Files
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]

    def take(self, key: str, ttl_s: int) -> Taken:
        """The cache for a prefix about to be sent; the key identifies service, model and prefix."""
        now = self.clock()
        with self._rows() as rows:
            before = rows.get(key)
            row = rows[key] = _Row(now) if before is None else replace(before, seen_at=now)
            if row.name and row.expires_at is not None and row.expires_at > now:
                return Taken(StoredCache(row.name, row.expires_at, row.tokens))
            if before is None or now - before.seen_at >= timedelta(seconds=ttl_s):
                return Taken()
            since = row.making_since
            if since is not None and now - since < timedelta(seconds=MAKING_S):
                return Taken()
            rows[key] = replace(row, making_since=now)
            return Taken(make=True, look=row.is_lost or since is not None)

    def made(self, key: str, stored: StoredCache) -> None:
        """Records that a cache was created or extended."""
        with self._rows() as rows:
            rows[key] = _Row(self.clock(), stored.name, stored.expires_at, stored.tokens)

    def failed(self, key: str) -> None:
        """Records that no cache was created, as far as is known."""
        with self._rows() as rows:
            rows[key] = _Row(self.clock(), is_lost=True)

    def gone(self, name: str) -> None:
        """Records that a cache has ended."""
        with self._rows() as rows:
            for key, row in rows.items():
                if row.name == name:
                    rows[key] = _Row(row.seen_at)

    @contextmanager
    def _rows(self) -> Iterator[dict[str, _Row]]:
        """The rows, written back if changed. A failed write is reported and never fails the reply."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self.files.lock())
            except AutopoiesisError as error:
                self.on_problem(f"{PATH}: {error}")
                yield {}
                return
            rows = self._read()
            before = dict(rows)
            yield rows
            if rows == before:
                return
            kept = sorted(rows.items(), key=lambda item: item[1].seen_at)[-KEPT_SHARED:]
            text = json.dumps({key: asdict(row) for key, row in sorted(kept)}, indent=1, default=_written)
            try:
                self.files.replace(SHARED_PATH, f"{text}\n".encode())
            except AutopoiesisError as error:
                self.on_problem(str(error))

    def _read(self) -> dict[str, _Row]:
        try:
            data = json.loads(self.files.read(SHARED_PATH, limit=_SHARED_LIMIT))
            return {key: typed(_Row, tree) for key, tree in data.items()}
        except FileNotFoundError:
            return {}
        except (OSError, AutopoiesisError, ValueError, TypeError, AttributeError, RecursionError) as error:
            self.on_problem(f"{PATH}: cannot be read ({error}); named caches will be recreated")
            return {}


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


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
