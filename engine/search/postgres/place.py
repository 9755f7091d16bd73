"""Which memory and which clone of it a shared index is asked about."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from engine.errors import IndexFailed
from engine.search.postgres.schema import WHERE
from engine.store.by_workspace import ByWorkspace, Entry
from engine.store.git import Git

if TYPE_CHECKING:
    from pathlib import Path

_CLONES = ByWorkspace("clones.json")
"""In the person's settings folder, because a copy of a clone is another one."""
_MACHINE = "machine"
_LENGTH = 16


def memory_of(root: Path) -> str:
    """The name of the schema that all clones of a memory share: ``autopoiesis_`` and the first 16 digits of
    its first commit.

    Raises:
        IndexFailed: There is none, or the clone does not know it.
        RepositoryError: Git is missing or fails.
    """
    if (root / ".git" / "shallow").exists():
        what, hint = "a shallow clone does not know the first commit", "run: git fetch --unshallow"
        raise IndexFailed(what, where=WHERE, hint=hint)
    found = Git(root).run("rev-list", "--first-parent", "--max-parents=0", "HEAD", accept=(0, 128)).text
    if not found:
        what = "a memory without commits has no clones to share an index with"
        raise IndexFailed(what, where=WHERE, hint="run: autopoiesis commit")
    return f"autopoiesis_{found[:_LENGTH]}"


def machine_of(root: Path, *, make: bool = False) -> str:
    """The random name of a clone; empty if it has none.

    Args:
        make: Give it one.

    Raises:
        WriteFailed: It cannot be stored.
    """
    found = str(_CLONES.entry(root).get(_MACHINE, ""))
    if found or not make:
        return found

    def name(entry: Entry) -> None:
        entry.setdefault(_MACHINE, secrets.token_hex(8))

    _CLONES.change(root, name)
    return machine_of(root)
