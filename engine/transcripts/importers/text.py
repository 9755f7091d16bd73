"""A transcript's text below its header, which is never held whole: measured as it passes, put in a spool."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from engine.store.spool import Spool
from engine.transcripts.format import render_turn
from engine.transcripts.secrets import clean_turn
from engine.transcripts.turn import Turn


class Measured:
    """Length and digest of a text that passes piece by piece.

    Args:
        pieces: Its beginning.

    Attributes:
        size: Bytes so far.
        ends_line: Whether the next byte starts a line.
    """

    def __init__(self, pieces: Iterable[bytes] = ()) -> None:
        self.size = 0
        self.ends_line = True
        self._digest = hashlib.sha256()
        for piece in pieces:
            self.take(piece)

    def take(self, piece: bytes) -> None:
        """Go on with a piece."""
        if piece:
            self.size += len(piece)
            self.ends_line = piece.endswith(b"\n")
            self._digest.update(piece)

    def copy(self) -> Measured:
        """The same text so far, to go on with in another way."""
        twin = Measured()
        twin.size, twin.ends_line, twin._digest = self.size, self.ends_line, self._digest.copy()
        return twin

    def is_same(self, other: Measured) -> bool:
        """Whether both are the same text."""
        return self.size == other.size and self._digest.digest() == other._digest.digest()

    @property
    def fingerprint(self) -> str:
        """Identifies the text, as it is recorded in a header."""
        return self._digest.hexdigest()[:16]


class NewText:
    """A text that goes on where an earlier one is kept.

    Args:
        kept: The beginning of the earlier text that stays.
        spool: Where what is added goes; ``None`` where nothing will be written, and measuring is enough.
        redact: Take out of turns what looks like a secret.

    Attributes:
        kept: Bytes of the earlier text that stay.
        measured: The whole, what is added included.
    """

    def __init__(self, kept: Measured, spool: Spool | None, *, redact: bool = False) -> None:
        self.kept = kept.size
        self.measured = kept.copy()
        self._spool = spool
        self._redact = redact

    def add(self, turn: Turn | None) -> None:
        """Go on with a turn, if there is one."""
        if turn is None:
            return
        piece = f"\n{render_turn(clean_turn(turn) if self._redact else turn)}".encode()
        if not self.measured.ends_line:
            piece = b"\n" + piece
        self.measured.take(piece)
        if self._spool is not None:
            self._spool.write(piece)

    def add_all(self, turns: Iterable[Turn]) -> None:
        """Go on with some turns."""
        for turn in turns:
            self.add(turn)

    def added(self) -> Iterator[bytes]:
        """What was added, piece by piece."""
        return self._spool.read() if self._spool is not None else iter(())
