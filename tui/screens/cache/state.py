"""The state of the cache screen: the last overview, the period and pending changes.

Nothing here touches a widget or blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from tui.screens.cache.discussions import DiscussionItem, item_of
from tui.screens.cache.misses import MissItem, miss_items
from tui.screens.cache.settings import SettingItem, SettingLines, setting_items

if TYPE_CHECKING:
    from engine.discussions.overview import CacheOverview

CacheAction = Literal["invalidate", "disable", "enable"]
PERIODS = (1, 7, 30)
"""Lengths of the totals' period in days, in the order that the key cycles through them."""
PROGRESS_TEXT: dict[CacheAction, str] = {
    "invalidate": "invalidating …",
    "disable": "disabling …",
    "enable": "enabling …",
}
Phase = Literal["loading", "error", "empty", "found"]


class CacheState:
    def __init__(self) -> None:
        self.overview: CacheOverview | None = None
        self.where: SettingLines | None = None
        self.problem = ""
        self.days = PERIODS[-1]
        self.shown_days = self.days
        self._doing: dict[str, CacheAction] = {}
        self._changing: dict[str, object] = {}
        self._written: set[str] = set()

    @property
    def phase(self) -> Phase:
        if self.overview is None:
            return "error" if self.problem else "loading"
        return "found" if self.overview.discussions else "empty"

    def next_period(self) -> None:
        self.days = PERIODS[(PERIODS.index(self.days) + 1) % len(PERIODS)]

    def take(self, days: int, found: tuple[CacheOverview, SettingLines] | None, problem: str = "") -> bool:
        """Stores a new overview; ``False`` if reading it failed and an older one is still shown."""
        if found is None:
            self.problem = problem
            return self.overview is None
        self.problem, self.shown_days = "", days
        self.overview, self.where = found
        for name in self._written:  # the new overview includes these
            self._changing.pop(name, None)
        self._written.clear()
        return True

    def items(self, now: datetime) -> list[DiscussionItem]:
        """The discussions as of ``now``."""
        if self.overview is None:
            return []
        return [
            item_of(each, now, PROGRESS_TEXT[doing] if doing is not None else "")
            for each in self.overview.discussions
            for doing in (self._doing.get(each.state.discussion_id),)
        ]

    def misses(self) -> Sequence[MissItem]:
        return miss_items(self.overview) if self.overview is not None else []

    def settings(self) -> list[SettingItem]:
        if self.overview is None:
            return []
        return setting_items(self.overview.settings, self._changing, self._written)

    def running(self, now: datetime) -> bool:
        """Whether any cache is counting down."""
        if self.overview is None:
            return False
        states = (each.state for each in self.overview.discussions)
        return any(state.expires_at is not None and state.is_cached(now) for state in states)

    def begin(self, discussion_id: str, verb: CacheAction) -> bool:
        """Marks a discussion's cache as being changed; ``False`` if it already is."""
        if discussion_id in self._doing:
            return False
        self._doing[discussion_id] = verb
        return True

    def ended(self, discussion_id: str) -> None:
        """Ends a change, successful or not."""
        self._doing.pop(discussion_id, None)

    def change(self, name: str, value: object) -> None:
        """Marks a setting as being written."""
        self._changing[name] = value
        self._written.discard(name)

    def changed(self, name: str, value: object, *, done: bool) -> None:
        """Ends the write of a setting, unless another value has been chosen since."""
        if self._changing.get(name) != value:
            return
        if done:
            self._written.add(name)
        else:
            self._changing.pop(name)
