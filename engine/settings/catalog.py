"""All settings defined in ``engine.settings.model``: default, meaning and allowed values."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from engine.settings.base import Cron, Limits, ServerUrl, Settings
from engine.settings.model import Config


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting."""

    name: str  # such as ``cache.anthropic_ttl``
    default: object
    allowed: str  # allowed values in words: ``5m or 1h``
    doc: str


@functools.lru_cache(maxsize=1)
def catalog() -> Mapping[str, Setting]:
    """All settings by name, in definition order."""
    config, docs = Config(), _docs()
    groups = ((type(getattr(config, group.name)), group.name) for group in fields(Config))
    return {
        name: Setting(name, value_of(config, name), allowed, doc)
        for group, above in groups
        for name, allowed, doc in _of(group, above, docs)
    }


def value_of(config: Config, name: str) -> object:
    """The value of a setting, as it may be written in the file."""
    group, _, last = name.partition(".")
    value = getattr(getattr(config, group), last)
    if isinstance(value, dict):
        return {key: _row(item) if isinstance(item, Settings) else item for key, item in value.items()}
    return value


def _row(row: Any) -> dict[str, object]:
    return {name: value for name, value in asdict(row).items() if value is not None}


def _of(group: type[Any], above: str, docs: Mapping[tuple[str, str], str]) -> Iterator[tuple[str, str, str]]:
    """The settings of a group: name, allowed values, meaning."""
    hints = get_type_hints(group, include_extras=True)
    for item in fields(group):
        yield f"{above}.{item.name}", _words(hints[item.name]), docs.get((group.__name__, item.name), "")


def _words(hint: Any) -> str:
    """The allowed values of a type, in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and issubclass(hint, Settings):
        return f"any of {', '.join(each.name for each in fields(hint))}"
    if origin is dict:
        return f"names, each with {_words(parts[1])}"
    if origin is Annotated and any(isinstance(each, Cron) for each in parts[1:]):
        return "a cron expression of five fields, or off"
    if origin is Annotated and any(isinstance(each, ServerUrl) for each in parts[1:]):
        return "an address postgresql://… without a password, or nothing"
    if origin is Annotated:
        limits = next((each for each in parts[1:] if isinstance(each, Limits)), None)
        kind, rest = parts[0], "" if limits is None else _limits(limits.bounds)
        if get_origin(kind) in (Union, UnionType):
            kind = next(each for each in get_args(kind) if each is not NoneType)
        return f"{_words(kind)}{rest}"
    if origin in (Union, UnionType):
        return " or ".join(_words(part) for part in parts if part is not NoneType)
    if origin is Literal:
        *others, last = map(str, parts)
        return f"{', '.join(others)} or {last}" if others else last
    if origin is tuple:
        return f"a list of {_words(parts[0])}"
    return {bool: "true or false", int: "a whole number", float: "a number"}.get(hint, "a text")


def _limits(bounds: Mapping[str, float]) -> str:
    if {"ge", "le"} <= bounds.keys():
        parts = [f"from {bounds['ge']:,} to {bounds['le']:,}"]
    else:
        words = {"ge": "of at least", "gt": "above", "le": "at most", "lt": "below"}
        parts = [f"{words[each]} {bounds[each]:,}" for each in words if each in bounds]
    if "multiple_of" in bounds:
        parts.append(f"a multiple of {bounds['multiple_of']:,}")
    return f" {', '.join(parts)}"


_MODULES = {type(getattr(Config(), group.name)).__module__ for group in fields(Config)}
"""The modules that define the groups of settings."""


def _docs() -> dict[tuple[str, str], str]:
    """The docstring of each setting, by class and field; empty if the source is not available."""
    try:
        trees = [ast.parse(inspect.getsource(sys.modules[name])) for name in sorted(_MODULES)]
    except OSError:
        return {}
    found: dict[tuple[str, str], str] = {}
    for group in itertools.chain.from_iterable(tree.body for tree in trees):
        if not isinstance(group, ast.ClassDef):
            continue
        for field, below in itertools.pairwise(group.body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match below:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        found[group.name, field.target.id] = " ".join(text.split())
    return found
