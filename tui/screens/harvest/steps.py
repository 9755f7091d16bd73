"""The bar above every harvest step: the current step and its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui.kit.bars import Bar
from tui.kit.clock import Clock
from tui.render.draw import Piece, Row, wrap
from tui.render.figures import count, left, plural, sizes
from tui.render.harvest_words import pieces_in_words
from tui.render.roles import Roles
from tui.screens.harvest.rows import SELECTABLE
from tui.screens.harvest.state import HarvestState, Price, Step

if TYPE_CHECKING:
    from engine.knowledge.harvest.classify import Candidate
    from engine.knowledge.harvest.report import HarvestRequest, Survey

STEPS: dict[Step, str] = {"survey": "look", "pick": "choose", "confirm": "confirm", "result": "result"}


class StepsBar(Bar):
    """A bar that grows and shrinks with its lines."""

    def __init__(self, draw: Callable[[int, Roles], list[Row]], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._draw = draw
        self._shown: list[Row] = []

    def fit(self) -> None:
        """Adjusts the height to the lines, and redraws if they changed."""
        width = self.size.width or self.app.size.width
        before, self._shown = self._shown, self._draw(max(10, width - 2), self.roles)
        if [row.pieces for row in before] != [row.pieces for row in self._shown]:
            if len(before) != len(self._shown):
                self.styles.height = max(1, len(self._shown))
            self.refresh()

    def on_resize(self) -> None:
        self.fit()

    def rows(self, width: int) -> list[Row]:
        """The lines, indented by one cell like the text of panels."""
        return [Row().gap().extend(row) for row in self._draw(max(10, width - 2), self.roles)]


def draw_steps(state: HarvestState, clock: Clock, width: int, roles: Roles) -> list[Row]:
    """The trail of steps, and the figures of the current one."""
    rows = [draw_trail(state.step, width, roles)]
    survey, price, progress = state.survey, state.price, state.progress
    if state.step == "result":
        return rows
    if progress is not None and state.run is not None:
        seconds = clock.monotonic() - state.run.began
        done = elapsed(state.done, len(state.run.chosen), seconds)
        tail = " · stopping after this one …" if progress.stopping else " · x stops, b leaves it running"
        moving = bool(state.run.request.consent.number)
        what = "moving to the trash  " if moving else "harvesting  "
        rows.append(Row((what, roles.gate), (done, roles.strong), (tail, roles.muted)).cut(width))
    elif survey is not None and price is not None:
        if state.step == "survey":
            rows += [*draw_classes(survey, width, roles), *draw_price(price, width, roles)]
        elif state.step == "pick":
            rows += draw_chosen(state.chosen, state.selectable, width, roles)
            rows += draw_price(price, width, roles)
        else:
            rows += draw_plan(state.request, state.chosen, price, width, roles)
    return rows


def draw_trail(step: Step, width: int, roles: Roles) -> Row:
    """The four steps, with the current one marked."""
    row = Row()
    for number, (each, words) in enumerate(STEPS.items(), 1):
        now = each == step
        row.add("  ▸  " if number > 1 else "", roles.faint)
        row.add(f"{number} {words}", roles.accent if now else roles.muted)
    return row.cut(width)


def draw_classes(survey: Survey, width: int, roles: Roles) -> list[Row]:
    """Number and size of the conversations by kind, and what else could be harvested."""
    pieces: list[Piece] = []
    for kind, words in pieces_in_words(survey):
        pieces += [(" · " if pieces else "", roles.faint)]
        pieces += [(words, roles.strong if kind in SELECTABLE else roles.muted)]
    rows = wrap(pieces, width) if pieces else []
    if survey.left:
        left = f"{plural(survey.left, 'transcript')} in raw/ not harvested yet:"
        rows += wrap([(left, roles.muted), (" :harvest --transcripts", roles.accent)], width)
    return rows


def draw_price(price: Price, width: int, roles: Roles) -> list[Row]:
    paid = price.provider != "markers" and price.tokens
    return wrap([(str(price), roles.gate if paid else roles.normal)], width)


def draw_chosen(chosen: Sequence[Candidate], selectable: int, width: int, roles: Roles) -> list[Row]:
    size = sizes(sum(each.text_size or each.size for each in chosen))
    selected = f"{count(len(chosen))} of {count(selectable)} selected"
    return wrap([(selected, roles.strong), (f", {size}", roles.muted)], width)


def draw_plan(
    request: HarvestRequest, chosen: Sequence[Candidate], price: Price, width: int, roles: Roles
) -> list[Row]:
    """What the harvest would do."""
    asked = sum(each.kind == "harvest" for each in chosen)
    rest = len(chosen) - asked
    lines: list[Row] = []
    if request.harvest and asked:
        lines += _bullet(
            f"{plural(asked, 'conversation')} to harvest; the knowledge will be committed", width, roles
        )
        lines += _bullet(str(price), width, roles)
    elif not request.harvest:
        lines += _bullet(f"{plural(len(chosen), 'conversation')} to discard without harvesting", width, roles)
    if not request.reclaim or request.transcripts:
        return lines + _bullet("all conversations stay where they are", width, roles)
    if rest and request.harvest:
        lines += _bullet(f"{plural(rest, 'conversation')} already harvested", width, roles)
    if not request.harvest:
        text = "They move to the trash and stay in the history; r in the ledger restores one."
        return lines + _bullet(text, width, roles)
    text = "Conversations whose knowledge is committed move to the trash; r in the ledger restores one."
    also = [
        "in which no items were found" if request.consent.empty else "",
        "that were only partly read" if request.consent.partial else "",
    ]
    lines += _bullet(text, width, roles)
    if any(also):
        lines += _bullet(f"So do those {' and those '.join(filter(None, also))}.", width, roles)
    return lines


def _bullet(text: str, width: int, roles: Roles) -> list[Row]:
    return wrap([("• ", roles.accent), (text, roles.normal)], width, indent=2)


def elapsed(done: int, whole: int, seconds: float) -> str:
    """``3 of 17 · 0:42``."""
    return f"{count(done)} of {count(whole)} · {left(max(0.0, seconds))}"
