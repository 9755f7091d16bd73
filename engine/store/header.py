"""Locates the YAML header of a Markdown file.

python-frontmatter does the splitting; this module handles what it gets wrong: a byte order mark, a leading
``---`` that is a thematic break, a ``---`` inside the body, and file positions.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store import yamltext

if TYPE_CHECKING:
    from frontmatter.default_handlers import BaseHandler

BOM = b"\xef\xbb\xbf"
_SAMPLE = 4096
_WINDOW = 4 * yamltext.MAX_HEADER_BYTES
_FENCE = expression(r"^---[ \t]*\r?$", re.MULTILINE)
_CLOSING = expression(rb"\n---[ \t]*\r?\n")
_FIRST_KEY = expression(r"""(?:[\w][\w .-]*|"[^"\n]*"|'[^'\n]*')\s*:(?:\s|$)|\{""")


@cache
def _handler() -> BaseHandler:
    """The python-frontmatter handler: exactly three hyphens, untyped YAML."""
    from frontmatter.default_handlers import BaseHandler  # noqa: PLC0415 — imports yaml, which is slow

    return BaseHandler(_FENCE, "---", "---")


@dataclass(frozen=True, slots=True)
class Located:
    """Position of a file's header."""

    bom: bool
    newline: str
    """The line end of the file's first line."""
    start: int = 0
    """Byte offset of the first character after the opening fence's line."""
    end: int = 0
    """Byte offset of the closing fence."""
    body: int = 0
    """Byte offset of the body."""
    text: str | None = None
    """The header's text with its original line ends; ``None`` if there is none."""
    mapping: yamltext.Mapping | None = None
    error: yamltext.YamlError | None = None
    """Why a text that is clearly meant as a header is not valid."""


def locate(data: bytes) -> Located:
    """Find the header of a file. Never raises; problems are reported in ``error``."""
    bom = data.startswith(BOM)
    skip = len(BOM) if bom else 0
    first_end = data.find(b"\n", 0, _WINDOW)
    newline = "\r\n" if first_end > 0 and data[first_end - 1 : first_end] == b"\r" else "\n"
    none = Located(bom, newline, skip, skip, skip)
    window = data[skip : skip + _WINDOW]
    if not window.startswith(b"---"):
        return none
    closing = _CLOSING.search(window)
    if closing is not None:  # of a long file, nothing below its header is decoded and split
        window = window[: closing.end()]
    is_cut = closing is None and len(data) - skip > _WINDOW
    start_of_text = window[:_SAMPLE].decode("latin-1").partition("\n")[2]
    if is_cut:
        window = window[: window.rfind(b"\n") + 1]
    # Latin-1 keeps one character per byte, so that positions in the split are positions in the file.
    text = window.decode("latin-1")
    if not _handler().detect(text):
        return none
    try:
        raw, rest = _handler().split(text)
    except ValueError:
        return replace(none, error=_not_closed(is_cut)) if _looks_like_header(start_of_text) else none
    # Both parts start with the line end of the preceding fence.
    raw, rest = raw.partition("\n")[2], rest.partition("\n")[2]
    start = skip + text.index("\n") + 1
    try:
        header = raw.encode("latin-1").decode("utf-8")
        mapping = yamltext.parse(header, first_line=2)
    except UnicodeDecodeError as error:
        line = 2 + raw.count("\n", 0, error.start)
        broken = yamltext.YamlError("the header is not UTF-8 text", line=line, hint="save the file as UTF-8")
        return replace(none, error=broken) if _looks_like_header(raw) else none
    except yamltext.YamlError as broken:
        return replace(none, error=broken) if _looks_like_header(header) else none
    body = skip + len(text) - len(rest)
    return Located(bom, newline, start, start + len(raw), body, header, mapping)


def _not_closed(is_cut: bool) -> yamltext.YamlError:
    what = f"is larger than {yamltext.MAX_HEADER_BYTES // 1024} KB" if is_cut else "is never closed"
    return yamltext.YamlError(f"the header {what}", line=1, hint="end it with a line of three hyphens")


def _looks_like_header(text: str) -> bool:
    """Whether the first non-blank line is a ``key:``; otherwise the leading hyphens are a thematic break."""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            return _FIRST_KEY.match(stripped) is not None
    return False
