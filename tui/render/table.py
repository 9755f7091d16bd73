"""The table of topics: its rows, column widths and cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from engine.activation.policy import NOT_ASKED
from engine.activation.trace import GateAnswer, TopicTrace, Trace, Verdict
from tui.render.draw import Row, bar, clip
from tui.render.evidence import unit
from tui.render.figures import count, milliseconds, score
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from tui.kit.messages import Learned

SIGNS: dict[Verdict, str] = {
    "active": "●",
    "offered": "◐",
    "dropped": "○",
    "rejected": "✗",
    "failed": "!",
    "manual": "◌",
    "off": "◌",
}
"""A sign per verdict, so that it does not depend on colour."""

ANSWERS: dict[GateAnswer, str] = {"yes": "YES", "no": "no", "offered": "offered", "failed": "failed"}

NEAR_MISSES = 3
"""Topics without a hit shown before the fold."""

MARK = "▌"
_ROOM_FOR_BEFORE = 12
_SCALES = (0.25, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Table:
    rows: tuple[TopicTrace, ...] = ()
    """The visible, selectable rows."""
    hidden: int = 0
    """The number of folded rows."""
    below_threshold: bool = True
    """Whether all hidden rows scored below their threshold."""
    selected: int = 0
    """Index into ``rows``."""
    query: str = ""
    learned: Mapping[str, Learned] = field(default_factory=dict)
    """The labels given to topics for the message."""


def tabulate(
    trace: Trace | None,
    *,
    query: str = "",
    unfolded: bool = False,
    selected: int = 0,
    near: int = NEAR_MISSES,
) -> Table:
    """Chooses the rows: those with hits (negated, too), asked or active, ``near`` misses, and the rest if
    unfolded.
    """
    rows = trace.rows if trace is not None else ()
    if query:
        rows = tuple(row for row in rows if query.casefold() in row.topic.casefold())
    shown: list[TopicTrace] = []
    hidden: list[TopicTrace] = []
    for row in rows:
        reached = row.gate or row.verdict in ("active", "failed") or row.rule.startswith(NOT_ASKED)
        kept = bool(query or unfolded or row.hits or row.ignored or reached)
        if not kept and row.score > 0 and near > 0:
            near -= 1
            kept = True
        (shown if kept else hidden).append(row)
    return Table(
        rows=tuple(shown),
        hidden=len(hidden),
        below_threshold=all(row.verdict == "dropped" for row in hidden),
        selected=max(0, min(selected, len(shown) - 1)),
        query=query,
    )


@dataclass(frozen=True, slots=True)
class Columns:
    """Column widths in cells (0 leaves a column out), and the gauge's maximum and name."""

    name: int
    words: int
    bar: int
    rule: int
    gate: int
    scale: float
    unit: str = "cos"


def plan_columns(width: int, table: Table, trace: Trace) -> Columns:
    """Computes the column widths; the gauge gets the remaining space."""
    values = [row.score for row in trace.rows] + [
        threshold
        for row in trace.rows
        for threshold in (row.activate_at, row.gate_at)
        if threshold is not None and threshold <= 1
    ]
    top, kind = max(values, default=1.0), unit(trace)
    # Probabilities keep their scale, so that a threshold is at the same place for every message.
    scale = 1.0 if kind == "p" else next((scale for scale in _SCALES if top <= scale * 0.95), 1.0)
    longest = max((len(row.topic) for row in table.rows), default=5)
    inner = width - 3
    if width < 56:
        name = max(8, min(longest, 20, inner - 15))
        gauge = inner - name - 16
        return Columns(name, 0, gauge if gauge >= 8 else 0, 0, 4, scale, kind)
    wide = width >= 110
    name = max(8, min(longest, 28 if wide else 18))
    hits = max((cell_len(hit_words(row)) for row in table.rows), default=0)
    rules = max((cell_len(row.rule) for row in table.rows), default=0)
    words = 28 if wide else max(7, min(hits, 14))
    rule = max(8, min(rules, 20 if wide else 14))
    gate = 18 if wide else 7
    gauge = inner - name - words - rule - gate - 11
    if gauge < 10:
        gauge, rule = gauge + rule + 1, 0
    if wide:
        words, gauge = words + max(0, gauge - 48), min(48, gauge)
    return Columns(name, words, max(6, gauge), rule, gate, scale, kind)


def heading(plan: Columns, roles: Roles) -> Row:
    row = Row().gap(3)
    axis = f"{plan.unit} 0–{score(plan.scale).removesuffix('.0')}"
    if plan.bar >= len(axis) + 8:
        axis = f"tier 2  {axis}"
    if not plan.words:
        row.fit("topic", plan.name, roles.faint).gap().fit("hit", 3, roles.faint).gap()
        if plan.bar:
            row.fit(axis, plan.bar, roles.faint).gap()
        row.fit("" if plan.bar else plan.unit, 4, roles.faint).gap(2)
        return row.fit("gate", plan.gate, roles.faint)
    row.fit("topic", plan.name, roles.faint).gap(2).fit("tier 1", plan.words, roles.faint).gap()
    row.fit(axis, plan.bar, roles.faint).gap().fit("", 4).gap(2)
    if plan.rule:
        row.fit("rule", plan.rule, roles.faint).gap()
    return row.fit("gate", plan.gate, roles.faint)


