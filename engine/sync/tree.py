"""What a side did with the files since both sides were equal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from engine.store.git import Git
from engine.sync.model import Did

_REPLACED = {"GIT_NO_REPLACE_OBJECTS": "1"}
_FORMAT = "%H%x00%ct%x00%an%x00%(trailers:key=Machine,valueonly,separator=%x2C)%x00%s"


@dataclass(frozen=True, slots=True)
class Blob:
    """A file's content and mode in a tree."""

    mode: str
    name: str


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a file."""

    before: Blob
    path: str  # where it is now
    blob: Blob | None  # ``None`` where it is gone


@dataclass(frozen=True, slots=True)
class Changes:
    """What a side did."""

    fates: Mapping[str, Fate]  # of the files that were there, by the path they had then
    added: Mapping[str, Blob]


def changes(git: Git, base: str, side: str, *, renames: bool = True) -> Changes:
    """What lies between two commits.

    Args:
        renames: Whether a file that is gone and one that has come with nearly all its content are one file.
    """
    # Less alike than this, one conversation would be taken for another that was begun from the same pattern.
    options = ["-r", "-z", "--no-commit-id", "--raw", "--abbrev=64", "--ignore-submodules=none"]
    options += ["--find-renames=90%", "--no-rename-empty"] if renames else ["--no-renames"]
    told = git.run("diff-tree", *options, base, side, environment=_REPLACED).output.split(b"\0")
    fates: dict[str, Fate] = {}
    added: dict[str, Blob] = {}
    fields = iter(told)
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
            fates[path] = Fate(before, target, None if status == "D" else after)
    return Changes(fates, added)


def did(git: Git, base: str, side: str, path: str, what: str) -> Did:
    """Who did something with a file, and when: the newest commit of a side that touched it."""
    options = ("--no-renames", f"--format={_FORMAT}", f"{base}..{side}")
    told = git.run("log", *options, paths=[path], environment=_REPLACED).text.splitlines()
    lines = [line.split("\0", 4) for line in told if line.count("\0") >= 4]
    if not lines:
        return Did(what)
    revision, seconds, author, machine, subject = lines[0]
    at = datetime.fromtimestamp(int(seconds), UTC)
    return Did(what, revision, at, author, machine.strip(), subject, len(lines))
