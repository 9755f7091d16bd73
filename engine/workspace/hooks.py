"""The hooks that git runs for commits made by hand: put there, and looked at.

They lie in the repository's own folder, ``.git/hooks``, which neither a clone nor a pull brings along: a hook
in the work tree could be changed by anyone who sends a commit, and run by the next command of git. What a
work tree has in ``.githooks/`` is never taken into use.

They are the same in every workspace, so that they can be compared byte for byte. Which interpreter runs them
stands in the repository's own configuration; without it they use what is on PATH, and where there is neither
they refuse the commit and say so.
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
"""Where they are, of a work tree that is not a linked one."""
IN_THE_WORK_TREE = ".githooks"
"""Where earlier versions put them."""
NAMES = ("pre-commit", "post-commit")
INTERPRETER = "autopoiesis.python"
"""The setting of git that names the interpreter."""

_HOOKS_PATH = "core.hooksPath"
_UNSET = f"git config --unset {_HOOKS_PATH} (with --global where that is set)"
_EARLIER = frozenset(
    {
        "667e686ba14c22936d3e6f5b193a9e899071e78053ebeb3193bfcb8b29912037",
        "39b11fa827df009f6b44a62231190018e81d3016ae540dd2e4ad0da222cf0c2e",
        "db50f8ce60ef409bcc92f05188d86b56c18639461439d910ae62138bd25e30a7",
        "bca5801efd0ddda8f8b505123154a6c4ba08d8e35780d0666be608bf875edb92",
    }
)
"""sha256 of hooks that earlier versions made, which are replaced."""
_STRANGE = "was not made by init, so git does not run it"
_STRANGE_CURE = "read what it does; to have git run all that lies there now and after every pull: "


def install(files: Files, repository: Repository) -> tuple[list[str], list[Problem]]:
    """Puts the hooks into the repository's own folder, where git finds them by itself.

    A hook that init did not make is left as it is; so is a hooks folder set in git's configuration. Nothing
    that lies in the work tree is taken into use.

    Returns:
        What was made, in sentences, and what stood in the way.
    """
    strange = [
        Problem(path, 0, _STRANGE, f"{_STRANGE_CURE}git config {_HOOKS_PATH} {IN_THE_WORK_TREE}", "warning")
        for path in _strange(files)
    ]
    try:
        chosen = _chosen(repository)
        if chosen == IN_THE_WORK_TREE and not strange:
            repository.forget(_HOOKS_PATH)  # an earlier version chose it
        elif chosen:
            what = f"git runs the hooks in {chosen}, so those in {FOLDER}/ do not run"
            hint = f"run: {_UNSET}, and init --hooks again"
            return [], [*strange, Problem(FOLDER, 0, what, hint, "warning")]
        made, foreign = _put(files, repository)
        if foreign:
            what = "is not the hook that init makes, so it was left alone"
            hint = "move it away and run init --hooks again"
            return [], [*strange, *(Problem(path, 0, what, hint, "warning") for path in foreign)]
        if sys.executable:
            repository.set_up(INTERPRETER, sys.executable)
    except AutopoiesisError as error:
        what = f"git does not run the hooks: {error.what}"
        return [], [*strange, Problem(FOLDER, 0, what, error.hint, "warning")]
    return [f"git hooks in {FOLDER}/: {' and '.join(made)}"] if made else [], strange


def faults(files: Files, repository: Repository) -> Iterator[tuple[str, str]]:
    """What keeps the hooks from doing their work, and what to do about it. Runs nothing that git names."""
    again = f"run: autopoiesis init --hooks {shlex.quote(str(files.workspace.root))}"
    try:
        chosen, interpreter = _chosen(repository), repository.setting(INTERPRETER)
    except AutopoiesisError:
        return  # that there is no repository is said elsewhere
    for path in _strange(files):
        runs = "git runs it" if chosen == IN_THE_WORK_TREE else "git does not run it"
        yield (
            f"hooks: {path} was not made by init; {runs}",
            f"read what it does; delete it, or keep it unused: {path}",
        )
    if chosen == IN_THE_WORK_TREE:
        yield (
            f"hooks: git runs those in {chosen}/, which every pull can change",
            f"run: git config --unset {_HOOKS_PATH}; then {again}",
        )
        return
    if chosen:
        yield (
            f"hooks: git runs those in {chosen}, not those in {FOLDER}/",
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
            old = sha256(found).hexdigest() in _EARLIER
            hint = again if old else f"look at what it does; to have ours back, delete it and {again}"
            yield (
                f"hooks: {path} is {'of an earlier version' if old else 'not the one that init makes'}",
                hint,
            )
        elif not os.access(git_folder.hooks(repository.folder) / name, os.X_OK):
            yield f"hooks: {path} cannot be executed, so git passes it over", f"run: chmod +x {path}"
    if not are_ours:
        return  # what others need is not known
    on_path = programs.find("autopoiesis")
    if interpreter and not os.access(interpreter, os.X_OK):
        what = f"hooks: {interpreter}, which was to run them, is gone"
        found_instead = f"; {on_path} is used instead" if on_path else ", and commits by hand are refused"
        yield what + found_instead, again
    elif not interpreter and not on_path:
        yield "hooks: autopoiesis is not on PATH, so they refuse every commit made by hand", again


def text_of(name: str) -> bytes:
    """A hook as it ships."""
    return resources.files("engine").joinpath("starter", "hooks", name).read_bytes()


def _chosen(repository: Repository) -> str:
    """The folder that git was told to take hooks from, by whatever configuration; empty without any."""
    told = repository.git.run("config", "--show-scope", "--get-all", _HOOKS_PATH, accept=(0, 1)).text
    # The scope of the command itself is what every command of ours is given.
    values = [
        value
        for scope, _, value in (line.partition("\t") for line in told.splitlines())
        if scope != "command"
    ]
    return values[-1] if values else ""


def _put(files: Files, repository: Repository) -> tuple[list[str], list[str]]:
    """The names of the hooks that were made, or else the paths of those that are not ours."""
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


def _is_ours(name: str, data: bytes | None) -> bool:
    """Whether a hook may be replaced: there is none, or one that some version of ours made."""
    return data is None or data == text_of(name) or sha256(data).hexdigest() in _EARLIER


def _installed(repository: Repository, name: str) -> bytes | None:
    """A hook in the repository's own folder; ``None`` without one, nothing where it is not a regular file."""
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


def _strange(files: Files) -> list[str]:
    """What lies in the work tree where earlier versions put hooks, and is none of them."""
    try:
        with (
            descriptors.open_folder(files.workspace.root, (IN_THE_WORK_TREE,)) as folder,
            os.scandir(folder) as found,
        ):
            names = sorted(entry.name for entry in found)
    except FileNotFoundError:
        return []
    except OSError:
        return [IN_THE_WORK_TREE]  # a link, or no folder
    paths = ((name, f"{IN_THE_WORK_TREE}/{name}") for name in names)
    return [
        shown(path) for name, path in paths if name not in NAMES or not _is_ours(name, _read(files, path))
    ]


def _read(files: Files, path: str) -> bytes:
    try:
        return files.read(path)
    except (OSError, AutopoiesisError):
        return b""
