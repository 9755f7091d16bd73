"""Which programs are started, and with what around them: never one of the current folder or of a workspace.

A folder that was cloned may hold a ``git``, a ``json.py`` or a ``sitecustomize.py``. The current folder gets
on the path of a shell by a ``.`` or an empty entry, and on Python's by ``-c``, ``-m`` and the same entries in
PYTHONPATH. Here programs are looked up only in folders that are named in full, the same holds for what they
start in turn, and an interpreter of ours looks for modules only where it is installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from engine.errors import AutopoiesisError

_HOME = str(Path(__file__).absolute().parents[2])
"""Where this program's own packages lie."""


def find(name: str) -> str | None:
    """The full path of a program; ``None`` where no folder of PATH that is named in full holds it.

    Args:
        name: Without a folder, or with its full path.
    """
    import shutil  # noqa: PLC0415 — slow, and most processes start nothing

    if os.sep in name:
        return shutil.which(name) if Path(name).is_absolute() else None
    return shutil.which(name, path=_in_full(os.environ.get("PATH", os.defpath)))


def surroundings(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a program: the process's own, without the current folder on any path.

    Args:
        more: Set besides.
    """
    found = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # An empty PATH would mean the current folder.
    found["PATH"] = _in_full(found.get("PATH", "")) or os.defpath
    if modules := _in_full(os.environ.get("PYTHONPATH", "")):
        found["PYTHONPATH"] = modules
    return found | dict(more or {})


def python(code: str, *arguments: str) -> list[str]:
    """The command that runs some code in an interpreter of its own, which knows this program's packages.

    To be started with ``surroundings``.

    Args:
        arguments: What it finds in ``sys.argv[1:]``.

    Raises:
        AutopoiesisError: Which interpreter this is, is not known.
    """
    if not sys.executable:
        raise AutopoiesisError(
            "the Python interpreter is not known", hint="start autopoiesis by its full path"
        )
    # Last, so that nothing that lies beside the packages takes the place of a module of the library.
    return [sys.executable, "-P", "-c", f"import sys; sys.path.append({_HOME!r}); {code}", *arguments]


def _in_full(path: str) -> str:
    """A list of folders without those that are named relative to the current one."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if Path(entry).is_absolute())
