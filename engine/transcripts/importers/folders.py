"""The folders in which agents keep their settings and session logs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from engine.transcripts.importers.log import Kind

_FOLDERS: dict[Kind, tuple[str, str, str]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
    "codex": ("CODEX_HOME", ".codex", "sessions"),
}
"""Each agent's environment variable, default folder in the home folder, and log folder below that."""


def agent_folders(
    kind: Kind,
    named: Path | None = None,
    *,
    home: Path | None = None,
    variables: Mapping[str, str] = os.environ,
) -> tuple[Path, ...]:
    """An agent's folders, the usual one first; they need not exist.

    Its variable may name several, separated by commas, as other readers of the logs have it. Without one,
    some versions of Claude Code use ``~/.config/claude``, which counts if it exists.

    Args:
        named: The folder or folders to use instead; ``None`` for those of the variable.
        home: The person's home folder.
    """
    variable, name, _ = _FOLDERS[kind]
    home = home or Path.home()
    told = str(named or "") or variables.get(variable, "")
    parts = [Path(part.strip()).expanduser() for part in told.split(",") if part.strip()]
    if len(parts) > 1 and (whole := Path(told).expanduser()).is_dir():
        # Claude Code itself takes it for one folder.
        return (whole, *(part for part in parts if part.is_dir()))
    if parts:
        return tuple(dict.fromkeys(parts))
    other = Path(variables.get("XDG_CONFIG_HOME") or home / ".config") / "claude"
    return (home / name, other) if kind == "claude-code" and other.is_dir() else (home / name,)


def log_folders(kind: Kind, named: Path | None = None) -> tuple[Path, ...]:
    """The folders below which an agent keeps its session logs; see ``agent_folders``."""
    return tuple(folder / _FOLDERS[kind][2] for folder in agent_folders(kind, named))
