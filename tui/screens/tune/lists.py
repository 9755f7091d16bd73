"""Panels 1 and 3 of the tune screen: topics with their figures; and messages to label, or that flip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from rich.style import Style

from engine.activation.decisions import LABELLERS
from engine.activation.policy import Thresholds
from tui.kit.rows import KeyedRows
from tui.render.draw import Piece, Row, clip, joined_within, labelled, wrap
from tui.render.figures import count, day_of, dollars, milliseconds, plural, score
from tui.render.roles import Roles
from tui.render.safe import first_line, visible_lines
from tui.screens.tune.draw import FEW, cost_per_day, per_day, rate_text, thresholds_text

if TYPE_CHECKING:
    from engine.activation.decisions import Decision
    from engine.activation.tuning.replay import Figures, FlipKind, Flips
    from engine.activation.tuning.table import MessageTable, Outcome


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
class TopicItem:
    name: str
    figures: Figures
    """With its current thresholds."""
    moved: bool = False
    """Its thresholds are moved, but not applied."""


@dataclass(frozen=True, slots=True)
class TopicList:
    items: tuple[TopicItem, ...] = ()
    """Those that match the filter, in order."""
    number: int = 0
    """Topics in all."""
    total: Figures | None = None
    """Totals over all topics; ``None`` until the log is read."""
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


def _plan(view: TopicList, width: int) -> _Columns:
    """The columns that fit beside F1; names shrink for them, down to a minimum.

    The column sorted by comes first, however narrow the list is.
    """
    room = width - 5
    wanted = max(12, min(max((len(item.name) for item in view.items), default=0), 30))
    shown: set[Column] = {"f1"}
    for column, cells, minimum in sorted(_COLUMNS, key=lambda each: each[0] != view.sorting):
        if column == "cost" and not view.costs:
            continue
        if room - cells < min(minimum if column != view.sorting else 12, wanted):
            break
        shown.add(column)
        room -= cells
    return _Columns(room, frozenset(shown))


def _note(view: TopicList, width: int, roles: Roles) -> list[Row]:
    """Why there are no topics."""
    if view.problem:
        return wrap([("! ", roles.error), (view.problem, roles.error)], width, indent=2)
    if view.loading:
        return [Row(("scoring the logged messages …", roles.faint))]
    if view.number:
        return [Row(("no matching topics", roles.muted))]
    words = "No topics yet. Each topic is a file in topics/ that defines its triggers."
    return wrap([(words, roles.muted)], width)


def draw_heads(view: TopicList, width: int, roles: Roles) -> list[Row]:
    """The names of the columns, and the totals."""
    plan = _plan(view, width)
    heads = [
        (head if view.offers or column != "offers" else "asks", roles.faint)
        for column, head, _cells in _FIGURES
    ]
    names = _columned(Row().fit("topic", plan.name, roles.faint), heads, plan)
    if view.total is None:
        return [names, Row()]
    row = Row().fit(f"all {count(view.number)}", plan.name, roles.muted)
    return [names, _figures(row, view.total, plan, roles)]


def _columned(row: Row, pieces: Iterable[Piece], plan: _Columns) -> Row:
    for (text, style), (column, _head, cells) in zip(pieces, _FIGURES, strict=True):
        if column in plan.shown:
            row.gap().fit(text, cells, style, "right")
    return row


def draw_topic(item: TopicItem, view: TopicList, width: int, roles: Roles, *, chosen: bool = False) -> Row:
    """A row: name and figures."""
    plan = _plan(view, width)
    style = roles.strong if chosen else roles.normal if item.figures.labelled else roles.muted
    label = Row()
    label.add_found(first_line(item.name), view.query, style, roles.accent + Style(underline=True))
    sign = " ◂▸" if item.moved else ""
    row = label.cut(plan.name - len(sign)).add(sign, roles.accent).to(plan.name)
    return _figures(row, item.figures, plan, roles, strong=chosen)


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


class TopicsPanel(KeyedRows[TopicItem], panel="topics", number="1"):
    """The sorted topics, below their totals; the lower edge says where the labels come from."""

    always_lit = True
    aligned = True
    heads = 2
    signs = (
        ("◂▸", "moved thresholds, not applied yet"),
        (".99", "dimmed: fewer than 20 labels, so the figures are unreliable"),
        ("–", "undefined: no labels, or nothing would be active"),
        ("offers", "a day: how often the topic is offered to the agent, or the gate asked about it"),
    )
    view = TopicList()
    threshold_line = ""

    def show_view(self, view: TopicList, threshold_line: str = "") -> None:
        """Shows a new state; ``threshold_line`` gives the thresholds if no other panel shows them."""
        if replace(self.view, items=view.items) != view:  # it is not only other items
            self.forget_drawn()
        self.view, self.threshold_line = view, threshold_line
        self.show_items(view.items)

    def key(self, item: TopicItem) -> str:
        return item.name

    def headings(self, width: int) -> list[Row]:
        return draw_heads(self.view, width, self.roles)

    def row(self, item: TopicItem, width: int, chosen: bool) -> Row:
        return draw_topic(item, self.view, width, self.roles, chosen=chosen)

    def empty(self, width: int) -> list[Row]:
        return _note(self.view, width, self.roles)

    def text_of(self, item: TopicItem) -> str:
        return draw_topic(item, self.view, 100, self.roles).text

    def summarise(self) -> None:
        """Shows the sort order or match count beside the title; below, thresholds, filter and labels."""
        view, shown = self.view, len(self.items)
        beside = SORTED_BY[view.sorting] if shown else ""
        if view.query:
            beside = f"{count(shown)} of {count(view.number)}"
        below = [part for part in (self.threshold_line, view.query and f"/{view.query}") if part]
        if (total := view.total) is not None and shown:
            by = (("you", total.by_person), ("gate", total.by_gate), ("use", total.by_use))
            below += [plural(total.labelled, "label"), *(f"{word} {count(number)}" for word, number in by)]
        self.set_frame(beside, joined_within(below, self.size.width - 8))


BY: dict[str, str] = {"person": "you", "gate": "gate", "use": "use"}
"""Display names of labellers."""
SIGNS: dict[FlipKind, str] = {"fixed": "+", "lost": "−", "changed": "~"}
"""A sign per kind of flip, so that it is not shown by colour alone."""
_BRIEF = {"quiet": "–", "offered": "off", "asked": "ask", "active": "act"}
_WIDE = 84
_ROOMY = 56
LISTED = 200
"""Maximum rows; the total is always shown."""
_END = 1e-4
"""Distance from 0 and 1 at which log-odds end."""


@dataclass(frozen=True, slots=True)
class DecisionItem:
    row: int
    """Its row in the table."""
    id: str
    """SHA-256 of the message."""
    at: str
    """When the message arrived last, ISO 8601."""
    message: str
    score: float
    before: Outcome
    """The outcome with the current thresholds."""
    after: Outcome
    """The outcome with the moved thresholds."""
    kind: FlipKind | Literal[""] = ""
    """Empty if it does not flip."""
    useful: bool | None = None
    """Its label; ``None`` if unlabelled."""
    by: str = ""
    """Who labelled it."""
    saving: bool = False
    """The label is being saved and learned."""
    learned: tuple[float, float] | None = None
    """The scores before and after a label given here was learned."""


@dataclass(frozen=True, slots=True)
class Listing:
    items: tuple[DecisionItem, ...] = ()
    total: int = 0
    """Includes messages that are not listed."""
    flips: Flips | None = None
    """``None`` if no threshold is moved."""
    offers: bool = False
    """What is uncertain is offered to the agent."""


def decision_row(
    item: DecisionItem, width: int, roles: Roles, chosen: bool = False, offers: bool = False
) -> Row:
    """Draws a row of at most ``width`` cells: change, day, message, score, label."""
    row = Row()
    wide, roomy = width >= _WIDE, width >= _ROOMY
    if item.kind:
        tone = {"fixed": roles.active, "lost": roles.error, "changed": roles.gate}[item.kind]
        row.add(f"{SIGNS[item.kind]} ", tone)
        if roomy:
            row.fit(item.kind, 8, tone)
    else:
        row.add(f"{score(item.score):>4} ", roles.tier2)
    if item.learned is not None:
        row.add(f"{_moved(item.learned)} ", roles.accent)
    row.add(f"{day_of(item.at)} ", roles.muted)
    tail = _tail(item, wide, roomy, chosen, offers, roles)
    room = width - row.cells - tail.cells - 1
    text = first_line(item.message)
    row.add(clip(text, room), roles.strong if chosen else roles.normal)
    return row.to(width - tail.cells).extend(tail)


def _tail(item: DecisionItem, wide: bool, roomy: bool, chosen: bool, offers: bool, roles: Roles) -> Row:
    """Outcome, score and label, in columns."""
    row, before, after = Row(), outcome_text(item.before, offers), outcome_text(item.after, offers)
    if wide:
        row.fit(before, 7, roles.muted)
        row.add(" ▸ " if item.kind else "   ", roles.faint)
        row.fit(after if item.kind else "", 8, roles.normal)
    elif roomy:
        row.fit(f"{_BRIEF[before]}▸{_BRIEF[after]}" if item.kind else before, 9, roles.muted)
    if wide and item.kind:
        row.fit(score(item.score), 4, roles.tier2, "right").gap()
    text, style = label_text(item.useful, roles)
    row.fit("? y n" if chosen and item.useful is None else text, 7, style)
    if roomy:
        row.fit("…" if item.saving else BY.get(item.by, ""), 4, roles.faint)
    return row


def outcome_text(outcome: Outcome, offers: bool) -> str:
    """What becomes of a topic, in the words of the gate in use."""
    return outcome if offers or outcome != "offered" else "asked"


def _moved(scores: tuple[float, float]) -> str:
    return f"{score(scores[0])}▸{score(scores[1])}"


def label_text(useful: bool | None, roles: Roles) -> tuple[str, Style]:
    if useful is None:
        return "?", roles.gate
    return ("useful", roles.active) if useful else ("noise", roles.muted)


def decision_detail(
    topic: str, decision: Decision | None, item: DecisionItem, width: int, roles: Roles, offers: bool = False
) -> list[Row]:
    """The message in full, and what was decided about the topic when it was sent, if that was logged."""
    text, style = label_text(item.useful, roles)
    rows = [Row((topic, roles.strong), ("  ", roles.normal), (item.at[:19], roles.muted)), Row()]
    for line in visible_lines(item.message):
        rows.extend(wrap([(line, roles.normal)], width))
    rows.append(Row())
    label = "none" if item.useful is None else f"{text} · by {BY.get(item.by, item.by)}"
    outcome, after = outcome_text(item.before, offers), outcome_text(item.after, offers)
    if item.kind:
        outcome = f"{outcome} with the current thresholds, {after} with the moved ones"
    now = score(item.score) + (f" · by the label {_moved(item.learned)}" if item.learned is not None else "")
    lines: list[tuple[str, str, Style]] = [
        ("label", label, style),
        ("outcome", outcome, roles.normal),
        ("score", now, roles.tier2),
    ]  # fmt: skip
    if decision is not None:
        lines += _logged(decision, roles)
    for name, words, tone in lines:
        rows += labelled(name, words, width, 10, tone, tone=roles.faint)
    return rows


def _logged(decision: Decision, roles: Roles) -> list[tuple[str, str, Style]]:
    """What was logged of a decision."""
    marks = Thresholds(decision.gate_at, decision.activate_at)
    lines: list[tuple[str, str, Style]] = [
        ("decided", f"{decision.verdict} · {decision.rule}", roles.normal),
        ("then", f"score {score(decision.score)} · {thresholds_text(marks)}", roles.muted),
    ]
    if decision.hits:
        hits = ", ".join(f"{hit[1]} “{first_line(str(hit[2]))}”" for hit in decision.hits)
        lines.append(("tier 1", hits, roles.tier1 + Style(underline=False)))
    if decision.gate_answer:
        lines.append(("gate", _gate(decision), roles.gate))
    if decision.session_id:
        lines.append(("session", decision.session_id, roles.muted))
    lines.append(("id", decision.id, roles.muted))
    return lines


def _gate(decision: Decision) -> str:
    parts = [f"{decision.gate_answer} · {decision.gate_provider} {decision.gate_model}".rstrip()]
    if decision.gate_reason:
        parts.append(first_line(decision.gate_reason))
    parts.append("cached" if decision.cached else milliseconds(decision.latency_ms))
    parts.append(dollars(decision.cost_usd))
    return " · ".join(parts)


class DecisionsPanel(KeyedRows[DecisionItem], panel="decisions", number="3", words="messages"):
    """Flips, newest first; or the messages nearest to the thresholds, unlabelled ones first."""

    always_lit = True
    signs = (
        ("+", "fixed: the moved thresholds treat it more as its label says"),
        ("−", "lost: the moved thresholds treat it less as its label says"),
        ("~", "changed: unlabelled"),
        (".33▸.71", "the score before and after the label was learned"),
        ("?", "unlabelled"),
    )

    listing = Listing()
    threshold_line = ""
    _of = ""

    def show_listing(self, topic: str, listing: Listing, note: str = "", threshold_line: str = "") -> None:
        """Shows a new list; on the same topic the selection stays while its message is listed.

        Args:
            note: Why the list is empty.
            threshold_line: Topic and thresholds, if no other panel shows them.
        """
        from_top = topic != self._of or (self.listing.flips is None) is not (listing.flips is None)
        self.listing, self.threshold_line, self._of = listing, threshold_line, topic
        self.show_items(
            listing.items, lambda width, roles: wrap([(note, roles.muted)], width), note, from_top=from_top
        )
        self.summarise()

    def key(self, item: DecisionItem) -> str:
        return item.id

    def row(self, item: DecisionItem, width: int, chosen: bool) -> Row:
        return decision_row(item, width, self.roles, chosen, self.listing.offers)

    def summarise(self) -> None:
        """Shows the counts by kind beside the title; below, thresholds, and how many are shown if not all."""
        listing, shown = self.listing, len(self.items)
        flips = listing.flips
        if flips is not None:
            beside = f"{count(listing.total)} flip"
            kinds = [(number, kind) for kind in SIGNS if (number := getattr(flips, kind))]
            if listing.total:
                words = ", ".join(f"{count(number)} {kind}" for number, kind in kinds)
                signs = " ".join(f"{SIGNS[kind]}{count(number)}" for number, kind in kinds)
                room = self.size.width - len(self.words) - len(beside) - 8
                beside += f": {words if len(words) <= room else signs}"
        else:
            beside = "most uncertain first" if shown else ""
        parts = [self.threshold_line] if self.threshold_line else []
        parts += [f"{count(shown)} of {count(listing.total)} shown"] if shown < listing.total else []
        self.set_frame(beside, joined_within(parts, self.size.width - 4))

    def text_of(self, item: DecisionItem) -> str:
        return f"{item.at} {item.id} {label_text(item.useful, self.roles)[0]} {item.score:.4f} {item.message}"


Labels = Mapping[tuple[str, str], bool]
"""Labels being saved, by topic and message."""
Moves = Mapping[tuple[str, str], tuple[float, float]]
"""The scores before and after a label was learned, likewise."""


def flipped(table: MessageTable, topic: str, flips: Flips, saving: Labels, learned: Moves) -> Listing:
    items = tuple(
        _decision_item(table, topic, flip.row, flip.before, flip.after, flip.kind, saving, learned)
        for flip in flips.rows
    )
    return Listing(items, flips.total, flips)


def nearest(
    table: MessageTable,
    topic: str,
    thresholds: Thresholds,
    saving: Labels,
    learned: Moves,
    *,
    limit: int = LISTED,
) -> Listing:
    """The messages that thresholds settle: unlabelled ones first; of them those from the lower threshold on,
    the nearest to the upper one in log-odds first, then those below it, the nearest first.
    """
    import numpy as np  # noqa: PLC0415 — only this screen needs it

    from engine.activation.tuning.table import OUTCOMES  # noqa: PLC0415 — likewise

    column = table.columns[topic]
    rows = np.flatnonzero(~table.fixed(topic))

    def logit(scores: object) -> object:
        inside = np.clip(np.asarray(scores, dtype=np.float64), _END, 1 - _END)
        return np.log(inside / (1 - inside))

    marks = [mark for mark in (thresholds.gate, thresholds.activate) if mark is not None] or [1.0]
    scores = table.scores[rows, column]
    is_below = scores < marks[0]
    far = np.abs(logit(scores) - logit(np.where(is_below, marks[0], marks[-1])))  # type: ignore[operator]
    order = rows[np.lexsort((-rows, far, is_below, table.labels[rows, column] >= 0))[:limit]]
    outcomes = table.outcomes(topic, thresholds)
    items = tuple(
        _decision_item(table, topic, row, (outcome := OUTCOMES[outcomes[row]]), outcome, "", saving, learned)
        for row in order.tolist()
    )
    return Listing(items, len(rows))


def with_current_labels(
    table: MessageTable,
    topic: str,
    listing: Listing,
    saving: Labels,
    learned: Moves,
    flips: Flips | None = None,
) -> Listing:
    """The same messages in the same order, with their current labels and scores.

    Args:
        flips: The flips under the current labels, if labels have changed.
    """
    rows = {message.hash: row for row, message in enumerate(table.messages)}
    kinds = {flip.row: flip.kind for flip in flips.rows} if flips is not None else {}
    items = tuple(
        _decision_item(
            table, topic, row, item.before, item.after, kinds.get(row, item.kind), saving, learned
        )
        for item in listing.items
        if (row := rows.get(item.id, -1)) >= 0
    )  # fmt: skip
    return Listing(items, listing.total, flips or listing.flips)


def _decision_item(
    table: MessageTable,
    topic: str,
    row: int,
    before: Outcome,
    after: Outcome,
    kind: FlipKind | Literal[""],
    saving: Labels,
    learned: Moves,
) -> DecisionItem:
    message, column = table.messages[row], table.columns[topic]
    label = int(table.labels[row, column])
    useful = None if label < 0 else label == 1
    by = LABELLERS[int(table.labellers[row, column])]
    pending = saving.get((topic, message.hash))
    if pending is not None:
        useful, by = pending, "person"
    return DecisionItem(
        row,
        message.hash,
        message.at,
        message.text,
        float(table.scores[row, column]),
        before,
        after,
        kind,
        useful,
        by,
        pending is not None,
        learned.get((topic, message.hash)),
    )
