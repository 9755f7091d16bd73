"""The harvest screen's lists: conversations, options, and the progress of each conversation."""

from __future__ import annotations

from collections.abc import Sequence

from tui.kit.keyed_rows import KeyedRows
from tui.render.draw import Row, clip
from tui.render.figures import count
from tui.render.harvest_words import KIND_WORDS
from tui.render.safe import first_line
from tui.screens.harvest.rows import (
    Choice,
    StageItem,
    SwitchItem,
    draw_choice,
    draw_stage,
)


class ChoicesPanel(KeyedRows[Choice]):
    """One conversation per row; the lower edge gives the reason for the selected one's kind."""

    words = "conversations"

    aligned = True

    def key(self, item: Choice) -> object:
        return item.candidate

    def row(self, item: Choice, width: int, chosen: bool) -> Row:
        return draw_choice(item, self.items, width, self.roles, query=self.query_text, chosen=chosen)

    def searchable(self, item: Choice) -> Sequence[str]:
        each = item.candidate
        return each.path, each.kind, KIND_WORDS[each.kind], each.why

    def summarise(self) -> None:
        item = self.selected
        beside = count(len(self.items)) if self.items else ""
        if self.query_text:
            beside = f"{count(self.row_count)} of {count(len(self.items))} · /{self.query_text}"
        self.set_frame(beside, first_line(item.candidate.why) if item is not None else "")

    def selected_text(self) -> str:
        item = self.selected
        if item is None:
            return ""
        each = item.candidate
        return " ".join(filter(None, (each.kind, each.path, str(each.size), each.why, each.sha256)))


class SurveyPanel(ChoicesPanel):
    """Step 1: the conversations found."""

    name_of = "survey"


class PickPanel(ChoicesPanel):
    """Step 2: the conversations to harvest."""

    name_of = "pick"
    number = "1"
    signs = (
        ("[x]", "selected; space toggles"),
        ("·", "skipped, for the reason shown"),
    )


class SwitchesPanel(KeyedRows[SwitchItem]):
    """Step 2: the options."""

    name_of = "switches"
    number = "2"
    words = "options"

    def key(self, item: SwitchItem) -> str:
        return item.name

    def row(self, item: SwitchItem, width: int, chosen: bool) -> Row:
        roles = self.roles
        words = roles.muted if item.idle else roles.strong if chosen else roles.normal
        box = "[x] " if item.on else "[ ] "
        row = Row((box, roles.active if item.on and not item.idle else roles.dropped)).fit(
            item.title, 15, words
        )
        return (
            row.gap(2)
            .add(clip(item.idle or item.does, max(4, width - row.cells - 2)), roles.muted)
            .cut(width)
        )

    def selected_text(self) -> str:
        item = self.selected
        return f"{item.title}: {'on' if item.on else 'off'}" if item is not None else ""


class ProgressPanel(KeyedRows[StageItem]):
    """Step 3: what would be harvested, then the progress of each conversation; follows the current one."""

    name_of = "progress"
    words = "conversations"
    signs = (
        ("·", "queued"),
        ("…", "in progress"),
        ("✓", "harvested"),
        ("⌫", "discarded without harvesting"),
        ("!", "failed, changed in the meantime, or stopped; kept"),
        ("→", "moved to the trash"),
    )

    def show_stages(self, items: Sequence[StageItem], current: int, *, run: bool) -> None:
        """Shows progress; redraws only the rows that changed.

        Args:
            current: The row in progress; -1 for none.
            run: Whether a harvest has started.
        """
        other = not self.same_items(items)
        self.show_items(items)
        if other:
            self.select(0, by_hand=False)
        if run and current >= 0 and self.cursor in (current - 1, -1):
            self.select(current, by_hand=False)  # unless the user moved the selection

    def key(self, item: StageItem) -> str:
        return item.path

    def row(self, item: StageItem, width: int, chosen: bool) -> Row:
        return draw_stage(item, width, self.roles, chosen=chosen)

    def summarise(self) -> None:
        item = self.selected
        self.set_frame(count(len(self.items)), item.words if item is not None else "")

    def selected_text(self) -> str:
        item = self.selected
        return f"{item.path} {item.words}".strip() if item is not None else ""
