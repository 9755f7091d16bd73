"""Why a topic fired or did not: every tier with its evidence, what would have flipped it, what it brings."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from engine.activation.trace import GateOutcome, TopicTrace, TriggerHit
from engine.context.compiled import Compiled
from tui.draw import TRACK, Piece, Row, bar, clip_start, wrap
from tui.figures import count, dollars, milliseconds, score
from tui.roles import Roles
from tui.safe import first_line, visible
from tui.shown import Shown

_LABEL = 9
_AROUND = 24
MESSAGE_LINES = 12
"""Lines of the message that its page shows above the explanation."""
_VERDICTS = {
    "active": "active",
    "dropped": "dropped",
    "rejected": "rejected by the gate",
    "failed": "not active: the gate failed",
    "manual": "only by hand",
    "off": "switched off",
}


def explain(shown: Shown, row: TopicTrace, width: int, roles: Roles, *, full: bool = False) -> list[Row]:
    """Draws the explanation of one topic.

    Args:
        shown: The message the row belongs to.
        row: The topic's row of its trace.
        width: Cells.
        roles: Styles.
        full: A line for every piece of evidence and the scale of the rule; else the same in few lines,
            most important first.
    """
    tone = {"active": roles.active, "rejected": roles.gate, "failed": roles.trouble}.get(
        row.verdict, roles.muted
    )
    verdict, why = _VERDICTS[row.verdict], visible(row.why)
    if why.lower().startswith(verdict):
        why = why[len(verdict) :]
    elif why:
        why = f": {why}"
    pieces = [(visible(row.topic), roles.strong), (" ", roles.normal), (verdict, tone), (why, roles.normal)]
    lines = wrap(pieces, width)
    if row.flip:
        lines.extend(wrap([(row.flip, roles.muted)], width))
    gate = _gate(row.gate, width, roles) if row.gate is not None else []
    brings = _brings(shown.compiled, row, roles)
    if full:
        blocks = [
            _hits(shown, row, width, roles),
            _signals(row, width, roles),
            [*_policy(row, width, roles), *_scale(row, width, roles)],
            gate or _labelled("gate", [("not asked", roles.muted)], width, roles),
            [_bring(item, number, width, roles) for number, item in enumerate(brings)],
        ]
        for block in filter(None, blocks):
            lines.extend([Row(), *block])
        return lines
    lines.extend(gate)
    lines.extend(_tier2(row, width, roles))
    if brings:
        pieces = [piece for name, tokens, left in brings for piece in _brought(name, tokens, left, roles)]
        lines.extend(_labelled("brings", pieces[:-1], width, roles))
    lines.extend(_tier1(row, width, roles))
    lines.extend(_policy(row, width, roles))
    return lines


def _labelled(label: str, pieces: list[Piece], width: int, roles: Roles) -> list[Row]:
    rows = wrap(pieces, width, indent=_LABEL, first=_LABEL)
    first = Row().fit(label, _LABEL, roles.faint).extend(rows[0])
    return [first, *rows[1:]]


def _lead(label: str, number: int, roles: Roles) -> Row:
    """The label in front of the first line of a block, blanks in front of the others."""
    return Row().fit("" if number else label, _LABEL, roles.faint)


def _tier1(row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    pieces: list[Piece] = []
    for hit in row.hits:
        if pieces:
            pieces.append((" · ", roles.faint))
        pieces.extend(_hit(hit, roles))
    return _labelled("tier 1", pieces or [("no trigger hit", roles.muted)], width, roles)


def _hit(hit: TriggerHit, roles: Roles) -> Iterator[Piece]:
    yield (f"{hit.type} ", roles.muted)
    yield (f"“{first_line(hit.matched)}”", roles.tier1)
    if hit.start >= 0:
        yield (f" at {hit.start}–{hit.end}", roles.faint)


def _hits(shown: Shown, row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    """One line per hit, with the words around it."""
    if not row.hits:
        return _tier1(row, width, roles)
    text = shown.trace.message.text if shown.trace is not None else ""
    rows: list[Row] = []
    for number, hit in enumerate(row.hits):
        line = _lead("tier 1", number, roles).fit(hit.type, 10, roles.muted).gap()
        if 0 <= hit.start < hit.end <= len(text):
            before = text[max(0, hit.start - _AROUND) : hit.start]
            after = text[hit.end : hit.end + _AROUND]
            line.add(("…" if hit.start > _AROUND else "") + " ".join(before.split()), roles.faint)
            line.add(" " if before[-1:].isspace() else "").add(text[hit.start : hit.end], roles.tier1)
            line.add(" " if after[:1].isspace() else "").add(" ".join(after.split()), roles.faint)
            line.add("…" if hit.end + _AROUND < len(text) else "", roles.faint)
            line.right(Row((f"{hit.start}–{hit.end}", roles.faint)), width)
        else:
            line.add(first_line(hit.matched), roles.tier1)
        rows.append(line)
    return rows


def _tier2(row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    """Every signal with a small gauge, as many to a line as fit."""
    rows = [Row().fit("tier 2", _LABEL, roles.faint)]
    for signal in row.scores:
        cell = Row((f"{first_line(signal.name)} ", roles.muted))
        gauge = bar(signal.value, 6 if width < 90 else 10, roles.tier2, roles.line)
        _place(rows, cell.extend(gauge).add(f" {score(signal.value)}", roles.normal), width)
    return rows


def _place(rows: list[Row], cell: Row, width: int) -> None:
    row = rows[-1]
    if row.cells > _LABEL and row.cells + 3 + cell.cells > width:
        rows.append(row := Row().gap(_LABEL))
    if row.cells > _LABEL:
        row.gap(3)
    row.extend(cell)


def _signals(row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    """One line per signal, with a gauge as long as the scale of the rule."""
    names = max([cell_len(first_line(signal.name)) for signal in row.scores] + [8])
    size = _scale_width(width)
    rows = []
    for number, signal in enumerate(row.scores):
        line = _lead("tier 2", number, roles).extend(bar(signal.value, size, roles.tier2, roles.line)).gap(2)
        rows.append(line.fit(score(signal.value), 4, roles.normal).fit(signal.name, names, roles.muted))
    return rows or _labelled("tier 2", [("nothing to compare with", roles.muted)], width, roles)


def _scale_width(width: int) -> int:
    return max(12, min(60, width - _LABEL - 24))


def _policy(row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    pieces: list[Piece] = [
        (visible(row.rule) or "no row applied", roles.normal),
        (f" · {visible(row.priority)}, {visible(row.activation)} · alike from ", roles.muted),
        (score(row.threshold), roles.normal),
    ]
    if row.gate_at is not None:
        pieces.extend([(" · asks from ", roles.muted), (score(row.gate_at), roles.gate)])
    else:
        pieces.append((" · never asks", roles.muted))
    if row.activate_at is not None:
        pieces.extend([(" · active from ", roles.muted), (score(row.activate_at), roles.active)])
    else:
        pieces.append((" · never without the gate", roles.muted))
    return _labelled("rule", pieces, width, roles)


def _scale(row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    """The rule from 0 to 1: where the topic is dropped, asked about and active, and where it stands."""
    size = _scale_width(width)
    asks = min(size, int(row.gate_at * size)) if row.gate_at is not None else None
    acts = min(size, int(row.activate_at * size)) if row.activate_at is not None else None
    drop_end = asks if asks is not None else acts if acts is not None else size
    ask_end = acts if acts is not None else size
    zones = [("dropped", 0, drop_end, roles.dropped)]
    if asks is not None and ask_end > drop_end:
        zones.append(("asked", drop_end, ask_end, roles.gate))
    if acts is not None:
        zones.append(("active", max(acts, drop_end), size, roles.active))
    line = Row().gap(_LABEL)
    for number, (word, start, end, style) in enumerate(zones):
        room = end - start - (1 if number else 0)
        if number and end > start:
            line.add("│", style)
        label = word if room >= len(word) + 2 else ""
        line.add(TRACK * ((room - len(label)) // 2), style).add(label, style)
        line.add(TRACK * (room - len(label) - (room - len(label)) // 2), style)
    at = min(size - 1, int(row.score * size))
    marker = Row().gap(_LABEL + at).add("▲", roles.strong).add(f" {score(row.score)}", roles.normal)
    return [line, marker]


def _gate(gate: GateOutcome, width: int, roles: Roles) -> list[Row]:
    tone = {"yes": roles.active, "no": roles.gate, "failed": roles.trouble}[gate.answer]
    pieces: list[Piece] = [({"yes": "YES", "no": "no", "failed": "failed"}[gate.answer], tone)]
    if gate.probability is not None:
        pieces.append((f" {score(gate.probability)}", tone))
    asked = " ".join(part for part in (visible(gate.provider), visible(gate.model)) if part)
    took = "remembered" if gate.cached else milliseconds(gate.latency_ms)
    pieces.append((f" · {asked} · {took} · {dollars(gate.cost_usd)}", roles.muted))
    if gate.reason:
        pieces.append((f" · {visible(gate.reason)}", roles.normal))
    return _labelled("gate", pieces, width, roles)


def _brings(compiled: Compiled | None, row: TopicTrace, roles: Roles) -> list[tuple[str, int, bool]]:
    """What of the topic stands in the prompt and what had to stay out: name, tokens, left out."""
    if compiled is None or not row.active:
        return []
    inside = [
        (first_line(section.source or section.label), section.tokens, False)
        for section in compiled.sections
        if _belongs(section.slot, section.label, section.why, row.topic)
    ]
    outside = [
        (first_line(item.source or item.label), item.tokens, True)
        for item in compiled.left_out
        if _belongs(item.slot, item.label, item.reason, row.topic)
    ]
    return inside + outside


def _belongs(slot: str, label: str, why: str, topic: str) -> bool:
    """Whether a section came in through a topic: its own file, or a subscription that names it."""
    if slot != "topics":
        return False
    name = label.partition(":")[2] or label
    return name == topic or name.startswith((f"{topic}:", f"{topic}/", f"{topic} ")) or topic in why.split()


def _brought(name: str, tokens: int, left_out: bool, roles: Roles) -> Iterator[Piece]:
    yield (name, roles.normal)
    yield (f" {count(tokens)} tok", roles.muted)
    if left_out:
        yield (" left out", roles.gate)
    yield (" · ", roles.faint)


def _bring(item: tuple[str, int, bool], number: int, width: int, roles: Roles) -> Row:
    name, tokens, left_out = item
    size = _scale_width(width)
    line = _lead("brings", number, roles).fit(clip_start(name, size), size, roles.normal)
    line.gap(2).add(f"{count(tokens)} tok", roles.muted)
    return line.add(" left out", roles.gate) if left_out else line


def detail(shown: Shown, row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    """The explanation with the whole message above it, for its own page."""
    text = shown.trace.message.text if shown.trace is not None else shown.text
    rows = wrap([(" ".join(text[: MESSAGE_LINES * width].split()), roles.muted)], width)
    cut = [Row(("…", roles.faint))] if len(rows) > MESSAGE_LINES or len(text) > MESSAGE_LINES * width else []
    return [*rows[:MESSAGE_LINES], *cut, Row(), *explain(shown, row, width, roles, full=True)]
