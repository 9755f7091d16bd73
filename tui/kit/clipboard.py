"""Copies text to the clipboard with OSC 52. Terminals do not report whether they accepted it."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from textual.app import App

from engine.errors import AutopoiesisError
from engine.store.user_folder import settings_folder, write_own
from tui.render.figures import home

FILE = "copied.txt"
"""In the settings folder: the last copied text, for terminals that block clipboard access."""
LIMIT = 100_000
"""Maximum characters copied; terminals drop longer texts."""


def copied(app: App[int], text: str) -> str:
    """Copies as much of a text as terminals accept, and returns a message about it."""
    text = text.encode("utf-8", "replace").decode()
    file = copy(app, text[:LIMIT])
    of = f" of {len(text):,}" if len(text) > LIMIT else ""
    also = f"; also saved to {home(file)}" if file is not None else ""
    unit = "character" if len(text) == 1 else "characters"
    return f"copied {min(len(text), LIMIT):,}{of} {unit}{also}"


def copy(app: App[int], text: str) -> Path | None:
    """Copies a text with OSC 52, also through tmux, and into a file; ``None`` if that cannot be written."""
    app.copy_to_clipboard(text)
    if "TMUX" in os.environ and app._driver is not None:
        app._driver.write(past_tmux(text))
    path = settings_folder() / FILE
    try:
        write_own(path, text.encode("utf-8", "replace"))
    except (OSError, AutopoiesisError):
        return None
    return path


def past_tmux(text: str) -> str:
    """OSC 52 in the form tmux passes to the outer terminal if ``allow-passthrough`` is on."""
    return f"\x1bPtmux;\x1b\x1b]52;c;{base64.b64encode(text.encode()).decode()}\a\x1b\\"
