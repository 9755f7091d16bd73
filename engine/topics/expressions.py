"""The regular expressions of ``pattern`` triggers: read, measured, compiled (spec 4.2, design 4, R1).

They are compiled with the ``regex`` package, which can stop a search after a time and lets other threads run
meanwhile. Before that they are read by the standard library's parser, which costs a fifth: it shows which
text a match must contain, so that most patterns never need to be compiled, and how much memory compiling
would take, because ``a{1000000000}`` alone would take all there is.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
import warnings
from functools import lru_cache
from typing import Any

from engine.errors import AutopoiesisError

MAX_COPIES = 20_000
"""Elements an expression may have once its fixed repetitions are written out; more is refused."""

_parser: Any = importlib.import_module("re._parser")
_MOST_GROUPS = 200
_SLASHES = re.compile(r"/(?P<body>.+)/(?P<flags>[a-zA-Z]*)", re.DOTALL)
_KEPT_FLAGS = frozenset("msx")
_IGNORED_FLAGS = frozenset("igudvy")
_COUNT = re.compile(r"\{(\d+)(?:,\d*)?\}")
# Most patterns are a list of words, which need no parser.
_LISTED = re.compile(r"(?:\\b)?(?:\((?:\?:)?([\w '|-]+)\)(?:[a-z]\?)?|([\w '|-]+))(?:\\b)?")
# What the two parsers read differently: POSIX classes, set operations, and fuzzy matching.
_DIFFERENT = re.compile(r"\[:|\[\^?\[|\[[^\]]*(?:--|&&|\|\||~~)|\{[^}\d,]|\{\d*,?\d*[^}\d,]")


class ExpressionError(AutopoiesisError):
    """A pattern that cannot be used.

    ``position`` is a 0-based offset in the pattern as it was written; -1 when the error is all of it.
    """

    def __init__(self, what: str, *, position: int = -1, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.position = position


def plain(match: str) -> str:
    """The expression a trigger's ``match`` means, with its flags at the front.

    ``/\\b(email|inbox)\\b/i`` is accepted as other languages write it. A backspace character can only come
    from ``"\\b"`` in a double-quoted YAML text and is read as the word boundary it was meant as. Letters
    with marks are composed (NFC), as messages are before they are searched.
    """
    return _unwrapped(match)[0]


def _unwrapped(match: str) -> tuple[str, int]:
    """The expression, and what to add to an offset in it to have the offset in ``match``."""
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
    """The parse tree of an expression as the standard library sees it.

    Returns:
        A list of ``(operator, argument)`` pairs, or ``None`` where the standard library cannot read the
        expression or reads it differently than ``regex``. ``None`` does not mean that it is wrong.
    """
    if _DIFFERENT.search(expression) or expression.count("(") > _MOST_GROUPS:
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
    import regex  # noqa: PLC0415 — 12 ms that a message without a likely match never pays for

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
        raise ExpressionError("it is nested too deeply", hint="write it with fewer parentheses") from error
    except (ValueError, OverflowError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise ExpressionError(f"it cannot be compiled ({error})") from error


def refuse_large(expression: str) -> None:
    """Stops an expression whose fixed repetitions would fill the memory.

    Raises:
        ExpressionError: Written out, it has more than ``MAX_COPIES`` elements.
    """
    counts = [int(count[:9]) for count in _COUNT.findall(expression)]
    most = 1
    for count in counts:
        most *= max(1, count)
    if most * len(expression) <= MAX_COPIES:
        return
    parsed = tree(expression)
    size = copies(parsed) if parsed is not None else most
    if size > MAX_COPIES:
        raise ExpressionError(
            f"its repetitions stand for {min(size, 10**9):,} elements; at most {MAX_COPIES:,} are compiled",
            hint="use smaller numbers in {…}",
        )


def copies(items: Any) -> int:
    """How many elements a parse tree has once repetitions with a fixed least number are written out."""
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
