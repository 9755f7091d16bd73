"""Installs and checks the git hooks for commits made by hand.

They are in the repository's ``.git/hooks``, which clones and pulls do not transfer: a hook in the work tree
could be changed by anyone whose commits are pulled, and run by the next git command. Hooks in ``.githooks/``
of a work tree are never used.

They are the same in every workspace, so that they can be compared byte for byte. The repository's
configuration names the interpreter that runs them; without it they use the one on PATH, and without either
they refuse the commit with a message.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, Problem
from engine.store import descriptors, git_folder, programs
from engine.store.files import reported
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.repository import Repository

FOLDER = ".git/hooks"
"""The hooks folder, except in a linked work tree."""
IN_THE_WORK_TREE = ".githooks"
"""The folder used by earlier versions."""
NAMES = ("pre-commit",)
RETIRED = "post-commit"
"""A hook of earlier versions. It updated the index, as every command does; git-lfs needs its place."""
INTERPRETER = "autopoiesis.python"
"""The git setting that names the interpreter."""

_HOOKS_PATH = "core.hooksPath"
_UNSET = f"git config --unset {_HOOKS_PATH} (with --global where that is set)"
_EARLIER = frozenset(
    {
        "667e686ba14c22936d3e6f5b193a9e899071e78053ebeb3193bfcb8b29912037",
        "39b11fa827df009f6b44a62231190018e81d3016ae540dd2e4ad0da222cf0c2e",
        "36978a4182b883d0d51ca1529682d16e9f5aabf3fdc5d545d21c17f82b0143cd",
        "db50f8ce60ef409bcc92f05188d86b56c18639461439d910ae62138bd25e30a7",
        "bca5801efd0ddda8f8b505123154a6c4ba08d8e35780d0666be608bf875edb92",
        "bee66ff66a616441eeb3b4f9616e4cc2d092e0b2c6e452c0d5a66ef22e808c20",
        "d4f179dfc4483c1ae7163b3a4f94d860dd6911e1d94a78d8f9b98f2725a99e07",
    }
)
"""sha256 of the hooks of earlier versions, which are replaced or removed."""
_FOREIGN = "was not installed by init, so git does not run it"
_FOREIGN_HINT = "read what it does; to have git run everything in it, now and after every pull: "


def install(files: Files, repository: Repository) -> tuple[list[str], list[Problem]]:
    """Installs the hooks in the repository's folder, where git finds them.

    Hooks that are not ours and a hooks folder set in git's configuration are left alone. Nothing in the work
    tree is used.

    Returns:
        What was done, in sentences, and what prevented it.
    """
    foreign_files = [
        Problem(path, 0, _FOREIGN, f"{_FOREIGN_HINT}git config {_HOOKS_PATH} {IN_THE_WORK_TREE}", "warning")
        for path in _foreign_files(files)
    ]
    try:
        configured = repository.configured(_HOOKS_PATH)
        if configured == IN_THE_WORK_TREE and not foreign_files:
            repository.forget(_HOOKS_PATH)  # set by an earlier version
        elif configured:
            what = f"git runs the hooks in {configured}, not those in {FOLDER}/"
            hint = f"run: {_UNSET}, then init --hooks again"
            return [], [*foreign_files, Problem(FOLDER, 0, what, hint, "warning")]
        installed, foreign = _write_hooks(files, repository)
        removed = [] if foreign else _remove_retired(files, repository)
        if foreign:
            what = "is not our hook, so it was left alone"
            hint = "move it away, then run init --hooks again"
            return [], [*foreign_files, *(Problem(path, 0, what, hint, "warning") for path in foreign)]
        if sys.executable:
            repository.set_up(INTERPRETER, sys.executable)
    except AutopoiesisError as error:
        what = f"git does not run the hooks: {error.what}"
        return [], [*foreign_files, Problem(FOLDER, 0, what, error.hint, "warning")]
    lines = [f"git hooks in {FOLDER}/: {' and '.join(installed)}"] if installed else []
    return [*lines, *removed], foreign_files


def faults(files: Files, repository: Repository) -> Iterator[tuple[str, str]]:
    """What keeps the hooks from working, each with a hint. Runs no configured program."""
    again = f"run: autopoiesis init --hooks {shlex.quote(str(files.workspace.root))}"
    try:
        configured, interpreter = repository.configured(_HOOKS_PATH), repository.setting(INTERPRETER)
    except AutopoiesisError:
        return  # a missing repository is reported elsewhere
    for path in _foreign_files(files):
        runs = "git runs it" if configured == IN_THE_WORK_TREE else "git does not run it"
        yield (
            f"hooks: {path} was not installed by init; {runs}",
            f"read what it does; delete it, or keep it unused: {path}",
        )
    if configured == IN_THE_WORK_TREE:
        yield (
            f"hooks: git runs those in {configured}/, which every pull can change",
            f"run: git config --unset {_HOOKS_PATH}; then {again}",
        )
        return
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
            old = _is_earlier(found)
            hint = again if old else f"look at what it does; to replace it with ours, delete it and {again}"
            yield f"hooks: {path} is {'from an earlier version' if old else 'not our hook'}", hint
        elif not os.access(git_folder.hooks(repository.folder) / name, os.X_OK):
            yield f"hooks: {path} is not executable, so git skips it", f"run: chmod +x {path}"
    if _is_earlier(_installed(repository, RETIRED)):
        yield f"hooks: {FOLDER}/{RETIRED} is from an earlier version and not needed any more", again
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
    foreign = [f"{FOLDER}/{name}" for name, data in found.items() if not _is_ours(name, data)]
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


def _remove_retired(files: Files, repository: Repository) -> list[str]:
    """Removes the retired hook if it is ours; returns what was done."""
    if not _is_earlier(_installed(repository, RETIRED)):
        return []
    place = git_folder.hooks(repository.folder)
    with reported(FOLDER), files.lock(), descriptors.open_folder(place.parent, (place.name,)) as folder:
        os.unlink(RETIRED, dir_fd=folder)
    return [f"removed {FOLDER}/{RETIRED}, which is not needed any more"]


def _is_earlier(data: bytes | None) -> bool:
    """Whether a hook is one of an earlier version of ours."""
    return data is not None and sha256(data).hexdigest() in _EARLIER


def _is_ours(name: str, data: bytes | None) -> bool:
    """Whether a hook may be replaced: it is missing, or from some version of ours."""
    return data is None or _is_earlier(data) or (name in NAMES and data == text_of(name))


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


def _foreign_files(files: Files) -> list[str]:
    """Files in the work tree's folder of hooks that are not from an earlier version of ours."""
    try:
        with (
            descriptors.open_folder(files.workspace.root, (IN_THE_WORK_TREE,)) as folder,
            os.scandir(folder) as found,
        ):
            names = sorted(entry.name for entry in found)
    except FileNotFoundError:
        return []
    except OSError:
        return [IN_THE_WORK_TREE]  # a link, or not a folder
    paths = ((name, f"{IN_THE_WORK_TREE}/{name}") for name in names)
    return [shown(path) for name, path in paths if not _is_ours(name, _read(files, path))]


def _read(files: Files, path: str) -> bytes:
    try:
        return files.read(path)
    except (OSError, AutopoiesisError):
        return b""
