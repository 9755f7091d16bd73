"""Headings and sections of Markdown text."""

from __future__ import annotations

from collections.abc import Sequence

from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.header import locate

_HEADING = expression(r" {0,3}(#{1,6})(?=[ \t]|$)")
_CLOSING = expression(r"(?:^|(?<=[ \t]))#++$")
_FENCE = expression(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")

_LIST = expression(r"[ \t]+\S|[-*+][ \t]|[0-9]{1,9}[.)][ \t]")


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """A heading and the text below it."""

    level: int
    """1 to 6; 0 for text before the first heading."""
    title: str
    """The heading's text; empty for level 0."""
    start_line: int
    """1-based line of the heading, or of the first line for level 0."""
    end_line: int
    """1-based last line, inclusive."""
    text: str
    """The lines below the heading."""
    path: tuple[str, ...] = ()
    """Titles of the enclosing headings and its own, outermost first."""


def sections(body: str, first_line: int = 1, *, nested: bool = False) -> list[MarkdownSection]:
    """The sections of a text in file order. A ``#`` inside a fenced code block is not a heading.

    Args:
        body: Markdown with ``\\n`` line ends.
        first_line: The line of the file on which ``body`` starts.
        nested: Whether a section includes its subsections; otherwise it ends at the next heading, and the
        sections partition the text.
    """
    lines = body.split("\n")
    if lines[-1] == "":
        lines.pop()
    heads = _headings(lines)
    result: list[MarkdownSection] = []
    before = heads[0][0] if heads else len(lines)
    if any(line.strip() for line in lines[:before]):
        text = "\n".join(lines[:before])
        result.append(MarkdownSection(0, "", first_line, first_line + before - 1, text))
    trail: list[tuple[int, str]] = []
    for (index, level, title), end in zip(heads, _ends(heads, len(lines), nested=nested), strict=True):
        while trail and trail[-1][0] >= level:
            trail.pop()
        trail.append((level, title))
        result.append(
            MarkdownSection(
                level,
                title,
                first_line + index,
                first_line + end - 1,
                "\n".join(lines[index + 1 : end]),
                tuple(name for _, name in trail),
            )
        )
    return result


def _ends(heads: list[tuple[int, int, str]], last: int, *, nested: bool) -> list[int]:
    """The exclusive end of each section, in one pass from the last heading to the first."""
    ends: list[int] = []
    open_at: list[tuple[int, int]] = []
    for index, level, _ in reversed(heads):
        while nested and open_at and open_at[-1][1] > level:
            open_at.pop()
        ends.append(open_at[-1][0] if open_at else last)
        open_at.append((index, level))
    return ends[::-1]


def code_lines(lines: Sequence[str]) -> tuple[list[bool], int]:
    """Which lines belong to fenced code, fences included.

    Returns:
        One flag per line, and the 1-based line of an unclosed fence, or 0.
    """
    found: list[bool] = []
    fence, opened = "", 0
    for number, line in enumerate(lines, 1):
        opening = _FENCE.match(line)
        found.append(bool(fence or opening))
        if fence:
            if (
                opening
                and opening[1][0] == fence[0]
                and len(opening[1]) >= len(fence)
                and not opening[2].strip()
            ):
                fence, opened = "", 0
        elif opening:
            fence, opened = opening[1], number
    return found, opened


def _headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """Index, level and title of every heading outside fenced code."""
    return [
        (index, len(heading[1]), _title(line[heading.end() :]))
        for index, (line, is_code) in enumerate(zip(lines, code_lines(lines)[0], strict=True))
        if not is_code and (heading := _HEADING.match(line))
    ]


def _title(text: str) -> str:
    """A heading's text without its opening and closing ``#``, in linear time."""
    return _CLOSING.sub("", text.strip()).strip()


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
