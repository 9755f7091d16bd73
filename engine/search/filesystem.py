"""Detects file systems on which SQLite's write-ahead log is not safe."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from engine.startup.lazy import expression

_MOUNTS = Path("/proc/self/mountinfo")
_SHARED = {
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "drvfs", "fhgfs", "gfs2", "glusterfs", "gpfs",
    "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2", "smb2",
    "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
}  # fmt: skip
_OCTAL = expression(r"\\([0-7]{3})")


def is_shared(folder: Path, mounts: str | None = None) -> bool:
    """Whether the folder may be shared with another machine or guest.

    The write-ahead log keeps its index in memory mapped by all processes, and machines do not share memory.
    Unknown file systems count as local: SQLite itself refuses the log if mapping fails.

    Args:
        folder: An absolute path without symlinks.
        mounts: A mount table in the format of ``/proc/self/mountinfo``; by default that of this process.
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text("utf-8", "surrogateescape")
        except OSError:
            return False
    kind = _kind_at(folder, mounts)
    return kind in _SHARED or kind.startswith("fuse.")


@lru_cache(maxsize=8)
def _kind_at(folder: Path, mounts: str) -> str:
    """The type of file system a folder is on; cached, because every saved file refreshes the index."""
    kind, depth = "", -1
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        point = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4]))
        # Of two mounts on one mount point, the later hides the earlier.
        if len(point.parts) >= depth and (point == folder or point in folder.parents):
            kind, depth = right.split(" ", 1)[0], len(point.parts)
    return kind
