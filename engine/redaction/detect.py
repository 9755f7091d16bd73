"""Finds and redacts likely keys and passwords (N3).

Used for requests to services, transcripts, logs, commits and workspace scans. A text is searched once for the
anchors of all kinds; patterns are matched only at anchors, over a few thousand characters at most.
"""

from __future__ import annotations

from binascii import a2b_base64
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Any

from engine.redaction.commands import command_kinds
from engine.redaction.judge import judged, naming_start
from engine.redaction.kinds import ENCODED, Kind, compiled, kinds
from engine.redaction.places import RANDOM, proposed, whole
from engine.redaction.shown import MARKS, UNSEEN, shown
from engine.redaction.tables import line_start
from engine.redaction.values import CHECKS, has_digit, is_mixed, stands_for_key
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
_LEAST_PREFIX, _LEAST_LETTERS = 3, 4
"""Characters of a prefix from which a key is looked for beyond a break; the second of one without a mark."""
_MOST_BREAKS = 8
_BREAKABLE = expression(r"[\w.+/=%-]{5,200}")
_FURTHER = expression(
    r"(?:(?P<line>\r?\n|[\r\u2028])[ \t]{0,40}|(?:\\\r?\n|\r?\n[│|>])[ \t]{0,40}"
    r"|[\"'`]\s{0,4}[+.&]?\s{0,40}[\"'`])(?P<part>[\w.+/=%-]{2,200})"
)
"""What follows a break of a line, or of a string in code."""
_GLUED = 200
"""Characters of a key that begins within a word."""
_NARROWEST, _WIDEST = 20, 300
"""Characters of a line that a terminal breaks."""
_WORD = expression(r"[A-Za-z]?[a-z]*")
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
    found, may_hide = _found(text)
    may_hide = may_hide or (not text.isascii() and UNSEEN.search(text) is not None)
    read = shown(text) if may_hide else None
    if read is None:
        return found
    again = [(read.place(start), read.place(end), kind) for start, end, kind in _found(read.text)[0]]
    return _disjoint(sorted((*found, *again)))


def _found(text: str) -> tuple[list[tuple[int, int, str]], bool]:
    """Spans of what is a secret as it stands, and whether something may be hidden in the text."""
    shaped, may_hide = _shaped(text)
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
    return _disjoint(sorted((*shaped, *found))), may_hide


def _shaped(text: str) -> tuple[list[tuple[int, int, str]], bool]:
    """Spans of what its shape or place tells, and whether something may be hidden in the text."""
    shaped: list[tuple[int, int, str]] = []
    covered_to, may_hide = 0, False
    for start, _, rules in _anchors(text):
        may_hide = may_hide or not rules
        for rule in rules:
            if start >= covered_to and (span := _shape(text, start, rule)) is not None:
                covered_to = whole(text, *span)
                if _is_strong(rule.prefix):
                    covered_to = _continued(text, covered_to)
                shaped.append((span[0], covered_to, rule.name))
    return _disjoint(sorted(shaped)), may_hide


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
    is_glued = not kind.before and not _begins_word(text, start, kind.anchor)
    if is_glued and not (text[start - 1] == "_" and len(kind.prefix) > 3 and kind.prefix[-1] in "_-"):
        return None
    pattern = compiled(kind.pattern)
    # Within a word are many places at which a key could begin: no more is read there than is judged.
    match = pattern.match(text, start, start + _GLUED if is_glued else len(text))
    if match is None:
        return None if is_glued else _broken(text, start, kind)
    first = start
    if kind.before:
        before = compiled(kind.before).search(text[max(0, start - _BEFORE) : start])
        if before is None:
            return None
        first -= len(before[0])
    if _FILLER.search(match[0]) or stands_for_key(match[0][len(kind.anchor) :]):
        return None
    if is_glued and not is_mixed(match[0][len(kind.anchor) :]):
        return None
    span = match.span("value") if "value" in pattern.groupindex else (first, match.end())
    return span if _passes(kind, text[span[0] : span[1]]) else None


def _passes(kind: Kind, value: str) -> bool:
    if kind.check == ENCODED:
        return _is_encoded(value)
    return not kind.check or CHECKS[kind.check](value)


def _is_encoded(value: str) -> bool:
    """True if it is a key in base64."""
    try:
        text = a2b_base64(value + "=" * (-len(value) % 4)).decode("ascii")
    except ValueError:
        return False
    return any(start == 0 for start, _, _ in _shaped(text)[0])


def _is_strong(prefix: str) -> bool:
    """True for a prefix that hardly anything but a key has, so that the key is followed beyond a break."""
    return len(prefix) >= (_LEAST_LETTERS if prefix.isalnum() else _LEAST_PREFIX)


def _broken(text: str, start: int, kind: Kind) -> tuple[int, int] | None:
    """The span of a key that a terminal breaks into lines, or code into strings, before it is a whole one."""
    prefix = kind.prefix
    match = _BREAKABLE.match(text, start) if _is_strong(prefix) and text.startswith(prefix, start) else None
    if match is None or _WORD.fullmatch(match[0], len(prefix)):
        return None
    pattern, joined = compiled(kind.pattern), match[0]
    for _ in range(_MOST_BREAKS):
        match = _FURTHER.match(text, match.end())
        if match is None or _WORD.fullmatch(match["part"]):
            return None
        joined += match["part"]
        if (key := pattern.match(joined)) is not None:
            rest = key[0][len(prefix) :]
            is_key = is_mixed(rest) or (prefix.isupper() and has_digit(rest))
            end = match.end() - (len(joined) - key.end())
            return (start, end) if is_key and not _FILLER.search(rest) and _passes(kind, key[0]) else None
    return None


def _continued(text: str, end: int) -> int:
    """Where a key ends that goes on in strings that are joined, or in lines no wider than its first."""
    for _ in range(_MOST_BREAKS):
        more = _FURTHER.match(text, end)
        if more is None or RANDOM.match(more["part"]) is None:
            break
        if more["line"]:
            width = end - line_start(text, end, _WIDEST)
            last = more.end()
            is_line = last == len(text) or text[last] in "\r\n\"'`"
            if not (is_line and width >= _NARROWEST and last - more.end("line") <= width):
                break
        end = more.end()
    return end


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
    """Start, end and rules of each anchor in a text, ordered by end; no rules if it may hide something."""
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
    for mark in MARKS:
        automaton.add_word(mark, (len(mark), ()))
    for anchor, found in rules.items():
        automaton.add_word(anchor, (len(anchor), found))
    automaton.make_automaton()
    return automaton
