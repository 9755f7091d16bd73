"""Reads a reply that was saved as HTML as Markdown, as far as a reader needs it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_BLOCKS = frozenset(
    {"p", "div", "ul", "ol", "table", "pre", "blockquote", "hr", "h1", "h2", "h3", "h4", "h5", "h6"}
)
_BEFORE = {
    "li": "\n- ", "br": "\n", "tr": "\n", "td": " | ", "th": " | ", "strong": "**", "b": "**",
    **{f"h{level}": f"{'#' * level} " for level in range(1, 7)},
}  # fmt: skip
_AFTER = {"strong": "**", "b": "**"}
_GAP = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")


def text_in(html: str) -> str:
    """The text of a piece of HTML, with lists, headings, bold text and code as in Markdown."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return _GAP.sub("\n\n", "".join(reader.pieces)).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._in_pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.pieces.append("\n\n")
        if tag == "pre":
            self._in_pre = True
            self.pieces.append("```\n")
        elif tag == "code" and not self._in_pre:
            self.pieces.append("`")
        self.pieces.append(_BEFORE.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        self.pieces.append(_AFTER.get(tag, ""))
        if tag == "pre":
            self._in_pre = False
            self.pieces = ["".join(self.pieces).rstrip("\n"), "\n```"]
        elif tag == "code" and not self._in_pre:
            self.pieces.append("`")
        if tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data if self._in_pre else re.sub(r"\s+", " ", data))
