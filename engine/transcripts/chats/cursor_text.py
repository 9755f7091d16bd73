"""Reads a reply in a transcript that Cursor writes as text: words, then calls of tools, then their results.

What Cursor's model thought stands in ``<think>`` or, later, behind ``[Thinking]``, of which nothing tells the
end: only its first line is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.transcripts.importers.tools import summary_of

_MARK = re.compile(r"^\[(?P<what>Tool call|Tool result)\] (?P<name>[\w.-]+)[ \t]*$", re.MULTILINE)
_GIVEN = re.compile(r"^  (?P<key>[\w-]+): (?P<value>[^\n]*)$", re.MULTILINE)
_THINKING = re.compile(r"\s*\[Thinking\] [^\n]*(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply says and does."""

    text: str
    calls: tuple[tuple[str, str], ...]  # name and summary of each
    results: int
    thoughts: int


def reply_in(text: str) -> Reply | None:
    """The reply in a text; ``None`` if it is no such transcript's."""
    marks = [*_MARK.finditer(text)]
    thinking = _THINKING.match(text)
    if not marks and thinking is None:
        return None
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    calls = tuple(
        (mark["name"], summary_of(mark["name"], dict(_GIVEN.findall(text, mark.end(), end))))
        for mark, end in zip(marks, ends, strict=False)
        if mark["what"] == "Tool call"
    )
    said = text[thinking.end() if thinking is not None else 0 : marks[0].start() if marks else len(text)]
    return Reply(said, calls, len(marks) - len(calls), thinking is not None)
