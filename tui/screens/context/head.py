"""The lines above a section's text: its size, slot, layer and reason."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from engine.context.compiled import LAYERS, LeftOut, Section
from tui.render.budget import place
from tui.render.draw import Piece, Row, labelled
from tui.render.figures import count, score
from tui.render.roles import Roles
from tui.render.safe import first_line

_LABEL = 8


def section_head(section: Section, budget: int, width: int, roles: Roles, *, lines: int = 4) -> list[Row]:
    """At most ``lines`` rows, followed by a separator."""
    percent = round(100 * section.tokens / budget) if budget else 0
    first = Row((f"{count(section.tokens)} tok", roles.strong), (f" {percent} %", roles.muted))
    parts = [(f"P{section.priority} {section.slot}", roles.slot(section.priority))]
    if section.score is not None:
        parts.append((f"score {score(section.score)}", roles.tier2))
    parts.append((f"layer {section.layer} {LAYERS.get(section.layer, '')}", roles.muted))
    add_parts(first, parts, width, roles)
    rows = [first, *labelled("why ", first_line(section.why), width, 4, roles.normal, tone=roles.faint)]
    return [*rows[:lines], Row(("─" * width, roles.line))]


def add_parts(row: Row, parts: Sequence[Piece], width: int, roles: Roles) -> None:
    """Adds the parts that fit in ``width`` cells, separated by dots."""
    for text, style in parts:
        if row.cells + 3 + cell_len(text) <= width:
            row.add(" · ", roles.faint).add(text, style)


def title_of(section: Section) -> str:
    """A section's source; its label if it does not come from a file."""
    return place(section.source, section.lines) or first_line(section.label)


def left_out_detail(entry: LeftOut, width: int, roles: Roles) -> list[Row]:
    """All fields of a left-out entry."""
    rows = [Row((first_line(entry.label), roles.strong)), Row()]
    facts = [
        ("reason", first_line(entry.reason)),
        ("source", place(entry.source, entry.lines)),
        ("tokens", count(entry.tokens)),
        ("budget", f"P{entry.priority} {entry.slot}"),
        ("score", "" if entry.score is None else f"{entry.score:.4f}"),
        ("hint", _HINTS[entry.limit]),
    ]
    for name, words in facts:
        if words:
            rows += labelled(name, words, width, _LABEL, roles.normal, tone=roles.faint)
    return rows


_HINTS = {
    "room": "increase context_compiler.token_budget to include it",
    "cap": "increase the cap to include it; the reason names the setting",
    "": "",
}
