"""The figures of a backtest, or one prompt: what it would have been told, and what of that came up later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.recall.backtest import CANNOT_KNOW
from tui.kit.selectable_page import FACT, SelectablePage
from tui.render.backtest import figures, said_of, summary
from tui.render.draw import Row, clip, clip_start, labelled, wrap
from tui.render.figures import score
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.backtest.rows import RATED

if TYPE_CHECKING:
    from engine.recall.backtest import Backtest, ToldPassage, ToldPrompt
    from engine.recall.labels import Place
    from tui.screens.backtest.played import Played

_NAME = 18
_INDENT = 3
_MESSAGE = 300
"""Cells of the message; the transcript has it in full."""


@dataclass(frozen=True, slots=True)
class ToldView:
    """What the page shows: a prompt, or else all figures."""

    played: Played
    prompt: ToldPrompt | None = None


def draw_figures(view: ToldView, width: int, roles: Roles) -> list[Row]:
    """Draws the sentence, the figures, next to those with other settings, and what they cannot say."""
    rows = [*wrap([(summary(view.played.found), roles.strong)], width), Row()]
    if view.played.trial is None:
        for each in figures(view.played.found):
            text = " ".join(filter(None, (each.value, each.meaning)))
            rows += labelled(each.name, text, width, _NAME, roles.normal, tone=roles.muted)
    else:
        rows += _compared(view, view.played.trial, width, roles)
    return [*rows, Row(), *wrap([(CANNOT_KNOW, roles.muted)], width)]


def _compared(view: ToldView, trial: Backtest, width: int, roles: Roles) -> list[Row]:
    half = max(12, (width - _NAME) // 2)

    def beside(name: str, *cells: list[Row]) -> list[Row]:
        height = max(map(len, cells))
        rows = [Row().fit(name if at == 0 else "", _NAME, roles.muted) for at in range(height)]
        for number, cell in enumerate(cells):
            for row, line in zip(rows, cell, strict=False):
                row.to(_NAME + number * half).extend(line)
        return rows

    def cell(text: str, strong: bool = False) -> list[Row]:
        return wrap([(text, roles.strong if strong else roles.normal)], half - 2)

    rows = beside("", cell("as is"), cell(view.played.changes, strong=True))
    for now, then in zip(figures(view.played.found), figures(trial), strict=True):
        rows += beside(now.name, cell(now.value), cell(then.value, now.value != then.value))
    if view.played.found == trial:
        rows += wrap([("nothing that is told depends on it", roles.gate)], width)
    return rows


def draw_prompt(prompt: ToldPrompt, width: int, roles: Roles) -> list[tuple[Row, int]]:
    """Draws a prompt and its passages: rows, each with the number of its passage, or ``FACT``."""
    head = [
        *wrap([(clip(first_line(prompt.message), _MESSAGE), roles.strong)], width),
        _place_row(Row(), prompt.day, prompt.place, width, roles),
    ]
    drawn = [(row, FACT) for row in head]
    for number, each in enumerate(prompt.passages):
        drawn += [(row, number) for row in _passage(each, number + 1, width, roles)]
    return drawn


def _passage(passage: ToldPassage, number: int, width: int, roles: Roles) -> list[Row]:
    inner = width - _INDENT

    def indented(text: str, style: str) -> list[Row]:
        return [Row().gap(_INDENT).extend(row) for row in wrap([(text, getattr(roles, style))], inner)]

    start = Row().fit(str(number), _INDENT, roles.accent)
    lines = [line for line in map(str.strip, passage.text.split("\n")) if line]
    return [
        _place_row(
            start, f"{passage.day}  worth {score(passage.worth)}".strip(), passage.place, width, roles
        ),
        *indented(said_of(passage), "active" if passage.words else "muted"),
        *(row for line in lines for row in indented(first_line(line), "normal")),
    ]


def _place_row(row: Row, facts: str, place: Place, width: int, roles: Roles) -> Row:
    row.add(f"{facts}  ", roles.muted)
    return row.add(clip_start(f"{place.path}:{place.line}", width - row.cells), roles.muted)


class ToldPanel(SelectablePage):
    name_of = "told"
    number = "2"
    words = "told"
    signs = tuple(RATED.values())

    view: ToldView | None = None

    def show_view(self, view: ToldView | None) -> None:
        if view == self.view:
            return
        before, self.view = self.view, view
        self.redraw(other=before is None or view is None or _place(before) != _place(view))
        self.summarise()

    def draw_page(self, width: int) -> list[tuple[Row, int]]:
        if self.view is None:
            return []
        if self.view.prompt is not None:
            return draw_prompt(self.view.prompt, width, self.roles)
        return [(row, FACT) for row in draw_figures(self.view, width, self.roles)]

    def rest(self) -> int:
        return max(0, self.row_count - self.scroll_offset.y - self.size.height) if self.size.height else 0

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.summarise()

    def summarise(self) -> None:
        view = self.view
        self.set_frame("" if view is None else "what came up later" if view.prompt else "figures")

    def initial_row(self) -> int:
        return next((item.at for item in self.items if item.line != FACT), 0)

    @property
    def passage(self) -> ToldPassage | None:
        prompt = self.view.prompt if self.view is not None else None
        return prompt.passages[self.line] if prompt is not None and self.line != FACT else None

    def empty(self, width: int) -> list[Row]:
        return [Row(("nothing yet", self.roles.faint))]


def _place(view: ToldView) -> object:
    return view.prompt.place if view.prompt is not None else None
