"""The findings of ``doctor`` about shared knowledge, private files and sparse checkouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from engine.errors import AutopoiesisError
from engine.settings import trust
from engine.store.crypt import PROGRAM
from engine.store.files import Files
from engine.store.repository import Repository
from engine.store.sparse import hidden
from engine.workspace.finding import Finding


def encrypts(files: Files) -> bool:
    """Whether git-crypt may be run in a workspace."""
    try:
        return trust.read(files).config.git.private == PROGRAM
    except (AutopoiesisError, OSError):
        return False


def sharing_findings(files: Files, repository: Repository) -> Iterator[Finding]:
    """Shared knowledge, private files and files that are not checked out, if there are any."""
    from engine.sharing.private import Private  # noqa: PLC0415 — not needed for --staged
    from engine.sharing.shared import Sharing  # noqa: PLC0415 — not needed for --staged

    if repository.state(count=False).kind in ("none", "no-git", "broken"):
        return
    setting = PROGRAM if encrypts(files) else "none"
    try:
        shared = Sharing(files, repository, lambda: trust.read(files), _unchanged).all()
        private = Private(files, repository, lambda: setting, _unchanged).state()
        unseen = len(hidden(files.workspace.root))
    except (AutopoiesisError, OSError) as error:
        yield Finding("warning", f"sharing: {error}")
        return
    for each in shared:
        if each.problem:
            is_absent = not each.here and each.recorded and each.address
            yield Finding("note" if is_absent else "warning", f"{each.path}: {each.problem}", each.hint)
    if shared and not any(each.problem for each in shared):
        yield Finding("ok", f"shared knowledge: {len(shared)} folders at the recorded commits")
    if private.problem:
        is_locked = "locked" in private.files.values()
        yield Finding("note" if is_locked else "warning", f"private files: {private.problem}", private.hint)
    elif private.files and private.counts:
        yield Finding("ok", f"private files: {len(private.files)}, encrypted in every commit")
    if unseen:
        yield Finding("note", f"sparse checkout: {unseen:,} files are not checked out here")


def _unchanged(*_new: object) -> NoReturn:
    raise AssertionError("doctor must not change settings")
