"""Which memory and which clone of it a shared index is asked about."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from engine.errors import IndexFailed
from engine.search.postgres.schema import WHERE
from engine.startup.records import dataclass
from engine.store.by_workspace import ByWorkspace, Entry
from engine.store.git import Git

if TYPE_CHECKING:
    from pathlib import Path

    from engine.search.postgres.schema import Server

_CLONES = ByWorkspace("clones.json")
"""In the person's settings folder, because a copy of a clone is another one."""
_MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class Place:
    """The rows of a memory and of a clone, and what the index knew of both when it was asked."""

    workspace: int
    holder: int = 0  # 0 for a clone that has never indexed
    complete: bool = False  # whether some clone has indexed all of its files
    is_due: bool = True  # whether the clone has not said for an hour that it is there and complete
    has_refreshed: bool = False  # whether the clone has indexed all of its files
    stamp: int = 0  # of the last change
    chunks: int = 0  # of all contents, as are the next two
    length: int = 0
    files: int = 0


def key_of(root: Path) -> str:
    """What all clones of a memory share: its first commit.

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
    return found


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


def find(server: Server, key: str, machine: str) -> Place | None:
    """The rows of a memory and a clone; makes the rows of the memory visible in this transaction.

    Returns:
        ``None`` if the memory is not in the index, or the role may not see it.
    """
    row = server.execute(
        "SELECT id, set_config('autopoiesis.workspace', id::text, true) FROM workspaces WHERE key = %s",
        (key,),
    ).fetchone()
    if row is None:
        return None
    found = server.execute(
        "SELECT totals.workspace, coalesce(holders.id, 0), complete,"
        " coalesce(NOT complete OR refreshed IS NULL OR seen < now() - interval '1 hour', true),"
        " refreshed IS NOT NULL, stamp, chunks, length, files"
        " FROM totals LEFT JOIN holders ON holders.workspace = totals.workspace AND machine = %s"
        " WHERE totals.workspace = %s",
        (machine, row[0]),
    ).fetchone()
    return Place(*found) if found else Place(int(row[0]))


def register(server: Server, key: str, machine: str) -> None:
    """Add a memory and a clone where they are missing. Call within a transaction."""
    server.execute("INSERT INTO workspaces (key) VALUES (%s) ON CONFLICT DO NOTHING", (key,))
    place = find(server, key, machine)
    if place is None:
        raise IndexFailed("this role may not see the shared index of this memory", where=WHERE)
    server.execute("INSERT INTO totals VALUES (%s) ON CONFLICT DO NOTHING", (place.workspace,))
    server.execute(
        "INSERT INTO holders (workspace, machine) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (place.workspace, machine),
    )
