"""Installs and checks the git hooks for commits made by hand.

They are in the repository's ``.git/hooks``, which clones and pulls do not transfer: a hook in the work tree
could be changed by anyone whose commits are pulled, and run by the next git command.

They are the same in every workspace, so that they can be compared byte for byte. The repository's
configuration names the interpreter that runs them; without it they use the one on PATH, and without either
they refuse the commit with a message.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, Problem
from engine.store import descriptors, git_folder, programs
from engine.store.files import reported

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.repository import Repository

FOLDER = ".git/hooks"
"""The hooks folder, except in a linked work tree."""
NAMES = ("pre-commit",)
INTERPRETER = "autopoiesis.python"
"""The git setting that names the interpreter."""

_HOOKS_PATH = "core.hooksPath"
_UNSET = f"git config --unset {_HOOKS_PATH} (with --global where that is set)"


def install(files: Files, repository: Repository) -> tuple[list[str], list[Problem]]:
    """Installs the hooks in the repository's folder, where git finds them.

    Hooks that are not ours and a hooks folder set in git's configuration are left alone. Nothing in the work
    tree is used.

    Returns:
        What was done, in sentences, and what prevented it.
    """
    try:
        configured = repository.configured(_HOOKS_PATH)
        if configured:
            what = f"git runs the hooks in {configured}, not those in {FOLDER}/"
            hint = f"run: {_UNSET}, then init --hooks again"
            return [], [Problem(FOLDER, 0, what, hint, "warning")]
        installed, foreign = _write_hooks(files, repository)
        if foreign:
            what = "is not our hook, so it was left alone"
            hint = "move it away, then run init --hooks again"
            return [], [Problem(path, 0, what, hint, "warning") for path in foreign]
        if sys.executable:
            repository.set_up(INTERPRETER, sys.executable)
    except AutopoiesisError as error:
        what = f"git does not run the hooks: {error.what}"
        return [], [Problem(FOLDER, 0, what, error.hint, "warning")]
    return [f"git hooks in {FOLDER}/: {' and '.join(installed)}"] if installed else [], []


def faults(files: Files, repository: Repository) -> Iterator[tuple[str, str]]:
    """What keeps the hooks from working, each with a hint. Runs no configured program."""
    again = f"run: autopoiesis init --hooks {shlex.quote(str(files.workspace.root))}"
    try:
        configured, interpreter = repository.configured(_HOOKS_PATH), repository.setting(INTERPRETER)
    except AutopoiesisError:
        return  # a missing repository is reported elsewhere
    if configured:
        yield (
            f"hooks: git runs those in {configured}, not those in {FOLDER}/",
            f"run: {_UNSET}; then {again}",
        )
        return
    are_ours = True
    for name in NAMES:
        path, found = f"{FOLDER}/{name}", _installed(repository, name)
        are_ours = are_ours and found == text_of(name)
        if found is None:
            yield f"hooks: {path} is missing", again
        elif found != text_of(name):
            hint = f"look at what it does; to replace it with ours, delete it and {again}"
            yield f"hooks: {path} is not our hook", hint
        elif not os.access(git_folder.hooks(repository.folder) / name, os.X_OK):
            yield f"hooks: {path} is not executable, so git skips it", f"run: chmod +x {path}"
    if not are_ours:
        return  # the requirements of other hooks are not known
    on_path = programs.find("autopoiesis")
    if interpreter and not os.access(interpreter, os.X_OK):
        fallback = f"{on_path} is used instead" if on_path else "commits by hand are refused"
        yield f"hooks: their interpreter {interpreter} no longer exists; {fallback}", again
    elif not interpreter and not on_path:
        yield "hooks: autopoiesis is not on PATH, so commits by hand are refused", again


def text_of(name: str) -> bytes:
    return resources.files("engine").joinpath("starter", "hooks", name).read_bytes()


def _write_hooks(files: Files, repository: Repository) -> tuple[list[str], list[str]]:
    """The names of the installed hooks, or else the paths of those that are not ours."""
    found = {name: _installed(repository, name) for name in NAMES}
    foreign = [f"{FOLDER}/{name}" for name, data in found.items() if data not in (None, text_of(name))]
    if foreign:
        return [], foreign
    place = git_folder.hooks(repository.folder)
    with (
        reported(FOLDER),
        files.lock(),
        descriptors.open_folder(place.parent, (place.name,), create=True) as folder,
    ):
        for name in NAMES:
            if found[name] != text_of(name):
                with descriptors.temporary(folder, name, text_of(name), None) as temp:
                    os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.chmod(name, 0o755, dir_fd=folder)
        os.fsync(folder)
    return [name for name in NAMES if found[name] != text_of(name)], []


def _installed(repository: Repository, name: str) -> bytes | None:
    """An installed hook; None if missing, empty if it is not a regular file."""
    place = git_folder.hooks(repository.folder)
    try:
        with descriptors.open_folder(place.parent, (place.name,)) as folder:
            handle = descriptors.open_file(name, folder, os.O_RDONLY, f"{FOLDER}/{name}")
            try:
                return descriptors.read_all(handle, None, name)
            finally:
                os.close(handle)
    except FileNotFoundError:
        return None
    except (OSError, AutopoiesisError):
        return b""
