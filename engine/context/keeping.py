"""Saves a compiled prompt to a file where memory cannot learn from it (design 3.13)."""

from __future__ import annotations

from engine.errors import PathRefused
from engine.store.files import Files
from engine.store.paths import shown, split_relative

FOLDER = "scratch"
"""Where prompts may be saved: ignored by git, search, harvest and compiles."""

SUFFIXES = (".md", ".txt")
"""File name endings of prompts; caches in the same folder have others."""


def keep_prompt(files: Files, path: str, text: str, *, replace: bool = False) -> bool:
    """Writes a prompt to a file under ``scratch/``; lone surrogates become ``?``.

    Returns:
        ``False`` if the file exists and ``replace`` is off; nothing is changed then.

    Raises:
        PathRefused: The path is not under ``scratch/``, is hidden, or is not a text file.
        ReadOnly, WriteFailed: As ``Files.replace``.
    """
    parts = split_relative(path)
    if parts[0] != FOLDER or len(parts) < 2 or any(part.startswith(".") for part in parts):
        raise PathRefused(
            "prompts can only be saved under scratch/; anywhere else memory would learn from them",
            where=shown(path),
            hint=f"use {FOLDER}/prompt.md, or redirect the output of autopoiesis compile",
        )
    if not parts[-1].endswith(SUFFIXES):
        raise PathRefused(
            "prompts are saved as text",
            where=shown(path),
            hint=f"use a name ending in {' or '.join(SUFFIXES)}",
        )
    data = text.encode("utf-8", "replace")
    if replace:
        files.replace(path, data)
        return True
    return files.create(path, data)
