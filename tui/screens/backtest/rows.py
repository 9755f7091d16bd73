"""Prompts of the past as a list: the figures, then the best prompts and the worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.recall.labels import Place
from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.backtest import summary
from tui.render.draw import Row
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.recall.backtest import Backtest, ToldPrompt

SIGNS = {
    "figures": ("▸", "all figures"),
    "used": ("●", "some of what was told came up later"),
    "unused": ("○", "nothing of it came up later"),
}
RATED = {True: ("✓", "you rated it useful"), False: ("✗", "you rated it noise")}


@dataclass(frozen=True, slots=True)
class Listed:
    """A row: the whole backtest, or a prompt of it."""

    prompt: ToldPrompt | None = None
    summary: str = ""
    """Of the whole."""


def listed(found: Backtest, *, every: bool) -> tuple[Listed, ...]:
    """The rows of a backtest: the best and the worst prompts, or ``every`` one that was told something."""
    prompts = found.told if every else (*found.best, *found.worst)
    return (Listed(summary=summary(found)), *map(Listed, prompts))


def rating(prompt: ToldPrompt) -> bool | None:
    """What the person said of a prompt's passages: useful if of any of them."""
    said = [each.useful for each in prompt.passages if each.useful is not None]
    return any(said) if said else None


def draw_listed(item: Listed, width: int, roles: Roles, *, chosen: bool) -> Row:
    """A row: sign, rating, day, words that came up, and the message."""
    prompt, words = item.prompt, roles.strong if chosen else roles.muted
    if prompt is None:
        return Row((f"{SIGNS['figures'][0]} ", roles.accent)).add(item.summary, words).cut(width)
    sign, tone = ("used", roles.active) if prompt.came_up else ("unused", roles.muted)
    rated = rating(prompt)
    row = Row((f"{SIGNS[sign][0]} ", tone))
    row.fit("" if rated is None else RATED[rated][0], 2, roles.accent).fit(prompt.day, 12, roles.muted)
    row.fit(plural(prompt.came_up, "word") if prompt.came_up else "–", 9, tone, "right").gap(2)
    return row.add(first_line(prompt.message), words).cut(width)


class PromptsPanel(KeyedRows[Listed]):
    name_of = "prompts"
    number = "1"
    words = "prompts"
    always_lit = True
    signs = (*SIGNS.values(), *RATED.values())
    head = below = ""

    def key(self, item: Listed) -> Place | None:
        return item.prompt.place if item.prompt is not None else None

    def show_prompts(self, items: Sequence[Listed], note: Note, about: object, head: str, below: str) -> None:
        """Shows prompts, with ``head`` next to the title and ``below`` at the lower edge."""
        self.head, self.below = head, below
        self.show_items(items, note, about)
        self.summarise()

    def row(self, item: Listed, width: int, chosen: bool) -> Row:
        return draw_listed(item, width, self.roles, chosen=chosen)

    def searchable(self, item: Listed) -> Sequence[str]:
        if item.prompt is None:
            return ()
        passages = item.prompt.passages
        return item.prompt.message, item.prompt.path, item.prompt.day, *(each.text for each in passages)

    def rest(self) -> int:
        return max(0, self.row_count - self.scroll_offset.y - self.size.height) if self.size.height else 0

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.summarise()

    def summarise(self) -> None:
        self.set_frame(self.head, " · ".join(filter(None, (self.below, self.filter_label))))

    def selected_text(self) -> str:
        item = self.selected
        if item is None:
            return ""
        return item.summary or (f"{item.prompt.path}:{item.prompt.line}" if item.prompt is not None else "")


def head_of(found: Backtest, *, every: bool) -> str:
    """What the list shows, for its frame."""
    told = count(len(found.told))
    return f"all {told} told something" if every else f"the best and the worst of {told} told something"
