"""Files that git-lfs keeps: their commits need its filter, which no commit of ours runs (design 6.5).

Ours would put the whole file where a pointer belongs. So they are left to the person's own git, and named.
"""

from __future__ import annotations

import hashlib

from engine.commits.kinds import FileChange

WHY = "git-lfs keeps it, which only git itself runs; commit it with: git add, git commit"


def is_its_pointer(change: FileChange) -> bool:
    """Whether the newest commit holds the pointer to a file as it is on disk: then nothing has changed."""
    if change.before is None or change.after is None:
        return False
    oid = f"oid sha256:{hashlib.sha256(change.after).hexdigest()}".encode()
    return change.before.startswith(b"version https://git-lfs") and oid in change.before.split(b"\n")
