"""Unknown job names in ``lifecycle.schedule``."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, Problem
from engine.settings.file import CONFIG_FILE, MAX_BYTES
from engine.store import yamltext
from engine.topics.fields import near

if TYPE_CHECKING:
    from engine.store.files import Files


def unknown_names(files: Files, named: Collection[str], known: Collection[str]) -> tuple[Problem, ...]:
    """A problem with its line for each unknown name."""
    return tuple(
        Problem(
            CONFIG_FILE,
            _line(files, name),
            f"lifecycle.schedule: no job {name}",
            f"did you mean {guess}?" if (guess := near(name, known)) else "remove it",
            "warning",
        )
        for name in named
        if name not in known
    )


def _line(files: Files, name: str) -> int:
    """The line of a name; 0 if the file can no longer be read."""
    line = 0
    try:
        here: object = yamltext.parse(files.read(CONFIG_FILE).decode("utf-8-sig"), max_bytes=MAX_BYTES)
    except (AutopoiesisError, OSError, UnicodeDecodeError, yamltext.YamlError):
        return 0
    for part in ("lifecycle", "schedule", name):
        if not isinstance(here, yamltext.Mapping) or part not in here:
            return 0
        line, here = here.line_of(part), here[part]
    return line
