"""Panel 3 of the cache screen: the settings of caches, which hold for the whole workspace."""

from __future__ import annotations

from collections.abc import Sequence

from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.screens.cache.providers_panel import READING
from tui.screens.cache.settings import SettingItem, SettingLines, draw_setting, place_of, said


class SettingsPanel(RowList[SettingItem]):
    """A line for each setting; where the selected one stands in its file is said at the lower edge."""

    name_of = "settings"
    number = "3"
    words = "settings"
    signs = (
        ("[x]", "on; they hold for the whole workspace and stand in memory-config.yaml"),
        ("◂▸", "the next value comes with space or enter"),
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.where: SettingLines | None = None
        self.note = READING

    def show_settings(self, items: Sequence[SettingItem], where: SettingLines | None) -> None:
        """Shows other values; only the rows that differ are drawn."""
        before, self.where = self.items, where
        if not before or not items:
            self.show(items)
            if items:
                self.select(0, by_hand=False)
            return
        self.items = items
        for row, (old, new) in enumerate(zip(before, items, strict=True)):
            if old != new:
                self.refresh_line(row)
        self.summarise()

    def row(self, item: SettingItem, width: int, chosen: bool) -> Row:
        """A setting."""
        return draw_setting(item, width, self.roles, chosen=chosen)

    def empty(self, width: int) -> list[Row]:
        """Why there are none yet."""
        return [Row((self.note, self.roles.faint))]

    def summarise(self) -> None:
        """Where the selected one stands."""
        item = self.selected
        problem = self.where is not None and bool(self.where.problem)
        self.set_frame("", place_of(item, self.where) if item is not None else "", trouble=problem)

    def selected_text(self) -> str:
        """The selected setting as a line: ``cache.anthropic: on``."""
        item = self.selected
        return f"{item.name}: {said(item.name, item.value)}" if item is not None else ""
