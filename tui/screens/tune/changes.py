"""The effect of moving thresholds: current figures beside those for the moved thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.style import Style

from engine.activation.policy import Thresholds
from tui.kit.panel import LinesPanel
from tui.render.draw import Row, wrap
from tui.render.figures import count, score
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.tune.thresholds import ThresholdName, threshold_text, thresholds_text
from tui.screens.tune.topics import cost_per_day, per_day, rate_text

if TYPE_CHECKING:
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.replay import Figures

FIGURES = 4
"""Lines of figures."""
ROOMY = 62
"""Minimum width in cells for unabbreviated names."""
_MIN_CHANGE = 0.005
_MAX_NOTES = 3
_MAX_WARNED = 5
"""Maximum note lines if they include a caution."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Current and moved thresholds with their figures."""

    today: Thresholds
    now: Thresholds
    held: ThresholdName
    """The threshold that the keys move."""
    before: Figures
    after: Figures | None = None
    """``None`` if nothing is moved."""
    proposal: Proposal | None = None
    fitting: bool = False
    problem: str = ""
    """Why the fit failed."""
    caution: str = ""
    """A warning to read before applying the thresholds."""
    alone: str = ""
    """What keeps the thresholds from having an effect."""
    offers: bool = True
    """What is uncertain is offered to the agent; otherwise the gate is asked."""
    costs: bool = False
    """Answers of the gate cost something."""
    held_out: bool = True
    """Labelled messages have scores from fits without them."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One figure: name, values before and after, difference, and whether that is an improvement."""

    name: str
    before: str
    after: str = ""
    change: str = ""
    better: bool | None = None
    held: bool = False


@dataclass(frozen=True, slots=True)
class _Block:
    """Column widths of one half, in cells."""

    name: int
    before: int
    arrow: str
    after: int

    def draw(self, line: _Line, roles: Roles) -> Row:
        room = self.name + self.before
        name = min(self.name, room - len(line.before))  # a long number takes room from the name
        row = Row().fit(line.name, name, roles.strong if line.held else roles.muted)
        row.fit(line.before, room - name, roles.normal, "right")
        if line.after:
            same = line.after == line.before and not line.change
            row.add(self.arrow, roles.faint).add(line.after, roles.muted if same else roles.strong)
        if line.change:
            tone = {True: roles.active, False: roles.error, None: roles.gate}[line.better]
            row.to(self.name + self.before + len(self.arrow) + self.after)
            row.gap().add(line.change, tone)
        return row


_WIDE = (_Block(10, 7, " ▸ ", 7), 38, _Block(10, 4, " ▸ ", 4))
_NARROW = (_Block(7, 7, "▸", 0), 24, _Block(5, 3, "▸", 4))


def draw_changes(view: Changes, width: int, roles: Roles) -> list[Row]:
    """Four lines of figures in two columns, with the notes below."""
    roomy = width >= ROOMY
    left, middle, right = _WIDE if roomy else _NARROW
    middle += max(0, min(12, width - 66)) if roomy else 0
    lines = _lines(view, roomy)
    rows = []
    for one, other in zip(lines[:FIGURES], lines[FIGURES:], strict=True):
        row = left.draw(one, roles).cut(middle - 1 if other.name else width)
        rows.append(row.to(middle).extend(right.draw(other, roles)).cut(width))
    return [*rows, *notes(view, width, roles)]


def _lines(view: Changes, roomy: bool) -> tuple[_Line, ...]:
    """Thresholds and what they cost, then quality figures."""
    at, day = (" at", "/day") if roomy else ("", "/d")
    room = 99 if roomy else 8
    gate, asks, asked = ("offered", "offers", "offered") if view.offers else ("gate", "calls", "asked")
    costs = _amount(f"cost{day}", view, "cost_usd_per_day", cost_per_day, room)
    return (
        _threshold(f"active{at}", view, "activate"),
        _threshold(f"{gate}{at}", view, "gate"),
        _amount(f"{asks}{day if roomy or not view.offers else ''}", view, "offers_per_day", per_day, room),
        costs if view.costs else _amount("fires", view, "active", count, room),
        _rate("precision" if roomy else "prec", view, "precision"),
        _rate("recall" if roomy else "rec", view, "recall"),
        _rate(f"or {asked}" if roomy else "+off" if view.offers else "+ask", view, "reached"),
        _rate("quiet", view, "quiet"),
    )


def _threshold(name: str, view: Changes, which: ThresholdName) -> _Line:
    today, now = getattr(view.today, which), getattr(view.now, which)
    held = view.held == which
    if view.after is None:
        return _Line(name, threshold_text(today), held=held)
    apart = today != now and today is not None and now is not None
    return _Line(
        name,
        threshold_text(today),
        threshold_text(now),
        signed(now - today, _bare) if apart else "",
        held=held,
    )


