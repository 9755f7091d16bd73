"""The objects that hold the bytes of files."""

from __future__ import annotations

import hashlib

from engine.store.git import Git

_PACKING_S = 600.0


def name_length(git: Git) -> int:
    """How many digits the repository's object names have."""
    return 64 if git.run("rev-parse", "--show-object-format").text == "sha256" else 40


def blob_name(data: bytes, length: int) -> str:
    """The object name of a file's bytes, of that many digits."""
    digest = hashlib.sha256() if length == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest()


def store_blob(git: Git, data: bytes) -> str:
    """The object name of bytes, which are in the repository then."""
    return git.run("hash-object", "-w", "--no-filters", "--stdin", stdin=data, reading=False).text


def pack(git: Git, least: int = 2_000) -> int:
    """Packs the objects that lie singly, once there are so many; gives how many it has packed.

    Each commit leaves some as small files. After a year they take ten times the room of a pack, and a look
    for something in the past opens each. Nothing of the history changes.
    """
    count = int(git.run("count-objects").text.split()[0])
    if count < least:
        return 0
    git.run("repack", "-d", "-l", "-q", reading=False, deadline_s=_PACKING_S)
    return count
