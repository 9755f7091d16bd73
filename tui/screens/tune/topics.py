"""Panel 1 of the tune screen: the topics with their figures, and totals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from rich.style import Style
from textual import events
from textual.message import Message

from tui.kit.panel import LinesPanel, Motion, moved
from tui.render.activation import Drawn
from tui.render.draw import Piece, Row, joined_within, wrap
from tui.render.figures import count, dollars, plural, score
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.table import MARK
from tui.screens.tune.plot import FEW

if TYPE_CHECKING:
    from engine.activation.tuning.replay import Figures

Sorting = Literal["worst", "offers", "cost", "labels", "name"]
SORTINGS: tuple[Sorting, ...] = get_args(Sorting)
Column = Literal["rates", "f1", "offers", "cost", "labels"]
SORTED_BY: dict[Sorting, str] = {
    "worst": "worst first",
    "offers": "most offers",
    "cost": "highest cost",
    "labels": "most labels",
    "name": "by name",
}
POOR = 0.7
"""Precision, recall and F1 below this are shown in the error colour."""
_COLUMNS: tuple[tuple[Column, int, int], ...] = (
    ("rates", 10, 12), ("offers", 7, 14), ("cost", 8, 16), ("labels", 8, 30),
)  # fmt: skip
"""Columns besides F1: width in cells, and the minimum width of the name next to them."""
_FIGURES: tuple[tuple[Column, str, int], ...] = (
    ("rates", "prec", 4), ("rates", "rec", 4), ("f1", "F1", 4),
    ("offers", "offers", 6), ("cost", "cost/d", 7), ("labels", "labels", 7),
)  # fmt: skip
"""A topic's figures in order: column, heading, and width in cells."""


@dataclass(frozen=True, slots=True)
class TopicList:
    names: tuple[str, ...] = ()
    figures: Mapping[str, Figures] = field(default_factory=dict)
    """Each topic's figures with its current thresholds."""
    total: Figures | None = None
    """Totals over all topics; ``None`` until the log is read."""
    moved: frozenset[str] = frozenset()
    """Topics with moved, unapplied thresholds."""
    selected: int = 0
    """Index into ``names``."""
    sorting: Sorting = "worst"
    query: str = ""
    offers: bool = True
    """What is uncertain is offered to the agent; otherwise the gate is asked."""
    costs: bool = False
    """Answers of the gate cost something."""
    loading: bool = True
    problem: str = ""


def ordered(figures: Mapping[str, Figures], sorting: Sorting, query: str = "") -> tuple[str, ...]:
    """The matching topics, sorted; those without the figure sorted by come last."""
    kept = [name for name in figures if query.casefold() in name.casefold()]
    keys: dict[Sorting, Callable[[Figures], tuple[float, ...]]] = {
        "worst": lambda each: (each.f1 is None, each.f1 or 0.0, -each.labelled, -each.active),
        "offers": lambda each: (-each.offers_per_day, -each.active),
        "cost": lambda each: (-each.cost_usd_per_day, -each.offers_per_day, -each.active),
        "labels": lambda each: (-each.labelled, -each.active),
        "name": lambda each: (),
    }
    return tuple(sorted(kept, key=lambda name: (*keys[sorting](figures[name]), name.casefold(), name)))


@dataclass(frozen=True, slots=True)
class _Columns:
    """The width of the name and the columns shown."""

    name: int
    shown: frozenset[Column]


def _plan(width: int, longest: int, sorting: Sorting, *, costs: bool) -> _Columns:
    """The columns that fit beside F1; names shrink for them, down to a minimum.

    The column sorted by comes first, however narrow the list is.
    """
    room = width - 1 - 5
    wanted = max(12, min(longest, 30))
    shown: set[Column] = {"f1"}
    for column, cells, minimum in sorted(_COLUMNS, key=lambda each: each[0] != sorting):
        if column == "cost" and not costs:
            continue
        if room - cells < min(minimum if column != sorting else 12, wanted):
            break
        shown.add(column)
        room -= cells
    return _Columns(room, frozenset(shown))


def draw_topics(view: TopicList, top: int, width: int, height: int, roles: Roles, *, focused: bool) -> Drawn:
    """Draws the list in ``height`` lines of ``width`` cells.

    Args:
        top: The first visible row of the last drawing, to scroll as little as possible.
        focused: Whether the panel has the focus; it changes the selection mark.
    """
    note = _note(view, width, roles)
    if note:
        return Drawn(tuple(note[:height]))
    longest = max((len(name) for name in view.figures), default=0)
    plan = _plan(width, longest, view.sorting, costs=view.costs)
    foot = _foot(view, plan, width, roles)
    room = max(1, height - 1 - len(foot))
    lines = [_heading(plan, roles, view.offers)]
    if not view.names:
        lines.append(Row().gap().add("no matching topics", roles.muted))
        top = number = 0
    else:
        number = min(len(view.names), room)
        top = max(0, min(top, len(view.names) - number))
        top = min(max(top, view.selected - number + 1), view.selected)
        mark = roles.accent if focused else roles.muted
        lines.extend(
            _topic(view, name, plan, roles, mark if at == view.selected else None)
            for at, name in enumerate(view.names[top : top + number], start=top)
        )
    chosen = 1 + view.selected - top if view.names else -1
    lines.extend(Row() for _line in range(height - len(foot) - len(lines)))
    lines.extend(foot)
    return Drawn(tuple(lines[:height]), chosen, 1, top, number)


def _note(view: TopicList, width: int, roles: Roles) -> list[Row]:
    """The note shown when there are no topics; empty if there are some."""
    if view.problem:
        return wrap([("! ", roles.error), (view.problem, roles.error)], width, indent=2)
    if view.loading:
        return [Row(("scoring the logged messages …", roles.faint))]
    if view.figures:
        return []
    words = "No topics yet. Each topic is a file in topics/ that defines its triggers."
    return wrap([(words, roles.muted)], width)


