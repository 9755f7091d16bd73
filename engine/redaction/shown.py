"""A text as it is shown: without characters within a word that nobody sees, and with escaped signs resolved.

A page, a terminal or a chat puts such characters into a key, and whoever copies it gets the key without them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from engine.startup.lazy import expression

_UNSEEN = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef"
"""Characters that nobody sees or that only set a direction."""
UNSEEN = expression(f"[{_UNSEEN}]")
_SIGNS = {"5f": "_", "2d": "-", "95": "_", "45": "-"}
"""Signs of keys by their number, in an address, in JSON and in a page: nothing that works escapes them."""
MARKS = (
    *("<wbr", "&shy;", "&#8203;", "&#x200b;", "\\u200b", "\\u00ad"),
    *("\x1b[", "\\u001b[", "\\u{1b}[", "\\x1b["),
    *("&#95;", "&#45;"),
    *(f"{escape}{sign}" for escape in ("%", "\\u00", "\\x") for sign in ("5f", "2d")),
)
"""In lower case, what is in every text without ``UNSEEN`` characters in which something may be hidden."""
_COLOR = r"\[[0-?]{0,30}[ -/]{0,4}[@-~]"
_MORE = (
    rf"(?i:[{_UNSEEN}]|\x1b{_COLOR}|\\(?:u001b|u\{{1b\}}|x1b){_COLOR}|\\u200b|\\u00ad"
    r"|<wbr ?/?>|&(?:shy|#8203|#x200b);)"
)
_HIDDEN = expression(
    rf"[{_UNSEEN}\x1b\\%&<](?<=[\w.+/=~-].)(?:"  # one character first, by which most places are ruled out
    r"(?:(?<=%)|(?<=\\)\\?(?:u00|x))(?P<hex>(?i:5f|2d))|(?<=&)#(?P<number>95|45);"
    rf"|(?:(?<=[{_UNSEEN}])|(?<=\x1b){_COLOR}|(?<=\\)(?i:(?:u001b|u\{{1b\}}|x1b){_COLOR}|u200b|u00ad)"
    rf"|(?<=<)(?i:wbr) ?/?>|(?<=&)(?i:shy|#8203|#x200b);){_MORE}{{0,40}}"
    r")(?=[\w.+/=~\\%&<-])"
)


class Shown(NamedTuple):
    """A text as it is shown, and where its characters stand in the text itself."""

    text: str
    cuts: list[int]
    """Places in ``text`` before which something is left out, in order."""
    left_out: list[int]
    """The number of characters left out up to each of them."""

    def place(self, at: int) -> int:
        """Where a place of ``text`` is in the text itself."""
        before = bisect_right(self.cuts, at)
        return at + (self.left_out[before - 1] if before else 0)


def shown(text: str) -> Shown | None:
    """A text with ``MARKS`` or ``UNSEEN`` as it is shown; ``None`` if nothing is hidden in a word."""
    parts: list[str] = []
    cuts: list[int] = []
    left_out: list[int] = []
    at = size = 0
    for match in _HIDDEN.finditer(text):
        start, end = match.span()
        sign = _SIGNS[(match["hex"] or match["number"]).lower()] if match.lastindex else ""
        parts += (text[at:start], sign)
        size += start - at + len(sign)
        at = end
        cuts.append(size)
        left_out.append(end - size)
    return Shown("".join((*parts, text[at:])), cuts, left_out) if cuts else None
