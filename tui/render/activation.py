"""The activation panel: the message with its hits, the funnel, the table of topics, and the explanation."""

from __future__ import annotations

from dataclasses import dataclass

from engine.activation.trace import Trace
from tui.render.draw import Row, clip, wrap
from tui.render.explain import Form, explain
from tui.render.figures import count, dollars, milliseconds
from tui.render.message import message_rows
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.shown import Shown
from tui.render.table import Table, body, heading, plan_columns


@dataclass(frozen=True, slots=True)
class Drawn:
    """The panel's lines; ``count`` rows of the table, from row ``top`` on, start at line ``first``."""

    lines: tuple[Row, ...]
    chosen: int = -1
    first: int = 0
    top: int = 0
    count: int = 0


def draw_activation(
    shown: Shown,
    table: Table,
    top: int,
    width: int,
    height: int,
    roles: Roles,
    *,
    focused: bool = True,
    imported: bool = True,
) -> Drawn:
    """Draws the panel in ``height`` lines of ``width`` cells.

    The explanation gets the lines that head and table leave, at least a third, in its longest form that fits.

    Args:
        top: The first row visible last time, so that the table scrolls as little as possible.
        focused: Whether the panel has the focus, shown by the selection mark.
        imported: Whether there are any conversations.
    """
    roomy = height >= 16
    lines = _head(shown, table, width, 3 if height >= 24 else 1, roles)
    if shown.trace is None or not shown.trace.rows:
        lines.extend([Row(), *_no_table(shown, width, roles, imported=imported)])
        return Drawn(tuple(lines[:height]))
    if roomy:
        lines.append(Row())
    plan = plan_columns(width, table, shown.trace)
    lines.append(heading(plan, roles))
    row = table.rows[table.selected] if table.rows else None
    spare = 1 if roomy else 0
    room = height - len(lines) - spare
    wanted = len(table.rows) + (1 if table.hidden or not table.rows else 0)
    why: list[Row] = []
    forms: tuple[Form, ...] = ("full", "close", "brief") if roomy else ("briefest",)
    for form in forms:
        why = explain(shown, row, width, roles, form) if row is not None else []
        if len(why) + wanted <= room:
            break
    size = max(1, min(wanted, room - min(len(why), room // 3 if roomy else (room + 3) // 3)))
    rows, drawn_top, number = body(table, top, size, plan, roles, focused)
    first = len(lines)
    lines.extend(rows)
    if spare:
        lines.append(Row())
    left = height - len(lines)
    if len(why) > left > 0:
        hint = Row(("enter shows all", roles.faint))
        why = [*why[: left - 1], why[left - 1].cut(width - hint.cells - 2).right(hint, width)]
    lines.extend(why[: max(left, 0)])
    chosen = first + table.selected - drawn_top if table.rows else -1
    return Drawn(tuple(lines[:height]), chosen, first, drawn_top, number)


def _head(shown: Shown, table: Table, width: int, limit: int, roles: Roles) -> list[Row]:
    lines = message_rows(shown, table, width, limit, roles)
    if shown.trace is not None:
        lines.append(funnel_row(shown.trace, width, roles))
        for correction in shown.trace.corrections:
            lines.append(
                Row(("steer ", roles.error), (f"{correction.topic}: ", roles.muted)).add(
                    clip(first_line(correction.hint), width - 8 - len(correction.topic)), roles.normal
                )
            )
    return lines


def funnel_row(trace: Trace, width: int, roles: Roles) -> Row:
    """``42 topics ▸ 5 tier 1 ▸ 3 scored ▸ 1 asked ▸ 2 active   1.5 ms + gate 210 ms · $0.0002``."""
    funnel = trace.funnel
    steps = [
        (funnel.topics, "topic" if funnel.topics == 1 else "topics", roles.muted),
        (funnel.tier1, "tier 1" if width >= 56 else "hit", roles.tier1),
        (funnel.tier2, "scored", roles.tier2),
        (funnel.asked, "asked", roles.gate),
        (funnel.active, "active", roles.active),
    ]
    if trace.offered:
        steps.append((len(trace.offered), "offered", roles.gate))
    worded = sum(len(f"{count(value)} {word}") + 3 for value, word, _ in steps) - 3 <= width
    row = Row()
    for number, (value, word, style) in enumerate(steps):
        if number:
            row.add(" ▸ ", roles.faint)
        named = worded or word in ("active", "offered")
        row.add(f"{count(value)} {word}" if named else count(value), style if value else roles.dropped)
    local = trace.tier1_ms + trace.tier2_ms
    time = milliseconds(local + trace.gate_ms)
    cost = f" · {dollars(trace.cost_usd)}"
    full = f"{milliseconds(local)} + gate {milliseconds(trace.gate_ms)}{cost}" if trace.funnel.asked else ""
    for figures in filter(None, (full, f"{time}{cost}", time)):
        if row.cells + 3 + len(figures) <= width:
            return row.right(Row((figures, roles.muted)), width)
    return row


def _no_table(shown: Shown, width: int, roles: Roles, *, imported: bool) -> list[Row]:
    if shown.problem:
        return wrap([("! ", roles.error), (shown.problem, roles.error)], width, indent=2)
    if shown.pending:
        return [Row(("scoring …", roles.faint))]
    if shown.source == "nothing":
        return [
            Row(("nothing selected", roles.normal)),
            Row(),
            *wrap([("Select a message in the feed, or press i to try one.", roles.muted)], width),
        ]
    if shown.trace is not None:
        return wrap([("No topics yet. A topic is a file with triggers in topics/.", roles.muted)], width)
    if not imported:
        return wrap(
            [
                ("Nothing imported yet: ", roles.muted),
                (":import", roles.accent),
                (" takes in your agents' sessions.", roles.muted),
            ],
            width,
        )
    return wrap([("Not a message, so nothing was scored.", roles.muted)], width)
