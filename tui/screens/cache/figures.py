"""Panels 1 and 3 of the cache screen: the tokens of each provider and its caches; and the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from engine.errors import AutopoiesisError
from tui.kit.panel import LinesPanel
from tui.kit.rows import KeyedRows, Note
from tui.render.draw import Row, bar, clip
from tui.render.figures import count, dollars, left
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.words import cached_now

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engine.costs.model import Totals
    from engine.discussions.overview import CacheOverview, ProviderCaches
    from engine.settings.editing import Configuration
    from engine.settings.model import CacheSettings


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


class ProvidersPanel(LinesPanel, panel="providers", number="1"):
    """A row for each provider; the time left is updated every second."""

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


CONFIG = "memory-config.yaml"
GROUP = "cache."
"""Prefix of these settings' names."""
SHORT_MINUTES = (15, 30, 60)
"""Choices for Gemini's TTL."""
LONG_MINUTES = (120, 240, 480, 720, 1440)
"""Additional choices if more than an hour is allowed."""
_TTLS = ("5m", "1h")
WORDED = 72
"""Minimum width in cells to show what a setting does."""
_TITLE = 36


@dataclass(frozen=True, slots=True)
class SettingItem:
    name: str
    """Its name in the settings file: ``cache.anthropic``."""
    title: str
    does: str
    """What it does, in one clause."""
    value: object
    text: str = ""
    """The formatted value; empty for a switch."""
    next: object = None
    """The value after the next change."""
    changing: bool = False
    """It is being written."""

    @property
    def switch(self) -> bool:
        return isinstance(self.value, bool)


@dataclass(frozen=True, slots=True)
class SettingLines:
    """Line numbers of the settings in their file."""

    lines: Mapping[str, int] = field(default_factory=dict)
    """By name; settings that are missing have their default."""
    problem: str = ""
    """Why the file could not be read."""


def setting_lines(configuration: Configuration) -> SettingLines:
    try:
        found = configuration.settings()
    except (AutopoiesisError, OSError) as error:
        return SettingLines(problem=str(error))
    return SettingLines({each.name: each.line for each in found if each.name.startswith(GROUP) and each.line})


def setting_items(
    settings: CacheSettings, changing: Mapping[str, object], written: Collection[str] = ()
) -> list[SettingItem]:
    """The rows, with pending values in place of current ones.

    Args:
        changing: Pending values by name.
        written: Names of pending values that have been written to the file.
    """

    def now(name: str) -> object:
        return changing.get(f"cache.{name}", getattr(settings, name))

    long = bool(now("gemini_long"))
    minutes, ttl = now("gemini_ttl_minutes"), now("anthropic_ttl")
    minutes = minutes if isinstance(minutes, int) else settings.gemini_ttl_minutes
    rows: list[tuple[str, str, str, str, object]] = [
        ("anthropic", "Anthropic ephemeral caching", "marks the prefix for caching", "", None),
        ("anthropic_ttl", "Anthropic TTL", "since the last use; 1 h costs more to write", _ttl_text(ttl),
         _TTLS[(_TTLS.index(str(ttl)) + 1) % len(_TTLS)] if ttl in _TTLS else _TTLS[0]),
        ("gemini", "Gemini explicit caching", "creates a named cache; storage is charged", "", None),
        ("gemini_ttl_minutes", "Gemini TTL", "since creation", _minutes(minutes, long),
         next_minutes(minutes, long)),
        ("gemini_long", "Gemini over 1 h (charges apply)", "storage is charged by the hour", "", None),
        ("openai", "OpenAI cache key", "routes the same prefix to the same cache", "", None),
    ]  # fmt: skip
    return [
        SettingItem(
            name=f"cache.{name}",
            title=title,
            does=does,
            value=now(name),
            text=text,
            next=following if text else not now(name),
            changing=f"cache.{name}" in changing and f"cache.{name}" not in written,
        )
        for name, title, does, text, following in rows
    ]


def next_minutes(minutes: int, long: bool) -> int:
    """The TTL choice after ``minutes``, wrapping around."""
    choices = (*SHORT_MINUTES, *LONG_MINUTES) if long else SHORT_MINUTES
    return next((each for each in choices if each > minutes), choices[0])


def _ttl_text(value: object) -> str:
    return {"5m": "5 min", "1h": "1 h"}.get(str(value), str(value))


def _minutes(minutes: int, long: bool) -> str:
    text = f"{minutes} min" if minutes < 120 or minutes % 60 else f"{minutes // 60} h"
    return f"{text}, capped at 60 min" if minutes > SHORT_MINUTES[-1] and not long else text


def draw_setting(item: SettingItem, width: int, roles: Roles, *, chosen: bool) -> Row:
    """Draws a switch or a value to cycle through, with what it does if there is room."""
    words = roles.strong if chosen else roles.normal
    if item.switch:
        box = "[x]" if item.value else "[ ]"
        row = Row((f"{box} ", roles.active if item.value else roles.dropped), (item.title, words))
    else:
        row = Row().gap(4).add(f"{item.title}  ", words).add(f"◂ {item.text} ▸", roles.tier1)
    if item.changing:
        row.add(" …", roles.gate)
    if width >= WORDED:
        row.to(_TITLE + 2)
        row.add(clip(item.does, width - row.cells), roles.muted)
    return row.cut(width)


def place_of(item: SettingItem, where: SettingLines | None) -> str:
    """The location of a setting: ``memory-config.yaml:41``."""
    if where is None:
        return CONFIG
    if where.problem:
        return where.problem
    line = where.lines.get(item.name)
    return f"{CONFIG}:{line}" if line else f"default, not in {CONFIG}"


def setting_text(name: str, value: object) -> str:
    """A formatted value: ``on``, ``off``, ``1 h``, ``30 min``."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if name == "cache.gemini_ttl_minutes" and isinstance(value, int):
        return _minutes(value, True)
    return _ttl_text(value)


class SettingsPanel(KeyedRows[SettingItem], panel="settings", number="3"):
    """A line for each setting; the lower border shows the selected one's location in the file."""

    signs = (
        ("[x]", "on; settings apply to the whole workspace and are stored in memory-config.yaml"),
        ("◂▸", "space or enter selects the next value"),
    )
    where: SettingLines | None = None

    def show_settings(
        self, items: Sequence[SettingItem], where: SettingLines | None, note: Note, about: object
    ) -> None:
        """Shows new values; ``note`` and ``about`` as for ``show_items``."""
        self.where = where
        self.show_items(items, note, about)

    def key(self, item: SettingItem) -> str:
        return item.name

    def row(self, item: SettingItem, width: int, chosen: bool) -> Row:
        return draw_setting(item, width, self.roles, chosen=chosen)

    def summarise(self) -> None:
        item = self.selected
        problem = self.where is not None and bool(self.where.problem)
        self.set_frame("", place_of(item, self.where) if item is not None else "", error=problem)

    def text_of(self, item: SettingItem) -> str:
        return f"{item.name}: {setting_text(item.name, item.value)}"
