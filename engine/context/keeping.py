"""A compiled prompt kept as a file, where memory cannot learn from it (design 3.13)."""

from __future__ import annotations

from engine.errors import PathRefused
from engine.store.files import Files
from engine.store.paths import shown, split_relative

FOLDER = "scratch"
"""Where prompts may be kept: git ignores it, and neither search nor harvest nor a compile reads it."""

SUFFIXES = (".md", ".txt")
"""How their names end; the caches that lie in the same folder have other names."""


def keep_prompt(files: Files, path: str, text: str, *, replace: bool = False) -> bool:
    """Writes a prompt into a file, complete or not at all.

    ``path`` is below ``scratch/``. Lone surrogates, which no provider takes either, become ``?``.

    Returns:
        ``False`` when the name is taken and ``replace`` is off; nothing is changed then.

    Raises:
        PathRefused: The path leads elsewhere, to a hidden file, or to one that is not text.
        ReadOnly, WriteFailed: As ``Files.replace``.
    """
    parts = split_relative(path)
    if parts[0] != FOLDER or len(parts) < 2 or any(part.startswith(".") for part in parts):
        raise PathRefused(
            "a prompt is kept below scratch/ only, because memory would learn from it anywhere else",
            where=shown(path),
            hint=f"name it {FOLDER}/prompt.md, or redirect the output of autopoiesis compile",
        )
    if not parts[-1].endswith(SUFFIXES):
        raise PathRefused(
            "a prompt is text", where=shown(path), hint=f"end its name in {' or '.join(SUFFIXES)}"
        )
    data = text.encode("utf-8", "replace")
    if replace:
        files.replace(path, data)
        return True
    return files.create(path, data)
