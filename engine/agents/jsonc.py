"""Small edits of JSON files that leave every other byte unchanged.

Settings edited by hand contain comments, trailing commas and custom indentation. The parser records
positions, and an edit inserts or removes text at a position; removing an insertion restores every byte.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')
_SAME_LINE = re.compile(r"(?:[ \t]*(?:/\*[^\r\n]*?\*/))*[ \t]*(?://[^\r\n]*)?(?=[\r\n]|$)")
_MAX_DEPTH = 100


class JsonError(ValueError):
    """The text is not JSON.

    Attributes:
        line: The 1-based line of the first error.
    """

    def __init__(self, what: str, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position."""

    start: int  # of the key, for a member of an object
    end: int
    value: Any
    children: tuple[Node, ...] = ()  # items of a list, members of an object
    keys: tuple[str, ...] = ()  # of an object's ``children``
    opens: int = field(default=-1)  # position of the opening bracket

    def get(self, key: str) -> Node | None:
        """The member with a key; if the key is repeated, the last one, as in JSON parsers."""
        found = [child for name, child in zip(self.keys, self.children, strict=True) if name == key]
        return found[-1] if found else None


@functools.lru_cache(maxsize=4)
def parse(text: str) -> Node:
    """Parses JSON with comments and trailing commas; the result is cached and must not be changed.

    Raises:
        JsonError: It is not JSON.
    """
    start = _skip(text, 0)
    node = _value(text, start, start, 0)
    if (end := _skip(text, node.end)) != len(text):
        raise JsonError("unexpected text after the value", text, end)
    return node


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _value(text: str, start: int, at: int, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise JsonError(f"nested more than {_MAX_DEPTH} levels deep", text, at)
    if text[at : at + 1] in ("{", "["):
        return _container(text, start, at, depth)
    found = _SCALAR.match(text, at)
    try:
        if found is None:
            raise ValueError
        return Node(start, found.end(), json.loads(found.group()))
    except ValueError:
        raise JsonError("expected a value", text, at) from None


def _container(text: str, start: int, opens: int, depth: int) -> Node:
    is_object = text[opens] == "{"
    close = "}" if is_object else "]"
    children: list[Node] = []
    keys: list[str] = []
    at = _skip(text, opens + 1)
    while text[at : at + 1] != close:
        first = at
        if is_object:
            key = _value(text, at, at, depth)
            if not isinstance(key.value, str):
                raise JsonError("expected a key in quotation marks", text, at)
            keys.append(key.value)
            at = _skip(text, key.end)
            if text[at : at + 1] != ":":
                raise JsonError("expected a colon", text, at)
            at = _skip(text, at + 1)
        child = _value(text, first, at, depth + 1)
        children.append(child)
        at = _skip(text, child.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != close:
            raise JsonError(f"expected a comma or {close}", text, at)
    values = [child.value for child in children]
    value = dict(zip(keys, values, strict=True)) if is_object else values
    return Node(start, at + 1, value, tuple(children), tuple(keys), opens)


def add(text: str, into: Node, value: Any, key: str | None = None) -> str:
    """The text with an item appended to a list, or a member to an object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent(text, into.opens)
    head = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if not into.children:
        inner, unit = outer + _indent_unit(text), _indent_unit(text)
        body = newline + inner + head + _dump(value, unit, inner, newline)
        inside = text[into.opens + 1 : into.end - 1]
        tail = "" if "\n" in inside else newline + outer
        return text[: into.opens + 1] + body + tail + text[into.opens + 1 :]
    last = into.children[-1]
    gap = text[len(text[: last.start].rstrip(" \t\r\n")) : last.start]
    is_inline = "\n" not in gap
    inner = gap.rpartition("\n")[2]
    sep = " " if is_inline else newline + inner
    made = head + (json.dumps(value, ensure_ascii=False) if is_inline else
                   _dump(value, _indent_unit(text), inner, newline))  # fmt: skip
    comma = _skip(text, last.end)
    trailing = text[comma] == ","
    after = comma + 1 if trailing else last.end
    place = after
    if not is_inline and (rest := _SAME_LINE.match(text, after)):  # a comment stays on its line
        place = rest.end() if "/" in rest.group() else after
    before = text[:after] + ("" if trailing else ",") + text[after:place]
    return before + sep + made + ("," if trailing else "") + text[place:]


def remove(text: str, holder: Node, child: Node) -> str:
    """The text without an item or member and its comma."""
    start = len(text[: child.start].rstrip(" \t\r\n"))
    index = holder.children.index(child)
    before = holder.children[index - 1].end if index else holder.opens + 1
    comma = _skip(text, child.end)
    if text[comma] == ",":
        rest = text[child.end : comma] + text[comma + 1 :]
        last = max(_COMMENT.finditer(text, before, start), key=re.Match.end, default=None)
        if last and last.end() == start and last.group().startswith("//") and not _SAME_LINE.match(rest):
            start = child.start  # the line break ends the comment
        return text[:start] + rest
    if index:
        needed = _skip(text, before)
        return text[:needed] + text[needed + 1 : start] + text[child.end :]
    rest = text[child.end : holder.end - 1]
    if not (text[before:start] + rest).strip(" \t\r\n"):
        rest = ""  # nothing is left between the brackets
    return text[:start] + rest + text[holder.end - 1 :]


def _dump(value: Any, unit: str, base: str, newline: str) -> str:
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + base)


def _indent(text: str, at: int) -> str:
    """The indentation of the line at a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    """The unit of indentation, from the text's first indented line."""
    return next(_indented(text), "  ")


def _indented(text: str) -> Iterator[str]:
    for found in re.finditer(r"\n([ \t]+)(?=[\"{\[])", text):
        yield found.group(1)
