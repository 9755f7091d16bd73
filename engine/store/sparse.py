"""Sparse checkouts: work trees that contain only part of the repository, as given to sub-agents.

Files that are not checked out still exist: they are neither deleted nor missing, and must not be overwritten.
Git marks them in its index (``skip-worktree``); new files from a sync are checked against the folders in the
sparse specification (cone mode).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import PathRefused, ReadOnly
from engine.store.git_folder import inner, repository_folder
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.store.git import Git

_PATTERNS = "info/sparse-checkout"
_TOP = ("/*", "!/*/")


def hidden(root: Path, paths: Sequence[str] = ()) -> frozenset[str]:
    """The committed files that are not checked out, among ``paths`` or overall.

    Only checks for one file if the checkout is not sparse.

    Raises:
        RepositoryError: Git failed.
    """
    folder = repository_folder(root)
    if not (folder / _PATTERNS).is_file():
        return frozenset()
    try:
        index = (folder / "index").stat()
    except OSError:
        return frozenset()
    found = _listed(root, (index.st_ino, index.st_mtime_ns, index.st_size))
    return found & frozenset(paths) if paths else found


@lru_cache(maxsize=8)
def _listed(root: Path, _index: tuple[int, ...]) -> frozenset[str]:
    """All files not checked out, cached by the state of the index."""
    listed = _git(root).run("ls-files", "-t", "-z", "--full-name").output.split(b"\0")
    return frozenset(os.fsdecode(line[2:]) for line in listed if line.startswith(b"S "))


def outside(root: Path, paths: Iterable[str]) -> frozenset[str]:
    """The given paths, existing or new, that are outside the sparse checkout.

    Raises:
        RepositoryError: Git failed.
    """
    place = repository_folder(root) / _PATTERNS
    on = ("config", "--type=bool", "--get", "core.sparseCheckout")
    if not place.is_file() or _git(root).run(*on, accept=(0, 1)).text != "true":
        return frozenset()
    lines = [re.sub(r"\\(.)", r"\1", line) for line in place.read_text("utf-8", "replace").splitlines()]
    if tuple(lines[:2]) != _TOP:
        # Not cone mode: use the index, which covers existing files.
        return hidden(root) & frozenset(paths)
    only_files = {line[2:-3] for line in lines[2:] if line.startswith("!/") and line.endswith("/*/")}
    whole = tuple(line[1:] for line in lines[2:] if line.startswith("/") and line[1:-1] not in only_files)
    return frozenset(
        path
        for path in paths
        if "/" in path and not path.startswith(whole) and path.rpartition("/")[0] not in only_files
    )


def _git(root: Path) -> Git:
    from engine.store.git import Git  # noqa: PLC0415 — imports subprocess, and few checkouts are sparse

    return Git(root)


def refuse_elsewhere(root: Path, parts: Sequence[str]) -> None:
    """Refuse a file that must not be written from this workspace.

    Args:
        parts: The components of its path, free of symlinks.

    Raises:
        PathRefused: It is in a nested repository, such as knowledge shared by others.
        ReadOnly: It is in the newest commit but not checked out here.
    """
    path = "/".join(parts)
    if found := inner(root, parts):
        raise PathRefused(
            f"belongs to a nested repository, {shown(found)}",
            where=shown(path),
            hint="change it at its source, then run: autopoiesis share update",
        )
    if not os.path.lexists(root / path) and hidden(root, [path]):
        raise ReadOnly(
            "is not checked out here (sparse checkout)",
            where=shown(path),
            hint=f"git sparse-checkout add {shown('/'.join(parts[:-1]))}",
        )
