"""Resolves a remote's name to its address, and decides which addresses are allowed.

Only the address is taken from the repository's configuration. A workspace may be unpacked from an archive
with someone else's configuration: its settings for remotes, ssh, proxies, address rewriting and helpers are
ignored (``engine.sync.transport``).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from engine.errors import RepositoryError
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.store.repository import Repository

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")
_SCHEMES = ("https", "http", "ssh", "file")


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote repository."""

    name: str
    fetched_from: str  # address
    pushed_to: str  # the same, or ``remote.NAME.pushurl``
    branch: str

    @property
    def reference(self) -> str:
        """The branch's reference on the remote."""
        return f"refs/heads/{self.branch}"

    @property
    def seen(self) -> str:
        """Reference to the remote's branch at the last sync; a manual fetch does not move it."""
        return f"refs/autopoiesis/{self.name}/{self.branch}"

    @property
    def tracking(self) -> str:
        """Git's remote-tracking reference."""
        return f"refs/remotes/{self.name}/{self.branch}"

    @property
    def shown(self) -> str:
        """Its address without credentials."""
        return without_password(self.fetched_from)


def remote_of(repository: Repository, name: str) -> Remote:
    """The named remote, for the current branch.

    Raises:
        RepositoryError: No such remote, or its address is not allowed.
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise RepositoryError(f"{shown(name)} is not a valid remote name", where="git.remote")
    addresses, root = _listed(repository, f"remote.{name}.url"), repository.workspace.root
    if not addresses:
        raise RepositoryError(
            f"no remote {name}",
            where=str(root),
            hint=f"add it: git -C {root} remote add {name} ADDRESS",
        )
    pushed = _listed(repository, f"remote.{name}.pushurl") or addresses
    return Remote(
        name,
        checked(addresses[0], root, f"remote {name}"),
        checked(pushed[0], root, f"remote {name}"),
        repository.branch(),
    )


def is_local(address: str) -> bool:
    """True if an address is a local folder, by git's own rule."""
    if scheme := _SCHEME.match(address):
        return scheme[1].lower() == "file"
    colon, slash = address.find(":"), address.find("/")
    return colon < 0 or 0 <= slash < colon


def without_password(text: str) -> str:
    """The text without the credentials in its addresses."""
    return _PASSWORD.sub("", text)


def _listed(repository: Repository, setting: str) -> list[str]:
    # No includes: a configuration from an archive could point to any local file.
    options = ("--local", "--no-includes", "--null", "--get-all", setting)
    found = repository.git.run("config", *options, accept=(0, 1)).output
    return [os.fsdecode(each) for each in found.split(b"\0") if each]


def checked(address: str, root: Path, where: str) -> str:
    """The address to pass to git; a local folder by its real path.

    Raises:
        RepositoryError: Its scheme is not allowed, or it is inside the workspace; located by ``where``.
    """
    scheme = _SCHEME.match(address)
    if (
        "::" in address.partition("/")[0]
        or address.startswith("-")
        or not address.isprintable()
        or (scheme and scheme[1].lower() not in _SCHEMES)
    ):
        raise RepositoryError(
            f"address {shown(without_password(address))} is not allowed",
            where=where,
            hint="use an https, ssh or file address, or a path",
        )
    if not is_local(address):
        return address
    place = Path(unquote(address[scheme.end() :]) if scheme else address).expanduser()
    real = Path(os.path.realpath(root / place))
    if real == root or root in real.parents:
        raise RepositoryError(
            "address is inside the workspace",
            where=where,
            hint="use a folder outside the workspace",
        )
    return str(real)
