"""Checks whether a file may be committed, and reads the bytes to commit (design 6.5, G4, G6)."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from functools import partial

from engine.errors import DocumentError, PathRefused, RepositoryError
from engine.startup.lazy import expression
from engine.store import crypt, descriptors, git_folder
from engine.store.encrypted import stored
from engine.store.files import READ_LIMIT
from engine.store.git import Git
from engine.store.paths import SHARED, Workspace, is_private, is_shared, shown, split_relative

Guard = Callable[[str, bytes, Callable[[], bytes | None]], str]
"""Checks a file before it is committed, given its path, its bytes, and a function that returns its bytes in
the newest commit (``None`` if not present). A returned text refuses the file and says why."""

_CONFLICT = expression(rb"^<{7} .*?^={7}\r?$.*?^>{7} ", re.MULTILINE | re.DOTALL)
_VERBATIM = ("raw/", "conversations/")


def read(workspace: Workspace, name: str) -> tuple[str, bytes] | None:
    """Mode and bytes of a regular file, following no symlinks; ``None`` if the file no longer exists."""
    *parents, last = split_relative(name)
    if inner := git_folder.inner(workspace.root, (*parents, last)):
        what = f"was not committed: it belongs to a nested repository, {shown(inner)}"
        raise RepositoryError(what, where=shown(name))
    try:
        with descriptors.open_folder(workspace.root, parents) as folder:
            descriptor = descriptors.open_file(last, folder, os.O_RDONLY, name)
            try:
                is_program = os.fstat(descriptor).st_mode & stat.S_IXUSR
                return "100755" if is_program else "100644", descriptors.read_all(
                    descriptor, READ_LIMIT, name
                )
            finally:
                os.close(descriptor)
    except FileNotFoundError:
        return None
    except DocumentError as error:
        what = f"was not committed: it is larger than {READ_LIMIT // 1024**2} MiB"
        hint = "move it out of the workspace, or commit it with git itself"
        raise RepositoryError(what, where=shown(name), hint=hint) from error
    except NotADirectoryError as error:
        above = [workspace.root.joinpath(*parents[: depth + 1]) for depth in range(len(parents))]
        if not any(place.is_symlink() for place in above):
            return None
        raise RepositoryError("was not committed: a symlink leads to it", where=shown(name)) from error
    except PathRefused as error:
        raise RepositoryError("was not committed: it is not a regular file", where=shown(name)) from error
    except OSError as error:
        raise RepositoryError(
            f"was not committed: it cannot be read ({error.strerror})", where=shown(name)
        ) from error


def checked(
    git: Git, name: str, data: bytes, parent: str | None, guard: Guard | None, filters: Mapping[str, str]
) -> bytes:
    """The bytes to store for a file.

    Raises:
        RepositoryError: The file may not be committed.
    """
    _refuse_conflicts(name, data)
    before = partial(_before, git, parent, name)
    reason = guard(name, data, before) if guard is not None else ""
    kept = stored(git, name, data, filters)
    is_clear = is_private(name) and data and not crypt.is_encrypted(kept)
    if is_clear and crypt.is_encrypted(before() or b""):
        reason = "it is encrypted in the newest commit and would be committed in clear"
    if reason:
        raise RepositoryError(f"was not committed: {reason}", where=shown(name))
    return kept


def _refuse_conflicts(name: str, data: bytes) -> None:
    # A transcript may quote a conflict; curated files may not contain one.
    if name.startswith(_VERBATIM) or not (match := _CONFLICT.search(data)):
        return
    line = 1 + data.count(b"\n", 0, match.start())
    raise RepositoryError(
        "was not committed: it contains conflict markers",
        where=f"{shown(name)}:{line}",
        hint="resolve the conflict and remove the markers",
    )


def _before(git: Git, parent: str | None, name: str) -> bytes | None:
    """A file's bytes in the newest commit; ``None`` if the commit does not contain it."""
    if parent is None:
        return None
    answer = git.run("cat-file", "blob", f"{parent}:{name}", accept=(0, 128))
    return None if answer.code else answer.output


def refuse_in_links(git: Git, names: list[str]) -> None:
    """Refuse files that would replace a submodule, checked out or not."""
    if not any(map(is_shared, names)):
        return
    listed = git.run("ls-files", "--stage", "-z", paths=[SHARED]).output.split(b"\0")
    links = [os.fsdecode(line.partition(b"\t")[2]) for line in listed if line.startswith(b"160000 ")]
    for name in names:
        if link := next((each for each in links if name.startswith(f"{each}/")), ""):
            what = f"was not committed: it belongs to a nested repository, {shown(link)}"
            raise RepositoryError(what, where=shown(name))
