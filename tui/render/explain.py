"""Why a topic fired or not: the evidence of each tier, what would have changed it, and what it adds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from engine.activation.numbers import format_threshold
from engine.activation.trace import GateOutcome, TopicTrace, TriggerHit
from engine.context.compiled import Compiled
from tui.render.draw import Piece, Row, clip_start, wrap
from tui.render.evidence import for_and_against, score_scale, signal_table, unit
from tui.render.figures import count, dollars, milliseconds, score
from tui.render.message import message_block, word_texts
from tui.render.roles import Roles
from tui.render.safe import first_line, visible
from tui.render.shown import Shown
from tui.render.table import ANSWERS, answer_style

Form = Literal["full", "close", "brief", "briefest"]

LABEL = 9
"""Cells for the labels of evidence blocks."""
_AROUND = 24
_SHOWN_WORDS = 8
MESSAGE_LINES = 12
"""Lines of the message above the explanation on its page."""
_VERDICTS = {
    "active": "active",
    "offered": "offered",
    "dropped": "dropped",
    "rejected": "rejected",
    "failed": "not active",
    "manual": "only by hand",
    "off": "switched off",
}


def explain(shown: Shown, row: TopicTrace, width: int, roles: Roles, form: Form = "brief") -> list[Row]:
    """Draws the explanation of one topic.

    Args:
        form: ``full``: all evidence with scales, in blocks; ``close``: the same without blank lines;
            ``brief``: a few lines, most important first; ``briefest``: ``brief`` without the topic's name.
    """
    lines = verdict_lines(row, width, roles, named=form != "briefest")
    if form in ("full", "close"):
        for number, block in enumerate(evidence(shown, row, width, roles, roomy=form == "full")):
            lines.extend([Row(), *block] if form == "full" or not number else block)
        return lines
    brings = _brings(shown.compiled, row, roles)
    lines.extend(_gate(row.gate, width, roles) if row.gate is not None else [])
    for label, rows in for_and_against(row, width - LABEL, roles) if row.contributions else ():
        lines.extend(labelled_block(label, rows, roles))
    if brings:
        pieces = [piece for name, tokens, left in brings for piece in _brought(name, tokens, left, roles)]
        lines.extend(_labelled("adds", pieces[:-1], width, roles))
    lines.extend(_tier1(row, width, roles))
    lines.extend(_words(shown, row, width, roles))
    lines.extend(_rule(shown, row, width, roles, thresholds=True))
    return lines


def verdict_lines(row: TopicTrace, width: int, roles: Roles, *, named: bool = True) -> list[Row]:
    """The topic, its verdict with the reason, and what would have changed it."""
    tone = {"active": roles.active, "offered": roles.gate, "rejected": roles.gate, "failed": roles.error}.get(
        row.verdict, roles.muted
    )
    verdict, why = _VERDICTS[row.verdict], visible(row.why)
    if why.lower().startswith(verdict):
        why = why[len(verdict) :]
    elif why:
        why = f": {why}"
    pieces = [(f"{visible(row.topic)} ", roles.strong)] if named else []
    lines = wrap([*pieces, (verdict, tone), (why, roles.normal)], width)
    return [*lines, *wrap([(row.flip, roles.muted)], width)] if row.flip else lines


def evidence(
    shown: Shown, row: TopicTrace, width: int, roles: Roles, *, roomy: bool = True
) -> list[list[Row]]:
    """The evidence for and against a topic, in blocks.

    Args:
        roomy: Give each hit its own line with context, and mention steps not taken.
    """
    inner = width - LABEL
    scale = labelled_block(unit(shown.trace), score_scale(row, inner, roles), roles)
    brings = _brings(shown.compiled, row, roles)
    blocks = [
        [*scale, *_rule(shown, row, width, roles, thresholds=False)],
        _gate(row.gate, width, roles) if row.gate is not None else [],
        labelled_block("signals", signal_table(row, inner, roles), roles),
        [
            *(_hits(shown, row, width, roles) if roomy else _tier1(row, width, roles)),
            *_words(shown, row, width, roles),
        ],
        _labelled("gate", [("not asked", roles.muted)], width, roles) if roomy and row.gate is None else [],
        [_bring(item, number, width, roles) for number, item in enumerate(brings)],
    ]
    return [block for block in blocks if block]


def _labelled(label: str, pieces: list[Piece], width: int, roles: Roles) -> list[Row]:
    rows = wrap(pieces, width, indent=LABEL, first=LABEL)
    first = Row().fit(label, LABEL, roles.faint).extend(rows[0])
    return [first, *rows[1:]]


def labelled_block(label: str, rows: list[Row], roles: Roles) -> list[Row]:
    return [_lead(label, number, roles).extend(row) for number, row in enumerate(rows)]


def _lead(label: str, number: int, roles: Roles) -> Row:
    """The label for the first line of a block, spaces for the others."""
    return Row().fit("" if number else label, LABEL, roles.faint)


def _tier1(row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    pieces: list[Piece] = []
    for hit in (*row.hits, *row.ignored):
        if pieces:
            pieces.append((" · ", roles.faint))
        pieces.extend(_hit(hit, roles))
    return _labelled("tier 1", pieces or [("no trigger hit", roles.muted)], width, roles)


def _hit(hit: TriggerHit, roles: Roles) -> Iterator[Piece]:
    yield (f"{hit.type} ", roles.muted)
    yield (f"“{first_line(hit.matched)}”", roles.tier1)
    if hit.start >= 0:
        yield (f" at {hit.start}–{hit.end}", roles.faint)
    if hit.negated:
        yield (f", negated by “{first_line(hit.negated)}”", roles.muted)


def _hits(shown: Shown, row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    """One line per hit, with context."""
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


def _words(shown: Shown, row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    """The message's words that tier 2 counted for the topic, strongest first."""
    text = shown.trace.message.text if shown.trace is not None else ""
    words = word_texts(text, row)
    if not words:
        return []
    more = f" and {len(words) - _SHOWN_WORDS} more" if len(words) > _SHOWN_WORDS else ""
    pieces: list[Piece] = []
    for word in words[:_SHOWN_WORDS]:
        pieces.extend([("‹", roles.faint), (" ".join(word.split()), roles.tier2), ("› ", roles.faint)])
    return _labelled("words", [*pieces, (more, roles.muted)], width, roles)


