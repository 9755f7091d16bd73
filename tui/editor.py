"""Which editor a person wants, and which file a row stands for."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

FALLBACKS = ("nano", "vim", "vi", "emacs")


def editor_command(path: Path, environment: Mapping[str, str] | None = None) -> list[str]:
    """The command that opens a file: ``$VISUAL``, ``$EDITOR``, or the first usual editor that is there.

    Returns:
        Program and arguments; empty where there is no editor at all.
    """
    environment = os.environ if environment is None else environment
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environment.get(name, ""))
        except ValueError:
            continue
        if words:
            return [*words, str(path)]
    found = next((program for program in FALLBACKS if shutil.which(program)), None)
    return [found, str(path)] if found else []


def file_of(root: Path, *candidates: str) -> str:
    """The first candidate that names a regular file inside the workspace, relative to it; else empty.

    Args:
        root: The workspace's folder.
        candidates: Relative paths; a ``#…`` behind one (the key of a turn) is not part of it.
    """
    for candidate in candidates:
        relative = candidate.partition("#")[0]
        if not relative or "\0" in relative or len(relative) > 1024 or relative.startswith("/"):
            continue
        try:
            path = (root / relative).resolve()
            if path.is_relative_to(root.resolve()) and path.is_file():
                return relative
        except (OSError, ValueError, RuntimeError):
            continue
    return ""
