"""How a backtest is drawn: its prompts as a list, and the figures or one prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.recall.backtest import CANNOT_KNOW
from engine.recall.labels import Place
from tui.kit.rows import FACT, KeyedRows, SelectablePage
from tui.render.draw import Row, clip, clip_start, labelled, wrap
from tui.render.figures import count, plural, score
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.words import figures, said_of, summary

if TYPE_CHECKING:
    from engine.recall.backtest import Backtest, ToldPassage, ToldPrompt
    from tui.kit.bench import Played

SIGNS = {
    "figures": ("▸", "all figures"),
    "used": ("●", "some of what was told came up later"),
    "unused": ("○", "nothing of it came up later"),
}
RATED = {True: ("✓", "you labelled it useful"), False: ("✗", "you labelled it noise")}
_NAME = 18
_INDENT = 3
_MESSAGE = 300
"""Cells of the message; the transcript has it in full."""


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


class PromptsPanel(KeyedRows[Listed], panel="prompts", number="1"):
    always_lit = True
    signs = (*SIGNS.values(), *RATED.values())

    def key(self, item: Listed) -> Place | None:
        return item.prompt.place if item.prompt is not None else None

    def row(self, item: Listed, width: int, chosen: bool) -> Row:
        return draw_listed(item, width, self.roles, chosen=chosen)

    def searchable(self, item: Listed) -> Sequence[str]:
        if item.prompt is None:
            return ()
        passages = item.prompt.passages
        return item.prompt.message, item.prompt.path, item.prompt.day, *(each.text for each in passages)

    def text_of(self, item: Listed) -> str:
        return item.summary or (f"{item.prompt.path}:{item.prompt.line}" if item.prompt is not None else "")


def head_of(found: Backtest, *, every: bool) -> str:
    """What the list shows, for its frame."""
    told = count(len(found.told))
    return f"all {told} told something" if every else f"the best and the worst of {told} told something"


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


class ToldPanel(SelectablePage[ToldView], panel="told", number="2"):
    signs = tuple(RATED.values())

    nothing = "nothing yet"

    def subject(self, view: ToldView) -> object:
        return view.prompt.place if view.prompt is not None else None

    def draw_view(self, view: ToldView, width: int) -> list[tuple[Row, int]]:
        if view.prompt is not None:
            return draw_prompt(view.prompt, width, self.roles)
        return [(row, FACT) for row in draw_figures(view, width, self.roles)]

    def summarise(self) -> None:
        view = self.view
        self.set_frame("" if view is None else "what came up later" if view.prompt else "figures")

    def initial_row(self) -> int:
        return next((item.at for item in self.items if item.line != FACT), 0)

    @property
    def passage(self) -> ToldPassage | None:
        prompt = self.view.prompt if self.view is not None else None
        return prompt.passages[self.line] if prompt is not None and self.line != FACT else None
