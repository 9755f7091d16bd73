"""The files that a new workspace begins with: unchanged, they say nothing, and stay out of prompts."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from engine.context.sources import ParsedFiles

_FOLDER = ("starter", "workspace")


@lru_cache(maxsize=64)
def starter_text(path: str) -> str | None:
    """The text that a file of a workspace begins with; ``None`` where the program makes no such file."""
    try:
        data = resources.files("engine").joinpath(*_FOLDER, *path.split("/")).read_bytes()
    except (OSError, ValueError):
        return None
    return ParsedFiles().get(path, data)[0].text
