"""Worst-case texts for the repetitions of a pattern (robustness R1).

A backtracking search tries every combination before it fails, so ``(a+)+$`` can take forever on many letters
followed by something else. Which patterns are affected depends on the engine's optimizations, so the engine
is tried on texts made here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.topics.expressions import parts

MANY = 9
"""Repetitions from which a loop counts as unbounded."""

_LOOPS = ("MAX_REPEAT", "MIN_REPEAT")
_SAMPLES = "a0 A" + "".join(map(chr, range(33, 127))) + "\n\tézß漢"
_MAX_LOOPS = 8
_MAX_COPIES = 20


def is_suspicious(items: Any) -> bool:
    """Whether a parse tree has an unbounded loop over several characters; others are never exponential."""
    for operator, argument in items:
        if str(operator) in _LOOPS and argument[1] >= MANY:
            body = argument[2]
            if len(body) > 1 or any(parts(*item) for item in body):
                return True
        if any(is_suspicious(part) for part in parts(operator, argument)):
            return True
    return False


def is_empty_match(tree: Any) -> bool:
    """Whether a pattern can match without consuming a character."""
    return bool(tree.getwidth()[0] == 0)


def hostile_texts(tree: Any, length: int) -> Iterator[tuple[str, str]]:
    """Texts of about ``length`` characters that repeat one loop each and then fail to match.

    Each comes with a short sample of it.
    """
    found = list(_loops(tree, ""))[:_MAX_LOOPS]
    written = "".join(before + text for before, text in found)
    stopper = next((sign for sign in "!#~\x01" if sign not in written), "!")
    for before, text in found:
        filled = (before + text * (length // len(text)))[:length] + stopper
        sample = f"{before}{(text * 12)[:12]}…{stopper}"
        # The engine rejects a text at once if required parts are missing; the second text has them at its
        # end.
        yield from ((filled, sample), (filled + _example(tree), sample))


def _loops(items: Any, before: str) -> Iterator[tuple[str, str]]:
    """Every unbounded loop, as a text that leads to it and a text that it can repeat."""
    for operator, argument in items:
        is_loop = str(operator) in _LOOPS and argument[1] >= MANY
        if is_loop and (text := _example(argument[2])):
            yield before, text
        for part in parts(operator, argument):
            yield from _loops(part, before)
        before += _one(operator, argument)


def _example(items: Any) -> str:
    """A short text that part of a pattern matches, as far as easily known."""
    return "".join(_one(operator, argument) for operator, argument in items)


def _one(operator: Any, argument: Any) -> str:
    name = str(operator)
    if name == "LITERAL":
        return chr(argument)
    if name in ("ANY", "NOT_LITERAL", "IN"):
        return next((letter for letter in _SAMPLES if _matches(name, argument, letter)), "")
    if name.endswith("REPEAT"):
        return _example(argument[2]) * min(max(int(argument[0]), 1), _MAX_COPIES)
    if name in ("BRANCH", "SUBPATTERN", "ATOMIC_GROUP"):
        return _example(parts(operator, argument)[0])
    return ""


def _matches(name: str, argument: Any, letter: str) -> bool:
    if name == "ANY":
        return letter != "\n"
    if name == "NOT_LITERAL":
        return letter != chr(argument)
    if name == "NEGATE":
        return False
    if name == "RANGE":
        return bool(argument[0] <= ord(letter) <= argument[1])
    if name == "LITERAL":
        return letter == chr(argument)
    if name == "CATEGORY":
        kind = str(argument).removeprefix("CATEGORY_").removeprefix("NOT_")
        is_kind = {"DIGIT": letter.isdigit(), "SPACE": letter.isspace()}.get(
            kind, letter.isalnum() or letter == "_"
        )
        return is_kind != ("NOT_" in str(argument))
    found = any(_matches(str(kind), value, letter) for kind, value in argument)
    return found != (str(argument[0][0]) == "NEGATE")