def _rate(name: str, view: Changes, figure: str) -> _Line:
    before, after = getattr(view.before, figure), getattr(view.after, figure, None)
    if view.after is None:
        return _Line(name, rate_text(before))
    difference = 0.0 if before is None or after is None else round(after, 2) - round(before, 2)
    change = signed(difference, _bare) if abs(difference) >= _MIN_CHANGE else ""
    return _Line(name, rate_text(before), rate_text(after), change, difference > 0)


def _amount(name: str, view: Changes, figure: str, text: Callable[[Any], str], room: int) -> _Line:
    """Offers, cost or active messages. The difference is left out if it does not fit in ``room``."""
    before, after = getattr(view.before, figure), getattr(view.after, figure, None)
    if after is None:
        return _Line(name, text(before))
    old, new = text(before), text(after)
    change = signed(after - before, text) if old != new and "~" not in text(abs(after - before)) else ""
    if change and old.isdecimal() and new.isdecimal():
        change = signed(int(new) - int(old), lambda value: f"{value:.0f}")
    if len(new) + 1 + len(change) > room:
        change = ""
    return _Line(name, old, new, change, None if figure == "active" else after < before)


def _bare(value: float) -> str:
    return score(value) if value >= _MIN_CHANGE else ".00"


def signed(value: float, text: Callable[[Any], str]) -> str:
    """A difference with its sign: ``+.12``, ``−3``."""
    return f"{'+' if value > 0 else '−'}{text(abs(value))}"


def notes(view: Changes, width: int, roles: Roles) -> list[Row]:
    """The caution, followed by the state or result of a fit."""
    style, warned = roles.gate + Style(bold=True), []
    if view.caution:
        warned = wrap([("! ", style), (view.caution, style)], width, indent=2)[:_MAX_WARNED]
    limit = _MAX_WARNED - len(warned) if warned else _MAX_NOTES
    return [*warned, *_limited(_fit_notes(view, width, roles), width, limit)]


def _fit_notes(view: Changes, width: int, roles: Roles) -> list[Row]:
    if view.fitting:
        return [Row(("fitting the thresholds to the labels …", roles.faint))]
    if view.problem:
        return wrap([("! ", roles.error), (view.problem, roles.error)], width, indent=2)
    proposal = view.proposal
    if proposal is None:
        return wrap([(view.alone, roles.muted)], width, indent=2) if view.alone else []
    if proposal.thresholds is None:
        pieces = [("! no proposal: ", roles.gate), (first_line(proposal.refused), roles.normal)]
        return wrap(pieces, width, indent=2)
    fitted = thresholds_text(proposal.thresholds, view.offers)
    if proposal.thresholds != view.now or proposal.held_out is None:
        pieces = [("fit ", roles.strong), (fitted, roles.normal)]
        if proposal.thresholds != view.now:
            pieces.append((" · f shows the fit", roles.muted))
        return wrap(pieces, width, indent=4)
    lead, (effect, *others) = "fit ", str(proposal.held_out).split("; ")
    if len(lead) + len(effect) > width:
        lead, (effect, *others) = "fit held out ", proposal.held_out.effect.split("; ")
    rows = wrap([(lead, roles.strong), (effect, roles.normal)], width, indent=4)
    for other in others:
        rows.extend(Row().gap(4).extend(row) for row in wrap([(other, roles.muted)], width - 4))
    return rows


def _limited(rows: list[Row], width: int, limit: int) -> list[Row]:
    """The first ``limit`` rows; the last one ends in an ellipsis if any were cut."""
    kept = rows[:limit]
    if kept and len(rows) > limit:
        kept[-1] = kept[-1].cut(width - 2).add(" …", rows[-1].pieces[-1][1])
    return kept


class ChangesPanel(LinesPanel, can_focus=False):
    """Current figures beside those for the moved thresholds; only as tall as needed."""

    name_of = "scores"
    words = "changes"

    view: Changes | None = None
    hint = ""

    def show(self, view: Changes | None, hint: str) -> None:
        different = view != self.view
        self.view, self.hint = view, hint
        self.summarise()
        if different:
            self.changed()

    def summarise(self) -> None:
        """Updates the frame and fits the height to the content, at least four lines."""
        lines, beside = FIGURES, ""
        if self.view is not None:
            lines += len(notes(self.view, self.size.width or ROOMY, self.roles))
            beside = "current ▸ new" if self.view.after is not None else "current"
            if not self.view.held_out:
                beside += " · in-sample, holding out labels …"
        self.set_frame(beside, self.hint)
        if self.styles.height is None or self.styles.height.value != lines + 2:
            self.styles.height = lines + 2

    def draw(self, width: int, height: int) -> list[Row]:
        return draw_changes(self.view, width, self.roles) if self.view is not None else []
