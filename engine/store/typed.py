"""What a file holds as JSON, read back into dataclasses strictly: anybody may have changed the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

_PLAIN: dict[Any, tuple[type, ...]] = {str: (str,), int: (int,), bool: (bool,), float: (int, float)}


def typed(kind: type[T], tree: Mapping[str, Any]) -> T:
    """A dataclass as its JSON object says it; what is missing has its default, other keys are passed over.

    Fields may be texts, numbers, truth values, literals, times with a zone, other dataclasses, and tuples,
    mappings and unions of these.

    Raises:
        ValueError, TypeError, KeyError: It says something else, or too little.
    """
    found: T = _reader(cast("Any", kind))(tree)
    return found


@cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """What reads a value of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return _record_reader(hint)
    if origin in (Union, UnionType):
        return _either([_reader(each) for each in args if each is not type(None)], type(None) in args)
    if origin is Literal:
        return lambda value: value if value in args else _refused(value)
    if origin is tuple:
        item = _reader(args[0])
        return lambda value: tuple(map(item, value)) if isinstance(value, list) else _refused(value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, item = args[0], _reader(args[1])
        return lambda value: {key(name): item(each) for name, each in value.items()}
    if hint is datetime:
        return _moment
    kinds = _PLAIN[hint]
    return lambda value: value if type(value) in kinds else _refused(value)


def _either(readers: Sequence[Callable[[Any], Any]], is_optional: bool) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value is None and is_optional:
            return None
        for reader in readers[:-1]:
            with suppress(ValueError, TypeError, AttributeError):
                return reader(value)
        return readers[-1](value)

    return read


def _record_reader(kind: Any) -> Callable[[Any], Any]:
    hints = get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}

    def read(tree: Any) -> Any:
        if not isinstance(tree, Mapping):
            _refused(tree)
        values = {}
        for name, reader in readers.items():
            if name in tree:
                try:
                    values[name] = reader(tree[name])
                except (ValueError, TypeError, AttributeError) as error:
                    raise TypeError(f"{name}: {error}") from error
        return kind(**values)

    return read


def _moment(value: Any) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError(f"{value} names no time zone")
    return found


def _refused(value: object) -> Any:
    raise TypeError(f"{value!r:.40} does not belong there")
