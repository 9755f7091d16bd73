"""Who committed a file, to tell a person's own files in a repository from those of others, and when."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from engine.errors import AutopoiesisError
from engine.store.git import Git

_COMMITS = "%x01%aN%x00%aE%x00%at"


@dataclass(frozen=True, slots=True)
class _Commits:
    """The commits of a file."""

    name: str  # of the last author
    address: str
    first: datetime  # when the oldest was made, UTC


OWN_ADDRESS = "autopoiesis.email"
"""The name in a person's git settings of other addresses under which they commit, or did so."""


def other_author(path: Path) -> str:
    """The name of who last committed a file, if that is not the person at this machine; empty if it is, or
    the file is not committed.

    The person is known by the e-mail addresses of their own git settings; those of the repository may come
    with it.
    """
    found = _other(path)
    return found.name if found is not None else ""


def other_address(path: Path) -> str:
    """The e-mail address of the author in ``other_author``."""
    found = _other(path)
    return found.address if found is not None else ""


def _other(path: Path) -> _Commits | None:
    top = _top(path)
    found = _commits_of(path, top) if top is not None else None
    if top is None or found is None or not found.address or found.address.casefold() in _own(top):
        return None
    return found


def first_committed(path: Path) -> datetime | None:
    """When a file was first committed, UTC; ``None`` if it was not."""
    top = _top(path)
    found = _commits_of(path, top) if top is not None else None
    return found.first if found is not None else None


def _top(path: Path) -> Path | None:
    return next((folder for folder in path.absolute().parents if (folder / ".git").exists()), None)


def _commits_of(path: Path, top: Path) -> _Commits | None:
    real = path.absolute()
    found = _commits(top, real.parent.relative_to(top).as_posix())
    return found.get(real.relative_to(top).as_posix())


@lru_cache(maxsize=64)
def _commits(top: Path, folder: str) -> Mapping[str, _Commits]:
    """The commits of each file below a folder of a repository."""
    found: dict[str, _Commits] = {}
    with contextlib.suppress(AutopoiesisError, ValueError, OverflowError):
        result = Git(top).run("log", "--name-only", "-z", f"--format={_COMMITS}", paths=[folder])
        for commit in result.text.split("\x01")[1:]:
            name, address, seconds, *files = commit.split("\0")
            at = datetime.fromtimestamp(int(seconds), UTC)
            for file in (each.strip("\n") for each in files):
                found[file] = replace(found.get(file, _Commits(name, address, at)), first=at)
    return found


@lru_cache(maxsize=64)
def _own(top: Path) -> frozenset[str]:
    with contextlib.suppress(AutopoiesisError):
        names = rf"^({re.escape(OWN_ADDRESS)}|user\.email)$"
        result = Git(top).run("config", "--global", "--includes", "--get-regexp", names, accept=(0, 1))
        return frozenset(line.partition(" ")[2].strip().casefold() for line in result.text.splitlines()) - {
            ""
        }
    return frozenset()
