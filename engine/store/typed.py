"""Strictly parses JSON read from a file into dataclasses, since anyone may have changed the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

_PLAIN: dict[Any, frozenset[type]] = {
    str: frozenset({str}),
    int: frozenset({int}),
    bool: frozenset({bool}),
    float: frozenset({int, float}),
    type(None): frozenset({type(None)}),
}


def typed(kind: type[T], tree: Mapping[str, Any]) -> T:
    """Build a dataclass from its JSON object; missing fields get their defaults, unknown keys are ignored.

    Fields may be strings, numbers, booleans, literals, times with a zone, other dataclasses, and tuples,
    mappings and unions of these.

    Raises:
        ValueError, TypeError, KeyError: A value is invalid or missing.
    """
    found: T = _reader(cast("Any", kind))(tree)
    return found


@cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """The function that parses a value of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return _record_reader(hint)
    if origin in (Union, UnionType):
        return _either([_reader(each) for each in args if not _kinds(each)])
    if origin is Literal:
        return lambda value: value if value in args else _refused(value)
    if origin is tuple:
        return _tuple_reader(args[0])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, kinds, item = args[0], _kinds(args[1]), _reader(args[1])
        return lambda value: {
            key(name): each if type(each) in kinds else item(each) for name, each in value.items()
        }
    return _moment if hint is datetime else _refused


def _kinds(hint: Any) -> frozenset[type]:
    """The types whose values need no parsing; empty if every value must be parsed."""
    if get_origin(hint) in (Union, UnionType):
        return frozenset().union(*map(_kinds, get_args(hint)))
    return _PLAIN.get(hint, frozenset())


def _tuple_reader(hint: Any) -> Callable[[Any], Any]:
    kinds, item = _kinds(hint), _reader(hint)

    def read(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            _refused(value)
        return tuple(each if type(each) in kinds else item(each) for each in value)

    return read


def _either(readers: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        for reader in readers[:-1]:
            with suppress(ValueError, TypeError, AttributeError):
                return reader(value)
        return readers[-1](value) if readers else _refused(value)

    return read


def _record_reader(kind: Any) -> Callable[[Any], Any]:
    hints = get_type_hints(kind)
    # Plain fields are checked inline for speed: thousands of records are read at once.
    readers = [(field.name, _kinds(hints[field.name]), _reader(hints[field.name])) for field in fields(kind)]

    def read(tree: Any) -> Any:
        if not isinstance(tree, dict):
            _refused(tree)
        values, name = {}, ""
        try:
            for name, kinds, reader in readers:
                if name in tree:
                    value = tree[name]
                    values[name] = value if type(value) in kinds else reader(value)
        except (ValueError, TypeError, AttributeError) as error:
            raise TypeError(f"{name}: {error}") from error
        return kind(**values)

    return read


def _moment(value: Any) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError(f"{value} has no time zone")
    return found


def _refused(value: object) -> Any:
    raise TypeError(f"{value!r:.40} is not a valid value")
