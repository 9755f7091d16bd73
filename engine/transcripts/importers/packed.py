"""Unpacks session logs that an agent has compressed: Codex packs a rollout that is idle for a week."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

from engine.errors import ImportFailed

SUFFIX = ".zst"

_CHUNK = 1024 * 1024
_LARGEST = 2 * 1024**3
_SUSPICIOUS = 64 * 1024**2
_RATIO = 256
"""A file of more than ``_SUSPICIOUS`` bytes that was packed better than this is no log; logs reach 30."""


def plain_path(path: Path) -> Path:
    """The path that a log had before it was packed; a path of another file is returned as it is."""
    return path.with_suffix("") if path.suffix == SUFFIX else path


def unpacked(stream: BinaryIO, path: Path) -> BinaryIO:
    """Unpack an open file to a nameless temporary one with the same modification time.

    Raises:
        ImportFailed: It is damaged or far larger than a log, or there is no room for it.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 — only for packed logs
    else:
        from backports import zstd  # noqa: PLC0415 — only for packed logs
    packed = os.fstat(stream.fileno())
    left = min(_LARGEST, max(_SUSPICIOUS, packed.st_size * _RATIO))
    plain = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 — the caller closes it
    try:
        with zstd.ZstdFile(stream) as source:
            while chunk := source.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise ImportFailed(
                        "unpacks to more than a log has", where=str(path), hint="unpack it with zstd -d"
                    )
                plain.write(chunk)
        os.utime(plain.fileno(), ns=(packed.st_atime_ns, packed.st_mtime_ns))
        plain.seek(0)
    except (zstd.ZstdError, EOFError, OSError) as error:
        plain.close()
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is damaged or cut off"
        raise ImportFailed(f"cannot be unpacked ({why})", where=str(path), hint="try zstd -d") from error
    except ImportFailed:
        plain.close()
        raise
    return plain
