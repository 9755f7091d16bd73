"""Merges JSON state files, such as those of provider caches, key by key."""

from __future__ import annotations

import json
from typing import Any


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Takes each key from the side that changed it, ours if both did; ``None`` if a file is not an object."""
    try:
        trees = [json.loads(data or b"{}") for data in (base, ours, theirs)]
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(tree, dict) for tree in trees):
        return None
    indent = 1 if b"\n" in ours.strip() else None  # keep the file's layout
    return (
        json.dumps(_both(*trees), ensure_ascii=False, indent=indent).encode("utf-8", "surrogatepass") + b"\n"
    )


def _both(base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys([*ours, *theirs]):
        was, mine, other = base.get(name), ours.get(name), theirs.get(name)
        if isinstance(mine, dict) and isinstance(other, dict):
            found[name] = _both(was if isinstance(was, dict) else {}, mine, other)
            continue
        value = other if mine == was else mine
        if value is not None:
            found[name] = value
    return found
