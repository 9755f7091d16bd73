"""Who committed a file, to tell a person's own files in a repository from those of others, and when."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from engine.errors import AutopoiesisError
from engine.startup.lazy import expression
from engine.store.git import Git

UNKNOWN = "someone unknown"
"""Who committed a file where that cannot be told."""

OWN_ADDRESS = "autopoiesis.email"
"""The setting of git in which a person names their other addresses and accounts, one each."""

_WORD = expression(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Person:
    """The person at this machine, as their own git settings name them; in lower case."""

    names: frozenset[str]
    addresses: frozenset[str]
    """E-mail addresses, and what they added as theirs."""

    @property
    def first_names(self) -> frozenset[str]:
        """The first word of each name."""
        return frozenset(word[0] for word in map(_WORD.findall, self.names) if word)

    def is_clearly_not(self, account: str, name: str = "") -> bool:
        """Whether an account is another person's: no word of its name is in this person's, nor the reverse.

        People have several accounts, so a doubt is decided for them, also where they have no identity.

        Args:
            account: An e-mail address, or the name of an account.
            name: The full name of its owner; empty if not known.
        """
        account, name = account.strip().casefold(), name.casefold()
        if not account or account in self.addresses or not self.addresses:
            return False
        own, theirs = [*self.names, *map(_account, self.addresses)], [_account(account), name]
        return not (_share(own, theirs) or _share(theirs, own))


@dataclass(frozen=True, slots=True)
class _Commits:
    """The commits of a file."""

    authors: tuple[tuple[str, str], ...]  # the name and address of each, the last first
    first: datetime | None  # when the oldest was made, UTC


def other_author(path: Path) -> str:
    """The name of who committed a file, if anybody but the person at this machine did; empty if nobody else
    did, or the file is not committed.

    The person is known by the e-mail addresses of their own git settings; those of the repository may come
    with it. Every author of the file counts, not only the last. ``UNKNOWN`` if it may be committed, and by
    whom cannot be told.
    """
    found = _other(path)
    return "" if found is None else found[0] or found[1] or UNKNOWN


def other_address(path: Path) -> str:
    """The e-mail address of ``other_author``; empty if that cannot be told."""
    found = _other(path)
    return "" if found is None else found[1]


def _other(path: Path) -> tuple[str, str] | None:
    """The name and address of ``other_author``."""
    found = _place(path)
    if found is None:
        return None
    top, real = found
    commits = _commits_of(real, top)
    if commits is None:
        return "", ""
    own = person(top).addresses
    others = (author for author in commits.authors if not author[1] or author[1].casefold() not in own)
    return next(others, None)


def first_committed(path: Path) -> datetime | None:
    """When a file was first committed, UTC; ``None`` if it was not, or that cannot be told."""
    found = _place(path)
    commits = _commits_of(found[1], found[0]) if found is not None else None
    return commits.first if commits is not None else None


def _place(path: Path) -> tuple[Path, Path] | None:
    """The top of the repository of a file, and the file without symbolic links, which may be committed in
    its place; ``None`` if it is in none, or in one of the whole home folder, as of settings: that is the
    person's, from whichever machine they committed to it and even if git refuses to read it.
    """
    with contextlib.suppress(OSError, RuntimeError):
        real, home = path.resolve(), Path.home().resolve()
        for folder in real.parents:
            git = folder / ".git"
            if git.is_file() or (git / "HEAD").is_file():
                return None if home.is_relative_to(folder) else (folder, real)
    return None


def _commits_of(real: Path, top: Path) -> _Commits | None:
    """The commits of a file: in the history of what is checked out, else in that of any branch, from which a
    file may have been taken without a commit. ``None`` if git does not tell.
    """
    folder, name = real.parent.relative_to(top).as_posix(), real.relative_to(top).as_posix()
    here = _commits(top, folder, "HEAD")
    if here is not None and name in here:
        return here[name]
    anywhere = _commits(top, folder, "--all")  # also in a repository whose first commit is still to come
    return None if anywhere is None else anywhere.get(name, _Commits((), None))


@lru_cache(maxsize=64)
def _commits(top: Path, folder: str, of: str) -> Mapping[str, _Commits] | None:
    """The commits of each file below a folder of a repository; ``None`` if git fails.

    A merge counts for the files in which it differs from everything that it merged. The first commits of a
    shallow clone stand for all before them, whose authors are not known.
    """
    mark = secrets.token_hex(16)  # which nothing in the repository can contain
    form = f"--format={mark}%x00%an%x00%ae%x00%at%x00%P"
    try:
        is_shallow = Git(top).run("rev-parse", "--is-shallow-repository").text != "false"
        result = Git(top).run("log", "-c", "--name-only", "--no-renames", "-z", form, of, paths=[folder])
    except AutopoiesisError:
        return None
    authors: dict[str, dict[tuple[str, str], None]] = {}
    first: dict[str, datetime] = {}
    for commit in result.text.split(f"{mark}\0")[1:]:
        name, address, seconds, rest = commit.split("\0", 3)
        parents, *files = rest.split("\0")
        is_cut = is_shallow and not parents.strip()
        author = (UNKNOWN, "") if is_cut else (_readable(name), _readable(address).strip())
        for file in filter(None, ("\0".join(files).removeprefix("\n").split("\0"))):
            authors.setdefault(file, {})[author] = None
            with contextlib.suppress(ValueError, OverflowError, OSError):
                first[file] = datetime.fromtimestamp(int(seconds), UTC)
    return {file: _Commits(tuple(those), first.get(file)) for file, those in authors.items()}


@lru_cache(maxsize=64)
def person(folder: Path) -> Person:
    """The person at this machine, by their own git settings for a folder."""
    found: dict[str, list[str]] = {"user.name": [], "user.email": [], OWN_ADDRESS: []}
    for key, values in found.items():
        with contextlib.suppress(AutopoiesisError):
            result = Git(folder).run("config", "--global", "--includes", "--get-all", key, accept=(0, 1))
            values += filter(None, (line.strip().casefold() for line in result.text.split("\n")))
    return Person(frozenset(found["user.name"]), frozenset(found["user.email"] + found[OWN_ADDRESS]))


def _account(address: str) -> str:
    """What names the person in an address; in GitHub's own, the account."""
    local, at, host = address.partition("@")
    before, plus, after = local.partition("+")
    return (after if plus and host == "users.noreply.github.com" else before) if at else address


def _share(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a word of three letters or more in some names is also in others, however they are written."""
    joined = ["".join(filter(str.isalnum, name)) for name in others]
    return any(
        len(word) > 2 and word in name for each in some for word in _WORD.findall(each) for name in joined
    )


def _readable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
