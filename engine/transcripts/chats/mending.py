"""Reads what is left of a JSON document that is cut off or damaged."""

from __future__ import annotations

import json
import re
from typing import Any

from engine.transcripts.importers.lines import Record

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_DECODER = json.JSONDecoder()
_TRIES = 1000


_DOCUMENT = re.compile(r'\s*(?:\{\s*"|\[\s*[\[{"])')


def is_document(text: str) -> bool:
    """Whether a text begins like a JSON document, not like a text with brackets."""
    return _DOCUMENT.match(text) is not None


def mended(text: str) -> Any:
    """The value of a document that is cut off, with all that was complete; ``None`` if it is none."""
    stack: list[str] = []
    end, left = 0, ""
    for token in _TOKEN.finditer(text):
        if (mark := token[0]) in _CLOSING:
            stack.append(_CLOSING[mark])
        elif stack and mark == stack[-1]:
            stack.pop()
            end, left = token.end(), "".join(reversed(stack))
    try:
        return json.loads(text[:end] + left) if end and left else None
    except (ValueError, RecursionError):
        return None


def salvaged(text: str) -> list[Record]:
    """The largest whole objects in a text; a thousand places at most are tried in vain."""
    found: list[Record] = []
    place = text.find("{")
    tries = 0
    while place >= 0 and tries < _TRIES:
        try:
            value, end = _DECODER.raw_decode(text, place)
            found.append(value)
        except (ValueError, RecursionError):
            end, tries = place + 1, tries + 1
        place = text.find("{", end)
    return found
