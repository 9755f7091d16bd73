"""An existing transcript, read in pieces because it can be as large as the log."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from engine.errors import ImportFailed
from engine.store.files import Files
from engine.store.header import locate
from engine.store.yamltext import MAX_HEADER_BYTES
from engine.transcripts.importers.text import BodyDigest

# ``locate`` looks for the end of a header no further than this.
_HEAD_BYTES = 8 * MAX_HEADER_BYTES


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
