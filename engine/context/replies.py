"""Parses a model's reply that is to become memory, completely or not at all (robustness M1, M2, M4).

A reply is doubly untrusted: it comes from a model, about turns that may contain text from outside. Its length
is checked first, to bound the work.
"""

from __future__ import annotations

import re
import unicodedata

from engine.context.delimiters import one_line
from engine.startup.lazy import expression


class BadReply(Exception):
    """An unusable reply; the message is one clause."""


def without_thoughts(text: str, limit: int) -> str:
    """A reply without the thinking before it.

    Raises:
        BadReply: It has more than ``limit`` characters, or nothing is left.
    """
    if len(text) > limit:
        raise BadReply(f"the reply has {len(text):,} characters, more than {limit:,}")
    plain = _AFTER_THOUGHT.split(text)[-1].strip()
    if not plain:
        raise BadReply("the reply is empty")
    return plain


def fenced_blocks(text: str) -> list[str]:
    """The contents of the code blocks of a reply, in a single pass."""
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


def unfenced(text: str, limit: int) -> str:
    """A reply without thoughts, or the content of its single code block; raises as ``without_thoughts``."""
    plain = without_thoughts(text, limit)
    blocks = fenced_blocks(plain)
    return blocks[0] if len(blocks) == 1 else plain


def says(word: str, text: str) -> bool:
    """True if a reply consists of one word, such as one for nothing."""
    return text.strip("`\"'. \n") == word


def quoted(text: str, limit: int = 60) -> str:
    """The beginning of a text on one line, without control characters, to quote in an error."""
    line = one_line(text[: 8 * limit], limit)
    return "".join("\ufffd" if is_control(character) else character for character in line)


def why_no_line(text: str, limit: int) -> str:
    """Why a text cannot be a separate line; empty if it can."""
    if not text:
        return "is empty"
    if len(text) > limit:
        return f"has {len(text):,} characters, more than {limit}"
    if any(map(is_control, text)):
        return "contains a line break or a control character"
    if _HEADING.match(text):
        return "starts like a heading, a list, a quotation or a code fence"
    if _MARKER.search(text):
        return "contains a marker of memory or of a prompt"
    return ""


def is_control(character: str) -> bool:
    """Whether a character ends a line, controls a terminal or is invisible."""
    # Joiners are part of words and emoji; other invisible characters only hide something.
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cs", "Co", "Zl", "Zp") or (kind == "Cf" and character not in "\u200c\u200d\u00ad")


_AFTER_THOUGHT = expression(r"</think(?:ing)?>", re.IGNORECASE)
_OPENING = expression(r"```[\w-]*")
_HEADING = expression(r"#|[-*+>|=](?:\s|$)|`{3}|~{3}|-{3}|\d{1,9}[.)]\s|\[[ xX]\]")
_MARKER = expression(
    r"<!--|-->|\{\s*/?\s*(?:knowledge|rag-context|file-knowledge|my-rules|autopoiesis)\b|\[from:|\(session\b"
    r"|</?\s*(?:conversation|turn|system|system-reminder|knowledge)\b",
    re.IGNORECASE,
)
