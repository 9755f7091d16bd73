"""Puts text on the clipboard, as far as anybody can tell: no terminal says whether it took it."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from textual.app import App

from engine.errors import AutopoiesisError
from engine.store.user_folder import settings_folder, write_own
from tui.render.figures import home

FILE = "copied.txt"
"""In the settings folder: what was copied last, for terminals that keep programs from the clipboard."""


LIMIT = 100_000
"""Characters a copy takes; terminals drop or choke on more."""


def copied(app: App[int], text: str) -> str:
    """Copies as much of a text as terminals take; says how much that was, and where else it is."""
    text = text.encode("utf-8", "replace").decode()
    file = copy(app, text[:LIMIT])
    of = f" of {len(text):,}" if len(text) > LIMIT else ""
    where = f"; if the clipboard is closed to it: {home(file)}" if file is not None else ""
    return f"copied, {min(len(text), LIMIT):,}{of} characters{where}"


def copy(app: App[int], text: str) -> Path | None:
    """Copies a text by OSC 52, below tmux past it as well, and into a file.

    Returns:
        The file; ``None`` where it cannot be written.
    """
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
    """OSC 52 as tmux hands it to the terminal outside, where its ``allow-passthrough`` is on."""
    return f"\x1bPtmux;\x1b\x1b]52;c;{base64.b64encode(text.encode()).decode()}\a\x1b\\"
