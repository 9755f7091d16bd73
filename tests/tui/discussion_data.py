"""Fake discussions without a model: a reply in pieces, and fixed caches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engine.discussions.caches import DiscussionCacheState
from engine.discussions.discussions import Discussions
from engine.discussions.sending import Sending
from engine.discussions.turn import Sent, Step
from engine.providers.chat import ChatReply, Usage
from engine.settings.model import ChatProviderName

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine


NOW = datetime(2026, 6, 12, 18, 47, 30, tzinfo=UTC)
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
