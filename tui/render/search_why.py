"""Why a search result ranks where it does: the parts of its score, its ranks, its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from tui.render.draw import FILL, TRACK, Row, labelled, shares
from tui.render.figures import score
from tui.render.roles import Roles
from tui.render.safe import visible
from tui.render.search_hits import Hit

if TYPE_CHECKING:
    from engine.search.results import SearchResult, Share

BACK = "░"
"""Fill of negative parts of the score."""

LABEL = 11
"""Cells for the names of the parts."""
_VALUE = 6
_WIDEST = 60
_UPRIGHT = Style(underline=False)

MEANINGS: dict[str, str] = {
    "words": "query words it contains",
    "meaning": "similarity in meaning",
    "neighbours": "surrounding text",
    "session": "the whole session",
    "file": "the whole file",
    "speaker": "who said it",
    "date": "dates in the query",
    "recency": "its age",
    "use": "how often it was used",
}
"""A short explanation of each part."""


def draw_why(hit: Hit, width: int, roles: Roles, *, tight: bool = False) -> list[Row]:
    """Draws the explanation; ``tight`` leaves out the sum and blank lines."""
    result = hit.result
    rows = _parts(result, width, roles) if result.shares else []
    if rows and tight:
        rows.pop()
    elif rows:
        rows.append(Row())
    rows.extend(_ranks(result, width, roles))
    rows.extend(_words(hit, width, roles))
    return rows


def _parts(result: SearchResult, width: int, roles: Roles) -> list[Row]:
    """A waterfall of gauges, one per part, with the score below; negative parts come last."""
    parts = sorted(result.shares, key=lambda part: -part.value)
    value, total = hundredths([part.value for part in parts], result.score)
    room = max(8, min(width - LABEL - _VALUE, _WIDEST))
    means = width - LABEL - _VALUE - room >= 28
    whole = max(1, sum(_micro(part) for part in parts if part.value > 0))
    cells = shares([max(0, _micro(part)) for part in parts], whole, room)
    rows, at = [], 0
    for part, number, long in zip(parts, value, cells, strict=True):
        tone, sign = _tone(part.name, roles), FILL
        if part.value < 0:
            long = min(at, max(1, round(-_micro(part) * room / whole))) if number else 0
            at, tone, sign = at - long, roles.dropped, BACK
        name = part_name(part, result)
        row = Row().fit(name, LABEL, roles.normal)
        row.add(TRACK * at, roles.line).add(sign * long, tone).add(TRACK * (room - at - long), roles.line)
        row.fit(signed(number), _VALUE, roles.normal, "right")
        if means:
            row.gap(2).add(MEANINGS.get(name, ""), roles.faint)
        rows.append(row)
        at = at + long if part.value > 0 else at
    last = Row().fit("score", LABEL, roles.strong).gap(room).fit(signed(total), _VALUE, roles.strong, "right")
    return [*rows, last]


def part_name(part: Share, result: SearchResult) -> str:
    """A part's name; the ``session`` part of anything but a conversation is called ``file``."""
    return "file" if part.name == "session" and result.category != "conversation" else part.name


def _micro(part: Share) -> int:
    return round(part.value * 1_000_000)


def hundredths(parts: Sequence[float], whole: float) -> tuple[list[int], int]:
    """Rounds parts to hundredths so that they add up to the rounded whole."""
    total = round(whole * 100)
    down = [int(part * 100 // 1) for part in parts]
    order = sorted(range(len(parts)), key=lambda at: down[at] - parts[at] * 100)
    for at in order[: max(0, total - sum(down))]:
        down[at] += 1
    return down, total


def signed(number: int) -> str:
    """Hundredths as a score is written: ``.42``, ``1.0``, ``−.03``."""
    return f"−{score(-number / 100)}" if number < 0 else score(number / 100)


def _tone(name: str, roles: Roles) -> Style:
    """The colours of tiers 1 and 2 for words and meaning; one colour for everything else."""
    return {"words": roles.tier1 + _UPRIGHT, "meaning": roles.tier2}.get(name, roles.p4)


def _ranks(result: SearchResult, width: int, roles: Roles) -> list[Row]:
    words = _rank("by words", result.lexical_rank, roles.tier1 + _UPRIGHT, roles)
    meaning = _rank("by meaning", result.vector_rank, roles.tier2, roles)
    rows = [Row(("rank", roles.muted)).to(LABEL).extend(words).add("  ·  ", roles.faint).extend(meaning)]
    if rows[0].cells > width:
        rows = [Row(("rank", roles.muted)).to(LABEL).extend(words), Row().gap(LABEL).extend(meaning)]
    if result.why:
        rows += labelled("because", result.why, width, LABEL, roles.normal, tone=roles.muted)
    return rows


def _rank(words: str, rank: int | None, tone: Style, roles: Roles) -> Row:
    return Row((f"{words} ", roles.muted), (str(rank), tone) if rank else ("–", roles.faint))


def _words(hit: Hit, width: int, roles: Roles) -> list[Row]:
    """The query words it contains, and those it does not."""
    rows: list[Row] = []
    for name, terms, sign, style in (
        ("contains", hit.matched, "✓", roles.tier1 + Style(bold=True)),
        ("lacks", hit.missing, "✗", roles.muted),
    ):
        if not terms:
            continue
        row = Row((name, roles.muted)).to(LABEL)
        for number, term in enumerate(terms):
            word = f"{sign} {visible(term)}"
            if row.cells > LABEL and row.cells + 2 + cell_len(word) > width:
                rest = len(terms) - number
                rows.append(row)
                row = Row().gap(LABEL)
                if len(rows) > 5:
                    row.add(f"and {rest} more", roles.faint)
                    break
            row.gap(2 if row.cells > LABEL else 0).add(word, style)
        rows.append(row)
    return rows


def plain_shares(result: SearchResult) -> str:
    """The parts of the score in one line: ``words .42 + meaning .25 − recency .03 = .64``."""
    if not result.shares:
        return ""
    parts = sorted(result.shares, key=lambda part: -part.value)
    numbers, total = hundredths([part.value for part in parts], result.score)
    line = "".join(
        f" {'−' if number < 0 else '+'} {part_name(part, result)} {score(abs(number) / 100)}"
        for part, number in zip(parts, numbers, strict=True)
    )
    return f"{line.removeprefix(' + ').lstrip()} = {signed(total)}"


def plain_ranks(result: SearchResult) -> str:
    """Both ranks in one line: ``rank 2 by words, 7 by meaning``."""
    words, meaning = result.lexical_rank, result.vector_rank
    return f"rank {words or '–'} by words, {meaning or '–'} by meaning"
