"""Panel 3 of the cache screen: the cache settings of the workspace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from tui.kit.rows import KeyedRows, Note
from tui.render.draw import Row, clip
from tui.render.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engine.settings.editing import Configuration
    from engine.settings.model import CacheSettings

CONFIG = "memory-config.yaml"
GROUP = "cache."
"""Prefix of these settings' names."""
SHORT_MINUTES = (15, 30, 60)
"""Choices for Gemini's TTL."""
LONG_MINUTES = (120, 240, 480, 720, 1440)
"""Additional choices if more than an hour is allowed."""
_TTLS = ("5m", "1h")
BROAD = 72
"""Minimum width in cells to show what a setting does."""
_NAME = 36


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
    if width >= BROAD:
        row.to(_NAME + 2)
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


class SettingsPanel(KeyedRows[SettingItem]):
    """A line for each setting; the lower border shows the selected one's location in the file."""

    name_of = "settings"
    number = "3"
    words = "settings"
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
