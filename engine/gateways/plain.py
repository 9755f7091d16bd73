"""Converts the engine's values to JSON types."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from engine.activation.trace import Trace


def plain(value: object) -> Any:
    """A value as JSON types: dataclasses and named tuples as objects, times as ISO strings, sets as lists.

    A ``Trace`` gains ``active``, the names of its active topics.
    """
    if is_dataclass(value) and not isinstance(value, type):
        tree: dict[str, Any] = {item.name: plain(getattr(value, item.name)) for item in fields(value)}
        if isinstance(value, Trace):
            tree["active"] = plain(value.active)
        return tree
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value
