"""A topic's score: its position between the thresholds, the contribution of each signal, and raw values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log

from rich.cells import cell_len
from rich.style import Style

from engine.activation.numbers import format_score, format_threshold, format_weight
from engine.activation.trace import TopicTrace, Trace
from tui.render.draw import FILL, TICK, Row, bar
from tui.render.roles import Roles
from tui.render.safe import first_line

PROBABILITY = "probability"
"""The name of the deciding signal if tier 2 is calibrated."""

_NAME = 12
_LONGEST = 64
_GAUGE = 8
_RELEVANT = 0.05


def unit(trace: Trace | None) -> str:
    """The deciding score's column name: ``p`` for a probability, ``cos`` for a similarity."""
    return "p" if trace is not None and trace.deciding == PROBABILITY else "cos"


def score_scale(row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    """The score as a gauge from 0 to 1 with both thresholds, and the meaning of each zone below."""
    thresholds = [threshold for threshold in (row.gate_at, row.activate_at) if threshold is not None]
    number = format_score(row.score, *thresholds)
    size = max(12, min(_LONGEST, width - len(number) - 2))
    marks = [
        (threshold, style)
        for threshold, style in ((row.gate_at, roles.gate), (row.activate_at, roles.active))
        if threshold is not None and 0 < threshold <= 1
    ]
    gauge = bar(row.score, size, roles.tier2, roles.line, marks).gap(2).add(number, roles.strong)
    names = Row()
    zones = [*_zones(row, size, roles), (width, "", "", roles.faint)]
    for (at, mark, word, style), (end, *_rest) in pairwise(zones):
        words = (f"{mark} {word}".strip(), mark) if mark else (word,)
        names.to(at).add(next((each for each in words if at + len(each) < end), ""), style)
    return [gauge, names]


def _zones(row: TopicTrace, size: int, roles: Roles) -> list[tuple[int, str, str, Style]]:
    """The zones of the scale: start cell, threshold, name, style."""
    gate, active = row.gate_at, row.activate_at
    if gate is not None and active is not None and gate >= active:
        gate = None
    zones = []
    if min((threshold for threshold in (gate, active) if threshold is not None), default=1) > 0:
        zones.append((0, "", "dropped", roles.dropped))
    if gate is not None:
        zones.append((min(size - 1, int(gate * size)), format_threshold(gate), "asked", roles.gate))
    if active is not None:
        zones.append((min(size - 1, int(active * size)), format_threshold(active), "active", roles.active))
    return zones


def rest(row: TopicTrace) -> float | None:
    """What the contributions lack of the log-odds of a topic's score: those too small to be listed, and
    rounding. ``None`` if there are no contributions, or the score was rounded to 0 or 1.
    """
    if not row.contributions or not 0 < row.score < 1:
        return None
    return log(row.score / (1 - row.score)) - sum(each.weight for each in row.contributions)


def signal_table(row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    """A line per signal with its contribution to the log-odds, and their sum."""
    weights = {each.signal: each.weight for each in row.contributions}
    if not weights:
        return []
    column = max([min(_NAME, cell_len(first_line(name))) for name in weights] + [6])
    size = max(8, min(width, _LONGEST) - column - 10)
    rows = [Row().gap(column).fit("log-odds", 9, roles.faint, "right")]
    for name, weight in weights.items():
        line = Row().fit(first_line(name), column, _tone(name, 1, roles)).gap(2)
        line.fit(format_weight(weight, 2), 6, roles.normal, "right").gap(2)
        rows.append(
            line.extend(_signed_bar(weight, list(weights.values()), size, _tone(name, weight, roles), roles))
        )
    left = rest(row)
    if left is not None:
        for name, number in (("rest", left), ("sum", left + sum(weights.values()))):
            if name == "sum" or abs(number) >= _RELEVANT:
                line = Row().fit(name, column, roles.faint).gap(2)
                rows.append(line.fit(format_weight(number, 2), 6, roles.normal, "right"))
    return rows


def _signed_bar(weight: float, all_weights: Sequence[float], width: int, style: Style, roles: Roles) -> Row:
    """A bar to the right of an axis if positive, to the left if negative."""
    low, high = max(0.0, -min(all_weights)), max(0.0, max(all_weights))
    left = round((width - 1) * low / (low + high)) if low + high > 0 else 0
    left = max(min(left, width - 3 if high else width - 1), 2 if low else 0)
    right = width - 1 - left
    room = min([cells / extent for cells, extent in ((left, low), (right, high)) if extent > 0], default=0.0)
    cells = max(1, int(abs(weight) * room)) if weight else 0
    row = Row()
    if weight < 0:
        return row.gap(left - cells).add(FILL * cells, style).add(TICK, roles.faint)
    return row.gap(left).add(TICK, roles.faint).add(FILL * cells, style)


def for_and_against(row: TopicTrace, width: int, roles: Roles) -> list[tuple[str, list[Row]]]:
    """The contributions for the topic, then those against it, each with a small bar."""
    relevant = [each for each in row.contributions if abs(each.weight) >= _RELEVANT]
    highest = max((abs(each.weight) for each in relevant), default=0.0)
    blocks = []
    for label, sign in (("for", 1), ("against", -1)):
        cells = []
        for each in relevant:
            if each.weight * sign > 0:
                tone = _tone(each.signal, each.weight, roles)
                length = max(1, round(abs(each.weight) / highest * _GAUGE))
                cell = Row(
                    (f"{first_line(each.signal)} ", roles.muted), (format_weight(each.weight), roles.normal)
                )
                cells.append(cell.gap().add(FILL * length, tone))
        left = rest(row)
        if left is not None and left * sign >= _RELEVANT:
            cells.append(Row(("rest ", roles.muted), (format_weight(left), roles.normal)))
        if cells:
            blocks.append((label, flow(cells, width)))
    return blocks


def flow(cells: Iterable[Row], width: int) -> list[Row]:
    """Arranges small rows side by side, as many per line as fit."""
    rows = [Row()]
    for cell in cells:
        if rows[-1].cells and rows[-1].cells + 3 + cell.cells > width:
            rows.append(Row())
        if rows[-1].cells:
            rows[-1].gap(3)
        rows[-1].extend(cell)
    return rows


def _tone(signal: str, weight: float, roles: Roles) -> Style:
    """Tier 1's colour for triggers, tier 2's for other signals; faint if negative."""
    if weight < 0:
        return roles.dropped
    return roles.tier1 if signal == "trigger" else roles.tier2
