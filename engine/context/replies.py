"""How a model's reply that is to become memory is read: whole or not at all (robustness M1, M2, M4).

A reply is untrusted twice over: a model wrote it, about turns that may hold text from outside. The work on it
is bounded: its length is checked before anything else.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from engine.context.delimiters import one_line


class BadReply(Exception):
    """A reply that cannot be used; the message is one clause."""


def without_thoughts(text: str, most: int) -> str:
    """A reply without what the model thought aloud before it.

    No more than ``most`` characters are read.

    Raises:
        BadReply: It is longer, or nothing is left of it.
    """
    if len(text) > most:
        raise BadReply(f"the reply has {len(text):,} characters, more than {most:,}")
    plain = _AFTER_THOUGHT.split(text)[-1].strip()
    if not plain:
        raise BadReply("the reply is empty")
    return plain


def fenced_blocks(text: str) -> list[str]:
    """What stands in the code blocks of a reply. One pass: a reply of nothing but fences costs no more."""
    blocks: list[str] = []
    inside: list[str] | None = None
    for line in text.split("\n"):
        plain = line.strip(" \t\r")
        if inside is None:
            inside = [] if _OPENING.fullmatch(plain) else None
        elif plain == "```":
            blocks.append("\n".join(inside).strip())
            inside = None
        else:
            inside.append(line)
    return blocks


def tree_of(text: str) -> Any:
    """Strict JSON as a value.

    Raises:
        BadReply: It is not JSON, is nested too deeply, says a field twice, or has a NaN or an Infinity in it.
    """
    try:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise BadReply(f"the reply is no JSON: “{quoted(text)}”") from None


def quoted(text: str, most: int = 60) -> str:
    """The beginning of a text as an error may quote it: one line, and nothing that a terminal obeys."""
    line = one_line(text[: 8 * most], most)
    return "".join("\ufffd" if is_control(character) else character for character in line)


def why_no_line(text: str, most: int) -> str:
    """Why a text cannot stand as one line among others; empty when it can."""
    if not text:
        return "is empty"
    if len(text) > most:
        return f"has {len(text):,} characters, more than {most}"
    if any(map(is_control, text)):
        return "has a line break or a control character in it"
    if _HEADING.match(text):
        return "begins like a heading, a list, a quotation or a fence"
    if _MARKER.search(text):
        return "has a marker of memory or of a prompt in it"
    return ""


def is_control(character: str) -> bool:
    """Whether a character ends a line, steers a terminal or is there to hide something."""
    # Joiners are part of words and of emoji; every other invisible character is there to hide something.
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cs", "Co", "Zl", "Zp") or (kind == "Cf" and character not in "\u200c\u200d\u00ad")


def _refuse(constant: str) -> object:
    raise BadReply(f"the reply has a {constant} in it")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadReply("the reply says a field twice")
    return found


_AFTER_THOUGHT = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_OPENING = re.compile(r"```[\w-]*")
_HEADING = re.compile(r"#|[-*+>|=](?:\s|$)|`{3}|~{3}|-{3}|\d{1,9}[.)]\s|\[[ xX]\]")
_MARKER = re.compile(
    r"<!--|-->|\{\s*/?\s*(?:knowledge|rag-context|file-knowledge|my-rules|autopoiesis)\b|\[from:|\(session\b"
    r"|</?\s*(?:conversation|turn|system|system-reminder|knowledge)\b",
    re.IGNORECASE,
)
