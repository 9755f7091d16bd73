"""Small changes of somebody's JSON, which leave every other byte as it is.

Settings that a person edits hold comments, trailing commas, an indentation of their own. Only places are read
from the text here, and a change is text put in or taken out at a place; what was put in is taken out again to
the byte.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_REMARK = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')
_SAME_LINE = re.compile(r"(?:[ \t]*(?:/\*[^\r\n]*?\*/))*[ \t]*(?://[^\r\n]*)?(?=[\r\n]|$)")
_MOST_DEEP = 100


class JsonError(ValueError):
    """The text is not JSON.

    Args:
        line: Of the first thing that is not understood, from 1.
    """

    def __init__(self, what: str, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Node:
    """A value, and where it stands."""

    start: int  # of a member, that of its key
    end: int
    value: Any
    children: tuple[Node, ...] = ()  # of a list its items, of an object its members
    keys: tuple[str, ...] = ()  # of an object, as long as ``children``
    opens: int = field(default=-1)  # where the bracket stands

    def get(self, key: str) -> Node | None:
        """The member with a name; of several the last, which is the one that counts."""
        found = [child for name, child in zip(self.keys, self.children, strict=True) if name == key]
        return found[-1] if found else None


@functools.lru_cache(maxsize=4)
def parse(text: str) -> Node:
    """Reads JSON with comments and trailing commas; the result is shared, and not to be changed.

    Raises:
        JsonError: It is none.
    """
    start = _skip(text, 0)
    node = _value(text, start, start, 0)
    if (end := _skip(text, node.end)) != len(text):
        raise JsonError("something follows the value", text, end)
    return node


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _value(text: str, start: int, at: int, depth: int) -> Node:
    if depth > _MOST_DEEP:
        raise JsonError(f"is nested more than {_MOST_DEEP} deep", text, at)
    if text[at : at + 1] in ("{", "["):
        return _container(text, start, at, depth)
    found = _SCALAR.match(text, at)
    try:
        if found is None:
            raise ValueError
        return Node(start, found.end(), json.loads(found.group()))
    except ValueError:
        raise JsonError("a value is expected", text, at) from None


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
                raise JsonError("a key in quotation marks is expected", text, at)
            keys.append(key.value)
            at = _skip(text, key.end)
            if text[at : at + 1] != ":":
                raise JsonError("a colon is expected", text, at)
            at = _skip(text, at + 1)
        child = _value(text, first, at, depth + 1)
        children.append(child)
        at = _skip(text, child.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != close:
            raise JsonError(f"a comma or {close} is expected", text, at)
    values = [child.value for child in children]
    value = dict(zip(keys, values, strict=True)) if is_object else values
    return Node(start, at + 1, value, tuple(children), tuple(keys), opens)


def add(text: str, into: Node, value: Any, key: str | None = None) -> str:
    """The text with one more item at the end of a list, or one more member at the end of an object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent(text, into.opens)
    head = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if not into.children:
        inner, unit = outer + _unit(text), _unit(text)
        body = newline + inner + head + _dumped(value, unit, inner, newline)
        inside = text[into.opens + 1 : into.end - 1]
        tail = "" if "\n" in inside else newline + outer
        return text[: into.opens + 1] + body + tail + text[into.opens + 1 :]
    last = into.children[-1]
    gap = text[len(text[: last.start].rstrip(" \t\r\n")) : last.start]
    is_inline = "\n" not in gap
    inner = gap.rpartition("\n")[2]
    sep = " " if is_inline else newline + inner
    made = head + (json.dumps(value, ensure_ascii=False) if is_inline else
                   _dumped(value, _unit(text), inner, newline))  # fmt: skip
    comma = _skip(text, last.end)
    trailing = text[comma] == ","
    after = comma + 1 if trailing else last.end
    place = after
    if not is_inline and (rest := _SAME_LINE.match(text, after)):  # a remark on the line stays on it
        place = rest.end() if "/" in rest.group() else after
    before = text[:after] + ("" if trailing else ",") + text[after:place]
    return before + sep + made + ("," if trailing else "") + text[place:]


def remove(text: str, holder: Node, child: Node) -> str:
    """The text without an item or member, and without the comma that it needed."""
    start = len(text[: child.start].rstrip(" \t\r\n"))
    index = holder.children.index(child)
    before = holder.children[index - 1].end if index else holder.opens + 1
    comma = _skip(text, child.end)
    if text[comma] == ",":
        rest = text[child.end : comma] + text[comma + 1 :]
        last = max(_REMARK.finditer(text, before, start), key=re.Match.end, default=None)
        if last and last.end() == start and last.group().startswith("//") and not _SAME_LINE.match(rest):
            start = child.start  # the line break ends the remark
        return text[:start] + rest
    if index:
        needed = _skip(text, before)
        return text[:needed] + text[needed + 1 : start] + text[child.end :]
    rest = text[child.end : holder.end - 1]
    if not (text[before:start] + rest).strip(" \t\r\n"):
        rest = ""  # nothing is left between the brackets
    return text[:start] + rest + text[holder.end - 1 :]


def _dumped(value: Any, unit: str, base: str, newline: str) -> str:
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + base)


def _indent(text: str, at: int) -> str:
    """The white space with which the line of a place begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """By how much the text indents, as its first indented line shows."""
    return next(_indented(text), "  ")


def _indented(text: str) -> Iterator[str]:
    for found in re.finditer(r"\n([ \t]+)(?=[\"{\[])", text):
        yield found.group(1)
