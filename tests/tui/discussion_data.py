"""Fake discussions without a model: a reply in pieces, and fixed caches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engine.costs.model import CostRecord
from engine.discussions.caches import DiscussionCaches, DiscussionCacheState
from engine.discussions.discussions import Discussions
from engine.discussions.named import Ending
from engine.discussions.overview import DAYS, CacheOverview, DiscussionCache, by_provider
from engine.discussions.sending import Sending
from engine.discussions.turn import Sent, Step
from engine.providers.chat import ChatReply, Usage
from engine.settings.editing import Configuration, SettingChange, SettingInfo
from engine.settings.model import CacheSettings, ChatProviderName
from engine.stability.record import Culprit, Misses, misses

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine


NOW = datetime(2026, 6, 12, 18, 47, 30, tzinfo=UTC)
MEMORY = "knowledge/memory/MEMORY.md"
SOURCES = (
    "knowledge/digest.md",
    "knowledge/identity/SOUL.md",
    "knowledge/identity/USER.md",
    MEMORY,
    "knowledge/projects/_active.md",
)
PREFIX = "5f0c3d1e" * 8
REFACTOR, PARSER, REVIEW, EXPORT, MAILS = (
    "ses_a1b2c3d4", "ses_5e2277cb", "ses_90fe12aa", "ses_7c41d0aa", "ses_33d0b7e1",
)  # fmt: skip


def state(discussion_id: str, **changes: Any) -> DiscussionCacheState:
    """A discussion with Anthropic whose cache expires in 4:32."""
    base = DiscussionCacheState(
        discussion_id,
        provider="anthropic",
        model="claude-sonnet-5-5",
        cached_at=NOW - timedelta(seconds=28),
        expires_at=NOW + timedelta(minutes=4, seconds=32),
        hits=3,
        calls=4,
        tokens_cached=5113,
        prefix=PREFIX,
        sources=SOURCES,
    )
    return replace(base, **changes)


def invalidated(discussion_id: str, why: str, minutes: int, **changes: Any) -> DiscussionCacheState:
    """A discussion whose cache was invalidated."""
    fields: dict[str, Any] = {"cached_at": None, "expires_at": None, "tokens_cached": 0, "why": why}
    return state(discussion_id, invalidated_at=NOW - timedelta(minutes=minutes), **{**fields, **changes})


def cache_states() -> list[DiscussionCacheState]:
    """One of each kind: cached with and without expiry or a name, invalidated, expired, disabled."""
    return [
        state(REFACTOR),
        state(
            PARSER,
            provider="openai",
            model="gpt-5.6",
            cached_at=NOW - timedelta(minutes=2),
            expires_at=None,
            hits=7,
            calls=9,
            tokens_cached=4096,
        ),
        invalidated(REVIEW, f"{MEMORY} changed", 6, hits=2, calls=5),
        state(
            EXPORT,
            provider="gemini",
            model="gemini-3-flash",
            cached_at=NOW - timedelta(minutes=8),
            expires_at=NOW + timedelta(minutes=51, seconds=40),
            hits=0,
            calls=1,
            tokens_cached=6206,
            why="the first call of the discussion",
            cached_content="cachedContents/9x1k2m",
        ),
        invalidated(MAILS, "switched off", 90, enabled=False, hits=0, calls=1),
        state(
            "ses_0d5511fe",
            cached_at=NOW - timedelta(hours=3),
            expires_at=NOW - timedelta(hours=2, minutes=55),
            hits=1,
            calls=2,
        ),
    ]


TITLES = {
    REFACTOR: "Refactor the login flow",
    PARSER: "Fix the parser of quoted fields",
    REVIEW: "Review of the connection pool",
    EXPORT: "A long export that keeps a transaction open",
    MAILS: "Triage of the mails of Thursday",
}


def cost_records() -> list[CostRecord]:
    """A month of calls, most of them served from a cache."""

    def call(
        day: str, provider: str, model: str, usage: Usage, usd: float | None, saved: float
    ) -> CostRecord:
        return CostRecord(
            f"{day}T10:00:00+00:00", provider, model, "chat", usage=usage, cost_usd=usd, saved_usd=saved
        )

    sonnet = Usage(6912, 5113, 1799, 0, 212)
    return [
        *(call("2026-06-12", "anthropic", "claude-sonnet-5-5", sonnet, 0.0124, 0.0138) for _call in range(9)),
        *(
            call("2026-06-09", "anthropic", "claude-sonnet-5-5", sonnet, 0.0124, 0.0138)
            for _call in range(21)
        ),
        *(
            call("2026-05-20", "anthropic", "claude-sonnet-5-5", sonnet, 0.0124, 0.0138)
            for _call in range(40)
        ),
        call("2026-06-12", "gemini", "gemini-3-flash", Usage(7100, 0, 6206, 0, 180), 0.0021, 0.0),
        call("2026-06-11", "gemini", "gemini-3-flash", Usage(7080, 6206, 0, 0, 201), 0.0012, 0.0009),
        *(
            call("2026-06-10", "openai", "gpt-5.6", Usage(6800, 4096, 0, 0, 240), None, 0.0)
            for _call in range(9)
        ),
    ]


def cache_misses() -> Misses:
    """Misses caused by three files that broke prefixes."""
    return Misses(
        ttl_s=300,
        turns=81,
        followed=58,
        kept=47,
        lost=48_210,
        dollars=0.1302,
        culprits=(
            Culprit(6, "project context", MEMORY, 7, 35_791, 0.0966, NOW - timedelta(minutes=6)),
            Culprit(7, "knowledge", "knowledge/digest.md", 3, 9_306, 0.0251, NOW - timedelta(days=2)),
            Culprit(5, "persona", "knowledge/identity/USER.md", 1, 3_113, 0.0084, NOW - timedelta(days=9)),
        ),
    )


class FakeCaches(DiscussionCaches):
    """Fixed caches; ``FakeCaches.none()`` for a workspace in which nothing was ever sent."""

    def __init__(
        self,
        states: list[DiscussionCacheState] | None = None,
        titles: dict[str, str] | None = None,
        records: list[CostRecord] | None = None,
        misses: Misses | None = None,
        provider: str = "anthropic",
        model: str = "claude-sonnet-5-5",
        in_file: Sequence[str] = ("anthropic_ttl",),
    ) -> None:
        self.states = cache_states() if states is None else states
        self.titles = dict(TITLES) if titles is None else titles
        self.records = cost_records() if records is None else records
        self.misses = misses or cache_misses()
        self.provider = provider
        self.model = model
        self.in_file = list(in_file)

    @classmethod
    def none(cls, provider: str = "local") -> FakeCaches:
        """No caches: nothing was ever sent."""
        return cls([], {}, [], misses((), 300), provider, "", [])

    def overview(self, days: int, settings: CacheSettings) -> CacheOverview:
        """The overview at the fixed time."""
        since = NOW.date() - timedelta(days=days - 1)
        records = [each for each in self.records if each.day >= since.isoformat()]
        return CacheOverview(
            at=NOW,
            since=since,
            providers=by_provider(records, self.states, NOW),
            discussions=tuple(
                DiscussionCache(each, self.titles.get(each.discussion_id, ""), self.path(each.discussion_id))
                for each in self.states
            ),
            misses=self.misses,
            provider=self.provider,
            model=self.model,
            settings=settings,
        )

    def path(self, discussion_id: str) -> str:
        """The transcript of a discussion; empty without a title."""
        known = discussion_id in self.titles
        return f"raw/conversations/2026/06/12/1844-{discussion_id}-talk.md" if known else ""

    def change(self, discussion_id: str, **changes: Any) -> DiscussionCacheState:
        """Changes a state."""
        at = next(at for at, each in enumerate(self.states) if each.discussion_id == discussion_id)
        self.states[at] = replace(self.states[at], **changes)
        return self.states[at]


REPLY = (
    "The PR splits the cursor from the pool, which is right. Two things before it goes in:\n\n"
    "```python\nwith pool.connection() as connection:\n    connection.execute(QUERY)\n```\n\n"
    "1. `close()` is called twice when the query fails.\n2. The test waits for a wall clock."
)


class FakeDiscussions(Discussions):
    """The part of an engine that sends messages."""

    _engine: FakeEngine

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine

    def sending(self, *, provider: ChatProviderName | None = None, model: str = "") -> FakeSending:
        """A fake that sends one message."""
        return FakeSending(self._engine)

    def to_continue(self, key: str) -> str:
        """Records the call; the session is the same for every message."""
        self._engine.record("to_continue", key)
        return self._engine.session

    @property
    def ending(self) -> FakeEnding:
        """A fake that ends caches."""
        return FakeEnding(self._engine)

    def overview(self, days: int = DAYS) -> CacheOverview:
        """Records the call and returns the fixed caches."""
        self._engine.record("overview", days)
        return self._engine.caches.overview(days, self._engine.config.cache)


class FakeEnding(Ending):
    """Changes the state of a discussion's cache."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine

    def invalidate(self, discussion_id: str, why: str) -> DiscussionCacheState:
        """Records the call and invalidates the cache."""
        self._engine.record("invalidate", discussion_id, why)
        return self._engine.caches.change(
            discussion_id, cached_at=None, expires_at=None, tokens_cached=0, invalidated_at=NOW, why=why
        )

    def disable(self, discussion_id: str) -> DiscussionCacheState:
        """Records the call and disables caching."""
        self._engine.record("disable", discussion_id)
        return self._engine.caches.change(
            discussion_id, cached_at=None, expires_at=None, tokens_cached=0, enabled=False, why="switched off"
        )

    def enable(self, discussion_id: str) -> DiscussionCacheState:
        """Records the call and enables caching."""
        self._engine.record("enable", discussion_id)
        return self._engine.caches.change(discussion_id, enabled=True, why="")


