"""Digests and spools the text below a transcript's header, which is never in memory as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from engine.redaction.detect import PLACEHOLDER
from engine.store.spool import Spool
from engine.transcripts.format import render_turn
from engine.transcripts.secrets import REDACTED_FIELD, clean_turn
from engine.transcripts.turn import Turn

_MARK = PLACEHOLDER.encode()


class BodyDigest:
    """Length and digest of a text that is streamed in pieces, and its number of redacted secrets.

    ``size`` is in bytes; ``ends_line`` is whether the next byte starts a line; ``redacted`` counts the
    occurrences of ``[secret]``.
    """

    def __init__(self, pieces: Iterable[bytes] = ()) -> None:
        self.size = 0
        self.ends_line = True
        self.redacted = 0
        self._end = b""
        self._digest = hashlib.sha256()
        for piece in pieces:
            self.update(piece)

    def update(self, piece: bytes) -> None:
        """Add a piece."""
        if piece:
            self.size += len(piece)
            self.ends_line = piece.endswith(b"\n")
            self._digest.update(piece)
            self._end += piece  # a mark can span two pieces
            self.redacted += self._end.count(_MARK)
            self._end = self._end[1 - len(_MARK) :]

    def copy(self) -> BodyDigest:
        """An independent digest of the text so far."""
        copied = BodyDigest()
        copied.size, copied.ends_line, copied._digest = self.size, self.ends_line, self._digest.copy()
        copied.redacted, copied._end = self.redacted, self._end
        return copied

    def is_same(self, other: BodyDigest) -> bool:
        """Whether both texts are the same."""
        return self.size == other.size and self._digest.digest() == other._digest.digest()

    @property
    def fingerprint(self) -> str:
        """Short digest of the text, as recorded in a header."""
        return self._digest.hexdigest()[:16]

    def with_redacted(self, left_out: Mapping[str, int], *, also: int = 0) -> Mapping[str, int]:
        """Counts by reason, plus the redacted secrets of this text and ``also`` others."""
        number = self.redacted + also
        return {**left_out, REDACTED_FIELD: number} if number else left_out


class BodyWriter:
    """Appends turns to the part of a transcript's text that is kept.

    ``spool`` receives the additions, ``None`` to only digest them; ``redact`` removes likely secrets from
    turns. ``kept`` is the number of bytes of the existing text that stay; ``digest`` covers the whole text,
    including additions.
    """

    def __init__(self, kept: BodyDigest, spool: Spool | None, *, redact: bool = False) -> None:
        self.kept = kept.size
        self.digest = kept.copy()
        self._spool = spool
        self._redact = redact

    def add(self, turn: Turn) -> None:
        """Append a turn."""
        piece = f"\n{render_turn(clean_turn(turn) if self._redact else turn)}".encode()
        if not self.digest.ends_line:
            piece = b"\n" + piece
        self.digest.update(piece)
        if self._spool is not None:
            self._spool.write(piece)

    def added(self) -> Iterator[bytes]:
        """Stream the additions."""
        return self._spool.read() if self._spool is not None else iter(())
