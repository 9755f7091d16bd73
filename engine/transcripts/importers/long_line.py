"""Holds one line of a log while it is read, with little memory however long it is.

What makes a line long is data, such as images in base64, of which a transcript keeps only the size. So from a
limit on, data is dropped while the line is read, and the words beside it are kept.
"""

from __future__ import annotations

import re

from engine.startup.lazy import expression

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
_SHORTEST = 4096
"""Length from which a run of base64 characters is data: nobody writes such a word."""

# The first characters of a run may belong to an escape.
_RUN = expression(
    rb"((?<![\\A-Za-z0-9+/=_-])|\\u[0-9A-Fa-f]{4}|\\[bfnrt/])([A-Za-z0-9+/=_-]{%d,})" % _SHORTEST
)
_MARK = expression(r"\[(\d+) bytes of data\]")


class LongLine:
    """A line that is read in pieces; ``size`` is its number of bytes so far.

    ``limit`` is the size in bytes from which data is dropped, and the largest size without data.
    """

    def __init__(self, limit: int) -> None:
        self.size = 0
        self._limit = limit
        self._held: list[bytes] = []
        self._held_size = 0
        self._end = b""  # what may be the beginning of data, or its end if that is longer
        self._dropped = 0  # bytes of data before ``_end``
        self._is_too_long = False

    def add(self, piece: bytes) -> None:
        """Add the next bytes."""
        before, self.size = self.size, self.size + len(piece)
        if self._is_too_long or not piece:
            return
        if self.size > self._limit >= before:
            piece = b"".join((*self._held, piece))
            self._held.clear()
            self._held_size = 0
        self._hold(self._without_data(piece) if self.size > self._limit else piece)

    def content(self) -> bytes | None:
        """The line so far, with a note instead of data if it is over the limit; ``None`` if it is too long
        even so.
        """
        if self._end:
            end, self._end = self._end, b""
            self._hold(self._noted(end))
        return None if self._is_too_long else b"".join(self._held)

    def _hold(self, piece: bytes) -> None:
        self._held.append(piece)
        self._held_size += len(piece)
        if self._held_size > self._limit:
            self._is_too_long = True
            self._held.clear()

    def _without_data(self, piece: bytes) -> bytes:
        """A piece without data, up to the last run of base64 characters: the next piece may continue it."""
        piece = self._end + piece
        cut = max(len(piece.rstrip(_ALPHABET)) - 1, 0)  # with what stands before the run
        self._end = piece[cut:]
        whole = self._noted(piece[:cut]) if cut else b""
        if cut and self._dropped:
            self._is_too_long = True  # what was dropped turns out not to be data
            return b""
        if len(self._end) > 2 * _SHORTEST:
            self._dropped += len(self._end) - 2 * _SHORTEST
            self._end = self._end[:_SHORTEST] + self._end[-_SHORTEST:]
        return whole

    def _noted(self, piece: bytes) -> bytes:
        """A piece with a note instead of data; dropped data belongs to its first run."""

        def note(found: re.Match[bytes]) -> bytes:
            dropped, self._dropped = self._dropped, 0
            return b"%b[%d bytes of data]" % (found[1], len(found[2]) + dropped)

        return _RUN.sub(note, piece)


def data_length(text: str) -> int:
    """The number of bytes of data in a log's line, which may have been dropped when it was read."""
    noted = _MARK.fullmatch(text)
    return int(noted[1]) if noted else len(text)
