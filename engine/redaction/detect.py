"""What looks like a key or a password is found, and taken out of a text (N3).

One place for all: requests to a service, transcripts, logs, commits and the search through a workspace. A
text is looked through once for what every kind begins with; only there is anything matched, and never more
than some thousand characters of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Any

from engine.redaction.kinds import KINDS, Kind, compiled
from engine.redaction.named import NAMED, Named
from engine.startup.records import dataclass

PLACEHOLDER = "[secret]"
"""What stands where something was."""

_SMALL = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_BEFORE = 64
_SIGN = re.compile(r"[^\n]")
_FILLER = re.compile(r"x{8}|X{8}|\*{4}|\.\.\.")
"""What stands in for a key in examples."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A place in a text that looks like a secret."""

    start: int  # where what is taken out begins
    end: int
    line: int  # from 1
    kind: str  # such as ``GitHub token``


def redacted(text: str) -> str:
    """The text with ``PLACEHOLDER`` in the place of what looks like a secret."""
    return redact(text)[0]


def redact(text: str) -> tuple[str, int]:
    """The text with ``PLACEHOLDER`` in the place of what looks like a secret, and in how many places."""
    spans = _spans(text)
    if not spans:
        return text, 0
    parts: list[str] = []
    at = 0
    for start, end, _ in spans:
        parts += (text[at:start], PLACEHOLDER)
        at = end
    return "".join((*parts, text[at:])), len(spans)


def masked(text: str) -> str:
    """The text with dots over what looks like a secret: all else, line ends too, stands where it stood."""
    for start, end, _ in _spans(text):
        text = text[:start] + _SIGN.sub("•", text[start:end]) + text[end:]
    return text


def without_secrets(value: Any) -> Any:
    """JSON without what looks like a secret in any of its texts; its names stay."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {name: without_secrets(each) for name, each in value.items()}
    return [without_secrets(each) for each in value] if isinstance(value, list | tuple) else value


def secrets_in(text: str) -> tuple[Secret, ...]:
    """All places that look like a secret, in order."""
    found: list[Secret] = []
    line, counted = 1, 0
    for start, end, kind in _spans(text):
        line += text.count("\n", counted, start)
        counted = start
        found.append(Secret(start, end, line, kind))
    return tuple(found)


def _spans(text: str) -> list[tuple[int, int, str]]:
    """Where secrets stand, in order and apart from each other, with their kinds."""
    shaped: list[tuple[int, int, str]] = []
    hints: list[tuple[int, int, Named]] = []
    over = 0
    for start, end, rules in _anchors(text):
        for rule in rules:
            if isinstance(rule, Named):
                hints.append((start, end, rule))
            elif start >= over and (span := _shape(text, start, rule)) is not None:
                shaped.append((*span, rule.name))
                over = span[1]
    shaped = _apart(sorted(shaped))
    if not hints:
        return shaped
    begins = [span[0] for span in shaped]
    named: list[tuple[int, int, str]] = []
    over = 0
    for start, end, hint in hints:
        place = bisect_right(begins, start) - 1
        if start < over or (place >= 0 and start < shaped[place][1]):
            continue
        found = hint.find(text, start, end)
        if found is None:
            continue
        first, value, last = found
        place = bisect_right(begins, value) - 1
        if place >= 0 and last <= shaped[place][1]:
            continue  # its own shape has told it, and tells more
        named.append((first, last, hint.name))
        over = last
    return _apart(sorted((*shaped, *named))) if named else shaped


def _apart(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    joined: list[tuple[int, int, str]] = []
    for start, end, kind in spans:
        if joined and start < joined[-1][1]:
            first, last, other = joined[-1]
            joined[-1] = (first, max(last, end), other)
        else:
            joined.append((start, end, kind))
    return joined


def _shape(text: str, start: int, kind: Kind) -> tuple[int, int] | None:
    if not kind.before:
        if not _begins_word(text, start, kind.anchor):
            return None
        first = start
    else:
        before = compiled(kind.before).search(text[max(0, start - _BEFORE) : start])
        if before is None:
            return None
        first = start - len(before[0])
    pattern = compiled(kind.pattern)
    match = pattern.match(text, start)
    if match is None or _FILLER.search(match[0]):
        return None
    return match.span("value") if "value" in pattern.groupindex else (first, match.end())


def _begins_word(text: str, start: int, anchor: str) -> bool:
    """Whether no letter stands before it that belongs to it; one of an escape or of a colour does not."""
    before = text[start - 1 : start] if start else ""
    if not (before.isalnum() or before == "_" or (before == "-" and anchor == "eyj")):
        return True
    earlier = text[max(0, start - 8) : start]
    return (
        earlier[-2:] in ("\\n", "\\r", "\\t")
        or (len(earlier) > 2 and earlier[-3] == "%")
        or (before == "m" and "[" in earlier and "\x1b" in earlier + text[max(0, start - 12) : start])
    )


def _anchors(text: str) -> Iterator[tuple[int, int, tuple[Kind | Named, ...]]]:
    """Where something stands that a kind begins with, in the order of their ends."""
    low = text.lower()
    if len(low) != len(text):  # A few letters have a longer small form, which would shift the places.
        low = text.translate(_SMALL)
    for last, (length, rules) in _automaton().iter(low):
        yield last + 1 - length, last + 1, rules


@cache
def _automaton() -> Any:
    from ahocorasick import Automaton  # noqa: PLC0415 — only where a text is looked at

    rules: dict[str, tuple[Kind | Named, ...]] = {}
    those: tuple[Kind | Named, ...] = (*KINDS, *NAMED)
    for rule in those:
        rules[rule.anchor] = (*rules.get(rule.anchor, ()), rule)
    automaton = Automaton()
    for anchor, found in rules.items():
        automaton.add_word(anchor, (len(anchor), found))
    automaton.make_automaton()
    return automaton
