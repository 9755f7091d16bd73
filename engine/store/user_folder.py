"""Where a person's own settings are kept, for all workspaces."""

from __future__ import annotations

from pathlib import Path


def settings_folder() -> Path:
    """The folder, as the system likes it (``$XDG_CONFIG_HOME/autopoiesis``); it need not exist."""
    from platformdirs import user_config_path  # noqa: PLC0415 — a traced message needs none

    return user_config_path("autopoiesis", appauthor=False)
