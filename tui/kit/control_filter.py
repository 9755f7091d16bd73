"""A second line of defence after ``tui.render.safe``, for all widgets: control characters never get drawn."""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class ControlFilter(LineFilter):
    """Removes control characters and links from every line the application draws."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Replaces control characters, keeping each segment's width."""
        if all(_harmless(segment) for segment in segments):
            return segments
        return [_cleaned(segment) for segment in segments]


def _harmless(segment: Segment) -> bool:
    text, style, control = segment
    if control is not None or (style is not None and style.link):
        return False
    return (text.isascii() and text.isprintable()) or not _STEERING.search(text)


def _cleaned(segment: Segment) -> Segment:
    text, style, _control = segment
    if _STEERING.search(text):
        text = set_cell_size(_STEERING.sub("\ufffd", text), cell_len(text))
    if style is not None and style.link:
        style = style.update_link(None)
    return Segment(text, style)
