"""The transcript that an import adds to, read and written in pieces because it can be as large as the log.

A transcript grows at its end until its session ends (spec 2.1: ``raw/`` is immutable). Only an import may
change an ended one, to add what its source gained since: then the header has the fingerprint of the new text,
and the text is no shorter.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping

from engine.errors import ImportFailed
from engine.redaction.detect import PLACEHOLDER
from engine.store.files import Files
from engine.store.header import locate
from engine.store.spool import Spool
from engine.store.yamltext import MAX_HEADER_BYTES
from engine.transcripts.format import render_turn
from engine.transcripts.importers.state import STATE_FIELD, read_state
from engine.transcripts.secrets import REDACTED_FIELD, clean_turn
from engine.transcripts.turn import Turn

# ``locate`` looks for the end of a header no further than this.
_HEAD_BYTES = 8 * MAX_HEADER_BYTES

_MARK = PLACEHOLDER.encode()


class TranscriptChanged(ImportFailed):
    """The transcript changed since it was read."""


class ExistingTranscript:
    """A transcript as first read; later reads raise ``TranscriptChanged`` if it differs.

    ``head`` is the header with its fences; empty if there is no readable one.

    Raises:
        FileNotFoundError: There is no such file.
        PathRefused, DocumentError: It cannot be read.
    """

    def __init__(self, files: Files, path: str) -> None:
        start = b""
        with contextlib.closing(files.read_blocks(path)) as blocks:
            for block in blocks:
                start += block
                if len(start) >= _HEAD_BYTES:
                    break
        found = locate(start)
        self.path = path
        self.head = start[: found.body]
        self.header: dict[str, object] = dict(found.mapping or {})
        self._files = files

    @property
    def why_left_alone(self) -> str:
        """Why a transcript that records no import is not imported into, one clause."""
        if self.header:
            return "the session has a transcript that was captured live"
        return f"the header of its transcript {self.path} cannot be read; repair it"

    def read(self) -> bytes:
        """The whole file."""
        try:
            return self._files.read(self.path, limit=None)
        except FileNotFoundError as error:
            raise self._changed() from error

    def check_unchanged(self, data: bytes) -> None:
        """Check that the file still contains exactly ``data``.

        Raises:
            TranscriptChanged: It does not.
        """
        if self.read() != data:
            raise self._changed()

    def digests(self, size: int) -> tuple[BodyDigest, BodyDigest]:
        """Digests of the first ``size`` bytes below the header, and of all bytes below it.

        Raises:
            TranscriptChanged: The header has changed.
        """
        start = whole = BodyDigest()
        for block in self._body():
            missing = size - whole.size
            if start is whole and missing < len(block):
                whole.update(block[: max(missing, 0)])
                start = whole.copy()
                block = block[max(missing, 0) :]
            whole.update(block)
        return start, whole

    def read_from(self, offset: int) -> bytes:
        """The text below the header from a byte offset on.

        Raises:
            TranscriptChanged: The header has changed.
        """
        kept: list[bytes] = []
        for block in self._body():
            kept.append(block[min(offset, len(block)) :])
            offset -= min(offset, len(block))
        return b"".join(kept)

    def read_start(self, size: int, expected: BodyDigest) -> Iterator[bytes]:
        """Stream the first ``size`` bytes below the header.

        All of the text is read and checked, so that a file written from the stream cannot undo what another
        process has written in the meantime.

        Raises:
            TranscriptChanged: The header or the text has changed; at the latest after the last piece.
        """
        found = BodyDigest()
        for block in self._body():
            if found.size < size:
                yield block[: size - found.size]
            found.update(block)
        if not found.is_same(expected):
            raise self._changed()

    def _body(self) -> Iterator[bytes]:
        head = self.head
        try:
            for block in self._files.read_blocks(self.path):
                shared = min(len(head), len(block))
                if block[:shared] != head[:shared]:
                    raise self._changed()
                head = head[shared:]
                yield block[shared:]
        except FileNotFoundError as error:
            raise self._changed() from error
        if head:
            raise self._changed()

    def _changed(self) -> TranscriptChanged:
        return TranscriptChanged("was changed by another program", where=self.path, hint="retry the import")


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


def forbidden_change(before: bytes, after: bytes | None) -> str:
    """Describe a forbidden change to a transcript in one clause; empty if there is none.

    ``before`` is the committed content; ``after`` is ``None`` if the file was deleted.
    """
    was = locate(before)
    if before == after or was.mapping is None or not was.mapping.get("ended"):
        return ""
    if after is None:
        return "was deleted although its session has ended"
    now = locate(after)
    state = None if now.mapping is None else read_state(now.mapping.get(STATE_FIELD))
    is_imported = state is not None and state.text == BodyDigest([after[now.body :]]).fingerprint
    if is_imported and len(after) - now.body >= len(before) - was.body:
        return ""
    return "was changed although its session has ended"
