"""Parses YAML without types: every scalar stays a string, and every key knows its line.

Headers of memory files are written by people, agents and models. YAML's implicit types turn ``no`` into
false, ``0123`` into 83 and ``12:30:45`` into 45045; its aliases turn 386 bytes into 351 megabytes. So the
parser's events are read directly, types are left to the schema of each field, and other features are refused.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from engine.errors import DocumentError
from engine.startup.records import dataclass

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 20
MAX_HEADER_BYTES = 16 * 1024

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_QUOTE = "put the text in quotes"
_STRING_TAGS = frozenset({None, "tag:yaml.org,2002:str"})


class YamlError(DocumentError):
    """A YAML text that is invalid or uses features not allowed here.

    Attributes:
        line: 1-based line of the error.
    """

    def __init__(self, what: str, *, line: int, hint: str = "", where: str = "") -> None:
        super().__init__(what, where=where or f"line {line}", hint=hint)
        self.line = line


class Mapping(dict[str, object]):
    """A YAML mapping in file order. Values are ``str``, ``Mapping`` or ``Sequence``.

    Attributes:
        line: 1-based line on which it starts; 0 if it does not come from a file.
    """

    def __init__(self, *, line: int = 0) -> None:
        super().__init__()
        self.line = line
        self._lines: dict[str, int] = {}

    def add(self, key: str, value: object, line: int) -> None:
        """Set a key together with its line."""
        self[key] = value
        self._lines[key] = line

    def line_of(self, key: str, default: int = 0) -> int:
        """The 1-based line of a key, ``default`` if it does not exist."""
        return self._lines.get(key, default)


class Sequence(list[object]):
    """A YAML sequence. Items are ``str``, ``Mapping`` or ``Sequence``.

    Attributes:
        line: 1-based line on which it starts; 0 if it does not come from a file.
    """

    def __init__(self, *, line: int = 0) -> None:
        super().__init__()
        self.line = line
        self._lines: list[int] = []

    def add(self, value: object, line: int) -> None:
        """Append an item together with its line."""
        self.append(value)
        self._lines.append(line)

    def line_of_item(self, index: int) -> int:
        """The 1-based line of an item; the sequence's own line if it does not exist."""
        return self._lines[index] if -len(self._lines) <= index < len(self._lines) else self.line


@dataclass(slots=True)
class Node:
    """A YAML node with its position in the text."""

    kind: Literal["scalar", "sequence", "mapping"]
    start: int
    """Index of its first character."""
    end: int
    """Index after its last character; of a block collection, after its last descendant."""
    line: int
    """1-based line of ``start``."""
    text: str = ""
    """The value of a scalar; null is the empty string."""
    style: str = ""
    """``""`` plain, ``'``, ``"``, ``|`` or ``>`` for scalars."""
    flow: bool = False
    """Whether a collection is in flow style."""
    items: list[Node] = field(default_factory=list)
    """Children of a sequence."""
    pairs: list[tuple[Node, Node]] = field(default_factory=list)
    """Children of a mapping: key node and value node."""


def parse(text: str, *, first_line: int = 1, max_bytes: int = MAX_HEADER_BYTES) -> Mapping:
    """Parse a YAML mapping with every scalar as written.

    Args:
        text: The YAML text, without document markers.
        first_line: The line of the file on which ``text`` starts.
        max_bytes: Maximum size of the text in bytes of UTF-8.

    Raises:
        YamlError: The text is invalid, too large or too deep, repeats a key, is not a mapping, or uses
        anchors,
            aliases or tags.
    """
    node = _remembered(text, first_line, max_bytes)
    if node is None:
        return Mapping(line=first_line)
    if node.kind != "mapping":
        raise YamlError("no 'key: value' lines", line=node.line, hint="write one 'key: value' per line")
    value = to_value(node)
    assert isinstance(value, Mapping)
    return value


def compose(text: str, *, first_line: int = 1, max_bytes: int = MAX_HEADER_BYTES) -> Node | None:
    """The node tree of a YAML text; ``None`` for an empty text.

    Raises:
        YamlError: As for ``parse``, except that any kind of root is accepted.
    """
    _check_characters(text, first_line, max_bytes)
    return _Composer(text, first_line).root()


@lru_cache(maxsize=256)
def _remembered(text: str, first_line: int, max_bytes: int) -> Node | None:
    """As ``compose``; its result is only read. One command reads the same headers for topics, for links and
    for the index.
    """
    return compose(text, first_line=first_line, max_bytes=max_bytes)


def to_value(node: Node) -> object:
    """The value of a tree: ``str``, ``Mapping`` or ``Sequence``."""
    if node.kind == "scalar":
        return node.text
    if node.kind == "sequence":
        sequence = Sequence(line=node.line)
        for item in node.items:
            sequence.add(to_value(item), item.line)
        return sequence
    mapping = Mapping(line=node.line)
    for key, value in node.pairs:
        mapping.add(key.text, to_value(value), key.line)
    return mapping


