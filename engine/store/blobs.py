"""Git blobs: the objects that store file contents."""

from __future__ import annotations

import hashlib

from engine.store.git import Git

_PACKING_S = 600.0


def name_length(git: Git) -> int:
    """Number of hex digits in the repository's object names."""
    return 64 if git.run("rev-parse", "--show-object-format").text == "sha256" else 40


def blob_name(data: bytes, length: int) -> str:
    """The object name of a file's bytes, with ``length`` digits."""
    digest = hashlib.sha256() if length == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest()


def store_blob(git: Git, data: bytes) -> str:
    """Store bytes in the repository and return their object name."""
    return git.run("hash-object", "-w", "--no-filters", "--stdin", stdin=data, reading=False).text


def pack(git: Git, least: int = 2_000) -> int:
    """Pack loose objects once there are at least ``least``, and return how many were packed.

    Each commit leaves a few loose objects. After a year they take ten times the space of a pack, and a search
    of the history opens each one. The history itself does not change.
    """
    count = int(git.run("count-objects").text.split()[0])
    if count < least:
        return 0
    git.run("repack", "-d", "-l", "-q", reading=False, deadline_s=_PACKING_S)
    return count