def _rule(shown: Shown, row: TopicTrace, width: int, roles: Roles, *, thresholds: bool) -> list[Row]:
    """The policy row that applied, with its thresholds if no scale shows them."""
    pieces: list[Piece] = [
        (visible(row.rule) or "no rule applied", roles.normal),
        (f" · {visible(row.priority)}, {visible(row.activation)}", roles.muted),
    ]
    if unit(shown.trace) != "p":
        pieces.extend([(" · similar from ", roles.muted), (format_threshold(row.threshold), roles.normal)])
    if row.gate_at is None:
        pieces.append((" · gate never asked", roles.muted))
    elif thresholds:
        pieces.extend([(" · gate from ", roles.muted), (format_threshold(row.gate_at), roles.gate)])
    if row.activate_at is None:
        pieces.append((" · active only through the gate", roles.muted))
    elif thresholds:
        pieces.extend([(" · active from ", roles.muted), (format_threshold(row.activate_at), roles.active)])
    return _labelled("rule", pieces, width, roles)


def _gate(gate: GateOutcome, width: int, roles: Roles) -> list[Row]:
    tone = answer_style(gate.answer, roles)
    pieces: list[Piece] = [(ANSWERS[gate.answer], tone)]
    if gate.probability is not None:
        pieces.append((f" {score(gate.probability)}", tone))
    asked = " ".join(part for part in (visible(gate.provider), visible(gate.model)) if part)
    took = "remembered" if gate.cached else milliseconds(gate.latency_ms)
    if gate.answer != "offered":
        pieces.append((f" · {asked} · {took} · {dollars(gate.cost_usd)}", roles.muted))
    if gate.reason:
        pieces.append((f" · {visible(gate.reason)}", roles.normal))
    return _labelled("gate", pieces, width, roles)


def _brings(compiled: Compiled | None, row: TopicTrace, roles: Roles) -> list[tuple[str, int, bool]]:
    """What the topic added to the prompt, and what of it was left out: name, tokens, left out."""
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
    """Whether a section comes from a topic: its own file, or a subscription."""
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
    size = max(12, min(64, width - LABEL - 24))
    line = _lead("adds", number, roles).fit(clip_start(name, size), size, roles.normal)
    line.gap(2).add(f"{count(tokens)} tok", roles.muted)
    return line.add(" left out", roles.gate) if left_out else line


def detail(shown: Shown, row: TopicTrace, width: int, roles: Roles) -> list[Row]:
    """The explanation below the whole message, for its own page."""
    text = shown.trace.message.text if shown.trace is not None else shown.text
    message = message_block(text, row, width, MESSAGE_LINES, roles)
    return [*message, Row(), *explain(shown, row, width, roles, "full")]
