"""One thing that was told: its sections, why each was, and whether it was of use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style

from engine.injections.log import place_of
from engine.transcripts.days import moment
from tui.kit.drawn_rows import FACT, DrawnRows
from tui.render.draw import Row, wrap
from tui.render.figures import clock, count, day, milliseconds, plural
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.told_words import MOMENTS, USE, use_of
from tui.screens.injections.rows import OURS, SIGNS, state_of, style_of, what_of

if TYPE_CHECKING:
    from engine.agents.audit import Piece, Telling

_INDENT, _SESSION = 2, 8


@dataclass(frozen=True, slots=True)
class View:
    """What is shown of it."""

    telling: Telling
    pieces: tuple[Piece, ...] | None = None
    """``None`` while they are read."""
    rules: tuple[str, ...] = ()
    unfiled: tuple[str, ...] = ()
    problem: str = ""
    """Why they cannot be read."""
    with_text: bool = False


def draw_view(view: View, width: int, roles: Roles) -> list[tuple[Row, int]]:
    """Draws it: rows, each with the number of the section that it stands for, or ``FACT``."""
    telling, at = view.telling, moment(view.telling.at)
    when = f"{day(at)} {clock(at)}" if at else ""
    agent = first_line(telling.agent) or OURS
    facts = (first_line(telling.project), first_line(telling.session_id)[:_SESSION])
    took = milliseconds(telling.run.ms) if telling.run else ""
    size = plural(telling.tokens, "token") if telling.tokens else ""
    rows = wrap(
        [(f"{when}  {agent}", roles.strong), (f"  {MOMENTS.get(telling.moment, '')}", roles.normal),
         ("".join(f" · {each}" for each in (size, took, *facts) if each), roles.muted)],
        width, indent=2,
    )  # fmt: skip
    state = SIGNS[state_of(telling)]
    if not telling.tokens:
        rows += wrap([(f"{state[0]} {what_of(telling)}", style_of(telling, roles))], width, indent=2)
        return [(row, FACT) for row in rows]
    rows += wrap([(f"{state[0]} {state[1]}", style_of(telling, roles))], width, indent=2)
    drawn = [(row, FACT) for row in rows]
    if view.problem:
        return [*drawn, *((row, FACT) for row in wrap([(view.problem, roles.trouble)], width))]
    if view.pieces is None:
        return [*drawn, (Row(("reading …", roles.faint)), FACT)]
    for number, piece in enumerate(view.pieces):
        drawn += [(row, number) for row in _piece(piece, width, roles, view)]
    for words in (*(f"rule: {each}" for each in view.rules), *(f"{each}: not kept" for each in view.unfiled)):
        drawn += [(row, FACT) for row in wrap([(f"– {first_line(words)}", roles.muted)], width, indent=2)]
    return drawn


def _piece(piece: Piece, width: int, roles: Roles, view: View) -> list[Row]:
    section = piece.section
    tone = {True: roles.active, False: roles.muted, None: roles.faint}[section.was_useful]
    facts = [f"{count(section.tokens)} tokens"] if section.tokens else []
    mark = ("", tone)
    if view.telling.injection is not None:
        mark = (f"{USE[section.was_useful][0]} ", tone)
        facts.append(use_of(section))
    name = piece.topic or first_line(place_of(section))
    rows = wrap(
        [mark, ("topic " if piece.topic else "", roles.muted), (first_line(name), roles.normal),
         ("".join(f" · {each}" for each in facts), roles.accent if section.judged else roles.muted)],
        width, indent=2,
    )  # fmt: skip
    if section.why:
        rows += _indented(section.why, roles.muted, width)
    if view.with_text:
        text = piece.text.strip("\n") or "its file has this text no more"
        style = roles.normal if piece.text else roles.faint
        for line in text.split("\n"):
            rows += _indented(line, style, width)
        rows.append(Row())
    return rows


def _indented(text: str, style: Style, width: int) -> list[Row]:
    lines = wrap([(first_line(text), style)], width - _INDENT) or [Row()]
    return [Row().gap(_INDENT).extend(line) for line in lines]


class PiecesPanel(DrawnRows):
    """What is selected in the list, in full."""

    name_of = "pieces"
    number = "2"
    words = "sections"
    signs = tuple((sign, words) for sign, words in USE.values())

    view: View | None = None

    def show_view(self, view: View | None) -> None:
        """Shows another thing that was told, or more about the same."""
        if view == self.view:
            return
        before, self.view = self.view, view
        is_same = before is not None and view is not None and before.telling.at == view.telling.at
        self.redraw(other=not is_same or before is None or before.pieces is None)

    def draw_page(self, width: int) -> list[tuple[Row, int]]:
        return draw_view(self.view, width, self.roles) if self.view is not None else []

    def begins_with(self) -> int:
        """The first section."""
        return next((item.at for item in self.items if item.line != FACT), 0)

    @property
    def piece(self) -> Piece | None:
        """The selected section."""
        pieces = self.view.pieces if self.view is not None else None
        return pieces[self.line] if pieces and self.line != FACT else None

    def empty(self, width: int) -> list[Row]:
        return [Row(("nothing is selected", self.roles.faint))]

    def summarise(self) -> None:
        """How many sections there are."""
        pieces = self.view.pieces if self.view is not None else None
        self.set_frame(count(len(pieces)) if pieces else "")
