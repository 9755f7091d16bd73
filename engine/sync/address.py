"""Which repository a remote's name stands for, and which addresses are asked at all.

Only the address is taken from the repository's own configuration. A workspace may come as an archive, with a
configuration of its maker's: whatever else that says of remotes, ssh, proxies, rewritten addresses and
helpers is not read (``engine.sync.transport``).
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
    fetched_from: str  # its address
    pushed_to: str  # where this differs, ``remote.NAME.pushurl``
    branch: str

    @property
    def reference(self) -> str:
        """The branch as the remote calls it."""
        return f"refs/heads/{self.branch}"

    @property
    def seen(self) -> str:
        """Our own note of what its branch was at the last sync; a fetch by hand does not move it."""
        return f"refs/autopoiesis/{self.name}/{self.branch}"

    @property
    def tracking(self) -> str:
        """What git itself calls the remote's branch here."""
        return f"refs/remotes/{self.name}/{self.branch}"

    @property
    def shown(self) -> str:
        """Its address without a name and password."""
        return without_password(self.fetched_from)


def remote_of(repository: Repository, name: str) -> Remote:
    """The remote with a name, for the current branch.

    Raises:
        RepositoryError: There is none, or its address is of a kind that is never asked.
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise RepositoryError(f"{shown(name)} is no name of a remote", where="git.remote")
    addresses = _listed(repository, f"remote.{name}.url")
    if not addresses:
        raise RepositoryError(
            f"there is no remote {name}",
            where=str(repository.workspace.root),
            hint=f"name it: git -C {repository.workspace.root} remote add {name} ADDRESS",
        )
    pushed = _listed(repository, f"remote.{name}.pushurl") or addresses
    root = repository.workspace.root
    return Remote(
        name,
        checked(addresses[0], root, f"remote {name}"),
        checked(pushed[0], root, f"remote {name}"),
        repository.branch(),
    )


def is_local(address: str) -> bool:
    """Whether an address is a folder of this machine, by git's own rule."""
    if scheme := _SCHEME.match(address):
        return scheme[1].lower() == "file"
    colon, slash = address.find(":"), address.find("/")
    return colon < 0 or 0 <= slash < colon


def without_password(text: str) -> str:
    """A text with addresses in it, without what stands before the ``@`` in them."""
    return _PASSWORD.sub("", text)


def _listed(repository: Repository, setting: str) -> list[str]:
    # Included files are not read: an archive may name any file of the machine there.
    options = ("--local", "--no-includes", "--null", "--get-all", setting)
    found = repository.git.run("config", *options, accept=(0, 1)).output
    return [os.fsdecode(each) for each in found.split(b"\0") if each]


def checked(address: str, root: Path, where: str) -> str:
    """An address as git is given it; a folder of this machine by its real path.

    Raises:
        RepositoryError: It is of a kind that is never asked, or lies in the workspace itself; ``where`` says
            of what.
    """
    scheme = _SCHEME.match(address)
    if (
        "::" in address.partition("/")[0]
        or address.startswith("-")
        or not address.isprintable()
        or (scheme and scheme[1].lower() not in _SCHEMES)
    ):
        raise RepositoryError(
            f"its address {shown(without_password(address))} is of a kind that is never asked",
            where=where,
            hint="give it an https, ssh or file address, or a path",
        )
    if not is_local(address):
        return address
    place = Path(unquote(address[scheme.end() :]) if scheme else address).expanduser()
    real = Path(os.path.realpath(root / place))
    if real == root or root in real.parents:
        raise RepositoryError(
            "its address lies in the workspace itself",
            where=where,
            hint="keep it in a folder of its own, outside",
        )
    return str(real)
