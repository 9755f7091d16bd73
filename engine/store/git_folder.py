"""Reads the branch and the newest commit from the ``.git`` folder without starting git."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

REVISION = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_ELSEWHERE = "refs/heads/.invalid"


def repository_folder(root: Path) -> Path:
    """The git folder of a work tree: ``.git``, or where a ``.git`` file points."""
    place = root / ".git"
    with contextlib.suppress(OSError):
        if place.is_file():
            text = place.read_text("utf-8", "replace").strip()
            if text.startswith("gitdir: "):
                return (root / text.removeprefix("gitdir: ")).resolve()
    return place


def inner(root: Path, parts: Sequence[str]) -> str:
    """The nested repository that contains a path; empty if there is none."""
    for depth in range(1, len(parts)):
        if os.path.lexists(root.joinpath(*parts[:depth], ".git")):
            return "/".join(parts[:depth])
    return ""


def hooks(folder: Path) -> Path:
    """Git's default hooks folder."""
    return _common(folder) / "hooks"


def head(folder: Path) -> str:
    """The target of HEAD: ``refs/heads/…`` on a branch, an object name if detached, empty if unreadable."""
    return _first_line(folder / "HEAD").removeprefix("ref: ").strip()


def is_readable(reference: str) -> bool:
    """Whether branches are stored as files; in a reftable repository only git can read them."""
    return reference != _ELSEWHERE


def reference_file(folder: Path, reference: str) -> Path:
    """The file of a branch; it exists unless the branch is new or packed."""
    return _common(folder) / reference


def revision(folder: Path, reference: str) -> str | None:
    """The object name of a branch's newest commit; ``None`` before the first."""
    value = _first_line(reference_file(folder, reference))
    return value if REVISION.fullmatch(value) else _packed(_common(folder), reference)


def _common(folder: Path) -> Path:
    """The folder with the branches, which is a different one in a linked work tree."""
    other = _first_line(folder / "commondir")
    return (folder / other).resolve() if other else folder


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(4096).decode("utf-8", "replace").partition("\n")[0].strip()
    except OSError:
        return ""


def _packed(common: Path, reference: str) -> str | None:
    try:
        text = (common / "packed-refs").read_text("utf-8", "replace")
    except OSError:
        return None
    for line in text.splitlines():
        name, _, target = line.partition(" ")
        if target == reference and REVISION.fullmatch(name):
            return name
    return None
