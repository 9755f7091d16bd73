"""Panel 3 of the tune screen: the decisions that flip or are worth labelling, and a decision's details."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.style import Style

from tui.kit.keyed_rows import KeyedRows
from tui.render.draw import Row, clip, joined_within, labelled, wrap
from tui.render.figures import count, day_of, dollars, milliseconds, score
from tui.render.roles import Roles
from tui.render.safe import first_line, visible_lines
from tui.screens.tune.thresholds import threshold_text

if TYPE_CHECKING:
    from engine.activation.decision import Decision
    from engine.activation.tuning.replay import FlipKind, Flips, Outcome

BY: dict[str, str] = {"person": "you", "gate": "gate", "use": "use"}
"""Display names of labellers."""
SIGNS: dict[FlipKind, str] = {"fixed": "+", "lost": "−", "changed": "~"}
"""A sign per kind of flip, so that it is not shown by colour alone."""
_BRIEF: dict[Outcome, str] = {"dropped": "drop", "asked": "ask", "active": "act"}
_WIDE = 84
_ROOMY = 56


@dataclass(frozen=True, slots=True)
class DecisionItem:
    index: int
    """Its row in the table."""
    id: str
    at: str
    """When the message arrived, ISO 8601."""
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
    """The label is being saved."""


@dataclass(frozen=True, slots=True)
class Listing:
    items: tuple[DecisionItem, ...] = ()
    total: int = 0
    """Includes decisions that are not listed."""
    flips: Flips | None = None
    """``None`` if no threshold is moved."""


def decision_row(item: DecisionItem, width: int, roles: Roles, chosen: bool = False) -> Row:
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
    row.add(f"{day_of(item.at)} ", roles.muted)
    tail = _tail(item, wide, roomy, chosen, roles)
    room = width - row.cells - tail.cells - 1
    text = first_line(item.message)
    row.add(clip(text, room), roles.strong if chosen else roles.normal)
    return row.to(width - tail.cells).extend(tail)


def _tail(item: DecisionItem, wide: bool, roomy: bool, chosen: bool, roles: Roles) -> Row:
    """Outcome, score and label, in columns."""
    row = Row()
    if wide:
        row.fit(item.before, 7, roles.muted)
        row.add(" ▸ " if item.kind else "   ", roles.faint)
        row.fit(item.after if item.kind else "", 8, roles.normal)
    elif roomy:
        row.fit(f"{_BRIEF[item.before]}▸{_BRIEF[item.after]}" if item.kind else item.before, 9, roles.muted)
    if wide and item.kind:
        row.fit(score(item.score), 4, roles.tier2, "right").gap()
    text, style = label_text(item.useful, roles)
    row.fit("? y n" if chosen and item.useful is None else text, 7, style)
    if roomy:
        row.fit("…" if item.saving else BY.get(item.by, ""), 4, roles.faint)
    return row


def label_text(useful: bool | None, roles: Roles) -> tuple[str, Style]:
    if useful is None:
        return "?", roles.gate
    return ("useful", roles.active) if useful else ("noise", roles.muted)


def decision_detail(decision: Decision, item: DecisionItem, width: int, roles: Roles) -> list[Row]:
    text, style = label_text(item.useful, roles)
    rows = [Row((decision.topic, roles.strong), ("  ", roles.normal), (decision.at[:19], roles.muted)), Row()]
    for line in visible_lines(decision.message):
        rows.extend(wrap([(line, roles.normal)], width))
    rows.append(Row())
    label = "none" if item.useful is None else f"{text} · by {BY.get(item.by, item.by)}"
    outcome = (
        item.before
        if not item.kind
        else f"{item.before} with the current thresholds, {item.after} with the moved ones"
    )
    lines: list[tuple[str, str, Style]] = [
        ("label", label, style),
        ("thresholds", outcome, roles.normal),
        ("score", f"{score(item.score)} · thresholds at the time: gate {threshold_text(decision.gate_at)}, "
                  f"active {threshold_text(decision.activate_at)}", roles.normal),
        ("decided", f"{decision.verdict} · {decision.rule}", roles.normal),
    ]  # fmt: skip
    if decision.hits:
        hits = ", ".join(f"{hit[1]} “{first_line(str(hit[2]))}”" for hit in decision.hits)
        lines.append(("tier 1", hits, roles.tier1 + Style(underline=False)))
    if decision.scores:
        scores = " · ".join(f"{name} {_number(value)}" for name, value in decision.scores.items())
        lines.append(("tier 2", scores, roles.tier2))
    if decision.gate_answer:
        lines.append(("gate", _gate(decision), roles.gate))
    if decision.session_id:
        lines.append(("session", decision.session_id, roles.muted))
    lines.append(("id", decision.id, roles.muted))
    for name, words, tone in lines:
        rows += labelled(name, words, width, 10, tone, tone=roles.faint)
    return rows


def _number(value: object) -> str:
    return score(value) if isinstance(value, int | float) and 0 <= value <= 1 else str(value)


def _gate(decision: Decision) -> str:
    parts = [f"{decision.gate_answer} · {decision.gate_provider} {decision.gate_model}".rstrip()]
    if decision.gate_reason:
        parts.append(first_line(decision.gate_reason))
    parts.append("cached" if decision.cached else milliseconds(decision.latency_ms))
    parts.append(dollars(decision.cost_usd))
    return " · ".join(parts)


class DecisionsPanel(KeyedRows[DecisionItem]):
    """Flips, newest first; or the decisions nearest to the thresholds, unlabelled ones first."""

    name_of = "decisions"
    number = "3"
    words = "decisions"
    always_lit = True
    signs = (
        ("+", "fixed: wrong with the current thresholds, right with the moved ones"),
        ("−", "lost: right with the current thresholds, wrong with the moved ones"),
        ("~", "changed: unlabelled, or neither better nor worse"),
        ("?", "unlabelled"),
    )

    listing = Listing()
    threshold_line = ""
    _of = ""

    def show_listing(self, topic: str, listing: Listing, note: str = "", threshold_line: str = "") -> None:
        """Shows a new list; on the same topic the selection stays while its decision is listed.

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
        return decision_row(item, width, self.roles, chosen)

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
            beside = "nearest the thresholds" if shown else ""
        parts = [f"{count(shown)} of {count(listing.total)} shown"] if shown < listing.total else []
        if shown:
            parts += ["y useful", "n noise", "o open"]
        if self.threshold_line:
            parts.insert(0, self.threshold_line)
        self.set_frame(beside, joined_within(parts, self.size.width - 4))

    def selected_text(self) -> str:
        item = self.selected
        if item is None:
            return ""
        return f"{item.at} {item.id} {label_text(item.useful, self.roles)[0]} {item.score:.4f} {item.message}"
