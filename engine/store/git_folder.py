"""Reads the branch, the newest commit and the remotes from the ``.git`` folder without starting git."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from engine.startup.lazy import expression

REVISION = expression(r"[0-9a-f]{40}([0-9a-f]{24})?")
SNAPSHOTS = "refs/tags/memory/"
"""Where the tags of snapshots are."""
_ELSEWHERE = "refs/heads/.invalid"
_LINE_BYTES = 4096
_CONFIG_BYTES = 64 * 1024
_SECTION = expression(r'\[\s*(\w+)(?:\s+"([^"\n]*)")?\s*\]')
_URL = expression(r"\s*url\s*=(.*)", re.IGNORECASE)
_COMMENT = expression(r"\s[#;]")


def repository_folder(root: Path) -> Path:
    """The git folder of a work tree: ``.git``, or where a ``.git`` file points."""
    place = root / ".git"
    line = _first_line(place)
    if line.startswith("gitdir: "):
        return Path(os.path.realpath(root / line.removeprefix("gitdir: ")))
    return place


def common_folder(folder: Path) -> Path:
    """The folder with branches and settings, which for a linked work tree is that of its main checkout."""
    other = _first_line(folder / "commondir")
    return Path(os.path.realpath(folder / other)) if other else folder


def remotes(common: Path) -> dict[str, str]:
    """The addresses of the remotes by name, in order, from the repository's own settings only: no file that
    they include is read.
    """
    found: dict[str, str] = {}
    name: str | None = None
    for line in _start_of(common / "config", _CONFIG_BYTES).decode("utf-8", "replace").split("\n"):
        rest = line
        if section := _SECTION.match(line.lstrip()):
            name = section[2] if section[1].lower() == "remote" else None
            rest = line.lstrip()[section.end() :]
        if name is not None and (url := _URL.fullmatch(rest)):
            found.setdefault(name, _COMMENT.split(url[1], maxsplit=1)[0].strip().strip('"'))
    return found


def inner(root: Path, parts: Sequence[str]) -> str:
    """The nested repository that contains a path; empty if there is none."""
    for depth in range(1, len(parts)):
        if os.path.lexists(root.joinpath(*parts[:depth], ".git")):
            return "/".join(parts[:depth])
    return ""


def hooks(folder: Path) -> Path:
    """Git's default hooks folder."""
    return common_folder(folder) / "hooks"


def head(folder: Path) -> str:
    """The target of HEAD: ``refs/heads/…`` on a branch, an object name if detached, empty if unreadable."""
    return _first_line(folder / "HEAD").removeprefix("ref: ").strip()


def is_readable(reference: str) -> bool:
    """Whether branches are stored as files; in a reftable repository only git can read them."""
    return reference != _ELSEWHERE


def reference_file(folder: Path, reference: str) -> Path:
    """The file of a branch; it exists unless the branch is new or packed."""
    return common_folder(folder) / reference


def revision(folder: Path, reference: str) -> str | None:
    """The object name of a branch's newest commit; ``None`` before the first."""
    value = _first_line(reference_file(folder, reference))
    return value if REVISION.fullmatch(value) else _packed(common_folder(folder), reference)


def pipe(folder: Path) -> str:
    """A pipe or device where git expects a file, which it would wait for in vain; empty if there is none."""
    common = common_folder(folder)
    branch = reference_file(folder, head(folder))
    for place in {folder, common, common / "info", common / "objects/info", branch.parent}:
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_file() or entry.is_dir():
                    continue
                with contextlib.suppress(OSError):
                    mode = entry.stat().st_mode
                    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
                        return entry.path
    return ""


def _first_line(path: Path) -> str:
    return (
        _start_of(path, _LINE_BYTES).decode("utf-8", "replace").partition("\n")[0].strip().replace("\0", "")
    )


def _start_of(path: Path, limit: int) -> bytes:
    """The first bytes of a regular file; empty if it is none, such as a pipe, or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        return os.read(descriptor, limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _packed(common: Path, reference: str) -> str | None:
    place = common / "packed-refs"
    try:
        text = place.read_text("utf-8", "replace") if place.is_file() else ""
    except OSError:
        return None
    for line in text.splitlines():
        name, _, target = line.partition(" ")
        if target == reference and REVISION.fullmatch(name):
            return name
    return None