class FakeConfiguration(Configuration):
    """Changes cache settings, as if their group were at line 21 of the file."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine

    def settings(self) -> tuple[SettingInfo, ...]:
        """The cache settings that are in the file."""
        found: list[SettingInfo] = []
        for name in self._engine.caches.in_file:
            value = getattr(self._engine.config.cache, name)
            line = self._line(name)
            found.append(SettingInfo(f"cache.{name}", value, None, True, line, "", ""))
        return tuple(found)

    def change(self, name: str, value: object) -> SettingChange:
        """Records the call and changes the setting, with a made-up commit."""
        self._engine.record("change", name, value)
        if not name.startswith("cache."):
            return SettingChange(name, {}, value, "memory-config.yaml", 30, "a81f2c0d5e", "")
        config, field_name = self._engine.config, name.removeprefix("cache.")
        before = getattr(config.cache, field_name)
        changed: dict[str, Any] = {field_name: value}
        self._engine.config = replace(config, cache=replace(config.cache, **changed))
        if field_name not in self._engine.caches.in_file:
            self._engine.caches.in_file.append(field_name)
        line = self._line(field_name)
        return SettingChange(name, before, value, "memory-config.yaml", line, "a81f2c0d5e", "")

    def _line(self, name: str) -> int:
        return 22 + self._engine.caches.in_file.index(name)


class FakeSending(Sending):
    """Sends a message: the reply arrives in a few pieces and blocks until ``go_on`` is set."""

    _engine: FakeEngine

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.interrupted = threading.Event()

    def send(
        self,
        text: str,
        *,
        session_id: str = "",
        on_text: Callable[[str], None] = lambda _text: None,
        on_step: Callable[[Step], None] = lambda _step: None,
    ) -> Sent:
        """Records the call and reports the same steps as the engine."""
        from tests.tui.fake_engine import review_trace

        self._engine.record("send", text, session_id)
        for step in ("said", "traced", "compiled", "asked"):
            on_step(step)
        received = ""
        for start in range(0, len(REPLY), 40):
            received += REPLY[start : start + 40]
            on_text(REPLY[start : start + 40])
            if start >= 80:
                while not self._engine.go_on.wait(0.01) and not self.interrupted.is_set():
                    pass
            if self.interrupted.is_set():
                break
        on_step("answered")
        on_step("watched")
        problem = "anthropic: stopped" if self.interrupted.is_set() else ""
        usage = Usage() if problem else Usage(6912, 5113, 1799, 0, 212)
        return Sent(
            session_id=session_id or "ses_5e2277cb",
            path="raw/conversations/2026/06/12/0812-ses_5e2277cb-pr.md",
            key="raw/conversations/2026/06/12/0812-ses_5e2277cb-pr.md#0",
            reply_key="raw/conversations/2026/06/12/0812-ses_5e2277cb-pr.md#1",
            trace=review_trace(text),
            compiled=self._engine.compiled,
            provider="anthropic",
            reply=ChatReply(received, usage, "claude-sonnet-5-5"),
            cost_usd=None if problem else 0.0124,
            cache=DiscussionCacheState("ses_5e2277cb"),
            corrections=(),
            problem=problem,
        )

    def stop(self) -> None:
        """Records the call and stops after the current piece."""
        self._engine.record("stop sending")
        self.interrupted.set()
