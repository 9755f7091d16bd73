"""On which lines of its file a section stands, so that a face can show them and open an editor there."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from engine.context.compiled import Section
from engine.context.delimiters import outside
from engine.errors import AutopoiesisError
from engine.store.files import Files

READ_LIMIT = 16 * 1024 * 1024
"""Bytes of a file up to which it is read for this."""


def source_lines(section: Section, files: Files) -> tuple[int, ...]:
    """The line of its source for every line of a section's text.

    Files are read as they are now, which may no longer be as they were compiled.

    Returns:
        1-based line numbers in ascending order, 0 for a line that does not stand in the file; empty where
        there is no file to look at.
    """
    if not section.source:
        return ()
    try:
        data = files.read(section.source, limit=READ_LIMIT)
    except (AutopoiesisError, OSError):
        return ()
    first, _, _ = section.lines.partition("-")
    return numbered(section.text, data.decode("utf-8", "replace"), int(first) if first.isdecimal() else 1)


def numbered(text: str, file: str, first: int = 1) -> tuple[int, ...]:
    """The lines of ``file`` on which the lines of ``text`` stand.

    Args:
        text: Text of a section: lines of the file in their order, perhaps with others between them.
        first: 1-based line of the file before which none of them stands.

    Returns:
        As ``source_lines``. Blank lines have a number only where they follow a line that has one.
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
