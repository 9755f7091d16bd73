"""Changes single values of a YAML text in place: only the characters of the old value are replaced.

A round trip through a YAML writer re-quotes, re-indents or re-wraps unrelated lines. Here the library writes
only the new value, at the position reported by the parser, and the result is parsed again and compared with
the intended value. Changes that cannot be made this way are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.errors import DocumentError
from engine.startup.records import dataclass
from engine.store.yamltext import Node, YamlError, compose, to_value
from engine.store.yamlwrite import as_read, lines

Steps = tuple[str | int, ...]
"""The path to a value: mapping keys and list indices."""


class CannotEdit(DocumentError):
    """The change cannot be made without affecting other parts of the text."""


class YamlEdit:
    """A YAML text being edited.

    Args:
        text: Complete lines; may be empty.
        newline: The line end of new lines.
        max_bytes: Maximum size of the text.

    Attributes:
        text: The current text.
    """

    def __init__(self, text: str, newline: str, max_bytes: int) -> None:
        self.text = text
        self._newline = newline
        self._max_bytes = max_bytes

    def change(self, key: str, value: object | None) -> None:
        """Set a field, creating parent mappings, or remove it.

        Args:
            key: Dots descend into mappings, numbers index lists; the number after the last item appends.
            value: ``None`` to remove the field.

        Raises:
            DocumentError: The key cannot be resolved, or the value cannot be written.
            CannotEdit: The change would affect other lines.
            YamlError: The text cannot be read.
        """
        before, text = self._value(), self.text
        try:
            steps = _steps(before, key)
        except DocumentError:
            if value is None:
                return
            raise
        if value is None and _get(before, steps) is None:
            return
        wanted = _with(before, steps, None if value is None else as_read(value))
        try:
            self._set(steps, value)
            if self._value() == (wanted or {}):
                return
        except (CannotEdit, YamlError):
            pass
        self.text = text
        raise CannotEdit(f"'{key}' cannot be changed without touching other lines")

    def _value(self) -> object:
        return value_of(self.text, self._max_bytes)

    def _set(self, steps: Steps, value: object | None) -> None:
        """Set or remove a value; in an existing collection, change only the parts that differ."""
        old = _get(self._value(), steps)
        new = None if value is None else as_read(value)
        if old == new:
            return
        if isinstance(old, dict) and isinstance(value, Mapping) and old and value:
            for key in [key for key in old if key not in value]:
                self._set((*steps, key), None)
            for key, item in value.items():
                self._set((*steps, str(key)), item)
        elif (
            isinstance(old, list)
            and isinstance(new, list)
            and all(isinstance(each, str) for each in old + new)
        ):
            tail = 0
            while tail < len(new) < len(old) and old[-1 - tail] == new[-1 - tail]:
                tail += 1
            for index, item in enumerate(new[: len(new) - tail]):
                self._set((*steps, index), item)
            for index in reversed(range(len(new) - tail, len(old) - tail)):
                self._set((*steps, index), None)
        else:
            self.text = self._changed(steps, value)

    def _changed(self, steps: Steps, value: object | None) -> str:
        """The text with a value set or removed."""
        text, root = self.text, compose(self.text, max_bytes=self._max_bytes)
        if root is None:
            return text + self._indented(lines(steps[0], _nested(steps[1:], value)), 0)
        place = _Place(root, flow=root.flow)
        depth = 0
        while depth < len(steps) and (child := place.child(steps[depth])):
            place, depth = child, depth + 1
        missing, node = steps[depth:], place.node
        if value is None:
            return self._without(place)
        if not missing or node.kind == "scalar":
            return self._with(place, _nested(missing, value))
        value = _nested(missing[1:], value)
        if place.flow:
            new = lines(missing[0], value, flow=True)[0]
            spans = place.spans()
            at, comma = (spans[-1][1], ", ") if spans else (node.start + 1, "")
            return f"{text[:at]}{comma}{new}{text[at:]}"
        at = self._line_end(node.end) + 1
        return text[:at] + self._indented(lines(missing[0], value), self._column(node.start)) + text[at:]

    def _with(self, place: _Place, value: object) -> str:
        """The text with an existing value replaced."""
        text, node, parent = self.text, place.node, place.parent
        is_open = node.kind != "scalar" and not node.flow
        in_mapping = parent is not None and parent.node.kind == "mapping"
        if parent is None or (is_open and not in_mapping):
            raise CannotEdit("it is not a field")
        flow, old = place.flow or not in_mapping, None if is_open else node
        first, *below = lines("k", value, flow=flow, old=old)
        new, start, end, comment = first.removeprefix("k:"), node.start, node.end, ""
        key_end = parent.node.pairs[place.index][0].end if in_mapping else start
        if below or is_open:
            # Keep comments between the colon and the value, or after it on the same line.
            start = text.find(":", key_end, start + 1) + 1
            if not start:
                raise CannotEdit("it has no colon")
            comment = text[start : node.start].rstrip()
        elif in_mapping and ":" not in text[key_end:start]:
            new = f":{new}"
        elif start < end or text[start - 1].isspace():
            new = new.lstrip(" ")
        if below:
            if not is_open:
                end = self._line_end(end)
                end -= text[:end].endswith("\r")
                comment += text[node.end : end].rstrip()
            added = self._indented(below, self._column(parent.node.start))
            comment += self._newline + added.removesuffix(self._newline)
        return text[:start] + new + comment + text[end:]

    def _without(self, place: _Place) -> str:
        text, parent, index = self.text, place.parent, place.index
        if parent is None:
            raise CannotEdit("it is the whole text")
        spans = parent.spans()
        start, end = spans[index]
        if len(spans) == 1 and parent.parent is not None:
            return self._with(parent, {} if parent.node.kind == "mapping" else [])
        if parent.flow:
            return self._without_in_flow(spans, index)
        if parent.node.kind == "sequence":
            start = self._dash(parent.node, index)
        line_start = start - self._column(start)
        if text[line_start:start].strip():
            raise CannotEdit("it shares its line with a dash")
        return text[:line_start] + text[self._line_end(end) + 1 :]

    def _without_in_flow(self, spans: list[tuple[int, int]], index: int) -> str:
        text = self.text
        start, end = spans[index]
        if index + 1 < len(spans):
            following = spans[index + 1][0]
            between, hash_, _ = text[end:following].partition("#")
            if hash_ and "," in between:
                following = end + between.index(",") + 1
            return text[:start] + text[following:]
        before = spans[index - 1][1] if index else start
        # Keep comments in between, and the comma before them, since a list may end with a comma.
        return text[: start if "#" in text[before:start] else before] + text[end:]

    def _dash(self, node: Node, index: int) -> int:
        if index == 0:
            return node.start
        pattern = re.compile(rf"^ {{{self._column(node.start)}}}-", re.MULTILINE)
        match = pattern.search(self.text, node.items[index - 1].end)
        if match is None:
            raise CannotEdit("it has no dash")
        return match.end() - 1

    def _indented(self, new: list[str], column: int) -> str:
        return "".join(f"{' ' * column if line else ''}{line}{self._newline}" for line in new)

    def _column(self, index: int) -> int:
        return index - (self.text.rfind("\n", 0, index) + 1)

    def _line_end(self, index: int) -> int:
        at = self.text.find("\n", index)
        if at < 0:
            raise CannotEdit("its line has no end")
        return at


@dataclass(frozen=True, slots=True)
class _Place:
    """A node, its parent collection and index there, and whether it is in flow style."""

    node: Node
    parent: _Place | None = None
    index: int = 0
    flow: bool = False

    def child(self, step: str | int) -> _Place | None:
        node = self.node
        if node.kind == "mapping":
            pairs = enumerate(node.pairs)
            found = next(((at, value) for at, (key, value) in pairs if key.text == step), None)
        elif node.kind == "sequence" and isinstance(step, int) and step < len(node.items):
            found = step, node.items[step]
        else:
            found = None
        return _Place(found[1], self, found[0], self.flow or found[1].flow) if found else None

    def spans(self) -> list[tuple[int, int]]:
        """Start and end of every pair or item."""
        if self.node.kind == "mapping":
            return [(key.start, max(key.end, value.end)) for key, value in self.node.pairs]
        return [(item.start, item.end) for item in self.node.items]


def value_of(text: str, max_bytes: int) -> object:
    """The value of a text; an empty mapping for an empty text.

    Raises:
        YamlError: It cannot be read.
    """
    node = compose(text, max_bytes=max_bytes)
    return (node and to_value(node)) or {}


def _nested(steps: Steps, value: object) -> object:
    for step in reversed(steps):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def _steps(value: object, key: str) -> Steps:
    """The steps of a dotted key, through existing values and into missing ones."""
    steps: list[str | int] = []
    for part in key.split("."):
        if not part:
            raise DocumentError(f"'{key}' is not a valid key")
        if isinstance(value, list) or (not value and part == "0"):
            count = len(value) if isinstance(value, list) else 0
            if not part.isdecimal() or int(part) > count:
                raise DocumentError(
                    f"'{key}' does not exist: the list has {count} items",
                    hint=f"use a number from 0 to {count}",
                )
            steps.append(int(part))
        elif isinstance(value, dict) or not value:
            steps.append(part)
        else:
            raise DocumentError(f"'{key}' does not exist: '{value}' is text")
        value = _get(value, tuple(steps[-1:]))
    return tuple(steps)


def _get(value: object, steps: Steps) -> object:
    """The value at some steps; ``None`` if missing."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _with(value: object, steps: Steps, new: object) -> object:
    """A copy of a value with a part set, or removed for ``None``."""
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    inner = _with(_get(value, (step,)), rest, new)
    if isinstance(step, int):
        items = value if isinstance(value, list) else []
        return [*items[:step], *([] if inner is None else [inner]), *items[step + 1 :]]
    pairs = {**value, step: inner} if isinstance(value, dict) else {step: inner}
    return {key: item for key, item in pairs.items() if item is not None}
