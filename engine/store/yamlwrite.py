"""Writes values as YAML, quoted only where necessary."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml
import yaml.resolver

from engine.errors import DocumentError
from engine.startup.lazy import expression
from engine.store.yamltext import Node

_SHORT = 60
"""Maximum length in characters of a new list of strings on one line."""

_RESOLVER: Any = yaml.resolver.Resolver()
_HARMLESS_TAGS = frozenset({"tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp"})
# Characters that YAML reads as line ends or does not allow unescaped.
_ODD = expression("[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ufeff\\ufffe\\uffff]")
# Multi-line texts that a literal block can represent without an indentation or chomping indicator.
_LITERAL = expression(r"\S.*\n.*\S\n?", re.DOTALL)


def as_read(value: object) -> object:
    """The value as the parser will read it back: ``str``, ``list`` or ``dict``.

    Raises:
        DocumentError: The value cannot be written as YAML.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            hint = "pass complete characters"
            raise DocumentError("a header cannot contain half a surrogate pair", hint=hint) from error
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return {str(key): as_read(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_read(item) for item in value]
    raise DocumentError(f"a header cannot contain a {type(value).__name__}")


def lines(step: str | int, value: object, *, flow: bool = False, old: Node | None = None) -> list[str]:
    """The lines of a pair or an item.

    Args:
        step: The key, or an item's index.
        value: Any value that ``as_read`` accepts.
        flow: Write in flow style, on one line; otherwise the lines have no outer indentation, and an item
        has its dash.
        old: The value being replaced, whose quoting is kept.
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
        """Indent lists in a mapping."""
        return super().increase_indent(flow, indentless=False)

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Write a JSON string, which is valid YAML: one line, non-ASCII letters unescaped."""
        quoted = json.dumps(text, ensure_ascii=False)
        self.write_indicator(_ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted), True)


def _events(value: object, *, flow: bool, old: Node | None = None) -> Iterator[yaml.Event]:
    if isinstance(value, Mapping):
        return _pairs([(str(key), _events(item, flow=flow)) for key, item in value.items()], flow=flow)
    if isinstance(value, list | tuple):
        # A list inside a list is written in flow style: nested dashes are hard to read.
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
    """The preferred quoting of a text; the library overrides it if it would be misread."""
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
    """Whether to write a collection on one line: if it is empty, or a list of a few short texts."""
    if isinstance(value, Mapping):
        return not value
    if not isinstance(value, list | tuple) or any(isinstance(item, Mapping | list | tuple) for item in value):
        return False
    return len(lines(0, value, flow=True)[0]) <= _SHORT
