"""Caches in ``scratch/`` that begin with a checksum: a damaged one counts as missing, and may be deleted."""

from __future__ import annotations

import contextlib
import zlib
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.store.files import Files

SUM = 9
"""Bytes of the checksum, before the content."""
_LIMIT = 1024**3
_LOCK_WAIT_S = 1.0


def load(files: Files, path: str, start: bytes = b"") -> bytes | None:
    """A file that ``save`` wrote, whose content follows after ``SUM`` bytes; ``None`` if there is none, it is
    damaged, or its content begins differently.
    """
    try:
        data = files.read(path, limit=_LIMIT)
    except (OSError, AutopoiesisError):
        return None
    # The start comes first, so that other content is rejected without checking all of it.
    if data.startswith(start, SUM) and data[:SUM] == b"%08x\n" % zlib.crc32(memoryview(data)[SUM:]):
        return data
    return None


def save(files: Files, path: str, *parts: bytes) -> None:
    """Writes a file from parts; errors are ignored."""
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    with contextlib.suppress(AutopoiesisError), files.lock(timeout=_LOCK_WAIT_S):
        files.replace(path, [b"%08x\n" % checksum, *parts])
