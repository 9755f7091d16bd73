"""Writes values as YAML text for ``header_edit``: quoted only where a reader would misread them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping as AbcMapping
from collections.abc import Sequence as AbcSequence
from datetime import UTC, date, datetime
from typing import Any

import yaml
import yaml.resolver
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString, SingleQuotedScalarString

from engine.errors import DocumentError

_NEVER_WRAP = 1 << 30
_RESOLVER: Any = yaml.resolver.Resolver()
_STRING_TAG = "tag:yaml.org,2002:str"
_HARMLESS_TAGS = frozenset({_STRING_TAG, "tag:yaml.org,2002:timestamp"})
_HALVES = re.compile("[\ud800-\udfff]")
# What a YAML reader takes for a line end, or may not stand in a file unescaped.
_ODD = re.compile("[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ufeff\\ud800-\\udfff\\ufffe\\uffff]")


def as_read(value: object) -> object:
    """What the parser will read back for a value: ``str``, ``list`` or ``dict``.

    Raises:
        DocumentError: The value cannot be written as YAML.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        if not value.isascii() and _HALVES.search(value):
            raise DocumentError("a header cannot hold half a surrogate pair", cure="pass whole characters")
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, AbcMapping):
        return {str(key): as_read(item) for key, item in value.items()}
    if isinstance(value, AbcSequence) and not isinstance(value, bytes | bytearray):
        return [as_read(item) for item in value]
    raise DocumentError(f"a header cannot hold a {type(value).__name__}")


def inline(value: object, *, in_flow: bool, style: str = "", old: str = "", careful: bool = False) -> str:
    """A value on one line, as it stands after ``key: `` or between the commas of a list in brackets.

    Args:
        value: A value ``as_read`` accepts.
        in_flow: Whether it will stand inside brackets or braces.
        style: The quoting of the scalar it replaces.
        old: The text of the scalar it replaces.
        careful: Quote every text.
    """
    if careful:
        return _quoted(value)
    node = _node(value, in_flow=True, style=style, old=old)
    if in_flow:
        sequence = CommentedSeq([node])
        sequence.fa.set_flow_style()
        return _dump(sequence)[1:-1]
    return _dump(CommentedMap({"k": node}))[len("k: ") :]


def block(value: object, *, careful: bool = False) -> list[str]:
    """A list, mapping or text of several lines as block lines without outer indentation.

    For a text these are the lines of a literal block, its ``|`` first.
    """
    if careful and isinstance(value, AbcSequence):
        return [f"- {_quoted(item)}" for item in value]
    if careful and isinstance(value, AbcMapping):
        return [f"{_quoted(str(key))}: {_quoted(item)}" for key, item in value.items()]
    if isinstance(value, str):
        lines = _dump(CommentedMap({"k": LiteralScalarString(value)}))[len("k: ") :].split("\n")
        return [lines[0], *(line.removeprefix("  ") for line in lines[1:])]
    return _dump(_node(value, in_flow=False)).split("\n")


def key_text(key: str) -> str:
    """A key as it stands before the colon."""
    text = inline(key, in_flow=True)
    return text if not text.startswith(("|", ">", "?")) and "\n" not in text else json.dumps(key)


def fits_literal(value: str) -> bool:
    """Whether a text can be a literal block that reads back exactly."""
    lines = value.removesuffix("\n").split("\n")
    return (
        len(lines) > 1
        and not _ODD.search(value)
        and not value.endswith("\n\n")
        and not value.startswith((" ", "\n"))
        and all(line.strip() or not line for line in lines)
        and lines[-1] != ""
    )


def _moment(value: datetime) -> str:
    if value.tzinfo is None:
        raise DocumentError("a time in a header needs a time zone")
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _node(value: object, *, in_flow: bool, style: str = "", old: str = "") -> object:
    if isinstance(value, str):
        return _scalar(value, in_flow=in_flow, style=style, old=old)
    if isinstance(value, AbcMapping):
        mapping = CommentedMap({str(key): _node(item, in_flow=in_flow) for key, item in value.items()})
        if in_flow:
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, AbcSequence) and not isinstance(value, bytes | bytearray):
        # A list inside a list is written in brackets: dashes after dashes are hard to read.
        sequence = CommentedSeq([_node(item, in_flow=in_flow or _is_list(item)) for item in value])
        if in_flow:
            sequence.fa.set_flow_style()
        return sequence
    return _Plain(str(as_read(value)))


def _is_list(value: object) -> bool:
    return isinstance(value, AbcSequence) and not isinstance(value, str)


def _scalar(value: str, *, in_flow: bool, style: str, old: str) -> object:
    if _ODD.search(value):
        return DoubleQuotedScalarString(value)
    if "\n" in value:
        literal = not in_flow and fits_literal(value)
        return LiteralScalarString(value) if literal else DoubleQuotedScalarString(value)
    if style == "'":
        return SingleQuotedScalarString(value)
    if style == '"':
        return DoubleQuotedScalarString(value)
    kind = _kind(value)
    if kind in _HARMLESS_TAGS and value:
        return _Plain(value) if kind != _STRING_TAG else value
    if value and old and kind == _kind(old):
        return _Plain(value)
    return DoubleQuotedScalarString(value)


def _kind(text: str) -> str:
    """The type a YAML 1.1 reader would see in an unquoted text."""
    return str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))


def _quoted(value: object) -> str:
    """JSON, which is YAML: the last resort that every reader agrees on."""
    text = json.dumps(as_read(value), ensure_ascii=False)
    return _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class _Plain(str):
    """A text that is written as it is, without quotes."""


def _dump(value: object) -> str:
    stream = io.StringIO()
    writer = YAML()
    writer.width = _NEVER_WRAP
    writer.indent(mapping=2, sequence=4, offset=2)
    resolver = writer.resolver

    def represent(_: object, text: _Plain) -> ScalarNode:
        return ScalarNode(resolver.resolve(ScalarNode, str(text), (True, False)), str(text), style="")

    writer.representer.add_representer(_Plain, represent)
    writer.dump(value, stream)
    lines = stream.getvalue().rstrip("\n").split("\n")
    # An outer list is indented like an inner one; its place is the caller's business.
    outer = len(lines[0]) - len(lines[0].lstrip(" "))
    return "\n".join(line[outer:] for line in lines)
