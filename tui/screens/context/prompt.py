"""Prepares a compiled prompt for display: its lines, the position of each section, what was left out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from engine.context.compiled import Compiled, LeftOut
from tui.render.budget import alone_and_found
from tui.render.safe import visible

NOWHERE = -1


@dataclass(frozen=True, slots=True, eq=False)
class PreparedPrompt:
    """A prompt with the positions of its sections. Lines are counted from 0."""

    compiled: Compiled
    prefix_tokens: int
    """Tokens of its stable prefix, including section markers."""
    lines: tuple[str, ...]
    """Its lines, safe to display."""
    markers: tuple[int, ...]
    """The line of each section's marker; ``NOWHERE`` if the section is not found in the text."""
    ends: tuple[int, ...]
    """The line after each section's last line."""
    prefix_end: int
    """The first line of the volatile part; 0 without a stable prefix."""
    breaks: tuple[tuple[int, int], ...]
    """For each cache boundary: the index of the section after it, and its character offset."""
    left_out: tuple[LeftOut, ...]
    """Ordered by ``left_out_order``."""


def prepare(compiled: Compiled, count: Callable[[str], int]) -> PreparedPrompt:
    """Finds every section in a prompt's text; takes milliseconds for a long one.

    Args:
        count: Counts tokens.
    """
    text = compiled.text
    raw = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in raw), initial=0))[:-1]
    markers: list[int] = []
    ends: list[int] = []
    begins: list[int] = []
    at = 0
    for section in compiled.sections:
        # A section starts on the line after its marker.
        found = text.find(f"\n{section.text}", max(0, at - 1))
        if found < 0:
            markers.append(markers[-1] if markers else NOWHERE)
            ends.append(ends[-1] if ends else 0)
            begins.append(at)
            continue
        at = found + 1 + len(section.text)
        line = bisect_right(starts, found + 1) - 1
        markers.append(max(0, line - 1))
        ends.append(line + section.text.count("\n") + 1)
        begins.append(found + 1)
    length = compiled.stable_prefix_length
    return PreparedPrompt(
        compiled,
        count(text[:length]) if length else 0,
        tuple(map(visible, raw)),
        tuple(markers),
        tuple(ends),
        bisect_left(starts, length) if length else 0,
        tuple((bisect_left(begins, each), each) for each in compiled.boundaries),
        left_out_order(compiled.left_out, compiled.next_pieces),
    )


def left_out_order(left_out: Sequence[LeftOut], next_pieces: Sequence[LeftOut]) -> tuple[LeftOut, ...]:
    """Orders left-out entries: what 500 more tokens would add first, then the rest.

    If there are many search results, they come last.
    """
    known = {(each.label, each.source, each.lines) for each in next_pieces}
    alone, found = alone_and_found(
        [each for each in left_out if (each.label, each.source, each.lines) not in known]
    )
    return (*next_pieces, *alone, *found)
