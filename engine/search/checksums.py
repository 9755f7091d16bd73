"""What proves that a file's rows are the rows that were written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

ChunkRow = tuple[int, int, int, str, str, str, str, str]
"""Position, first line, last line, speaker, date, heading, about, text."""


def file_digest(about_file: Iterable[str | int], chunks: Iterable[ChunkRow]) -> str:
    """A SHA-256 over a file's searchable fields and its chunks in order."""
    digest = hashlib.sha256(json.dumps(list(about_file)).encode())
    for chunk in chunks:
        digest.update(json.dumps(chunk).encode())
    return digest.hexdigest()
