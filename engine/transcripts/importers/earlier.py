"""An existing transcript, read in pieces because it can be as large as the log."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from engine.errors import ImportFailed
from engine.store.files import Files
from engine.store.header import locate
from engine.store.yamltext import MAX_HEADER_BYTES
from engine.transcripts.importers.text import Measured

# ``locate`` looks for the end of a header no further than this.
_HEAD_BYTES = 8 * MAX_HEADER_BYTES


class Changed(ImportFailed):
    """The transcript changed since it was read."""


class Earlier:
    """A transcript as it was when first read; later reads raise ``Changed`` when it differs.

    ``head`` is the header with its fences; empty when there is none that can be read.

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

    def whole(self) -> bytes:
        """The whole file."""
        try:
            return self._files.read(self.path, limit=None)
        except FileNotFoundError as error:
            raise self._changed() from error

    def refuse_changed(self, data: bytes) -> None:
        """Refuses to go on when the file no longer holds exactly this.

        Raises:
            Changed: It does not.
        """
        if self.whole() != data:
            raise self._changed()

    def measured(self, size: int) -> tuple[Measured, Measured]:
        """The first ``size`` bytes of the text below the header, and all of it.

        Raises:
            Changed: The header has changed.
        """
        beginning = whole = Measured()
        for block in self._text():
            missing = size - whole.size
            if beginning is whole and missing < len(block):
                whole.take(block[: max(missing, 0)])
                beginning = whole.copy()
                block = block[max(missing, 0) :]
            whole.take(block)
        return beginning, whole

    def after(self, size: int) -> bytes:
        """What follows the first ``size`` bytes of the text below the header.

        Raises:
            Changed: The header has changed.
        """
        kept: list[bytes] = []
        for block in self._text():
            kept.append(block[min(size, len(block)) :])
            size -= min(size, len(block))
        return b"".join(kept)

    def beginning(self, size: int, expected: Measured) -> Iterator[bytes]:
        """The first ``size`` bytes of the text below the header, piece by piece.

        All of the text is read, so that what is written from the pieces cannot undo what another
        process has written meanwhile.

        Raises:
            Changed: The header has changed, or the text is not the one expected; at the latest after
                the last piece.
        """
        found = Measured()
        for block in self._text():
            if found.size < size:
                yield block[: size - found.size]
            found.take(block)
        if not found.is_same(expected):
            raise self._changed()

    def _text(self) -> Iterator[bytes]:
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

    def _changed(self) -> Changed:
        return Changed("was changed by another program", where=self.path, hint="retry the import")
