"""Discussions without a model: a reply in pieces, and the caches of a made-up workspace."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engine.discussions.overview import DAYS, CacheOverview, overview
from engine.discussions.state import DiscussionCacheState
from engine.discussions.turn import Sent, Step
from engine.providers.chat import ChatReply, Usage
from engine.stability.misses import misses
from engine.store.paths import Workspace

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine


REPLY = (
    "The PR splits the cursor from the pool, which is right. Two things before it goes in:\n\n"
    "```python\nwith pool.connection() as connection:\n    connection.execute(QUERY)\n```\n\n"
    "1. `close()` is called twice when the query fails.\n2. The test waits for a wall clock."
)


class FakeDiscussions:
    """The part of an engine that sends messages."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine

    def sending(self) -> FakeSending:
        """Sends one message."""
        return FakeSending(self._engine)

    def to_continue(self, key: str) -> str:
        """The same for all."""
        self._engine.note("to_continue", key)
        return self._engine.session

    @property
    def ending(self) -> FakeEnding:
        """Gives caches up."""
        return FakeEnding(self._engine)

    def overview(self, days: int = DAYS) -> CacheOverview:
        """Nothing was ever sent."""
        self._engine.note("overview", days)
        return overview(
            at=datetime(2026, 6, 12, 18, 47, 30, tzinfo=UTC),
            days=days,
            records=lambda _since: (),
            states=(),
            misses=misses((), 300),
            provider="local",
            model="",
            settings=self._engine.config.cache,
            workspace=Workspace.open(self._engine.root),
        )


class FakeEnding:
    """Changes the state of a discussion's cache."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine

    def invalidate(self, discussion_id: str, why: str) -> DiscussionCacheState:
        """Gives it up."""
        self._engine.note("invalidate", discussion_id, why)
        return DiscussionCacheState(discussion_id, why=why)

    def disable(self, discussion_id: str) -> DiscussionCacheState:
        """Switches it off."""
        self._engine.note("disable", discussion_id)
        return DiscussionCacheState(discussion_id, enabled=False)

    def enable(self, discussion_id: str) -> DiscussionCacheState:
        """Switches it on."""
        self._engine.note("enable", discussion_id)
        return DiscussionCacheState(discussion_id)


class FakeSending:
    """Sends a message: the reply comes in a few pieces, and waits where ``go_on`` is not set."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self._stopped = threading.Event()

    def send(
        self,
        text: str,
        *,
        session_id: str = "",
        on_text: Callable[[str], None] = lambda _text: None,
        on_step: Callable[[Step], None] = lambda _step: None,
    ) -> Sent:
        """What the engine would do."""
        from tests.tui.fake_engine import review_trace

        self._engine.note("send", text, session_id)
        for step in ("said", "traced", "compiled", "asked"):
            on_step(step)
        said = ""
        for start in range(0, len(REPLY), 40):
            said += REPLY[start : start + 40]
            on_text(REPLY[start : start + 40])
            if start >= 80:
                while not self._engine.go_on.wait(0.01) and not self._stopped.is_set():
                    pass
            if self._stopped.is_set():
                break
        on_step("answered")
        on_step("watched")
        problem = "anthropic: stopped" if self._stopped.is_set() else ""
        usage = Usage() if problem else Usage(6912, 5113, 1799, 0, 212)
        return Sent(
            session_id=session_id or "ses_5e2277cb",
            path="raw/conversations/2026/06/12/0812-ses_5e2277cb-pr.md",
            key="raw/conversations/2026/06/12/0812-ses_5e2277cb-pr.md#0",
            reply_key="raw/conversations/2026/06/12/0812-ses_5e2277cb-pr.md#1",
            trace=review_trace(text),
            compiled=self._engine.compiled,
            provider="anthropic",
            reply=ChatReply(said, usage, "claude-sonnet-5-5"),
            cost_usd=None if problem else 0.0124,
            cache=DiscussionCacheState("ses_5e2277cb"),
            corrections=(),
            problem=problem,
        )

    def stop(self) -> None:
        """Ends it after the piece under way."""
        self._engine.note("stop sending")
        self._stopped.set()
