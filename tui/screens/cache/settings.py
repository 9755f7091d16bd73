"""Panel 3 of the cache screen: the settings of caches, which hold for the whole workspace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.draw import Row, clip
from tui.render.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engine.settings.editing import Configuration
    from engine.settings.model import CacheSettings

CONFIG = "memory-config.yaml"
GROUP = "cache."
"""How the names of these settings begin."""
SHORT_MINUTES = (15, 30, 60)
"""How long Gemini's caches can be asked to stay."""
LONG_MINUTES = (120, 240, 480, 720, 1440)
"""The same where more than an hour is allowed."""
_TTLS = ("5m", "1h")
BROAD = 72
"""Cells from which what a setting does has room beside its name."""
_NAME = 36


@dataclass(frozen=True, slots=True)
class SettingItem:
    """A setting as the list shows it."""

    name: str
    """What the settings file calls it: ``cache.anthropic``."""
    title: str
    does: str
    """What it does, in one clause."""
    value: object
    text: str = ""
    """How the value is written; empty for a switch."""
    next: object = None
    """What it becomes when it is changed."""
    changing: bool = False
    """It is being written."""

    @property
    def switch(self) -> bool:
        """Whether it is on or off."""
        return isinstance(self.value, bool)


@dataclass(frozen=True, slots=True)
class SettingLines:
    """Where settings stand in their file."""

    lines: Mapping[str, int] = field(default_factory=dict)
    """The line of each, by its name; those that are not there have their default."""
    problem: str = ""
    """Why the file could not be read."""


def setting_lines(configuration: Configuration) -> SettingLines:
    """Reads where the settings of caches stand."""
    try:
        found = configuration.settings()
    except (AutopoiesisError, OSError) as error:
        return SettingLines(problem=str(error))
    return SettingLines({each.name: each.line for each in found if each.name.startswith(GROUP) and each.line})


def setting_items(
    settings: CacheSettings, changing: Mapping[str, object], written: Collection[str] = ()
) -> list[SettingItem]:
    """The rows, with what is being written in place of what is.

    Args:
        changing: What some are being changed into, by their names.
        written: Those of them that stand in the file by now.
    """

    def now(name: str) -> object:
        return changing.get(f"cache.{name}", getattr(settings, name))

    long = bool(now("gemini_long"))
    minutes, ttl = now("gemini_ttl_minutes"), now("anthropic_ttl")
    minutes = minutes if isinstance(minutes, int) else settings.gemini_ttl_minutes
    rows: list[tuple[str, str, str, str, object]] = [
        ("anthropic", "Anthropic ephemeral caching", "marks the prefix for its cache", "", None),
        ("anthropic_ttl", "Anthropic TTL", "after the last use; writing for 1 h costs more", _stays(ttl),
         _TTLS[(_TTLS.index(str(ttl)) + 1) % len(_TTLS)] if ttl in _TTLS else _TTLS[0]),
        ("gemini", "Gemini explicit caching", "a cache of its own, whose storage is charged", "", None),
        ("gemini_ttl_minutes", "Gemini TTL", "from when it is made", _minutes(minutes, long),
         next_minutes(minutes, long)),
        ("gemini_long", "Gemini over 1 h (charges apply)", "storage is charged by the hour", "", None),
        ("openai", "OpenAI cache key", "leads the same prefix to the same cache", "", None),
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
    """What comes after a number of minutes."""
    choices = (*SHORT_MINUTES, *LONG_MINUTES) if long else SHORT_MINUTES
    return next((each for each in choices if each > minutes), choices[0])


def _stays(value: object) -> str:
    return {"5m": "5 min", "1h": "1 h"}.get(str(value), str(value))


def _minutes(minutes: int, long: bool) -> str:
    text = f"{minutes} min" if minutes < 120 or minutes % 60 else f"{minutes // 60} h"
    return f"{text}, held to 60 min" if minutes > SHORT_MINUTES[-1] and not long else text


def draw_setting(item: SettingItem, width: int, roles: Roles, *, chosen: bool) -> Row:
    """A row: a switch, or a value that can be stepped through; what it does where there is room."""
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
    """Where a setting stands: ``memory-config.yaml:41``."""
    if where is None:
        return CONFIG
    if where.problem:
        return where.problem
    line = where.lines.get(item.name)
    return f"{CONFIG}:{line}" if line else f"default, not in {CONFIG}"


def said(name: str, value: object) -> str:
    """A value of a setting in words: ``on``, ``off``, ``1 h``, ``30 min``."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if name == "cache.gemini_ttl_minutes" and isinstance(value, int):
        return _minutes(value, True)
    return _stays(value)


class SettingsPanel(KeyedRows[SettingItem]):
    """A line for each setting; where the selected one stands in its file is said at the lower edge."""

    name_of = "settings"
    number = "3"
    words = "settings"
    signs = (
        ("[x]", "on; they hold for the whole workspace and stand in memory-config.yaml"),
        ("◂▸", "the next value comes with space or enter"),
    )
    where: SettingLines | None = None

    def show_settings(
        self, items: Sequence[SettingItem], where: SettingLines | None, note: Note, about: object
    ) -> None:
        """Shows other values; ``note`` and ``about`` are those of ``show_items``."""
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

    def selected_text(self) -> str:
        """The selected setting as a line: ``cache.anthropic: on``."""
        item = self.selected
        return f"{item.name}: {said(item.name, item.value)}" if item is not None else ""