def _heading(plan: _Columns, roles: Roles, offers: bool) -> Row:
    heads = [
        (head if offers or column != "offers" else "asks", roles.faint) for column, head, _cells in _FIGURES
    ]
    return _columned(Row().gap().fit("topic", plan.name, roles.faint), heads, plan)


def _columned(row: Row, pieces: Iterable[Piece], plan: _Columns) -> Row:
    for (text, style), (column, _head, cells) in zip(pieces, _FIGURES, strict=True):
        if column in plan.shown:
            row.gap().fit(text, cells, style, "right")
    return row


def _topic(view: TopicList, name: str, plan: _Columns, roles: Roles, mark: Style | None) -> Row:
    figures = view.figures[name]
    row = Row((MARK if mark is not None else " ", mark or roles.faint))
    style = roles.strong if mark is not None else roles.normal if figures.labelled else roles.muted
    label = Row()
    label.add_found(first_line(name), view.query, style, roles.accent + Style(underline=True))
    sign = " ◂▸" if name in view.moved else ""
    row.extend(label.cut(plan.name - len(sign))).add(sign, roles.accent).to(1 + plan.name)
    return _figures(row, figures, plan, roles, strong=mark is not None)


def _figures(row: Row, figures: Figures, plan: _Columns, roles: Roles, *, strong: bool = False) -> Row:
    """Appends a topic's figures or the totals; dimmed if there are few labels."""
    thin = figures.labelled < FEW

    offers, cost = figures.offers_per_day, figures.cost_usd_per_day

    def rate(value: float | None, plain: Style = roles.normal) -> Piece:
        style = roles.faint if value is None or thin else roles.error if value < POOR else plain
        return rate_text(value), style

    pieces = (
        rate(figures.precision),
        rate(figures.recall),
        rate(figures.f1, roles.strong if strong else roles.normal),
        (per_day(offers), roles.gate if offers else roles.faint),
        (cost_per_day(cost), roles.normal if cost else roles.faint),
        (count(figures.labelled), roles.muted),
    )
    return _columned(row, pieces, plan)


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


def _foot(view: TopicList, plan: _Columns, width: int, roles: Roles) -> list[Row]:
    """Totals, and where the labels come from."""
    total = view.total
    if total is None:
        return []
    rows = [Row(("─" * width, roles.line))]
    name = f"all {count(len(view.figures))}"
    rows.append(_figures(Row().gap().fit(name, plan.name, roles.normal), total, plan, roles, strong=True))
    labels = Row().gap().add(plural(total.labelled, "label"), roles.normal)
    among = f" in {plural(total.messages // max(1, len(view.figures)), 'message')}"
    if labels.cells + len(among) <= width:
        labels.add(among, roles.muted)
    rows.append(labels)
    sources = ((total.by_person, "you"), (total.by_gate, "gate"), (total.by_use, "use"))
    parts = [f"{word} {count(number)}" for number, word in sources]
    by = next((text for sign in (" · ", ", ") if len(text := sign.join(parts)) < width), " ".join(parts))
    rows.append(Row().gap().add(by, roles.muted).cut(width))
    return rows


class TopicsPanel(LinesPanel):
    """The sorted topics, with totals below."""

    name_of = "topics"
    number = "1"
    words = "topics"
    signs = (
        ("◂▸", "moved thresholds, not applied yet"),
        (".99", "dimmed: fewer than 20 labels, so the figures are unreliable"),
        ("–", "undefined: no labels, or nothing would be active"),
        ("offers", "a day: how often the topic is offered to the agent, or the gate asked about it"),
    )
    view = TopicList()
    threshold_line = ""
    _drawn = Drawn(())

    class Chosen(Message):
        """A topic was clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    @property
    def row_count(self) -> int:
        return len(self.view.names)

    def show(self, view: TopicList, threshold_line: str = "") -> None:
        """Shows a new state; ``threshold_line`` gives the thresholds if no other panel shows them."""
        if (view, threshold_line) != (self.view, self.threshold_line):
            self.view, self.threshold_line = view, threshold_line
            self.summarise()
            self.changed()

    def target(self, motion: Motion) -> int:
        """The row that a motion leads to; -1 in an empty list."""
        last = len(self.view.names) - 1
        return min(max(moved(motion, self.view.selected, last, max(1, self.size.height // 2)), 0), last)

    def selected_text(self) -> str:
        drawn = draw_topics(self.view, 0, 100, len(self.view.names) + 8, self.roles, focused=False)
        return "\n".join(line.text.rstrip() for line in drawn.lines)

    def summarise(self) -> None:
        """Shows the sort order or match count beside the title, and the keys below."""
        view = self.view
        beside = SORTED_BY[view.sorting] if view.names else ""
        if view.query:
            beside = f"{count(len(view.names))} of {count(len(view.figures))}"
        keys = f"/{view.query}" if view.query else "s sort · / filter" if view.figures else ""
        below = [part for part in (self.threshold_line, keys) if part]
        self.set_frame(beside, joined_within(below, self.size.width - 2))

    def draw(self, width: int, height: int) -> list[Row]:
        top, focused = self._drawn.top, self.has_focus
        self._drawn = draw_topics(self.view, top, width, height, self.roles, focused=focused)
        self.lit = self._drawn.chosen
        return list(self._drawn.lines)

    def on_click(self, event: events.Click) -> None:
        offset, drawn = event.get_content_offset(self), self._drawn
        if offset is not None and drawn.first <= offset.y < drawn.first + drawn.count:
            self.post_message(self.Chosen(drawn.top + offset.y - drawn.first))
