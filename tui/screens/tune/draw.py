"""Panel 2 of the tune screen, and what moving a threshold changes.

The histogram has a topic's labelled messages by score, useful ones above the axis and noise below it. The
thresholds move in steps from 0 to 1 and then to “never”; the lower never exceeds the upper. Below it are the
current figures beside those for the moved thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil, floor, sqrt
from operator import itemgetter
from statistics import median_low
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len
from rich.style import Style

from engine.activation.policy import Thresholds
from tui.kit.panel import LinesPanel
from tui.render.draw import NO_STYLE, Piece, Row, clip, joined_within, wrap
from tui.render.figures import count, dollars, plural, score
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.replay import Figures


ThresholdName = Literal["gate", "activate"]

STEP = 1
"""Hundredths per key press."""
FAST = 5
"""Hundredths per press of a fast key."""
_WHOLE = 100
_NEAR = 1e-6


def stepped(threshold: float | None, steps: int) -> float | None:
    """Moves a threshold by hundredths; one between two hundredths snaps to the next one in that direction.

    Above 1 comes never (``None``), and below never comes 1, whatever the step size.
    """
    if threshold is None:
        return None if steps > 0 else 1.0
    if steps > 0:
        place = floor(threshold * _WHOLE + _NEAR) + steps
        if threshold * _WHOLE >= _WHOLE - _NEAR:
            return None
        return min(place, _WHOLE) / _WHOLE
    return max(ceil(threshold * _WHOLE - _NEAR) + steps, 0) / _WHOLE


def moved(thresholds: Thresholds, name: ThresholdName, steps: int) -> Thresholds:
    """Moves one threshold by hundredths; it stops at the other one."""
    if name == "gate":
        gate = stepped(thresholds.gate, steps)
        if thresholds.activate is not None and (gate is None or gate > thresholds.activate):
            gate = thresholds.gate if steps > 0 and thresholds.gate is None else thresholds.activate
        return replace(thresholds, gate=gate)
    activate = stepped(thresholds.activate, steps)
    if thresholds.gate is not None and activate is not None and activate < thresholds.gate:
        activate = thresholds.gate
    return replace(thresholds, activate=activate)


def first_held(thresholds: Thresholds) -> ThresholdName:
    """The threshold that the keys move first: the upper one, unless only the lower one is set."""
    return "gate" if thresholds.activate is None and thresholds.gate is not None else "activate"


def threshold_text(threshold: float | None) -> str:
    """``.62``, or ``never``."""
    return "never" if threshold is None else score(threshold) if threshold > 0 else "0"


def thresholds_text(thresholds: Thresholds, offers: bool = False) -> str:
    """``gate .25, active never``, or ``offered .25, active never``."""
    gate, active = threshold_text(thresholds.gate), threshold_text(thresholds.activate)
    return f"{gate_word(offers)} {gate}, active {active}"


def gate_word(offers: bool) -> str:
    """The name of the lower threshold: from it on a topic is offered to the agent, or the gate is asked."""
    return "offered" if offers else "gate"


RISING = " ▁▂▃▄▅▆▇█"
"""Eighths of a cell from the bottom; drawn in reverse video, from the top."""
_HANGING = "▔▔▀▀▀▀█"
GUTTER = 8
"""Cells left of the plot, for labels and numbers."""
FEW = 20
"""Figures based on fewer labelled messages are unreliable."""
_WITH_ZONES = 8
_MIN_BINS = 10
_TALL = 40
_SKEWED = 6

_Mark = tuple[int, str, Style]


@dataclass(frozen=True, slots=True)
class Plot:
    """Message counts in equal bins from 0 to 1, with the current and the moved thresholds."""

    useful: tuple[int, ...]
    noise: tuple[int, ...]
    today: Thresholds
    now: Thresholds
    held: ThresholdName
    """The threshold that the keys move."""
    offers: bool = False
    """What is uncertain is offered to the agent."""
    note: str = ""
    """Text across the upper half, when there is nothing to draw."""


def bins_for(width: int, labelled: int) -> int:
    """The number of bins for a panel: the fewer labelled messages, the wider the bins, in whole cells."""
    room = _room(width)
    wanted = max(_MIN_BINS, 2 * sqrt(labelled))
    cells = max(1, round(room / wanted))
    return max(1, room // cells)


def _room(width: int) -> int:
    """Cells for scores from 0 to 1; the cell after them is “never”."""
    return max(8, width - GUTTER - 1)


def draw_plot(plot: Plot, width: int, height: int, roles: Roles) -> list[Row]:
    """Draws the plot in ``height`` lines of ``width`` cells.

    Both halves share one scale. When a few bins dwarf the others it is a square root, marked as such.
    """
    zones = height >= _WITH_ZONES
    shape = _shape(plot, width, max(2, height - (3 if zones else 2)))
    marks = _marks(plot, shape.span, roles)
    lines = [_zones(plot, shape, roles)] if zones else []
    lines.extend(_half(plot, shape, marks, roles, below=False))
    lines.append(_axis(plot, shape, marks, roles))
    lines.extend(_half(plot, shape, marks, roles, below=True))
    lines.append(_labels(plot, shape.span, roles))
    return lines[:height]


@dataclass(frozen=True, slots=True)
class _Shape:
    """The plot's dimensions and scale."""

    cells: int
    """Cells per bin."""
    span: int
    """Cells from 0 to 1."""
    up: int
    """Lines above the axis."""
    down: int
    """Lines below the axis."""
    rooted: bool
    """Bar heights are the square root of their counts."""
    eighths: float
    """Eighths of a line per message, or per square root of one."""

    def level(self, number: int, lines: int) -> int:
        """The height of a bar in eighths; at least one for a non-zero count."""
        if not number:
            return 0
        return min(8 * lines, max(1, round(_scaled(number, self.rooted) * self.eighths)))


