"""git-crypt as git sees it: a content filter, named by attributes, configured in each clone (spec 11).

It is the only filter that is ever run, and only if the user has enabled it (``git.private``). The command in
the repository's configuration is never run; it is only compared with the one that ``git-crypt init`` and
``unlock`` write.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import RepositoryError
from engine.startup.lazy import expression
from engine.store import programs
from engine.store.paths import is_private, shown

if TYPE_CHECKING:
    from engine.store.git import Git

PROGRAM = "git-crypt"
LOCKED = "is encrypted and locked"
UNLOCK = "unlock it with: git-crypt unlock KEYFILE"

_HEADER = b"\0GITCRYPT\0"
_FILTER = expression(r"(?:filter\.)?git-crypt(?:-([A-Za-z0-9_-]{1,64}))?")
_COMMAND = expression(r'(["\']?)(?:/[\w@%+=:,./ -]*/)?git-crypt\1 (clean|smudge)(?: --key-name=([\w-]+))?')

_SETUP = "run: autopoiesis private setup"


def is_encrypted(data: bytes) -> bool:
    """Whether bytes are a file encrypted by git-crypt."""
    return data.startswith(_HEADER)


def key_options(name: str) -> list[str] | None:
    """git-crypt's key options for a filter named ``git-crypt`` or ``git-crypt-NAME``; ``None`` for any other
    filter."""
    match = _FILTER.fullmatch(name)
    return None if match is None else [f"--key-name={match[1]}"] if match[1] else []


def has_key_in(folder: Path, options: list[str]) -> bool:
    """Whether a git folder has the key that the options name; no options mean the default key."""
    name = options[0].partition("=")[2] if options else "default"
    return (folder / "git-crypt/keys" / name).is_file()


def own_filters(configured: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Git settings that run git-crypt for its own filters.

    Includes only filters configured as git-crypt does it whose key is present; empty if it is not installed.

    Args:
        folder: The git folder; in a linked work tree its own one, which has no keys.
    """
    import shlex  # noqa: PLC0415 — only where git is run in such a repository

    program = programs.find(PROGRAM)
    settings: dict[str, str] = {}
    for section in {name.rpartition(".")[0] for name in configured}:
        options = key_options(section)
        if program is None or options is None or f"{section}.process" in configured:
            continue
        found = [_COMMAND.fullmatch(configured.get(f"{section}.{each}", "")) for each in ("clean", "smudge")]
        commands = [(match[2], [f"--key-name={match[3]}"] if match[3] else []) for match in found if match]
        has_key = has_key_in(folder, options)
        if has_key and commands == [("clean", options), ("smudge", options)]:
            for verb in ("clean", "smudge"):
                settings[f"{section}.{verb}"] = shlex.join([program, verb, *options])
            settings[f"{section}.required"] = "true"
    return settings


def filters_of(git: Git, paths: Iterable[str]) -> dict[str, str]:
    """The content filters that git attributes assign to paths.

    Raises:
        RepositoryError: Git failed.
    """
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    fields = (
        git.run("check-attr", "--stdin", "-z", "filter", stdin=stdin).output.split(b"\0") if stdin else []
    )
    return {
        os.fsdecode(path): value.decode("utf-8", "replace")
        for path, value in zip(fields[::3], fields[2::3], strict=False)
        if value not in (b"unspecified", b"unset")
    }


def stored(git: Git, path: str, data: bytes, filters: Mapping[str, str]) -> bytes:
    """A file's bytes as committed: encrypted if git-crypt handles the file, else unchanged.

    Args:
        filters: As returned by ``filters_of``.

    Raises:
        RepositoryError: It would be committed in clear.
    """
    name = filters.get(path, "")
    options = key_options(name)
    if options is None:
        if is_private(path) and git.private():
            raise _refused(path, "it is private, but .gitattributes does not encrypt it", _SETUP)
        return data
    if not data or is_encrypted(data):
        return data
    if not git.private():
        raise _refused(path, "git-crypt should encrypt it, but is not enabled here (git.private)", _SETUP)
    program = programs.find(PROGRAM)
    if program is None:
        raise _refused(path, "git-crypt should encrypt it, but is not installed", "install git-crypt")
    if not git.encrypts(name):
        what = f"the clone is locked, or filter.{name} is not what git-crypt sets up, so nothing encrypts it"
        raise _refused(path, what, UNLOCK)
    done = git.through(program, "clean", *options, stdin=data)
    if done.code or not is_encrypted(done.output):
        raise _refused(path, f"git-crypt cannot encrypt it ({done.message or 'no key'})", UNLOCK)
    return done.output


def opened(git: Git, data: bytes, name: str) -> bytes:
    """Committed bytes as in the working tree: decrypted if git-crypt can, else unchanged.

    Args:
        name: The filter that git attributes assign to the file; empty for none.
    """
    options = key_options(name or PROGRAM)
    program = programs.find(PROGRAM)
    if not is_encrypted(data) or options is None or program is None or not git.encrypts(name):
        return data
    done = git.through(program, "smudge", *options, stdin=data)
    return data if done.code else done.output


def _refused(path: str, why: str, hint: str) -> RepositoryError:
    return RepositoryError(f"was not committed: {why}", where=shown(path), hint=hint)
