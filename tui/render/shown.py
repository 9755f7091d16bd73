"""The message that the activation and budget panels show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.activation.trace import Trace
from engine.context.compiled import Compiled
from engine.live.feed import FeedEntry, FeedKind

Source = Literal["nothing", "feed", "draft", "kept"]

MESSAGES: frozenset[FeedKind] = frozenset({"user", "agent", "cron", "webhook"})
"""Kinds of feed rows that activation processes; following the feed selects only these."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A message with its trace and prompt."""

    source: Source = "nothing"
    """``feed`` for a row of the feed, ``draft`` while a message is typed, ``kept`` once it was entered."""
    text: str = ""
    """The message, or the selected row's text."""
    entry: FeedEntry | None = None
    trace: Trace | None = None
    """``None`` while loading, and for rows without one."""
    compiled: Compiled | None = None
    """``None`` while loading, and for rows without one."""
    pending: bool = False
    problem: str = ""
    """Why there is no trace."""

    @property
    def key(self) -> str:
        """The feed key; empty for tried messages."""
        return self.entry.key if self.entry is not None and self.source == "feed" else ""

    @property
    def trying(self) -> bool:
        """Whether it is a tried message."""
        return self.source in ("draft", "kept")
