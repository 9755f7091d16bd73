"""Files encrypted by git-crypt: committed encrypted, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from engine.errors import RepositoryError
from engine.store import crypt, programs
from engine.store.git import Git
from engine.store.paths import is_private, shown

_SETUP = "run: autopoiesis private setup"


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
    options = crypt.key_options(name)
    if options is None:
        if is_private(path) and git.private():
            raise _refused(path, "it is private, but .gitattributes does not encrypt it", _SETUP)
        return data
    if not data or crypt.is_encrypted(data):
        return data
    if not git.private():
        raise _refused(path, "git-crypt should encrypt it, but is not enabled here (git.private)", _SETUP)
    program = programs.find(crypt.PROGRAM)
    if program is None:
        raise _refused(path, "git-crypt should encrypt it, but is not installed", "install git-crypt")
    if not git.encrypts(name):
        what = f"the clone is locked, or filter.{name} is not what git-crypt sets up, so nothing encrypts it"
        raise _refused(path, what, crypt.UNLOCK)
    done = git.through(program, "clean", *options, stdin=data)
    if done.code or not crypt.is_encrypted(done.output):
        raise _refused(path, f"git-crypt cannot encrypt it ({done.message or 'no key'})", crypt.UNLOCK)
    return done.output


def opened(git: Git, data: bytes, name: str) -> bytes:
    """Committed bytes as in the working tree: decrypted if git-crypt can, else unchanged.

    Args:
        name: The filter that git attributes assign to the file; empty for none.
    """
    options = crypt.key_options(name or crypt.PROGRAM)
    program = programs.find(crypt.PROGRAM)
    if not crypt.is_encrypted(data) or options is None or program is None or not git.encrypts(name):
        return data
    done = git.through(program, "smudge", *options, stdin=data)
    return data if done.code else done.output


def _refused(path: str, why: str, hint: str) -> RepositoryError:
    return RepositoryError(f"was not committed: {why}", where=shown(path), hint=hint)
