"""Where hooks are off: everywhere, in a project, or in one session.

This is a person's choice for all workspaces, so it is stored with their settings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import ConfigError
from engine.store.checkouts import place_of
from engine.store.user_folder import read_own, settings_folder, write_own

if TYPE_CHECKING:
    from engine.agents.call import HookCall

NAME = "hooks-off.json"
_MAX_SESSIONS = 200


class Switches:
    """Reads and changes where hooks are off; reads the file each time, because other programs change it."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = (folder or settings_folder()) / NAME

    def off(self) -> Mapping[str, list[str]]:
        """``everywhere`` (one empty name if off everywhere), ``projects`` by folder, ``sessions`` by id."""
        try:
            return self._read()
        except _UNREADABLE:
            # An unreadable file was meant to turn something off: err on the side of off.
            return {"everywhere": [""], "projects": [], "sessions": []}

    def _read(self) -> Mapping[str, list[str]]:
        tree = json.loads(read_own(self._path) or b"{}")
        return {name: [str(each) for each in tree.get(name, [])] for name in _KINDS}

    def why_off(self, call: HookCall) -> str:
        """Why an event is ignored; empty if it is not."""
        off = self.off()
        if off["everywhere"]:
            return "off everywhere"
        if call.session_id in off["sessions"]:
            return "off in this session"
        if call.cwd and off["projects"]:
            here = Path(os.path.realpath(call.cwd.replace("\0", "")))  # agents may name a folder by a link
            place = place_of(call.cwd)  # a linked work tree is off with its main checkout
            main = Path(place.root).expanduser() if place is not None and place.root else here
            if any(here.is_relative_to(project) or main == Path(project) for project in off["projects"]):
                return "off in this project"
        return ""

    def turn(self, kind: str, name: str, *, on: bool) -> bool:
        """Turns hooks on or off for a name of a kind, a key of ``off``; returns whether anything changed.

        Raises:
            ConfigError: It cannot be saved, or what is off cannot be read.
        """
        try:
            off = {each: list(names) for each, names in self._read().items()}
        except _UNREADABLE as error:
            # Saving would turn on what it lists.
            what, hint = f"cannot be read: {error}", "correct or delete it; until then hooks are off"
            raise ConfigError(what, where=str(self._path), hint=hint) from error
        if (name in off[kind]) is not on:
            return False
        off[kind] = [each for each in off[kind] if each != name] if on else [*off[kind], name]
        off["sessions"] = off["sessions"][-_MAX_SESSIONS:]
        try:
            write_own(self._path, json.dumps(off, indent=2).encode())
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=str(self._path)) from error
        return True


_UNREADABLE = (OSError, ValueError, AttributeError, TypeError)
_KINDS = ("everywhere", "projects", "sessions")
