"""Panel 1 of the cache screen: tokens sent to each provider, tokens its caches served, and time left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from tui.kit.panel import LinesPanel
from tui.render.draw import Row, bar
from tui.render.figures import count, dollars, left
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.words import cached_now

if TYPE_CHECKING:
    from engine.costs.model import Totals
    from engine.discussions.overview import CacheOverview, ProviderCaches

NOT_AVAILABLE = "n/a"
"""The time left of a cache whose provider does not report it."""
NONE = "–"
GAUGE = 10
_GAP = 2
_BROAD = 100
_NAME = 18
"""Maximum cells for a provider's name."""


@dataclass(frozen=True, slots=True)
class Column:
    head: str
    cells: Sequence[Row]
    """One per provider."""
    worth: int
    """Columns with the lowest worth are dropped first if there is no room."""
    left: bool = False
    """Left-aligned instead of right-aligned."""

    @property
    def width(self) -> int:
        return max(cell_len(self.head), *(cell.cells for cell in self.cells))

    def fit(self, row: Row, cell: Row) -> None:
        """Appends one of its cells to a row."""
        padding = self.width - cell.cells
        row.gap(0 if self.left else padding).extend(cell).gap(padding if self.left else 0)


def time_left(seconds: float | None) -> str:
    """``4:32``; a dash if there is no cache, ``n/a`` if the provider does not report it."""
    return NOT_AVAILABLE if seconds is None else left(seconds) if seconds > 0 else NONE


def draw_providers(
    overview: CacheOverview, now: datetime, width: int, height: int, roles: Roles
) -> list[Row]:
    """A row for each provider, below a heading if it fits."""
    if not overview.providers:
        return []
    columns = fitting(_columns(overview, now, width, roles), width - 2)
    rows = [_heading(columns, roles)] if height > len(overview.providers) else []
    for at, each in enumerate(overview.providers):
        used = each.provider == overview.provider
        row = Row(("▸ " if used else "  ", roles.accent))
        for number, column in enumerate(columns):
            column.fit(row.gap(_GAP if number else 0), column.cells[at])
        rows.append(row)
    return rows


def fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns that fit side by side."""
    kept = list(columns)
    while len(kept) > 1 and sum(each.width + _GAP for each in kept) - _GAP > width:
        kept.remove(min(kept, key=lambda each: each.worth))
    return kept


def _heading(columns: Sequence[Column], roles: Roles) -> Row:
    row = Row().gap(2)
    for number, column in enumerate(columns):
        column.fit(row.gap(_GAP if number else 0), Row((column.head, roles.faint)))
    return row


def _columns(overview: CacheOverview, now: datetime, width: int, roles: Roles) -> list[Column]:
    found = overview.providers
    totals = [each.totals for each in found]
    states = [each.state for each in overview.discussions]
    numbers = [cached_now(states, each.provider, now) for each in found]
    asked = [roles.normal if each.calls else roles.faint for each in totals]

    def column(head: str, worth: int, texts: Sequence[str], tone: Sequence[Style] = ()) -> Column:
        return Column(head, [Row(piece) for piece in zip(texts, tone or asked, strict=True)], worth)

    def tokens(number: int, each: Totals) -> str:
        return count(number) if each.calls else NONE

    names = [first_line(each.provider)[:_NAME] or "unknown" for each in found]
    tones = [roles.strong if each.calls else roles.muted for each in totals]
    gauges = [bar(each.hit_rate or 0.0, GAUGE, roles.tier1, roles.line) for each in found]
    return [
        Column("provider", column("", 0, names, tones).cells, 20, left=True),
        column("calls", 6, [tokens(each.calls, each) for each in totals]),
        column("in", 18, [tokens(each.input_tokens, each) for each in totals]),
        column("cache", 17, [tokens(each.cached_tokens, each) for each in totals]),
        column("hit", 19, [percent(each.hit_rate) for each in found], [_tone(each, roles) for each in found]),
        Column("", gauges, 8),
        column("written", 4, [tokens(each.cache_write_tokens, each) for each in totals]),
        column("out", 3, [tokens(each.output_tokens, each) for each in totals]),
        column("cost", 7, [cost(each) for each in totals]),
        column("saved", 5, [saved(each) for each in totals]),
        column("cached", 2, [*map(count, numbers)], [roles.normal if n else roles.faint for n in numbers]),
        _ends(overview, now, width, roles),
    ]


def _ends(overview: CacheOverview, now: datetime, width: int, roles: Roles) -> Column:
    """The time until each provider's last cache expires, or that its caching is off."""
    states = [each.state for each in overview.discussions]
    cells: list[Row] = []
    for each in overview.providers:
        seconds = each.seconds_left(now) if cached_now(states, each.provider, now) else 0.0
        if seconds == 0.0 and getattr(overview.settings, each.provider, True) is False:
            cells.append(Row(("off", roles.gate)))
        elif seconds is None:
            cells.append(Row(("set by provider" if width >= _BROAD else NOT_AVAILABLE, roles.muted)))
        else:
            cells.append(Row((time_left(seconds), roles.active if seconds else roles.faint)))
    return Column("ttl", cells, 19)


