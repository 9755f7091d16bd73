"""Makes untrusted text safe to display: it can neither control the terminal nor hide anything.

Control characters, escapes, direction overrides, invisible characters and undecodable bytes become visible
signs; the result takes as many cells as measured.
"""

from __future__ import annotations

import json
import re
import unicodedata

NEWLINE_SIGN = "⏎"
TAB_SIGN = "⇥"
MAX_MARKS = 4
"""Maximum combining marks per character; more would spill into adjacent lines."""

_JOINERS = "\u200c\u200d"
_HAZARD = re.compile(
    "\r\n|[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def visible(text: str, limit: int | None = None) -> str:
    """Text as one line that is safe to show and can be measured.

    Args:
        limit: Ignore text after this many characters, for callers that cut it anyway.
    """
    if limit is not None and len(text) > limit:
        text = text[:limit]
    if text.isascii() and text.isprintable():
        return text
    text = _HAZARD.sub(_sign, text)
    return text if text.isascii() else _tame_marks(text)


def json_text(value: object, indent: int | None = None) -> str:
    """A value as JSON with hazardous characters escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text if text.isascii() else _HAZARD.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    return found if found == "\n" else json.dumps(found)[1:-1]


def visible_lines(text: str) -> list[str]:
    """Text as lines that are safe to show; a final newline adds no empty line."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [visible(line) for line in lines]


def first_line(text: str, limit: int = 2000) -> str:
    """The first non-blank line, safe to show; empty if there is none."""
    for line in text[: limit * 4].split("\n"):
        if line.strip():
            return visible(line.strip(), limit)
    return ""


def _sign(match: re.Match[str]) -> str:
    found = match.group()
    code = ord(found[0])
    if found in ("\n", "\r\n", "\u2028", "\u2029"):
        return NEWLINE_SIGN
    if found == "\t":
        return TAB_SIGN
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if code < 0xA0:
        return f"\\x{code:02x}"
    if 0xFE00 <= code <= 0xFE0F:
        return ""  # variation selectors: terminals measure the resulting forms differently
    if found in _JOINERS:
        return _joiner(match.string, match.start(), found)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _joiner(text: str, at: int, found: str) -> str:
    """Keeps joiners between letters of non-Latin scripts; elsewhere they break the width."""
    before = text[at - 1] if at else " "
    after = text[at + 1] if at + 1 < len(text) else " "
    if not before.isascii() and unicodedata.category(before)[0] in "LM" and not after.isascii():
        return found
    return "" if unicodedata.category(before) in ("So", "Sk", "Mn") else f"\\u{ord(found):04x}"


def _tame_marks(text: str) -> str:
    kept: list[str] = []
    marks = MAX_MARKS  # a leading mark would combine with the border
    for character in text:
        if not character.isascii() and unicodedata.category(character) in ("Mn", "Me"):
            if not kept:
                kept.append("◌")
                marks = 0
            marks += 1
            if marks > MAX_MARKS:
                continue
        else:
            marks = 0
        kept.append(character)
    return "".join(kept)
