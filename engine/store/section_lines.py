"""Appends a line to a section of a Markdown file without changing existing bytes."""

from __future__ import annotations

import re

from engine.store.header import locate
from engine.store.markdown import sections

_LIST = re.compile(r"[ \t]+\S|[-*+][ \t]|[0-9]{1,9}[.)][ \t]")


def with_line(data: bytes, line: str, title: str = "", level: int = 2) -> bytes:
    """Append a line to a section; a missing section is created at the end of the file.

    If several sections have the title, the last one is used. Trailing blank lines of the section stay after
    the new line. Line ends follow the file's first line.

    Args:
        line: One or more lines, without a final line end.
        title: The section's heading, case-insensitive; empty for the whole file.
        level: The level of a new heading; an existing one may have any level.

    Raises:
        UnicodeDecodeError: The body is not UTF-8.
    """
    found = locate(data)
    body = data[found.body :].decode("utf-8")
    newline = found.newline
    if title:
        found_sections = sections(body.replace("\r\n", "\n"), nested=True)
        ours = [each for each in found_sections if each.level and each.title.casefold() == title.casefold()]
        if not ours:
            return data + _new_section(data, body, newline, f"{'#' * level} {title}", line)
        start, end = ours[-1].start_line, ours[-1].end_line
    else:
        start, end = 0, body.count("\n") + 1
    lines = body.split("\n")
    while end > start and not lines[end - 1].strip():
        end -= 1
    before, after = "\n".join(lines[:end]), "\n".join(lines[end:])
    is_last = end == len(lines)
    if end:
        before += newline if is_last else "\n"
    gap = newline if end and (end == start or not _LIST.match(lines[end - 1])) else ""
    return data[: found.body] + f"{before}{gap}{line}{newline}{after}".encode()


def _new_section(data: bytes, body: str, newline: str, heading: str, line: str) -> bytes:
    lead = newline if body.strip() else ""
    closed = "" if not data or data.endswith(b"\n") else newline
    if body.endswith((newline * 2, "\n\n")):
        lead = ""
    return f"{closed}{lead}{heading}{newline}{newline}{line}{newline}".encode()
