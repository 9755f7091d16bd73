"""What a side changed since the merge base."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from engine.store.git import Git
from engine.store.revisions import blobs
from engine.sync.model import SideChange

_REPLACED = {"GIT_NO_REPLACE_OBJECTS": "1"}
_FORMAT = "%H%x00%ct%x00%an%x00%(trailers:key=Machine,valueonly,separator=%x2C)%x00%s"


@dataclass(frozen=True, slots=True)
class Blob:
    """A file's content and mode in a tree."""

    mode: str
    name: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """How an existing file changed."""

    before: Blob
    path: str  # the new path
    blob: Blob | None  # ``None`` if deleted


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a side."""

    changed: Mapping[str, FileChange]  # by the path in the base
    added: Mapping[str, Blob]


def changes(git: Git, base: str, side: str, *, renames: bool = True) -> Changes:
    """The differences between two commits.

    Args:
        renames: Detect renames.
    """
    # With a lower threshold, conversations begun from the same template would be taken for one another.
    options = ["-r", "-z", "--no-commit-id", "--raw", "--abbrev=64", "--ignore-submodules=none"]
    options += ["--find-renames=90%", "--no-rename-empty"] if renames else ["--no-renames"]
    output = git.run("diff-tree", *options, base, side, environment=_REPLACED).output
    changed: dict[str, FileChange] = {}
    added: dict[str, Blob] = {}
    fields = iter(output.split(b"\0"))
    for head in fields:
        if not head.startswith(b":"):
            continue
        old_mode, mode, old_name, name, status = head[1:].decode("ascii").split(" ")
        path = target = os.fsdecode(next(fields))
        if status.startswith("R"):
            target = os.fsdecode(next(fields))
        before, after = Blob(old_mode, old_name), Blob(mode, name)
        if status == "A":
            added[path] = after
        else:
            changed[path] = FileChange(before, target, None if status == "D" else after)
    return Changes(changed, added)


def versions(git: Git, base: str, side: str, path: str) -> list[tuple[str, bytes]]:
    """The versions of a file on a side since the base, oldest first, each with its day, ``YYYY-MM-DD``.

    The day is that of the committer's time zone.
    """
    options = ("--reverse", "--no-renames", "--date=short", "--format=%cd %H", f"{base}..{side}")
    lines = git.run("log", *options, paths=[path], environment=_REPLACED).text.splitlines()
    found = [line.split(" ", 1) for line in lines]
    data = blobs(git, [f"{revision}:{path}" for _, revision in found])
    return [(day, each) for (day, _), each in zip(found, data, strict=True) if each is not None]


def last_change(git: Git, base: str, side: str, path: str, what: str) -> SideChange:
    """The newest commit of a side that touched a file."""
    options = ("--no-renames", f"--format={_FORMAT}", f"{base}..{side}")
    output = git.run("log", *options, paths=[path], environment=_REPLACED).text
    lines = [line.split("\0", 4) for line in output.splitlines() if line.count("\0") >= 4]
    if not lines:
        return SideChange(what)
    revision, seconds, author, machine, subject = lines[0]
    at = datetime.fromtimestamp(int(seconds), UTC)
    return SideChange(what, revision, at, author, machine.strip(), subject, len(lines))
