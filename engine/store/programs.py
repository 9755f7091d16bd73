"""Finds programs and builds their environment so that nothing in the current folder or a workspace is run.

A cloned folder may contain a ``git``, a ``json.py`` or a ``sitecustomize.py``. The current folder is searched
if PATH has a ``.`` or an empty entry; Python also searches it with ``-c``, ``-m`` and such entries in
PYTHONPATH. Here programs are looked up only in absolute folders, their child processes inherit the same
restriction, and our interpreters import modules only from where they are installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from engine.errors import AutopoiesisError

_HOME = str(Path(__file__).absolute().parents[2])
"""The folder of this program's own packages."""


def find(name: str) -> str | None:
    """The full path of a program; ``None`` if no absolute folder in PATH contains it.

    Args:
        name: A bare name or a full path.
    """
    import shutil  # noqa: PLC0415 — slow, and most processes start nothing

    if os.sep in name:
        return shutil.which(name) if Path(name).is_absolute() else None
    return shutil.which(name, path=_in_full(os.environ.get("PATH", os.defpath)))


def surroundings(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a program: that of this process, without the current folder on any path.

    Args:
        more: Additional variables.
    """
    found = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # An empty PATH would mean the current folder.
    found["PATH"] = _in_full(found.get("PATH", "")) or os.defpath
    if modules := _in_full(os.environ.get("PYTHONPATH", "")):
        found["PYTHONPATH"] = modules
    return found | dict(more or {})


def python(code: str, *arguments: str) -> list[str]:
    """The command that runs code in a separate interpreter that can import this program's packages.

    Start it with ``surroundings``.

    Args:
        arguments: Passed as ``sys.argv[1:]``.

    Raises:
        AutopoiesisError: The path of the current interpreter is unknown.
    """
    if not sys.executable:
        raise AutopoiesisError(
            "the path of the Python interpreter is unknown", hint="start autopoiesis by its full path"
        )
    # Last, so that nothing beside the packages shadows a standard library module.
    return [sys.executable, "-P", "-c", f"import sys; sys.path.append({_HOME!r}); {code}", *arguments]


@lru_cache(maxsize=4)
def _in_full(path: str) -> str:
    """A path list without relative folders."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if Path(entry).is_absolute())
