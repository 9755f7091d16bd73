"""How many tokens texts have that were counted before, so that a process for one prompt need not load the
vocabulary, which takes half as long as all else that it does.

The file lies among the person's own caches, where no workspace reaches, and may be deleted at any time. Of a
text it holds a digest. One that is damaged, or that others can write, is not used.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path

from engine.store.user_folder import cache_folder, read_own, write_own

NAME = "tokens"
"""Of the file, in the folder of caches."""
MOST = 4_096
"""Texts that are kept: those that were asked about last."""
_ENTRY = struct.Struct("<16sI")
_HEAD = struct.Struct("<8sI")
_FORM = b"o200k 1\n"
"""The vocabulary, and how the file is written."""


class Counted:
    """The counts of one process: those that were kept, and those that it adds. One thread at a time."""

    def __init__(self) -> None:
        self._path = cache_folder() / NAME
        self._before = _read(self._path)
        self._asked: dict[bytes, int] = {}
        self._is_new = False

    def get(self, text: str) -> int | None:
        """The tokens of a text, where they are known."""
        digest = _digest(text)
        found = self._asked.get(digest)
        if found is None and (found := self._before.get(digest)) is not None:
            self._asked[digest] = found
        return found

    def add(self, text: str, tokens: int) -> None:
        """Takes down what was counted."""
        self._asked[_digest(text)] = tokens
        self._is_new = True

    def keep(self) -> None:
        """Writes the counts down, where there are new ones. Where that fails, they are counted again."""
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
