"""What the activation and budget panels are about just now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.activation.trace import Trace
from engine.context.compiled import Compiled
from engine.live.feed import FeedEntry, FeedKind

Source = Literal["nothing", "feed", "draft", "kept"]

MESSAGES: frozenset[FeedKind] = frozenset({"user", "agent", "cron", "webhook"})
"""Kinds of feed rows that activation worked on; following the feed means following these."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One message with what activation and the compiler made of it."""

    source: Source = "nothing"
    """``feed`` for a row of the feed, ``draft`` while a message is being typed, ``kept`` when it was entered,
    ``nothing`` before anything is selected."""
    text: str = ""
    """The message, or what the selected row says."""
    entry: FeedEntry | None = None
    trace: Trace | None = None
    """``None`` while it is being fetched, and for rows without one."""
    compiled: Compiled | None = None
    """The prompt; ``None`` likewise."""
    pending: bool = False
    problem: str = ""
    """Why there is no trace."""

    @property
    def key(self) -> str:
        """The feed key, empty for what was tried by hand."""
        return self.entry.key if self.entry is not None and self.source == "feed" else ""

    @property
    def trying(self) -> bool:
        """Whether it was typed here rather than said anywhere."""
        return self.source in ("draft", "kept")
