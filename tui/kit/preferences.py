"""The workbench's user preferences: ``tui.yaml`` in the user's settings folder."""

from __future__ import annotations

from pathlib import Path

import yaml

from engine.store.user_folder import settings_folder, write_own

MAX_BYTES = 64 * 1024
_HEAD = "# Workbench preferences. Safe to edit or delete.\n"


class Preferences:
    """``tui.yaml``, read once and written on changes. A broken file is treated as empty."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or settings_folder() / "tui.yaml"
        self.problem = ""
        self._values = self._read()

    @property
    def theme(self) -> str:
        """The chosen theme; empty if none was chosen."""
        value = self._values.get("theme", "")
        return value if isinstance(value, str) else ""

    def choose_theme(self, name: str) -> None:
        """Saves a theme as the user's choice.

        Raises:
            OSError: The file cannot be written; the old one is kept.
        """
        self._values["theme"] = name
        text = _HEAD + yaml.safe_dump(self._values, allow_unicode=True, sort_keys=True)
        write_own(self.path, text.encode())

    def _read(self) -> dict[str, object]:
        try:
            if self.path.stat().st_size > MAX_BYTES:
                self.problem = f"{self.path}: file too large"
                return {}
            tree = yaml.safe_load(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError, ValueError) as error:
            self.problem = f"cannot read {self.path}: {error}"
            return {}
        return {str(key): value for key, value in tree.items()} if isinstance(tree, dict) else {}