def percent(share: float | None) -> str:
    """``66 %``; a dash if undefined."""
    return NONE if share is None else f"{share:.0%}".replace("%", " %")


def _tone(each: ProviderCaches, roles: Roles) -> Style:
    if not each.hit_rate:
        return roles.muted if each.totals.calls else roles.faint
    return roles.active


def cost(totals: Totals) -> str:
    """The cost of calls; ``~``: some token counts are estimates, ``+?``: some prices are unknown."""
    if not totals.calls and not totals.cost_usd:
        return NONE
    if totals.calls and totals.unpriced == totals.calls:
        return "?"
    return f"{'~' if totals.estimated else ''}{dollars(totals.cost_usd)}{' +?' if totals.unpriced else ''}"


def saved(totals: Totals) -> str:
    """The amount that caches saved; negative if they cost more than they saved."""
    if not totals.calls:
        return NONE
    return f"−{dollars(-totals.saved_usd)}" if totals.saved_usd < 0 else dollars(totals.saved_usd)


def period(days: int, since: date) -> str:
    """``today``, ``last 7 days, since 06-06``; in UTC days."""
    return "today (UTC)" if days == 1 else f"last {days} days, since {since:%m-%d}"


def chat_model(overview: CacheOverview) -> str:
    """The provider and model that chats use."""
    provider, model = first_line(overview.provider), first_line(overview.model)
    if provider == "local":
        return "chat model: local (no model)"
    return f"chat model: {provider}{f', {model}' if model else ''}"


class ProvidersPanel(LinesPanel):
    """A row for each provider; the time left is updated every second."""

    name_of = "providers"
    number = "1"
    words = "providers"
    signs = (
        ("▸", "the provider that chats use"),
        ("hit", "the share of input tokens read from a cache"),
        ("ttl", "time until the last cache expires; n/a: not reported by the provider, –: no cache"),
        ("+?", "excludes calls whose price is unknown; ~: includes estimated token counts"),
    )

    overview: CacheOverview | None = None
    _now: datetime | None = None
    _note = ""

    def show(self, overview: CacheOverview | None, now: datetime, days: int, note: str) -> None:
        """Shows a new state or time; only lines that changed are redrawn.

        Args:
            days: The period of the totals.
            note: Shown if there is no overview.
        """
        self.overview, self._now, self._note = overview, now, note
        if overview is not None:
            self.set_frame(period(days, overview.since), chat_model(overview))
        self.changed()

    @property
    def row_count(self) -> int:
        return 0 if self.overview is None else 1

    @property
    def wanted(self) -> int:
        """The height it needs, including heading and frame."""
        return 3 + (len(self.overview.providers) if self.overview is not None else 3)

    def draw(self, width: int, height: int) -> list[Row]:
        if self.overview is None or self._now is None:
            return [Row((self._note, self.roles.faint))]
        return draw_providers(self.overview, self._now, width, height, self.roles)
