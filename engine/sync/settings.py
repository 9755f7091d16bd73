"""Merges memory-config.yaml setting by setting: two machines that each set another one do not conflict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.settings.file import CONFIG_FILE, MAX_BYTES
from engine.store.documents import edit_yaml
from engine.store.yamledit import value_of
from engine.store.yamlwrite import as_read

if TYPE_CHECKING:
    from engine.sync.model import Side


def merged(base: bytes, ours: bytes, theirs: bytes, take: Side | None) -> bytes | None:
    """Our file with their settings; ``None`` if both sides set the same one and ``take`` does not decide, or
    a file cannot be read.
    """
    try:
        was, mine, other = (dict(_settings(data)) for data in (base, ours, theirs))
        changes: dict[str, object | None] = {}
        for name in {**was, **other}:
            value = other.get(name)
            if value == was.get(name) or value == mine.get(name):
                continue
            if mine.get(name) != was.get(name) and take is None:
                return None
            if mine.get(name) == was.get(name) or take == "theirs":
                changes[name] = _unquoted(value)
        return edit_yaml(ours, changes, CONFIG_FILE, max_bytes=MAX_BYTES)
    except (AutopoiesisError, UnicodeDecodeError):
        return None


def _unquoted(value: object) -> object:
    """A value that is read back the same but written without quotes where it is a number or a truth value."""
    if isinstance(value, list):
        return [_unquoted(each) for each in value]
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
    is_plain = isinstance(found, bool | int | float) and as_read(found) == value
    return found if is_plain else value


def _settings(data: bytes) -> Iterator[tuple[str, object]]:
    """Every setting by its dotted name; a list is one setting."""
    yield from _flat(value_of(data.decode("utf-8-sig"), MAX_BYTES), "")


def _flat(value: object, above: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _flat(each, f"{above}.{key}" if above else str(key))
    elif above:
        yield above, value