def _check_characters(text: str, first_line: int, max_bytes: int) -> None:
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        line = first_line + text.count("\n", 0, error.start)
        raise YamlError("contains half a surrogate pair", line=line, hint="save it as UTF-8") from error
    if size > max_bytes:
        raise YamlError(
            f"larger than {max_bytes // 1024} KB",
            line=first_line,
            hint="move long text below the header",
        )


@cache
def _library() -> Any:
    import yaml  # noqa: PLC0415 — slow, and not needed if every header is cached

    return yaml


class _Composer:
    """Turns parser events into nodes, refusing disallowed features immediately."""

    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._first_line = first_line
        self._breaks = [index for index, character in enumerate(text) if character == "\n"]
        yaml = self._yaml = _library()
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=loader))

    def root(self) -> Node | None:
        try:
            return self._root()
        except self._yaml.YAMLError as error:
            raise self._broken(error) from error

    def _root(self) -> Node | None:
        root: Node | None = None
        for event in self._events:
            if isinstance(event, self._yaml.DocumentStartEvent):
                if root is not None:
                    raise self._refused("contains a second YAML document", event, "keep one header only")
            elif isinstance(event, self._yaml.NodeEvent):
                root = self._node(event, depth=1)
        return root

    def _node(self, event: Any, depth: int) -> Node:
        if isinstance(event, self._yaml.AliasEvent):
            raise self._refused("uses a YAML alias (*name)", event, _QUOTE)
        if event.anchor is not None:
            raise self._refused("uses a YAML anchor (&name)", event, _QUOTE)
        if depth > MAX_DEPTH:
            raise self._refused(f"is nested deeper than {MAX_DEPTH} levels", event, "flatten it")
        if isinstance(event, self._yaml.ScalarEvent):
            return self._scalar(event)
        if event.tag is not None:
            raise self._refused("uses a YAML tag (!name)", event, _QUOTE)
        start, _ = _span(event)
        if isinstance(event, self._yaml.SequenceStartEvent):
            node = Node("sequence", start, start, self._line(start), flow=bool(event.flow_style))
            end = self._sequence(node, depth)
        else:
            node = Node("mapping", start, start, self._line(start), flow=bool(event.flow_style))
            end = self._mapping(node, depth)
        if node.flow:
            node.end = end
        return node

    def _scalar(self, event: Any) -> Node:
        if event.tag not in _STRING_TAGS:
            raise self._refused("uses a YAML tag (!name)", event, _QUOTE)
        style = event.style or ""
        text = "" if not style and event.tag is None and event.value in _NULLS else event.value
        start, end = _span(event)
        if style in ("|", ">"):
            end = self._block_end(start, end)
        return Node("scalar", start, end, self._line(start), text=text, style=style)

    def _block_end(self, start: int, end: int) -> int:
        """The end of a literal or folded text: trailing blank lines belong to it only with ``+``."""
        text = self._text[start:end]
        if "+" not in text.partition("\n")[0]:
            return start + len(text.rstrip("\r\n \t"))
        return start + len(text.removesuffix("\n").removesuffix("\r"))

    def _sequence(self, node: Node, depth: int) -> int:
        for event in self._events:
            if isinstance(event, self._yaml.SequenceEndEvent):
                return _span(event)[1]
            item = self._node(event, depth + 1)
            node.items.append(item)
            node.end = max(node.end, item.end)
        raise YamlError("ends in the middle of a list", line=node.line)

    def _mapping(self, node: Node, depth: int) -> int:
        seen: dict[str, int] = {}
        for event in self._events:
            if isinstance(event, self._yaml.MappingEndEvent):
                return _span(event)[1]
            key = self._node(event, depth + 1)
            if key.kind != "scalar":
                raise YamlError(
                    "uses a list or mapping as a key", line=key.line, hint="use a plain word as the key"
                )
            name = self._text[key.start : key.end] if not key.style else key.text
            key.text = key.text or name
            if key.text in seen:
                raise YamlError(
                    f"repeats the key '{key.text}' of line {seen[key.text]}",
                    line=key.line,
                    hint="keep one of the two",
                )
            seen[key.text] = key.line
            value = self._node(next(self._events), depth + 1)
            node.pairs.append((key, value))
            node.end = max(node.end, key.end, value.end)
        raise YamlError("ends in the middle of a mapping", line=node.line)

    def _line(self, index: int) -> int:
        # Unlike editors, the parser counts U+2028 and a lone CR as line ends.
        return self._first_line + bisect_left(self._breaks, index)

    def _refused(self, what: str, event: Any, hint: str) -> YamlError:
        return YamlError(what, line=self._line(_span(event)[0]), hint=hint)

    def _broken(self, error: yaml.YAMLError) -> YamlError:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None)
        index = mark.index if mark is not None else getattr(error, "position", 0)
        line = self._line(min(int(index), len(self._text)))
        return YamlError(
            f"is not valid YAML ({problem})" if problem else "is not valid YAML",
            line=line,
            hint="check the indentation and put text with ': ' or '#' in quotes",
        )


def _span(event: Any) -> tuple[int, int]:
    return int(event.start_mark.index), int(event.end_mark.index)
