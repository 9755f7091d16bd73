"""Who really speaks in a turn: what is quoted, pasted or reported in it is somebody else's (M3)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

from engine.context.voices import Voices
from engine.transcripts.escape import Fences
from engine.transcripts.turn import KnowledgeChange, Text, Turn


def voices_of(turns: Iterable[Turn], outside: str = "") -> Voices:
    """What was said by whom.

    Nobody's own, and so put down to tools, is: what stands in a quotation; what a person pastes as fenced
    code; comments in code that the agent shows; what it reports of a page, a file or a message, to the end of
    the paragraph, and the next one where that ends with a colon; what tools gave back; and the plain text of
    what is encoded in any of these.

    Args:
        turns: Turns without what was injected into them.
        outside: What tools gave back, as far as it does not stand in the turns.
    """
    person: list[str] = []
    agent: list[str] = []
    others: list[str] = [outside]
    for turn in turns:
        for block in turn.blocks:
            if isinstance(block, KnowledgeChange) and turn.role != "system":
                agent.append(f"{block.path} {block.summary}")
            if not isinstance(block, Text) or turn.role == "system":
                continue
            own, quoted = own_and_quoted(block.text, pasted=turn.role == "user")
            others.append(quoted)
            if turn.role == "agent":
                own, reported = _own_and_reported(own)
                others.append(reported)
            (person if turn.role == "user" else agent).append(own)
        if turn.role == "system":
            others.append(turn.text)
        others += [f"{tool.summary}\n{tool.result}" for tool in turn.tools]
    tool = "\n".join(filter(None, others))
    decoded = "\n".join(_decoded(tool))
    return Voices("\n".join(person), "\n".join(agent), f"{tool}\n{decoded}" if decoded else tool)


def own_and_quoted(text: str, *, pasted: bool) -> tuple[str, str]:
    """A text without the lines that it quotes, and these.

    Args:
        text: Markdown.
        pasted: Whether fenced code counts as quoted.
    """
    lines = text.split("\n")
    fenced = in_fences(text)
    is_quoted = [
        (fence and pasted) or bool(_QUOTATION.match(line)) for line, fence in zip(lines, fenced, strict=True)
    ]
    own = [line for line, other in zip(lines, is_quoted, strict=True) if not other]
    return "\n".join(own), "\n".join(line for line, other in zip(lines, is_quoted, strict=True) if other)


def in_fences(text: str) -> list[bool]:
    """For each line of a text whether it belongs to a fenced code block."""
    spans = Fences(text).blocks()
    span = next(spans, None)
    found: list[bool] = []
    place = 0
    for line in text.split("\n"):
        while span is not None and span[1] <= place:
            span = next(spans, None)
        found.append(span is not None and span[0] <= place)
        place += len(line) + 1
    return found


def _own_and_reported(text: str) -> tuple[str, str]:
    """What the agent says itself, and what it only passes on."""
    own: list[str] = []
    reported: list[str] = []
    goes_on = False
    for paragraph in _paragraphs(text, reported):
        found = _REPORT.search(paragraph)
        start = 0 if goes_on else len(paragraph)
        if found is not None and not goes_on:
            ends = (match.end() for match in _SENTENCE.finditer(paragraph, 0, found.start()))
            start = max(ends, default=0)
        own.append(paragraph[:start])
        reported.append(paragraph[start:])
        goes_on = start < len(paragraph) and paragraph.rstrip().endswith(":")
    return "\n\n".join(own), "\n\n".join(reported)


def _paragraphs(text: str, comments: list[str]) -> Iterator[str]:
    """The paragraphs of a text; comments in its code, which may be anybody's, go where they are told."""
    lines: list[str] = []
    for line, is_code in zip(text.split("\n"), in_fences(text), strict=True):
        comment = _COMMENT.search(line) if is_code else None
        if comment is not None:
            comments.append(comment[0])
            line = line[: comment.start()]
        if line.strip() or is_code:
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines.clear()
    if lines:
        yield "\n".join(lines)


def _decoded(text: str) -> Iterator[str]:
    for match in _ENCODED.finditer(text):
        run = match[0]
        try:
            if _HEX.fullmatch(run):
                data = bytes.fromhex(run[: len(run) // 2 * 2])
            else:
                data = base64.b64decode(run[: len(run) // 4 * 4], validate=True)
            plain = data.decode("utf-8")
        except (ValueError, binascii.Error):
            continue
        if plain.isprintable():
            yield plain


_QUOTATION = re.compile(r" {0,3}(?:>|\|\s*>)")
_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//|--|/\*|<!--|\"\"\"|\*|;)\s?[^\s!].*")
_SENTENCE = re.compile(r"[.!?][\"'”’)]*\s+|\n")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{24,}")
_SOURCE = (
    r"(?:page|site|website|web|mail|e-?mail|message|letter|file|document|docs?|readme|comment|ticket|issue|"
    r"article|post|attachment|pdf|output|result|tool|seite|datei|nachricht|dokument|kommentar|anhang|fichier|"
    r"página|archivo|correo)s?"
)
_REPORT = re.compile(
    rf"\b{_SOURCE}\b.{{0,40}}\b(?:say|state|read|claim|ask|tell|want|instruct|mention|recommend|note|demand|hold|contain|show|"
    rf"request|sag|behaupt|verlang|steht|heißt|dit|dice)\w{{0,3}}\b"
    rf"|\b(?:according to|quoting|as written in|laut|selon|según)\b.{{0,30}}\b{_SOURCE}\b"
    r"|\b(?:it|he|she|they|es) (?:says?|reads?|states?|claims?|sagt|lautet)\b"
    r"|\b(?:as per|apparently|allegedly|reportedly|supposedly|angeblich)\b",
    re.IGNORECASE,
)
