"""The state of prompt caches: what calls reveal, what invalidates it, and a file that survives damage."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.discussions.caches import PATH, DiscussionCaches, DiscussionCacheState
from engine.errors import TranscriptError
from engine.providers.chat import Usage
from engine.store.files import Files
from engine.store.paths import Workspace

NOW = datetime(2026, 6, 12, 8, tzinfo=UTC)
SOURCES = ("knowledge/identity/SOUL.md", "knowledge/digest.md")


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> datetime:
        self.now += timedelta(**by)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory-config.yaml").write_text("")
    return tmp_path


@pytest.fixture
def caches(root: Path, clock: Clock) -> DiscussionCaches:
    return DiscussionCaches(Files(Workspace.open(root)), clock)


def note(
    caches: DiscussionCaches,
    name: str = "ses_a",
    *,
    read: int = 0,
    written: int = 0,
    ttl_s: float | None = 300,
    provider: str = "anthropic",
    why: str = "",
) -> DiscussionCacheState:
    return caches.note(
        name,
        provider=provider,
        model="m",
        usage=Usage(5000, read, written, 0, 7),
        prefix="abc",
        sources=SOURCES,
        ttl_s=ttl_s,
        why=why,
    )


def test_a_written_cache_lasts_until_it_expires(caches: DiscussionCaches, clock: Clock) -> None:
    state = note(caches, written=4000, why="the first call of the discussion")
    assert (state.calls, state.hits, state.tokens_cached) == (1, 0, 4000)
    assert state.is_cached(clock.now) and state.seconds_left(clock.now) == 300
    assert state.seconds_left(clock.advance(seconds=299)) == 1
    assert not state.is_cached(clock.advance(seconds=1)) and state.seconds_left(clock.now) == 0


def test_a_cache_read_counts_as_a_hit_and_extends_the_cache(caches: DiscussionCaches, clock: Clock) -> None:
    note(caches, written=4000)
    clock.advance(minutes=4)
    state = note(caches, read=4000, why="never told")
    assert (state.calls, state.hits, state.why) == (2, 1, "")
    assert state.seconds_left(clock.advance(minutes=4)) == 60


def test_a_cache_without_a_ttl_has_no_expiry(caches: DiscussionCaches, clock: Clock) -> None:
    state = note(caches, read=2048, ttl_s=None, provider="openai")
    assert state.seconds_left(clock.advance(days=2)) is None and state.is_cached(clock.now)


def test_a_call_that_neither_reads_nor_writes_a_cache_leaves_none(
    caches: DiscussionCaches, clock: Clock
) -> None:
    note(caches, written=4000)
    state = note(caches, why="the provider kept none")
    assert not state.is_cached(clock.now)
    assert state.why == "the provider kept none"


def test_a_change_of_a_source_file_invalidates_the_cache(caches: DiscussionCaches, clock: Clock) -> None:
    note(caches, "ses_a", written=10)
    note(caches, "ses_b", written=10)
    assert caches.files_changed(["topics/x.md"]) == ()
    given_up = caches.files_changed(["topics/x.md", *SOURCES])
    assert {state.discussion_id for state in given_up} == {"ses_a", "ses_b"}
    state = caches.get("ses_a")
    assert state.why == "knowledge/digest.md and 1 more changed"
    assert state.invalidated_at == NOW and not state.is_cached(NOW)
    assert caches.files_changed(SOURCES) == ()  # a cache is invalidated only once


def test_switching_caching_off_invalidates_the_cache_and_on_starts_fresh(caches: DiscussionCaches) -> None:
    note(caches, written=10)
    off = caches.set_enabled("ses_a", False)
    assert (off.enabled, off.tokens_cached, off.why) == (False, 0, "switched off")
    on = caches.set_enabled("ses_a", True)
    assert (on.enabled, on.why, on.calls) == (True, "", 1)
    assert caches.set_enabled("ses_new", False).enabled is False
    assert [state.discussion_id for state in caches.all()] == ["ses_a", "ses_new"]


def test_only_invalidating_by_hand_starts_a_new_generation(caches: DiscussionCaches) -> None:
    assert caches.invalidate("ses_a", "the digest was made anew").generation == 0
    assert caches.invalidate("ses_a", "given up by hand", by_hand=True).generation == 1


def test_the_state_is_stored_in_a_file_shared_between_processes(
    caches: DiscussionCaches, root: Path, clock: Clock
) -> None:
    state = note(caches, written=4000)
    assert DiscussionCaches(Files(Workspace.open(root)), clock).get("ses_a") == state


@pytest.mark.parametrize("name", ["", "../x", "a/b", "x" * 200, "a\n"])
def test_an_invalid_session_id_is_refused(caches: DiscussionCaches, name: str) -> None:
    with pytest.raises(TranscriptError, match="invalid session id"):
        caches.get(name)
    with pytest.raises(TranscriptError):
        caches.set_enabled(name, False)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"null", b'{"discussions": 7}', b'{"discussions": [7]}', b'{"discussions": [{}]}',
        b"[" * 50_000, b"\xff\xfe", b'{"discussions": [{"discussion_id": "../x"}]}',
        b'{"discussions": [{"discussion_id": "a", "hits": "many"}]}',
        b'{"discussions": [{"discussion_id": "a", "hits": true}]}',
        b'{"discussions": [{"discussion_id": "a", "cached_at": "yesterday"}]}',
        b'{"discussions": [{"discussion_id": "a", "cached_at": "2026-06-12T08:00:00"}]}',
        b'{"discussions": [{"discussion_id": "a", "sources": [1]}]}',
    ],
)  # fmt: skip
def test_a_broken_file_is_reported_and_replaced(root: Path, clock: Clock, data: bytes) -> None:
    errors: list[str] = []
    caches = DiscussionCaches(Files(Workspace.open(root)), clock, errors.append)
    (root / PATH).parent.mkdir()
    (root / PATH).write_bytes(data)
    assert caches.all() == ()
    assert errors and errors[0].startswith(f"{PATH}: cannot be read (")
    note(caches, written=10)
    assert [state.discussion_id for state in caches.all()] == ["ses_a"]


def test_unknown_fields_are_ignored(caches: DiscussionCaches, root: Path) -> None:
    note(caches, written=10)
    tree = json.loads((root / PATH).read_text())
    tree["discussions"][0]["colour"] = "green"
    (root / PATH).write_text(json.dumps(tree))
    assert caches.get("ses_a").tokens_cached == 10


def test_the_oldest_states_are_dropped_but_never_a_persons_choice(
    caches: DiscussionCaches, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.discussions.caches.KEPT", 10)
    caches.set_enabled("ses_off", False)
    for number in range(15):
        clock.advance(seconds=1)
        note(caches, f"ses_{number}", written=1)
    names = [state.discussion_id for state in caches.all()]
    assert len(names) == 10
    assert "ses_off" in names and "ses_5" not in names and names[0] == "ses_14"


def test_concurrent_updates_lose_nothing(root: Path, clock: Clock) -> None:
    def work(name: str) -> None:
        caches = DiscussionCaches(Files(Workspace.open(root)), clock)
        for _round in range(20):
            note(caches, name, read=5)

    threads = [threading.Thread(target=work, args=(f"ses_{number % 2}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loaded = DiscussionCaches(Files(Workspace.open(root)), clock).all()
    assert [(state.calls, state.hits) for state in loaded] == [(40, 40), (40, 40)]


_STATES = st.builds(
    DiscussionCacheState,
    discussion_id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True),
    provider=st.text(max_size=10),
    cached_at=st.none() | st.integers(-(10**9), 10**9).map(lambda seconds: NOW + timedelta(seconds=seconds)),
    hits=st.integers(0, 10**12),
    tokens_cached=st.integers(0, 10**9),
    sources=st.lists(st.text(max_size=20), max_size=4).map(tuple),
    enabled=st.booleans(),
    why=st.text(max_size=40),
)


@given(states=st.lists(_STATES, max_size=5, unique_by=lambda state: state.discussion_id))
def test_states_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, states: list[DiscussionCacheState]
) -> None:
    root = tmp_path_factory.mktemp("caches")
    (root / "memory-config.yaml").write_text("")
    caches = DiscussionCaches(Files(Workspace.open(root)), lambda: NOW)
    plain = [
        replace(
            state,
            provider=state.provider.encode("utf-8", "replace").decode(),
            why=state.why.encode("utf-8", "replace").decode(),
            sources=tuple(each.encode("utf-8", "replace").decode() for each in state.sources),
            cached_at=state.cached_at.replace(microsecond=0) if state.cached_at else None,
        )
        for state in states
    ]
    for state in plain:
        caches._change(state.discussion_id, lambda _before, state=state: state)  # type: ignore[misc]
    fresh = DiscussionCacheState("x")
    kept = {state.discussion_id: state for state in plain if replace(state, discussion_id="x") != fresh}
    assert {state.discussion_id: state for state in caches.all()} == kept
