"""Removes injected blocks from messages, so that memory never learns from itself (design 3.13)."""

from __future__ import annotations

import re

from engine.startup.lazy import expression

BY_PROGRAM = expression(
    r"<(?:bash-|command-|local-command|task-|system|tool|ide_)|\[Request interrupted"
    r"|^(?:Caveat:|Operation stopped by hook|Base directory for this skill|Stop hook feedback)"
    r"|^@agent Continue:"
    r"|This session is being continued",
    re.MULTILINE,
)
"""Text that an agent's program wrote in the person's place: a notice, output of a command, a summary."""

_BLANKS = " \t\n"
_CURLY = r"knowledge|rag-context|file-knowledge|my-rules|autopoiesis"
_ANGLE = r"system-reminder|hook_context|session_context|local-command-[a-z-]+|command-[a-z-]+"
# A marker in backquotes is being discussed, not used.
_MARKER = re.compile(
    rf"(?<!`)(?:\{{(?P<curly_end>/?)(?P<curly>{_CURLY})(?:[ \t][^{{}}\n]*)?\}}"
    rf"|<(?P<angle_end>/?)(?P<angle>{_ANGLE})(?:[ \t][^<>\n]*)?>)(?!`)"
)
# Labels of the marker lines above a prompt's sections; other comments belong to the author.
_LABELS = (
    r"(?:system|identity|memory|journal|projects?|preset|role|tools|knowledge|entries|skills|topic|subscription"
    r"|rules)"
    r":[^\n]*|history:[^\n]*|steering|discussion|message|"
    r"(?:user|agent|system) (?:[0-9-]{10} )?[0-9]{2}:[0-9]{2}[^\n]*"
)
_SECTION = re.compile(rf"^<!-- (?:{_LABELS}) -->[ \t]*(?:\n|\Z)", re.MULTILINE)


def strip_injected(text: str) -> str:
    """Remove injected blocks: retrieved knowledge, reminders and commands of the agent's program, and the
    markers between the sections of a compiled prompt.

    Blocks are ``{knowledge}…{/knowledge}``, ``{rag-context}``, ``{file-knowledge}``, ``{my-rules}``,
    ``{autopoiesis}``, ``<system-reminder>``, ``<hook_context>``, ``<session_context>``, ``<command-…>`` and
    ``<local-command-…>``, with or without attributes, nested or not. An unclosed block stays, because cutting
    to the end of the message could remove the user's own text. A text without blocks is returned unchanged.
    """
    if "{/" in text or "</" in text:
        text = _without_blocks(text)
    return _SECTION.sub("", text) if "<!-- " in text else text


def _without_blocks(text: str) -> str:
    spans: list[tuple[int, int]] = []
    open_at: dict[str, list[int]] = {}
    for match in _MARKER.finditer(text):
        name = match["curly"] or match["angle"]
        starts = open_at.setdefault(name, [])
        if not (match["curly_end"] or match["angle_end"]):
            starts.append(match.start())
        elif starts:
            start = starts.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, match.end()))
    return _without(text, spans) if spans else text


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, place = [], 0
    for start, end in spans:
        if start >= place:
            pieces.append(text[place:start])
        place = max(place, end)
    pieces.append(text[place:])
    return _closed_up(pieces)


def _closed_up(pieces: list[str]) -> str:
    """Join the pieces around gaps; blanks at a gap become one blank, one line end or one empty line."""
    kept: list[str] = []
    gap = ""
    for number, piece in enumerate(pieces):
        content = piece.strip(_BLANKS)
        if not content:
            gap += piece
            continue
        start = piece.index(content)
        if kept:
            gap += piece[:start]
            lines = gap.count("\n")
            kept.append("\n" * min(lines, 2) if lines else gap[:1])
        elif not number:
            kept.append(piece[:start])
        kept.append(content)
        gap = piece[start + len(content) :]
    return "".join(kept) + (gap if pieces[-1].strip(_BLANKS) else "")
