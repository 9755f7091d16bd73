"""The lists of a harvest: what there is, what is chosen, the options, and how far each conversation is."""

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
    """Conversations, a line each; why the selected one is of its kind stands at the lower edge."""

    words = "conversations"

    aligned = True

    def key(self, item: Choice) -> object:
        """The conversation, chosen or not."""
        return item.candidate

    def row(self, item: Choice, width: int, chosen: bool) -> Row:
        return draw_choice(item, self.items, width, self.roles, query=self.query_text, chosen=chosen)

    def finds(self, item: Choice, query: str) -> bool:
        query, each = query.casefold(), item.candidate
        return any(
            query in text.casefold() for text in (each.path, each.kind, KIND_WORDS[each.kind], each.why)
        )

    def summarise(self) -> None:
        """How many there are; below, the whole reason of the selected one."""
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
    """Step 1: what there is."""

    name_of = "survey"


class PickPanel(ChoicesPanel):
    """Step 2: what is chosen."""

    name_of = "pick"
    number = "1"
    signs = (
        ("[x]", "chosen; space changes it"),
        ("·", "left alone, for the reason that stands there"),
    )


class SwitchesPanel(KeyedRows[SwitchItem]):
    """Step 2: the options."""

    name_of = "switches"
    number = "2"
    words = "options"

    def key(self, item: SwitchItem) -> str:
        return item.name

    def row(self, item: SwitchItem, width: int, chosen: bool) -> Row:
        """On or off, its name, and what it does, or why it changes nothing."""
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
    """Step 3: what would be harvested, then how far each conversation is; it follows the one under way."""

    name_of = "progress"
    words = "conversations"
    signs = (
        ("·", "waits"),
        ("…", "under way"),
        ("✓", "harvested"),
        ("⌫", "discarded without a harvest"),
        ("!", "failed, changed meanwhile, or stopped; it is kept"),
        ("→", "in the trash now"),
    )

    def show_stages(self, items: Sequence[StageItem], current: int, *, run: bool) -> None:
        """Shows how far it is; only the rows that differ are drawn.

        Args:
            current: The row that is under way; -1 for none.
            run: Another run, or none yet: begins at the top.
        """
        other = not self.same_things(items)
        self.show_items(items)
        if other:
            self.select(0, by_hand=False)
        if run and current >= 0 and self.cursor in (current - 1, -1):
            self.select(current, by_hand=False)  # a selection moved by hand stays where it is

    def key(self, item: StageItem) -> str:
        return item.path

    def row(self, item: StageItem, width: int, chosen: bool) -> Row:
        return draw_stage(item, width, self.roles, chosen=chosen)

    def summarise(self) -> None:
        """How many there are; below, all that is said of the selected one."""
        item = self.selected
        self.set_frame(count(len(self.items)), item.words if item is not None else "")

    def selected_text(self) -> str:
        item = self.selected
        return f"{item.path} {item.words}".strip() if item is not None else ""
