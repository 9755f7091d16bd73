"""Where agents are told nothing and captured nothing: everywhere, in a project, or in one session.

A person's own wish for all workspaces, so it is kept with their settings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import ConfigError
from engine.store.user_folder import read_own, settings_folder, write_own

if TYPE_CHECKING:
    from engine.agents.call import HookCall

NAME = "hooks-off.json"
_MOST_SESSIONS = 200


class Switches:
    """Reads and changes what is off; reads anew each time, because other programs change it."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = (folder or settings_folder()) / NAME

    def off(self) -> Mapping[str, list[str]]:
        """``everywhere`` (one empty name where it is so), ``projects`` by folder, ``sessions`` by id."""
        try:
            tree = json.loads(read_own(self._path) or b"{}")
            return {name: [str(each) for each in tree.get(name, [])] for name in _KINDS}
        except (OSError, ValueError, AttributeError, TypeError):
            # A file that cannot be read was meant to turn something off.
            return {"everywhere": [""], "projects": [], "sessions": []}

    def why_off(self, call: HookCall) -> str:
        """Why nothing is done for an event; empty where something is."""
        off = self.off()
        if off["everywhere"]:
            return "off everywhere"
        if call.session_id in off["sessions"]:
            return "off in this session"
        here = Path(call.cwd)
        if call.cwd and any(here.is_relative_to(project) for project in off["projects"]):
            return "off in this project"
        return ""

    def turn(self, kind: str, name: str, *, on: bool) -> bool:
        """Turns hooks on or off for an ``everywhere``, ``projects`` or ``sessions``; whether that is news.

        Raises:
            ConfigError: It cannot be kept.
        """
        off = {each: list(names) for each, names in self.off().items()}
        if (name in off[kind]) is not on:
            return False
        off[kind] = [each for each in off[kind] if each != name] if on else [*off[kind], name]
        off["sessions"] = off["sessions"][-_MOST_SESSIONS:]
        try:
            write_own(self._path, json.dumps(off, indent=2).encode())
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=str(self._path)) from error
        return True


_KINDS = ("everywhere", "projects", "sessions")
