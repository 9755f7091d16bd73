"""Where agents keep conversations that are imported only when they are named, or that cannot be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Store:
    """The store of a program."""

    program: str
    places: tuple[str, ...]  # patterns below the home folder, or below a project if they begin with ``./``
    how: str = ""  # how to export what is in it; empty if it can be imported as it is


STORES = (
    Store("opencode", (".local/share/opencode/opencode.db", ".local/share/opencode/storage/session")),
    Store("Crush", ("./.crush/crush.db", "./.opencode/opencode.db")),
    Store("Aider", ("./.aider.chat.history.md",)),
    Store(
        "Cursor",
        (
            ".config/Cursor/User/globalStorage/state.vscdb",
            "Library/Application Support/Cursor/User/globalStorage/state.vscdb",
        ),
    ),
    Store("Continue", (".continue/sessions",)),
    Store("Copilot's command line", (".copilot/session-state",)),
    Store("OpenHands", (".openhands/conversations",)),
    Store("Kimi's command line", (".kimi/sessions",)),
    Store("Zed", (".local/share/zed/threads",), "open a thread as Markdown, and save it"),
    Store("Goose", (".local/share/goose/sessions/sessions.db",)),
    Store("Windsurf", (".codeium/windsurf/cascade",), "use Download Trajectory in Cascade's menu"),
    Store("Antigravity", (".gemini/antigravity/conversations",), "use Export in the conversation's menu"),
    Store("Amp", (".local/share/amp/threads",), "amp threads markdown ID > FILE.md"),
)
"""Every store that is known and not found by ``autopoiesis import`` itself."""


def found(here: Path) -> Iterator[tuple[Store, Path]]:
    """The stores that exist, each with its first place.

    Args:
        here: A project folder.
    """
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    for store in STORES:
        paths = (
            here / place[2:]
            if place.startswith("./")
            else data / place.removeprefix(".local/share/")
            if place.startswith(".local/share/")
            else home / place
            for place in store.places
        )
        existing = next((path for path in paths if path.exists()), None)
        if existing is not None:
            yield store, existing
