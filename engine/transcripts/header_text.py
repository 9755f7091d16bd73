"""Renders the header of a new transcript (spec 2.1); ``engine.store.documents`` edits an existing one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from engine.startup.lazy import expression

_PLAIN = expression(r"[A-Za-z0-9~/.][A-Za-z0-9 _./~+=@:()-]*")
_NUMBER = expression(r"0|[1-9][0-9]*")
_KEY = expression(r"[A-Za-z_][A-Za-z0-9_-]*")
_UNSAFE = expression("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = expression("[\ud800-\udfff]")
_TEXT_TAGS = frozenset({"tag:yaml.org,2002:timestamp"})


def render_header(fields: Mapping[str, object]) -> str:
    """The header with its ``---`` lines and a final line end.

    Values are strings, numbers, lists of strings, lists of mappings, or mappings; a string is quoted only
    where a YAML parser would misread it.
    """
    lines = ["---"]
    for key, value in fields.items():
        lines += _field(_key(key), value, "")
    lines.append("---")
    return "\n".join(lines) + "\n"


def _field(key: str, value: object, indent: str) -> list[str]:
    if isinstance(value, Mapping) and value:
        inner = [line for name, item in value.items() for line in _field(_key(name), item, indent + "  ")]
        return [f"{indent}{key}:", *inner]
    if _is_list(value) and any(isinstance(item, Mapping) for item in value):
        return [f"{indent}{key}:", *(line for item in value for line in _item(item, indent + "  "))]
    return [f"{indent}{key}: {_flow(value)}"]


def _item(item: object, indent: str) -> list[str]:
    if isinstance(item, Mapping) and item:
        lines = [line for key, value in item.items() for line in _field(_key(key), value, indent + "  ")]
        return [f"{indent}- {lines[0].lstrip(' ')}", *lines[1:]]
    return [f"{indent}- {_flow(item)}"]


def _flow(value: object) -> str:
    """A value in YAML flow style, on one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)}: {_flow(item)}' for key, item in value.items())}}}"
    if _is_list(value):
        return f"[{', '.join(map(_flow, value))}]"
    return _scalar(value)


def _key(key: object) -> str:
    text = str(key)
    return text if _KEY.fullmatch(text) and not _kind(text) else _quoted(text)


def _scalar(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if _NUMBER.fullmatch(text):
        return text
    plain = _PLAIN.fullmatch(text) and ": " not in text and not text.endswith((" ", ":"))
    return text if plain and _kind(text) in {"", *_TEXT_TAGS} else _quoted(text)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _kind(text: str) -> str:
    """The tag that a YAML 1.1 parser would give a plain scalar; empty for a string."""
    import yaml  # noqa: PLC0415 — slow, and needed only to write a header

    for tag, pattern in yaml.SafeLoader.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            return str(tag)
    return ""


def _quoted(text: str) -> str:
    quoted = json.dumps(_SURROGATE.sub("\ufffd", text), ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)
