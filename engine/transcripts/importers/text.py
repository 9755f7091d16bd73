"""A transcript's text below its header, which is never held whole: measured as it passes, put in a spool."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from engine.redaction.detect import PLACEHOLDER
from engine.store.spool import Spool
from engine.transcripts.format import render_turn
from engine.transcripts.secrets import REDACTED_FIELD, clean_turn
from engine.transcripts.turn import Turn

_MARK = PLACEHOLDER.encode()


class Measured:
    """Length and digest of a text that passes piece by piece, and how many secrets were taken out of it.

    ``size`` is in bytes; ``ends_line`` says that the next byte starts a line; ``redacted`` counts places in
    which ``[secret]`` stands.
    """

    def __init__(self, pieces: Iterable[bytes] = ()) -> None:
        self.size = 0
        self.ends_line = True
        self.redacted = 0
        self._end = b""
        self._digest = hashlib.sha256()
        for piece in pieces:
            self.take(piece)

    def take(self, piece: bytes) -> None:
        """Go on with a piece."""
        if piece:
            self.size += len(piece)
            self.ends_line = piece.endswith(b"\n")
            self._digest.update(piece)
            self._end += piece  # a mark can begin in one piece and end in the next
            self.redacted += self._end.count(_MARK)
            self._end = self._end[1 - len(_MARK) :]

    def copy(self) -> Measured:
        """The same text so far, to go on with in another way."""
        twin = Measured()
        twin.size, twin.ends_line, twin._digest = self.size, self.ends_line, self._digest.copy()
        twin.redacted, twin._end = self.redacted, self._end
        return twin

    def is_same(self, other: Measured) -> bool:
        """Whether both are the same text."""
        return self.size == other.size and self._digest.digest() == other._digest.digest()

    @property
    def fingerprint(self) -> str:
        """Identifies the text, as it is recorded in a header."""
        return self._digest.hexdigest()[:16]

    def counted(self, left_out: Mapping[str, int], *, also: int = 0) -> Mapping[str, int]:
        """What was not taken of a source, by reason, with the secrets of this text and ``also`` others."""
        number = self.redacted + also
        return {**left_out, REDACTED_FIELD: number} if number else left_out


class NewText:
    """A text that goes on where an earlier one is kept.

    ``spool`` is where additions go, ``None`` to only measure; ``redact`` takes out of turns what looks like a
    secret. ``kept`` is the bytes of the earlier text that stay; ``measured`` covers the whole, additions
    included.
    """

    def __init__(self, kept: Measured, spool: Spool | None, *, redact: bool = False) -> None:
        self.kept = kept.size
        self.measured = kept.copy()
        self._spool = spool
        self._redact = redact

    def add(self, turn: Turn) -> None:
        """Go on with a turn."""
        piece = f"\n{render_turn(clean_turn(turn) if self._redact else turn)}".encode()
        if not self.measured.ends_line:
            piece = b"\n" + piece
        self.measured.take(piece)
        if self._spool is not None:
            self._spool.write(piece)

    def added(self) -> Iterator[bytes]:
        """What was added, piece by piece."""
        return self._spool.read() if self._spool is not None else iter(())