def _shape(plot: Plot, width: int, room: int) -> _Shape:
    """Splits the lines between the halves in proportion to their peaks, at least two each."""
    cells = max(1, _room(width) // max(1, len(plot.useful)))
    filled = [number for number in (*plot.useful, *plot.noise) if number]
    rooted = bool(filled) and max(filled) > max(_TALL, _SKEWED * median_low(filled))
    above, below = (_scaled(max(side, default=0), rooted) for side in (plot.useful, plot.noise))
    up = room - room // 2
    if above or below:
        minimum = min(2, room // 2)
        up = max(minimum, min(room - minimum, round(room * above / (above + below))))
    eighths = min(
        (8 * lines / peak for lines, peak in ((up, above), (room - up, below)) if peak), default=0.0
    )
    return _Shape(cells, cells * len(plot.useful), up, room - up, rooted, eighths)


def _scaled(number: int, rooted: bool) -> float:
    return sqrt(number) if rooted else float(number)


def _half(plot: Plot, shape: _Shape, marks: Sequence[_Mark], roles: Roles, *, below: bool) -> list[Row]:
    """The bars on one side of the axis, from top to bottom."""
    numbers, lines = (plot.noise, shape.down) if below else (plot.useful, shape.up)
    glyphs = _glyphs(roles.dropped if below else roles.active, below=below)
    levels = [shape.level(number, lines) for number in numbers]
    rows = []
    for line in range(lines):
        inner = 8 * (line if below else lines - 1 - line)
        pieces = [
            piece
            for level in levels
            for piece in [glyphs[0 if level <= inner else min(8, level - inner)]] * shape.cells
        ]
        pieces.append(glyphs[0])
        for at, sign, style in marks:
            pieces[at] = (sign, style)
        if plot.note and not below and line == lines // 2:
            _write_over(pieces, f" {plot.note} ", roles.muted)
        rows.append(_joined(_gutter(numbers, line, lines, below, roles), pieces))
    return rows


def _glyphs(style: Style, *, below: bool) -> list[Piece]:
    """Cells filled by 0 to 8 eighths. Unicode lacks most upper blocks, so those are reversed lower blocks."""
    if not below:
        signs = [(sign, style) for sign in RISING[1:8]]
    elif style.color is None:  # without colour, a reversed cell is brighter than a full one
        signs = [(sign, style) for sign in _HANGING]
    else:
        reverse = style + Style(reverse=True)
        signs = [(sign, reverse) for sign in RISING[7:0:-1]]
    return [(" ", NO_STYLE), *signs, (RISING[8], style)]


def _write_over(pieces: list[Piece], text: str, style: Style) -> None:
    """Writes text centred over a line of cells."""
    text = clip(text, len(pieces))
    start = (len(pieces) - len(text)) // 2
    pieces[start : start + len(text)] = [(sign, style) for sign in text]


def _joined(row: Row, pieces: Sequence[Piece]) -> Row:
    """Appends cells to a row; each sign is one cell wide, so no measuring is needed."""
    for style, run in groupby(pieces, key=itemgetter(1)):
        row.pieces.append(("".join(sign for sign, _style in run), style))
    row.cells += len(pieces)
    return row


def _gutter(numbers: Sequence[int], line: int, lines: int, below: bool, roles: Roles) -> Row:
    """The text left of a line of bars: the half's maximum on the outermost line, its name on the next."""
    outermost = lines - 1 - line if below else line
    if outermost == (1 if lines > 1 else 0):
        word, style = ("noise", roles.muted) if below else ("useful", roles.active)
        return Row().fit(word, GUTTER - 1, style, "right").gap()
    text = count(max(numbers)) if outermost == 0 and any(numbers) else ""
    return Row().fit(text, GUTTER - 1, roles.faint, "right").gap()


def _marks(plot: Plot, span: int, roles: Roles) -> list[_Mark]:
    """The threshold lines: current positions of moved thresholds first, the held threshold on top."""
    marks = [
        (column(threshold, span), "┊", roles.muted)
        for threshold, now in ((plot.today.gate, plot.now.gate), (plot.today.activate, plot.now.activate))
        if threshold != now
    ]
    for _word, threshold, style, held in _pair(plot, roles):
        marks.append((column(threshold, span), "┃" if held else "│", style + Style(bold=held)))
    return marks


def _pair(plot: Plot, roles: Roles) -> list[tuple[str, float | None, Style, bool]]:
    """Both thresholds with name, style and whether the keys move it; the held one comes last."""
    pair = [
        (gate_word(plot.offers), plot.now.gate, roles.gate, plot.held == "gate"),
        ("active", plot.now.activate, roles.active, plot.held == "activate"),
    ]
    return sorted(pair, key=itemgetter(3))


def column(threshold: float | None, span: int) -> int:
    """The cell of a score; never is the one after the last."""
    return span if threshold is None else max(0, min(span - 1, int(threshold * span + 1e-9)))


def _axis(plot: Plot, shape: _Shape, marks: Sequence[_Mark], roles: Roles) -> Row:
    """The axis, heavy where both halves have messages: no threshold separates those."""
    apart, mixed = ("─", roles.faint), ("━", roles.p3)
    both = [bool(useful and noise) for useful, noise in zip(plot.useful, plot.noise, strict=True)]
    pieces = [piece for each in both for piece in [mixed if each else apart] * shape.cells]
    pieces.append((" ", NO_STYLE))
    for at, sign, style in marks:
        pieces[at] = ({"┃": "╋", "│": "┼"}.get(sign, sign), style)
    return _joined(Row().fit("both ━" if any(both) else "", GUTTER - 1, roles.p3, "right").gap(), pieces)


def _zones(plot: Plot, shape: _Shape, roles: Roles) -> Row:
    """Labels for the ranges between the thresholds: quiet, uncertain, active."""
    span = shape.span
    activate = column(plot.now.activate, span)
    gate = min(column(plot.now.gate, span), activate)
    row = Row().fit("√count" if shape.rooted else "count", GUTTER - 1, roles.faint, "right").gap()
    parts = (
        (0, gate, ("quiet",), roles.muted),
        (gate, activate, ("offered", "off") if plot.offers else ("gate decides", "gate", "ask"), roles.gate),
        (activate, span + 1, ("active", "act"), roles.active),
    )
    for start, end, words, style in parts:
        word = next((word for word in words if len(word) + 2 <= end - start), "")
        if word:
            row.to(GUTTER + start + (end - start - len(word) + 1) // 2).add(word, style)
    return row


def _labels(plot: Plot, span: int, roles: Roles) -> Row:
    """Threshold labels below their lines, the held one between arrows; 0 and 1 if there is room."""
    labels = [
        (column(at, span), f"◂ {name} ▸" if held else name, style + Style(bold=held))
        for word, at, style, held in sorted(_pair(plot, roles), reverse=True)
        for name in [f"{word} {threshold_text(at)}"]
    ]
    labels.sort(key=itemgetter(0))
    starts = _apart([(at, len(text)) for at, text, _style in labels], span + 1)
    row = Row().gap(GUTTER)
    if starts[0] >= 2:
        row.add("0", roles.faint)
    for start, (_at, text, style) in zip(starts, labels, strict=True):
        row.to(GUTTER + start).add(text, style)
    if row.cells <= GUTTER + span - 2:
        row.to(GUTTER + span - 1).add("1", roles.faint)
    return row


def _apart(labels: Sequence[tuple[int, int]], width: int) -> list[int]:
    """Start columns for two labels: each near its place, without touching."""
    (left_at, left), (right_at, right) = labels
    first = max(0, min(width - left, left_at - left // 2))
    second = max(0, min(width - right, right_at - right // 2))
    overlap = first + left + 2 - second
    if overlap > 0:
        first = max(0, min(first - (overlap + 1) // 2, width - right - 2 - left))
        second = max(first + left + 2, min(second, width - right))
    return [first, second]


@dataclass(frozen=True, slots=True)
class Scores:
    topic: str = ""
    """Empty if none is selected."""
    labelled: int = 0
    """Its labelled messages."""
    plot: Callable[[int], Plot] | None = None
    """Builds the plot for a number of bins; ``None`` if there is nothing to draw."""
    note: str = "reading the decision log …"
    """Shown instead of the plot."""
    below: tuple[str, ...] = ()
    """Texts for the lower edge."""


class ScoresPanel(LinesPanel, panel="scores", number="2"):
    """The plot, drawn for the panel's whole size."""

    signs = (
        ("┃", "the threshold that the keys move; │ the other; ┊ the current value of a moved one"),
        ("█", "messages by score: useful above the axis, noise below"),
        ("━", "useful and noise at the same score: no threshold separates these"),
        ("√", "square-root scale, because a few bars dwarf the others"),
    )
    view = Scores()

    @property
    def row_count(self) -> int:
        return int(self.view.plot is not None)

    def show(self, view: Scores) -> None:
        self.view = view
        self.summarise()
        self.changed()

    def summarise(self) -> None:
        """Shows the topic and its label count beside the title; the comparison below if it has no panel."""
        view = self.view
        beside = ""
        if view.topic:
            thin = " · few" if view.plot is not None and 0 < view.labelled < FEW else ""
            name = first_line(view.topic)
            room = max(8, self.size.width - 12)
            words = (
                f"{plural(view.labelled, 'labelled message')}{thin}",
                f"{count(view.labelled)} labelled{thin}",
            )
            beside = next(
                (text for word in words if cell_len(text := f"{name} · {word}") <= room), clip(name, room)
            )
        self.set_frame(beside, joined_within(view.below, self.size.width - 2))

    def draw(self, width: int, height: int) -> list[Row]:
        view = self.view
        if view.plot is None:
            return wrap([(view.note, self.roles.muted)], max(width, 8))
        return draw_plot(view.plot(bins_for(width, view.labelled)), width, height, self.roles)


def rate_text(value: float | None) -> str:
    """Precision, recall or F1 as ``.81``; a dash if undefined."""
    return "–" if value is None else score(value)


def per_day(value: float) -> str:
    """A daily rate: ``14``, ``3.2``, ``.4``, ``0``."""
    if value >= 9.95:
        return count(round(value))
    text = f"{value:.1f}"
    return "0" if value <= 0 else "<.1" if text == "0.0" else text.removeprefix("0").removesuffix(".0")


def cost_per_day(cost: float) -> str:
    """Dollars per day in at most seven cells, up to $100,000."""
    return "~$0" if 0 < cost < 0.0001 else f"${cost:,.0f}" if cost >= 1000 else dollars(max(cost, 0.0))


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
_NARROW = (_Block(7, 7, "▸", 0), 24, _Block(6, 3, "▸", 4))
_NARROWEST = (_Block(7, 7, "▸", 0), 24, _Block(5, 3, "▸", 4))


def draw_changes(view: Changes, width: int, roles: Roles) -> list[Row]:
    """Four lines of figures in two columns, with the notes below."""
    roomy = width >= ROOMY
    left, middle, right = _WIDE if roomy else _NARROW if width > 42 else _NARROWEST
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


class ChangesPanel(LinesPanel, can_focus=False, panel="scores", words="changes"):
    """Current figures beside those for the moved thresholds; only as tall as needed."""

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
