"""Where in a YAML text a single change goes, and what it must not touch.

Positions come from the parser. A change is refused rather than guessed; whoever calls reads the result again
and compares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as AbcMapping
from collections.abc import Sequence as AbcSequence
from dataclasses import dataclass

from engine.store import header_render as render
from engine.store.yamltext import MAX_HEADER_BYTES, Node, compose

Step = str | int
Steps = tuple[Step, ...]
_SHORT = 60


class CannotSplice(Exception):
    """This text cannot take this change without losing something else."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The deepest node that exists on the way to a field.

    Attributes:
        node: The node.
        parent: The collection it is in; ``None`` for the root.
        index: Its place in the parent.
        in_flow: Whether it stands inside brackets or braces.
        missing: The steps that lead further to what does not exist yet.
    """

    node: Node
    parent: Node | None
    index: int
    in_flow: bool
    missing: Steps


class Splice:
    """One change to a YAML text; every method gives the new text.

    Args:
        text: The lines of a file, or those between the fences; empty, or ending with a line end.
        newline: The line end new lines get.
        careful: Write every new text in double quotes on one line.
        max_bytes: The largest text read at all.
    """

    def __init__(self, text: str, newline: str, *, careful: bool, max_bytes: int = MAX_HEADER_BYTES) -> None:
        self._text = text
        self._newline = newline
        self._careful = careful
        self._max_bytes = max_bytes

    def set(self, steps: Steps, value: object) -> str:
        """The text with a field set; collections on the way are made."""
        root = self._tree()
        if root is None:
            return self._text + self._lines(self._pair(str(steps[0]), _wrap(steps[1:], value)), 0)
        found = _find(root, steps)
        if not found.missing:
            return self._replaced(found, value)
        step, inner = found.missing[0], _wrap(found.missing[1:], value)
        if found.node.kind == "mapping":
            return self._with_pair(found, str(step), inner)
        if found.node.kind == "sequence":
            return self._with_item(found, len(found.node.items), inner)
        return self._replaced(found, _wrap(found.missing, value))

    def insert(self, steps: Steps, value: object) -> str:
        """The text with an item put before the one that ``steps`` lead to, or after the last."""
        root = self._tree()
        index = steps[-1]
        if root is None or not isinstance(index, int):
            raise CannotSplice
        return self._with_item(_find(root, steps[:-1]), index, value)

    def remove(self, steps: Steps) -> str:
        """The text without a field or item that exists."""
        root = self._tree()
        if root is None:
            raise CannotSplice
        found = _find(root, steps)
        if found.parent is None or found.missing:
            raise CannotSplice
        spans = _spans(found.parent)
        if len(spans) == 1:
            return self._emptied(found, steps)
        if found.parent.flow:
            return self._cut_flow(spans, found.index)
        return self._cut_lines(found.parent, spans, found.index)

    def _tree(self) -> Node | None:
        return compose(self._text, max_bytes=self._max_bytes)

    def _emptied(self, found: _Found, steps: Steps) -> str:
        assert found.parent is not None
        empty: object = {} if found.parent.kind == "mapping" else []
        if len(steps) > 1:
            root = self._tree()
            assert root is not None
            return self._replaced(_find(root, steps[:-1]), empty)
        if found.parent.flow:
            start, end = _spans(found.parent)[0]
            return self._text[:start] + self._text[end:]
        return self._cut_lines(found.parent, _spans(found.parent), 0)

    def _cut_flow(self, spans: list[tuple[int, int]], index: int) -> str:
        start, end = spans[index]
        if index + 1 < len(spans):
            following = spans[index + 1][0]
            comma, hash_, _ = self._text[end:following].partition("#")
            if hash_:
                following = end + comma.index(",") + 1 if "," in comma else following
            return self._text[:start] + self._text[following:]
        before = spans[index - 1][1]
        # A comment between stays, and the comma before it, which may end a list.
        return self._text[: start if "#" in self._text[before:start] else before] + self._text[end:]

    def _cut_lines(self, parent: Node, spans: list[tuple[int, int]], index: int) -> str:
        start, end = spans[index]
        if parent.kind == "sequence":
            start = self._dash(parent, index)
        line_start, line_end = self._line_start(start), self._line_end(end)
        if not self._text[line_start:start].strip():
            return self._text[:line_start] + self._text[line_end:]
        if index + 1 == len(spans):
            raise CannotSplice
        # The first key of a list item shares its line with the dash; the next key takes its place there.
        following = spans[index + 1][0]
        if "#" in self._text[line_end:following]:
            return self._text[:start].rstrip(" ") + self._text[line_end - len(self._newline) :]
        return self._text[:start] + self._text[following:]

    def _replaced(self, found: _Found, value: object) -> str:
        node, parent = found.node, found.parent
        if parent is None:
            raise CannotSplice
        is_open = node.kind != "scalar" and not node.flow
        if not self._is_block(value, found) or (_is_list(value) and parent.kind == "sequence"):
            new = render.inline(
                value,
                in_flow=found.in_flow,
                style=node.style if node.kind == "scalar" else "",
                old=node.text if node.kind == "scalar" and not node.style else "",
                careful=self._careful,
            )
            if is_open:
                anchor = self._anchor(parent, found.index)
                comment = self._text[anchor : node.start].rstrip()
                return f"{self._text[:anchor]} {new}{comment}{self._text[node.end :]}"
            return self._text[: node.start] + self._glue(found) + new + self._text[node.end :]
        return self._replaced_by_block(found, value)

    def _replaced_by_block(self, found: _Found, value: object) -> str:
        node, parent = found.node, found.parent
        assert parent is not None
        anchor = self._anchor(parent, found.index)
        comment = self._text[anchor : node.start].rstrip()
        line_end = self._line_end(node.end, with_break=False)
        comment += self._text[node.end : line_end].rstrip()
        column = self._column(_spans(parent)[0][0] if parent.kind == "mapping" else parent.start)
        lines = render.block(value)
        head = self._text[:anchor]
        if isinstance(value, str):
            if "\n" in comment:
                raise CannotSplice
            head += f" {lines[0]}"
            lines = lines[1:]
        elif parent.kind == "sequence" and not comment:
            head += f" {lines[0]}"
            lines = lines[1:]
        below = self._lines(lines, column + 2).removesuffix(self._newline)
        return head + comment + (self._newline + below if below else "") + self._text[line_end:]

    def _with_pair(self, found: _Found, key: str, value: object) -> str:
        node = found.node
        if node.flow:
            pair = f"{render.key_text(key)}: {render.inline(value, in_flow=True, careful=self._careful)}"
            return self._with_flow(node, len(node.pairs), pair)
        at = self._line_end(node.end)
        column = self._column(node.pairs[0][0].start)
        return self._text[:at] + self._lines(self._pair(key, value), column) + self._text[at:]

    def _with_item(self, found: _Found, index: int, value: object) -> str:
        node = found.node
        if node.flow:
            return self._with_flow(node, index, render.inline(value, in_flow=True, careful=self._careful))
        if index:
            at = self._line_end(node.items[index - 1].end)
        else:
            at = self._line_start(node.start)
            if self._text[at : node.start].strip():
                raise CannotSplice
        lines = self._value_lines(value)
        lines = [f"- {lines[0]}", *(f"  {line}" if line else line for line in lines[1:])]
        return self._text[:at] + self._lines(lines, self._column(node.start)) + self._text[at:]

    def _with_flow(self, node: Node, index: int, new: str) -> str:
        spans = _spans(node)
        if not spans:
            at, text = node.start + 1, new
        elif index == 0:
            at, text = spans[0][0], f"{new}, "
        else:
            at, text = spans[index - 1][1], f", {new}"
        return self._text[:at] + text + self._text[at:]

    def _pair(self, key: str, value: object) -> list[str]:
        name = render.key_text(key)
        lines = self._value_lines(value)
        if len(lines) == 1 and not self._is_long(value):
            return [f"{name}: {lines[0]}"]
        if isinstance(value, str):
            return [f"{name}: {lines[0]}", *(f"  {line}" if line else line for line in lines[1:])]
        return [f"{name}:", *(f"  {line}" if line else line for line in lines)]

    def _value_lines(self, value: object) -> list[str]:
        if not self._careful and (
            self._is_long(value) or (isinstance(value, str) and render.fits_literal(value))
        ):
            return render.block(value)
        return [render.inline(value, in_flow=False, careful=self._careful)]

    def _is_long(self, value: object) -> bool:
        """Whether a collection is better written over several lines."""
        if (
            self._careful
            or isinstance(value, str)
            or not isinstance(value, AbcSequence | AbcMapping)
            or not value
        ):
            return False
        items = value.values() if isinstance(value, AbcMapping) else value
        is_flat = not any(isinstance(item, AbcMapping) or _is_list(item) for item in items)
        is_short = len(render.inline(value, in_flow=False)) <= _SHORT
        return isinstance(value, AbcMapping) or not (is_flat and is_short)

    def _is_block(self, value: object, found: _Found) -> bool:
        if self._careful or found.in_flow:
            return False
        if isinstance(value, str):
            return found.node.style not in ("'", '"') and render.fits_literal(value)
        return not found.node.flow and self._is_long(value)

    def _glue(self, found: _Found) -> str:
        """What must stand between the text before an empty value and the value that takes its place."""
        node, parent = found.node, found.parent
        if node.start != node.end or parent is None:
            return ""
        if parent.kind == "mapping":
            key = parent.pairs[found.index][0]
            if ":" not in self._text[key.end : node.start]:
                return ": "
        return "" if self._text[node.start - 1].isspace() else " "

    def _anchor(self, parent: Node, index: int) -> int:
        """The position right after the colon or dash that a value follows."""
        if parent.kind == "sequence":
            return self._dash(parent, index) + 1
        key, value = parent.pairs[index]
        colon = self._text.find(":", key.end, max(value.start, key.end + 1))
        if colon < 0:
            raise CannotSplice
        return colon + 1

    def _dash(self, parent: Node, index: int) -> int:
        if index == 0:
            return parent.start
        column = self._column(parent.start)
        pattern = re.compile(rf"^ {{{column}}}-", re.MULTILINE)
        match = pattern.search(self._text, parent.items[index - 1].end)
        if match is None:
            raise CannotSplice
        return match.end() - 1

    def _lines(self, lines: list[str], column: int) -> str:
        indent = " " * column
        return "".join(f"{indent if line else ''}{line}{self._newline}" for line in lines)

    def _column(self, index: int) -> int:
        return index - self._line_start(index)

    def _line_start(self, index: int) -> int:
        return self._text.rfind("\n", 0, index) + 1

    def _line_end(self, index: int, *, with_break: bool = True) -> int:
        at = self._text.find("\n", index)
        if at < 0:
            raise CannotSplice
        if with_break:
            return at + 1
        return at - 1 if self._text[index:at].endswith("\r") else at


def _find(root: Node, steps: Steps) -> _Found:
    node, parent, index, in_flow = root, None, 0, False
    for depth, step in enumerate(steps):
        at = _index_of(node, step)
        if at is None:
            return _Found(node, parent, index, in_flow, steps[depth:])
        in_flow = in_flow or node.flow
        parent, index = node, at
        node = node.pairs[at][1] if node.kind == "mapping" else node.items[at]
    return _Found(node, parent, index, in_flow, ())


def _index_of(node: Node, step: Step) -> int | None:
    if node.kind == "mapping":
        return next((at for at, (key, _) in enumerate(node.pairs) if key.text == step), None)
    if node.kind == "sequence" and isinstance(step, int) and step < len(node.items):
        return step
    return None


def _spans(node: Node) -> list[tuple[int, int]]:
    """Start and end of every pair or item of a collection."""
    if node.kind == "mapping":
        return [(key.start, max(key.end, value.end)) for key, value in node.pairs]
    return [(item.start, item.end) for item in node.items]


def _wrap(steps: Steps, value: object) -> object:
    for step in reversed(steps):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def _is_list(value: object) -> bool:
    return isinstance(value, AbcSequence) and not isinstance(value, str)
