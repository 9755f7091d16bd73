"""Which setting keeps an agent from running any hook, ours included."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.agents import jsonc
from engine.agents.contracts import Off


def setting_off(switches: Iterable[Off], files: Iterable[Path]) -> tuple[Path, str] | None:
    """The file and setting that turn all hooks off; ``None`` if nothing does.

    Args:
        files: The settings, the ones that count most first. One that is missing or cannot be parsed sets
            nothing.
    """
    trees = [(path, _tree(path)) for path in files]
    for switch in switches:
        for path, tree in trees:
            found = tree
            for key in switch.keys:
                found = found.get(key) if isinstance(found, dict) else None
            if found is switch.off:
                return path, f"{'.'.join(switch.keys)} is {str(switch.off).lower()}"
            if found is not None:
                break
    return None


def _tree(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
        return tomllib.loads(text) if path.suffix == ".toml" else jsonc.parse(text).value
    except (OSError, ValueError, RecursionError):
        return None
