"""Parses, measures and compiles the regular expressions of ``pattern`` triggers (spec 4.2, design 4, R1).

They are compiled with the ``regex`` package, which has timeouts and lets other threads run. Before that the
standard library's parser reads them in a fifth of the time. It shows which text a match must contain, so that
most patterns never need compiling, and how much memory compiling would take: ``a{1000000000}`` would take
all.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
import warnings
from functools import lru_cache
from typing import Any

from engine.errors import AutopoiesisError
from engine.startup.lazy import expression

MAX_COPIES = 20_000
"""Maximum number of elements of an expression after expanding its fixed repetitions."""

_parser: Any = importlib.import_module("re._parser")
_MAX_GROUPS = 200
_SLASHES = expression(r"/(?P<body>.+)/(?P<flags>[a-zA-Z]*)", re.DOTALL)
_KEPT_FLAGS = frozenset("msx")
_IGNORED_FLAGS = frozenset("igudvy")
_COUNT = expression(r"\{(\d+)(?:,\d*)?\}")
# Most patterns are lists of words and need no parser.
_LISTED = expression(r"(?:\\b)?(?:\((?:\?:)?([\w '|-]+)\)(?:[a-z]\?)?|([\w '|-]+))(?:\\b)?")
# Syntax that the two parsers read differently: POSIX classes, set operations, and fuzzy matching.
_DIFFERENT = expression(r"\[:|\[\^?\[|\[[^\]]*(?:--|&&|\|\||~~)|\{[^}\d,]|\{\d*,?\d*[^}\d,]")


class ExpressionError(AutopoiesisError):
    """An unusable pattern; ``position`` is the 0-based offset of the error, or -1 for the whole pattern."""

    def __init__(self, what: str, *, position: int = -1, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.position = position


def plain(match: str) -> str:
    """The expression of a trigger's ``match``, with its flags at the front.

    The form ``/\\b(email|inbox)\\b/i`` is accepted. A backspace character can only come from ``"\\b"`` in
    double-quoted YAML and is read as a word boundary. Letters are composed (NFC), like those of messages.
    """
    return _unwrapped(match)[0]


def _unwrapped(match: str) -> tuple[str, int]:
    """The expression, and the difference between an offset in ``match`` and one in the expression."""
    text = match.replace("\b", r"\b")
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    found = _SLASHES.fullmatch(text)
    if found is None:
        return text, 0
    flags = set(found["flags"].lower())
    if not flags <= _KEPT_FLAGS | _IGNORED_FLAGS:
        return text, 0
    kept = "".join(sorted(flags & _KEPT_FLAGS))
    prefix = f"(?{kept})" if kept else ""
    return prefix + found["body"], 1 - len(prefix)


def listed_words(expression: str) -> tuple[str, ...] | None:
    """The alternatives of an expression that only lists words, such as ``\\b(mail|inbox)s?\\b``."""
    found = _LISTED.fullmatch(expression)
    return tuple((found[1] or found[2]).split("|")) if found else None


@lru_cache(maxsize=8192)
def tree(expression: str) -> Any:
    """The standard library's parse tree of an expression: a list of ``(operator, argument)`` pairs.

    ``None`` if the standard library cannot parse the expression or reads it differently than ``regex``; it
    may still be valid.
    """
    if _DIFFERENT.search(expression) or expression.count("(") > _MAX_GROUPS:
        return None
    try:
        return _parser.parse(expression, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError, ValueError):
        return None


def compile_expression(match: str) -> Any:
    """The compiled ``regex`` pattern of a trigger's ``match``, ignoring case.

    Raises:
        ExpressionError: It is not a valid expression, or too large to compile.
    """
    expression = plain(match)
    refuse_large(expression)
    import regex  # noqa: PLC0415 — 12 ms, only for messages with a likely match

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return regex.compile(expression, regex.IGNORECASE | regex.VERSION0)
    except regex.error as error:
        position = error.pos if isinstance(error.pos, int) else -1
        if position >= 0:
            position = max(0, position + _unwrapped(match)[1])
        raise ExpressionError(str(error.msg), position=position) from error
    except RecursionError as error:
        raise ExpressionError("it is nested too deeply", hint="use fewer parentheses") from error
    except (ValueError, OverflowError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise ExpressionError(f"it cannot be compiled ({error})") from error


def refuse_large(expression: str) -> None:
    """Refuses an expression whose fixed repetitions would fill the memory.

    Raises:
        ExpressionError: It expands to more than ``MAX_COPIES`` elements.
    """
    counts = [int(count[:9]) for count in _COUNT.findall(expression)]
    factor = 1
    for count in counts:
        factor *= max(1, count)
    if factor * len(expression) <= MAX_COPIES:
        return
    parsed = tree(expression)
    size = copies(parsed) if parsed is not None else factor
    if size > MAX_COPIES:
        raise ExpressionError(
            f"its repetitions expand to {min(size, 10**9):,} elements; at most {MAX_COPIES:,} are allowed",
            hint="use smaller numbers in {…}",
        )


def copies(items: Any) -> int:
    """Number of elements of a parse tree after expanding the minimum number of repetitions."""
    total = 0
    for operator, argument in items:
        least = argument[0] if str(operator).endswith("REPEAT") else 1
        total += max(1, least) * max(1, sum(copies(part) for part in parts(operator, argument)))
        if total > 10**9:
            return total
    return total


def parts(operator: Any, argument: Any) -> list[Any]:
    """The trees directly inside one element of a parse tree."""
    name = str(operator)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return [argument[2]]
    if name == "SUBPATTERN":
        return [argument[3]]
    if name == "BRANCH":
        return list(argument[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    if name == "ATOMIC_GROUP":
        return [argument]
    if name == "GROUPREF_EXISTS":
        return [part for part in argument[1:] if part is not None]
    return []
