"""Who committed a file, to tell a person's own files in a repository from those of others."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from engine.errors import AutopoiesisError
from engine.store.git import Git

_AUTHORS = "%x01%aN%x00%aE"


def other_author(path: Path) -> str:
    """The name of who last committed a file, if that is not the person at this machine; empty if it is, or
    the file is not committed.

    The person is known by the e-mail address of their own git settings; those of the repository may come with
    it.
    """
    real = path.absolute()
    top = next((folder for folder in real.parents if (folder / ".git").exists()), None)
    if top is None:
        return ""
    name, address = _authors(top, real.parent.relative_to(top).as_posix()).get(
        real.relative_to(top).as_posix(), ("", "")
    )
    return name if address and address.casefold() not in _own(top) else ""


@lru_cache(maxsize=64)
def _authors(top: Path, folder: str) -> Mapping[str, tuple[str, str]]:
    """The name and address of the last author of each file below a folder of a repository."""
    found: dict[str, tuple[str, str]] = {}
    with contextlib.suppress(AutopoiesisError):
        result = Git(top).run("log", "--name-only", "-z", f"--format={_AUTHORS}", paths=[folder])
        for commit in result.text.split("\x01")[1:]:
            name, address, *files = commit.split("\0")
            for file in files:
                found.setdefault(file.strip("\n"), (name, address))
    return found


@lru_cache(maxsize=64)
def _own(top: Path) -> frozenset[str]:
    with contextlib.suppress(AutopoiesisError):
        result = Git(top).run("config", "--global", "--includes", "--get-all", "user.email", accept=(0, 1))
        return frozenset(line.strip().casefold() for line in result.text.split("\n") if line.strip())
    return frozenset()
