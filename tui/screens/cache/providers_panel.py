"""Panel 1 of the cache screen: the providers."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tui.kit.panel import LinesPanel
from tui.render.draw import Row
from tui.screens.cache.providers import asked_of, draw_providers, period

if TYPE_CHECKING:
    from engine.discussions.overview import CacheOverview

READING = "looking at the caches …"
UNKNOWN = "not known"
"""What stands in a panel before anything is known, and where nothing could be found out."""


class ProvidersPanel(LinesPanel):
    """A row for each provider; the time left is drawn anew each second while it runs."""

    name_of = "providers"
    number = "1"
    words = "providers"
    signs = (
        ("▸", "whom chats ask"),
        ("hit", "the share of the tokens sent that was read from a cache"),
        ("ttl", "until the last of its caches goes; n/a: only the provider knows, –: there is none"),
        ("+?", "calls whose price is not known are not in the sum; ~: tokens of some were counted here"),
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.overview: CacheOverview | None = None
        self.days = 0
        self.note = READING
        self._now: datetime | None = None

    def show(self, overview: CacheOverview | None, now: datetime, days: int) -> None:
        """Shows another state, or the same at another time; only lines that differ are drawn."""
        self.overview, self._now, self.days = overview, now, days
        if overview is not None:
            self.set_frame(period(days, overview.since), asked_of(overview))
        self.changed()

    @property
    def row_count(self) -> int:
        """Whether there is anything to see."""
        return 0 if self.overview is None else 1

    @property
    def wanted(self) -> int:
        """Lines that it needs, the heading and the frame included."""
        return 3 + (len(self.overview.providers) if self.overview is not None else 3)

    def draw(self, width: int, height: int) -> list[Row]:
        """The table."""
        if self.overview is None or self._now is None:
            return [Row((self.note, self.roles.faint))]
        return draw_providers(self.overview, self._now, width, height, self.roles)
