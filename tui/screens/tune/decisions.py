"""Panel 3 of the tune screen: the messages that flip or are worth labelling, and a message's details."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.style import Style

from engine.activation.decisions import LABELLERS
from engine.activation.policy import Thresholds
from tui.kit.rows import KeyedRows
from tui.render.draw import Row, clip, joined_within, labelled, wrap
from tui.render.figures import count, day_of, dollars, milliseconds, score
from tui.render.roles import Roles
from tui.render.safe import first_line, visible_lines
from tui.screens.tune.thresholds import thresholds_text

if TYPE_CHECKING:
    from engine.activation.decisions import Decision
    from engine.activation.tuning.replay import FlipKind, Flips
    from engine.activation.tuning.table import MessageTable, Outcome

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


class DecisionsPanel(KeyedRows[DecisionItem]):
    """Flips, newest first; or the messages nearest to the thresholds, unlabelled ones first."""

    name_of = "decisions"
    number = "3"
    words = "messages"
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
        """Shows the counts by kind beside the title; below, how many are shown if not all, and keys."""
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
        parts = [f"{count(shown)} of {count(listing.total)} shown"] if shown < listing.total else []
        if shown:
            parts += ["y useful", "n noise", "o open"]
        if self.threshold_line:
            parts.insert(0, self.threshold_line)
        self.set_frame(beside, joined_within(parts, self.size.width - 4))

    def text_of(self, item: DecisionItem) -> str:
        return f"{item.at} {item.id} {label_text(item.useful, self.roles)[0]} {item.score:.4f} {item.message}"


Labels = Mapping[tuple[str, str], bool]
"""Labels being saved, by topic and message."""
Moves = Mapping[tuple[str, str], tuple[float, float]]
"""The scores before and after a label was learned, likewise."""


def flipped(table: MessageTable, topic: str, flips: Flips, saving: Labels, learned: Moves) -> Listing:
    items = tuple(
        _item(table, topic, flip.row, flip.before, flip.after, flip.kind, saving, learned)
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
        _item(table, topic, row, (outcome := OUTCOMES[outcomes[row]]), outcome, "", saving, learned)
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
        _item(
            table, topic, row, item.before, item.after, kinds.get(row, item.kind), saving, learned
        )
        for item in listing.items
        if (row := rows.get(item.id, -1)) >= 0
    )  # fmt: skip
    return Listing(items, listing.total, flips or listing.flips)


def _item(
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
