"""Finds and redacts likely keys and passwords (N3).

Used for requests to services, transcripts, logs, commits and workspace scans. A text is searched once for the
anchors of all kinds; patterns are matched only at anchors, over a few thousand characters at most.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Any

from engine.redaction.commands import command_kinds
from engine.redaction.judge import judged, naming_start
from engine.redaction.kinds import Kind, compiled, kinds
from engine.redaction.places import proposed, whole
from engine.redaction.values import CHECKS, stands_for_key
from engine.startup.lazy import expression
from engine.startup.records import dataclass

PLACEHOLDER = "[secret]"
"""Replaces a redacted secret."""

_ASCII_LOWER = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_BEFORE = 96
_MOST_ROUNDS = 4
_CHARACTER = expression(r"[^\n]")
_NEVER_ESCAPES = "ghijklopqsuvwxyzGHIJKLMNOPQRSTUVWXYZ"
"""Letters in which no escape or color sequence ends."""
_FILLER = expression(r"x{8}|X{8}|EXAMPLE|\*{4}|\.\.\.")
"""A placeholder for a key in examples."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A likely secret in a text."""

    start: int  # of the redacted span
    end: int
    line: int  # from 1
    kind: str  # such as ``GitHub token``


def redacted(text: str) -> str:
    """The text with likely secrets replaced by ``PLACEHOLDER``."""
    return redact(text)[0]


def redact(text: str) -> tuple[str, int]:
    """The text with likely secrets replaced by ``PLACEHOLDER``, and their number."""
    count = 0
    for _ in range(_MOST_ROUNDS):  # what is redacted may let another value stand next to a naming word
        spans = _spans(text)
        if not spans:
            break
        parts: list[str] = []
        at = 0
        for start, end, _ in spans:
            parts += (text[at:start], PLACEHOLDER)
            at = end
        text = "".join((*parts, text[at:]))
        count += len(spans)
    return text, count


def masked(text: str) -> str:
    """The text with likely secrets replaced by dots; lengths and line ends do not change."""
    for start, end, _ in _spans(text):
        text = text[:start] + _CHARACTER.sub("•", text[start:end]) + text[end:]
    return text


def without_secrets(value: Any) -> Any:
    """JSON with likely secrets redacted in all its string values; keys are not changed."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {name: without_secrets(each) for name, each in value.items()}
    return [without_secrets(each) for each in value] if isinstance(value, list | tuple) else value


def secrets_in(text: str) -> tuple[Secret, ...]:
    """All likely secrets, in order of position."""
    found: list[Secret] = []
    line, counted = 1, 0
    for start, end, kind in _spans(text):
        line += text.count("\n", counted, start)
        counted = start
        found.append(Secret(start, end, line, kind))
    return tuple(found)


def _spans(text: str) -> list[tuple[int, int, str]]:
    """Spans of secrets with their kinds, sorted and not overlapping."""
    shaped: list[tuple[int, int, str]] = []
    covered_to = 0
    for start, _, rules in _anchors(text):
        for rule in rules:
            if start >= covered_to and (span := _shape(text, start, rule)) is not None:
                covered_to = whole(text, *span)
                shaped.append((span[0], covered_to, rule.name))
    shaped = _disjoint(sorted(shaped))
    starts = [span[0] for span in shaped]
    found: list[tuple[int, int, str]] = []
    covered_to = 0
    for start, end, name in sorted(set(proposed(text)), key=lambda span: (span[0], -span[1], span[2])):
        index = bisect_right(starts, start) - 1
        if start < covered_to or (index >= 0 and start < shaped[index][1]):
            continue
        if kind := judged(text, start, end, name):
            covered_to = whole(text, start, end)
            found.append((naming_start(text, start), covered_to, kind))
    return _disjoint(sorted((*shaped, *found)))


def _disjoint(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    joined: list[tuple[int, int, str]] = []
    for start, end, kind in spans:
        if joined and start < joined[-1][1]:
            first, last, other = joined[-1]
            joined[-1] = (first, max(last, end), other)
        else:
            joined.append((start, end, kind))
    return joined


def _shape(text: str, start: int, kind: Kind) -> tuple[int, int] | None:
    if not kind.before and not _begins_word(text, start, kind.anchor):
        return None
    pattern = compiled(kind.pattern)
    match = pattern.match(text, start)
    if match is None:
        return None
    first = start
    if kind.before:
        before = compiled(kind.before).search(text[max(0, start - _BEFORE) : start])
        if before is None:
            return None
        first -= len(before[0])
    if _FILLER.search(match[0]) or stands_for_key(match[0][len(kind.anchor) :]):
        return None
    span = match.span("value") if "value" in pattern.groupindex else (first, match.end())
    return span if not kind.check or CHECKS[kind.check](text[span[0] : span[1]]) else None


def _begins_word(text: str, start: int, anchor: str) -> bool:
    """True if no word character precedes the anchor, except the end of an escape or color sequence."""
    before = text[start - 1 : start] if start else ""
    if before in _NEVER_ESCAPES:
        return not before
    if not (before.isalnum() or before == "_" or (before == "-" and anchor == "eyj")):
        return True
    earlier = text[max(0, start - 8) : start]
    return (
        earlier[-2:] in ("\\n", "\\r", "\\t")
        or (len(earlier) > 2 and earlier[-3] == "%")
        or (before == "m" and "[" in earlier and "\x1b" in earlier + text[max(0, start - 12) : start])
    )


def _anchors(text: str) -> Iterator[tuple[int, int, tuple[Kind, ...]]]:
    """Start, end and rules of each anchor in a text, ordered by end."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters get longer in lower case, which would shift positions
        lowered = text.translate(_ASCII_LOWER)
    for last, (length, rules) in _automaton().iter(lowered):
        yield last + 1 - length, last + 1, rules


@cache
def _automaton() -> Any:
    from ahocorasick import Automaton  # noqa: PLC0415 — only when a text is searched

    rules: dict[str, tuple[Kind, ...]] = {}
    for rule in (*kinds(), *command_kinds()):
        rules[rule.anchor] = (*rules.get(rule.anchor, ()), rule)
    automaton = Automaton()
    for anchor, found in rules.items():
        automaton.add_word(anchor, (len(anchor), found))
    automaton.make_automaton()
    return automaton
