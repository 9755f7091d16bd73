"""Files that git-lfs keeps: their commits need its filter, which no commit of ours runs (design 6.5).

Ours would put the whole file where a pointer belongs. So they are left to the person's own git, and named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from engine.commits.kinds import FileChange
from engine.store.encrypted import filters_of
from engine.store.git import Git

WHY = "git-lfs keeps it, which only git itself runs; commit it with: git add, git commit"


def kept_by_lfs(git: Git, paths: Sequence[str]) -> set[str]:
    """Those of some paths whose attribute is ``filter=lfs``.

    Raises:
        RepositoryError: Git failed.
    """
    return {path for path, name in filters_of(git, paths).items() if name == "lfs"}


def is_its_pointer(change: FileChange) -> bool:
    """Whether the newest commit holds the pointer to a file as it is on disk: then nothing has changed."""
    if change.before is None or change.after is None:
        return False
    oid = f"oid sha256:{hashlib.sha256(change.after).hexdigest()}".encode()
    return change.before.startswith(b"version https://git-lfs") and oid in change.before.split(b"\n")