def body(
    table: Table, top: int, size: int, plan: Columns, roles: Roles, focused: bool
) -> tuple[list[Row], int, int]:
    """The visible rows, the index of the first, and their number."""
    if not table.rows:
        return [Row().gap(3).add("no topic matches", roles.muted)], 0, 0
    note = 1 if table.hidden or size < len(table.rows) else 0
    number = max(1, min(len(table.rows), size - note))
    top = max(0, min(top, len(table.rows) - number))
    top = min(max(top, table.selected - number + 1), table.selected)
    mark = roles.accent if focused else roles.faint
    lines = [
        topic_row(
            row,
            plan,
            roles,
            query=table.query,
            mark=mark if top + at == table.selected else None,
            learned=table.learned.get(row.topic),
        )
        for at, row in enumerate(table.rows[top : top + number])
    ]
    below = len(table.rows) - top - number
    if note and len(lines) < size:
        lines.append(Row().gap(3).add(_more(table, below), roles.faint))
    return lines, top, number


def _more(table: Table, below: int) -> str:
    if below and table.hidden:
        return f"{count(below + table.hidden)} more below"
    if below:
        return f"{count(below)} more below, {count(len(table.rows))} in total"
    if not table.hidden:
        return f"the last of {count(len(table.rows))}"
    return f"{count(table.hidden)} more " + (
        "below their threshold" if table.below_threshold else "that are not active"
    )


def topic_row(
    row: TopicTrace,
    plan: Columns,
    roles: Roles,
    *,
    query: str = "",
    mark: Style | None = None,
    learned: Learned | None = None,
) -> Row:
    """One topic: verdict, name, tier 1 hits, tier 2 gauge with thresholds, rule, gate.

    Args:
        mark: The style of the selection mark; ``None`` if the row is not selected.
        learned: The label given here and the score before it, if there is one.
    """
    live, chosen = row.active, mark is not None
    tone = verdict_style(row.verdict, roles)
    useful, was = (None, None) if learned is None else (learned.useful, learned.before)
    line = Row((MARK if chosen else " ", mark or roles.accent))
    if useful is None:
        line.add(f"{SIGNS[row.verdict]} ", tone)
    else:
        line.add(SIGNS[row.verdict], tone).add("+" if useful else "−", roles.accent)
    name = clip(row.topic, plan.name)
    plain = roles.strong if chosen else roles.normal if live or row.hits else roles.muted
    line.add_found(name, query, plain, roles.accent + Style(underline=True))
    line.to(3 + plan.name)
    thresholds = [
        (threshold / plan.scale, style)
        for threshold, style in ((row.gate_at, roles.gate), (row.activate_at, roles.active))
        if threshold is not None and 0 < threshold <= plan.scale
    ]
    fill = roles.tier2 if live or row.gate is not None else roles.dropped
    before = f"{score(was)}▸" if was is not None and plan.bar >= _ROOM_FOR_BEFORE else ""
    room = plan.bar - len(before) - 1 if before else plan.bar
    gauge = bar(row.score / plan.scale, room, fill, roles.line, thresholds)
    if before:
        gauge.gap().add(before, roles.accent)
    if not plan.words:
        line.gap().fit(f"✓{len(row.hits)}" if row.hits else "–", 3, roles.tier1 if row.hits else roles.faint)
        if plan.bar:
            line.gap().extend(gauge)
        line.gap().fit(score(row.score), 4, roles.normal if live else roles.muted, "right")
        return line.gap(2).fit(gate_word(row, brief=True, tiny=True), plan.gate, gate_style(row, roles))
    line.gap(2).fit(hit_words(row), plan.words, roles.tier1 if row.hits else roles.faint)
    line.gap().extend(gauge).gap().fit(score(row.score), 4, roles.normal if live else roles.muted, "right")
    line.gap(2)
    if plan.rule:
        line.fit(row.rule or "–", plan.rule, roles.muted if live else roles.dropped).gap()
    return line.fit(gate_word(row, brief=plan.gate < 12), plan.gate, gate_style(row, roles))


def hit_words(row: TopicTrace) -> str:
    """``✓ review, PR``: the distinct texts tier 1 matched; ``not review`` if the message negates them."""
    words = ", ".join(dict.fromkeys(first_line(hit.matched) or hit.type for hit in row.hits or row.ignored))
    if not row.hits:
        return f"not {words}" if words else "–"
    return f"✓ {words}"


def gate_word(row: TopicTrace, *, brief: bool, tiny: bool = False) -> str:
    """``YES .91``, ``no``, ``failed``, or a dash if the gate was not asked."""
    if row.gate is None:
        return "–"
    short = {"failed": "fail", "offered": "offer"} if brief or tiny else {}
    word = short.get(row.gate.answer, ANSWERS[row.gate.answer])
    if row.gate.answer == "offered":
        return word
    chance = f" {score(row.gate.probability)}" if row.gate.probability is not None and not tiny else ""
    if brief or tiny:
        return f"{word}{chance}"
    return f"{word}{chance} · " + ("remembered" if row.gate.cached else milliseconds(row.gate.latency_ms))


def gate_style(row: TopicTrace, roles: Roles) -> Style:
    return roles.faint if row.gate is None else answer_style(row.gate.answer, roles)


def answer_style(answer: GateAnswer, roles: Roles) -> Style:
    return {"yes": roles.active, "failed": roles.error}.get(answer, roles.gate)


def verdict_style(verdict: Verdict, roles: Roles) -> Style:
    tones = {"active": roles.active, "failed": roles.error, "offered": roles.gate, "rejected": roles.gate}
    return tones.get(verdict, roles.dropped)
