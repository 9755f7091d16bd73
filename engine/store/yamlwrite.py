"""Writes values as YAML text: quoted only where a reader would misread them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml
import yaml.resolver

from engine.errors import DocumentError
from engine.store.yamltext import Node

_SHORT = 60
"""Characters up to which a new list of texts stands on one line."""

_RESOLVER: Any = yaml.resolver.Resolver()
_HARMLESS_TAGS = frozenset({"tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp"})
# What a YAML reader takes for a line end, or may not stand in a file unescaped.
_ODD = re.compile("[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ufeff\\ufffe\\uffff]")
# Texts of several lines that a literal block says without telling its indentation or the line ends below.
_LITERAL = re.compile(r"\S.*\n.*\S\n?", re.DOTALL)


def as_read(value: object) -> object:
    """What the parser will read back for a value: ``str``, ``list`` or ``dict``.

    Raises:
        DocumentError: The value cannot be written as YAML.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            hint = "pass whole characters"
            raise DocumentError("a header cannot hold half a surrogate pair", hint=hint) from error
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return {str(key): as_read(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_read(item) for item in value]
    raise DocumentError(f"a header cannot hold a {type(value).__name__}")


def lines(step: str | int, value: object, *, flow: bool = False, old: Node | None = None) -> list[str]:
    """The lines of a pair or an item.

    Args:
        step: The key; a number for an item.
        value: What ``as_read`` accepts.
        flow: Whether it stands between braces or brackets, and so on one line; else the lines have no outer
            indentation, and an item has its dash.
        old: The value that it replaces; the quoting of a text stays.
    """
    events = _events(value, flow=flow or _is_short(value), old=old)
    inner = _items(events, flow=flow) if isinstance(step, int) else _pairs([(step, events)], flow=flow)
    document = [
        yaml.StreamStartEvent(),
        yaml.DocumentStartEvent(explicit=False),
        *inner,
        yaml.DocumentEndEvent(explicit=False),
        yaml.StreamEndEvent(),
    ]
    text: str = yaml.emit(document, Dumper=_Dumper, width=1 << 30, allow_unicode=True)
    return [text.strip()[1:-1]] if flow else text.removesuffix("\n").split("\n")


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        """Lists in a mapping are indented."""
        return super().increase_indent(flow, indentless=False)

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """JSON, which is YAML: one line, with letters of all languages as they are."""
        quoted = json.dumps(text, ensure_ascii=False)
        self.write_indicator(_ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted), True)


def _events(value: object, *, flow: bool, old: Node | None = None) -> Iterator[yaml.Event]:
    if isinstance(value, Mapping):
        return _pairs([(str(key), _events(item, flow=flow)) for key, item in value.items()], flow=flow)
    if isinstance(value, list | tuple):
        # A list inside a list is written in brackets: dashes after dashes are hard to read.
        items = (_events(item, flow=flow or isinstance(item, list | tuple)) for item in value)
        return _items(itertools.chain.from_iterable(items), flow=flow)
    style = _style(value, old) if isinstance(value, str) else ""
    return iter([yaml.ScalarEvent(None, None, (True, True), str(as_read(value)), style=style)])


def _pairs(pairs: Iterable[tuple[str, Iterator[yaml.Event]]], *, flow: bool) -> Iterator[yaml.Event]:
    yield yaml.MappingStartEvent(None, None, True, flow_style=flow)
    for key, value in pairs:
        yield yaml.ScalarEvent(None, None, (True, True), key, style=_style(key))
        yield from value
    yield yaml.MappingEndEvent()


def _items(items: Iterator[yaml.Event], *, flow: bool) -> Iterator[yaml.Event]:
    yield yaml.SequenceStartEvent(None, None, True, flow_style=flow)
    yield from items
    yield yaml.SequenceEndEvent()


def _style(text: str, old: Node | None = None) -> str:
    """The quoting of a text; where it would be misread so, the library takes another."""
    before = "" if old is None else old.style
    if before in ("|", ">"):
        before = ""
    if _ODD.search(text):
        return '"'
    if "\n" in text:
        return "|" if not before and _LITERAL.fullmatch(text) else '"'
    kind = _kind(text)
    is_plain = kind in _HARMLESS_TAGS or (old is not None and old.text and kind == _kind(old.text))
    return before or ("" if text and is_plain else '"')


def _kind(text: str) -> str:
    """The type a YAML 1.1 reader would see in an unquoted text."""
    return str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))


def _is_short(value: object) -> bool:
    """Whether a collection is better written on one line: an empty one, or a list of a few short texts."""
    if isinstance(value, Mapping):
        return not value
    if not isinstance(value, list | tuple) or any(isinstance(item, Mapping | list | tuple) for item in value):
        return False
    return len(lines(0, value, flow=True)[0]) <= _SHORT
