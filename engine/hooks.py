"""The hooks that git runs for commits made by hand: put there, and looked at.

They are the same in every workspace, so that they can be compared byte for byte. Which interpreter runs them
stands in the repository's own configuration, which no clone brings along; without it they use what is on
PATH, and where there is neither they refuse the commit and say so.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, Problem

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.repository import Repository

FOLDER = ".githooks"
NAMES = ("pre-commit", "post-commit")
INTERPRETER = "autopoiesis.python"
"""The setting of git that names the interpreter."""

_HOOKS_PATH = "core.hooksPath"
_EARLIER = frozenset(
    {
        "667e686ba14c22936d3e6f5b193a9e899071e78053ebeb3193bfcb8b29912037",
        "39b11fa827df009f6b44a62231190018e81d3016ae540dd2e4ad0da222cf0c2e",
    }
)
"""sha256 of hooks that earlier versions made, which are replaced."""


def install(files: Files, repository: Repository) -> tuple[list[str], list[Problem]]:
    """Puts the hooks where they can be read, and points git at them.

    A hook that somebody else wrote is left as it is, and git is not pointed at it; so is a hooks folder that
    somebody has chosen.

    Returns:
        What was made, in sentences, and what stood in the way.
    """
    made, foreign = [], []
    for name in NAMES:
        path, wanted = f"{FOLDER}/{name}", text_of(name)
        found = _read(files, path)
        if found is not None and found != wanted and sha256(found).hexdigest() not in _EARLIER:
            foreign.append(path)
        elif found != wanted:
            files.replace(path, wanted)
            made.append(name)
    if foreign:
        what = "is not the hook that init makes, so it was left alone and git was not pointed at it"
        cure = f"move it away and run init again, or run: git config {_HOOKS_PATH} {FOLDER}"
        return [], [Problem(path, 0, what, cure, "warning") for path in foreign]
    for name in NAMES:
        (files.workspace.root / FOLDER / name).chmod(0o755)
    try:
        chosen = repository.setting(_HOOKS_PATH)
        if chosen not in ("", FOLDER):
            what = f"git runs the hooks in {chosen}, so those in {FOLDER}/ do not run"
            return [], [Problem(FOLDER, 0, what, f"run: git config {_HOOKS_PATH} {FOLDER}", "warning")]
        repository.use_hooks(FOLDER)
        if sys.executable:
            repository.set_up(INTERPRETER, sys.executable)
    except AutopoiesisError as error:
        return [], [Problem(FOLDER, 0, f"git does not run the hooks: {error.what}", error.cure, "warning")]
    return [f"git hooks in {FOLDER}/: {' and '.join(made)}"] if made else [], []


def faults(files: Files, repository: Repository) -> Iterator[tuple[str, str]]:
    """What keeps the hooks from doing their work, and what to do about it. Runs nothing that git names."""
    again = f"run: autopoiesis init --hooks {shlex.quote(str(files.workspace.root))}"
    try:
        chosen, interpreter = repository.setting(_HOOKS_PATH), repository.setting(INTERPRETER)
    except AutopoiesisError:
        return  # that there is no repository is said elsewhere
    if chosen != FOLDER:
        yield (
            f"hooks: git runs {f'those in {chosen}' if chosen else 'none'}, not those in {FOLDER}/",
            (f"{again}, or: git config {_HOOKS_PATH} {FOLDER}"),
        )
        return
    are_ours = True
    for name in NAMES:
        path, found = f"{FOLDER}/{name}", _read(files, f"{FOLDER}/{name}")
        are_ours = are_ours and found == text_of(name)
        if found is None:
            yield f"hooks: {path} is missing", again
        elif found != text_of(name):
            old = sha256(found).hexdigest() in _EARLIER
            cure = again if old else f"look at what it does; to have ours back, delete it and {again}"
            yield (
                f"hooks: {path} is {'of an earlier version' if old else 'not the one that init makes'}",
                cure,
            )
        elif not os.access(files.workspace.root / path, os.X_OK):
            yield f"hooks: {path} cannot be executed, so git passes it over", f"run: chmod +x {path}"
    if not are_ours:
        return  # what others need is not known
    if interpreter and not os.access(interpreter, os.X_OK):
        on_path = _on_path()
        what = f"hooks: {interpreter}, which was to run them, is gone"
        found_instead = f"; {on_path} is used instead" if on_path else ", and commits by hand are refused"
        yield what + found_instead, again
    elif not interpreter and not _on_path():
        yield "hooks: autopoiesis is not on PATH, so they refuse every commit made by hand", again


def text_of(name: str) -> bytes:
    """A hook as it ships."""
    return resources.files("engine").joinpath("starter", "hooks", name).read_bytes()


def _read(files: Files, path: str) -> bytes | None:
    try:
        return files.read(path)
    except (OSError, AutopoiesisError):
        return None


def _on_path() -> str:
    """Where a shell finds the program; folders named relative to the current one are passed over."""
    for folder in os.get_exec_path():
        path = Path(folder) / "autopoiesis"
        if path.is_absolute() and os.access(path, os.X_OK):
            return str(path)
    return ""
