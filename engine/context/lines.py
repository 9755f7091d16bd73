"""Finds the lines of a section in its file, to show them and to open an editor there."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from engine.context.compiled import Section
from engine.context.delimiters import outside
from engine.errors import AutopoiesisError
from engine.store.files import Files

READ_LIMIT = 16 * 1024 * 1024
"""Maximum size of a file, in bytes."""


def source_lines(section: Section, files: Files) -> tuple[int, ...]:
    """The line in the current source file for every line of a section's text.

    Returns:
        1-based line numbers in ascending order, 0 for a line that is not in the file; empty without a file.
    """
    if not section.source:
        return ()
    try:
        data = files.read(section.source, limit=READ_LIMIT)
    except (AutopoiesisError, OSError):
        return ()
    first, _, _ = section.lines.partition("-")
    return line_numbers(section.text, data.decode("utf-8", "replace"), int(first) if first.isdecimal() else 1)


def line_numbers(text: str, file: str, first: int = 1) -> tuple[int, ...]:
    """The line numbers in ``file`` of the lines of ``text``, as in ``source_lines``.

    Blank lines only have a number after a line that has one.

    Args:
        text: Lines of the file in order, possibly with others between them.
        first: 1-based line of the file to start from.
    """
    lines = outside(file).split("\n")
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines, start=1):
        places[line.rstrip()].append(number)
    found: list[int] = []
    following = max(1, first)
    for line in map(str.rstrip, text.split("\n")):
        number = 0
        if not line:
            is_next = found and found[-1] and following <= len(lines) and not lines[following - 1].strip()
            number = following if is_next else 0
        elif line in places:
            at = bisect_left(places[line], following)
            number = places[line][at] if at < len(places[line]) else 0
        found.append(number)
        following = number + 1 if number else following
    return tuple(found)
