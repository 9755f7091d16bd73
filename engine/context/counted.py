"""Caches token counts across processes, so that a hook need not load the vocabulary, which takes half as long
as everything else it does.

The file is in the person's cache folder, outside any workspace, and can be deleted at any time. It holds
digests of texts, not texts. A damaged file, or one that others can write, is ignored.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path

from engine.store.user_folder import cache_folder, read_own, write_own

NAME = "tokens"
"""File name in the cache folder."""
MOST = 4_096
"""Maximum entries; the most recently used are kept."""
_ENTRY = struct.Struct("<16sI")
_HEAD = struct.Struct("<8sI")
_FORM = b"o200k 1\n"
"""Vocabulary and file format."""


class Counted:
    """The cached counts plus those of this process. Not thread-safe."""

    def __init__(self) -> None:
        self._path = cache_folder() / NAME
        self._before = _read(self._path)
        self._asked: dict[bytes, int] = {}
        self._is_new = False

    def get(self, text: str) -> int | None:
        """The token count of a text; ``None`` if unknown."""
        digest = _digest(text)
        found = self._asked.get(digest)
        if found is None and (found := self._before.get(digest)) is not None:
            self._asked[digest] = found
        return found

    def add(self, text: str, tokens: int) -> None:
        """Records a count."""
        self._asked[_digest(text)] = tokens
        self._is_new = True

    def keep(self) -> None:
        """Saves new counts; errors are ignored."""
        if not self._is_new:
            return
        entries = list({**self._asked, **self._before}.items())[:MOST]
        data = b"".join(_ENTRY.pack(digest, tokens) for digest, tokens in entries)
        try:
            write_own(self._path, _HEAD.pack(_FORM, zlib.crc32(data)) + data)
        except OSError:
            return
        self._is_new = False


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _read(path: Path) -> dict[bytes, int]:
    try:
        data = read_own(path) or b""
    except OSError:
        return {}
    entries = data[_HEAD.size :]
    if data[: _HEAD.size] != _HEAD.pack(_FORM, zlib.crc32(entries)) or len(entries) % _ENTRY.size:
        return {}
    return dict(_ENTRY.iter_unpack(entries))
