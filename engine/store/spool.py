"""Temporary storage for data that is generated before the header above it is known.

The final file can be written only once; until then large data must be kept outside memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType

from engine.store import descriptors
from engine.store.faults import reach
from engine.store.files import Files, reported

_BLOCK = 1024 * 1024
_PLACE = "scratch"


class Spool:
    """Append-only bytes that can be re-read from the start any number of times.

    The first MiB is kept in memory; the rest goes to an unlinked file in ``scratch/``, so nothing is left
    however the process ends. It is not synced: ``Files`` writes the final file.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._descriptor: int | None = None
        self._held: list[bytes] = []
        self._held_size = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.clear()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def write(self, data: bytes) -> None:
        """Add bytes.

        Raises:
            WriteFailed: The disk is full.
            ReadOnly: The workspace cannot be written.
        """
        self._held.append(data)
        self._held_size += len(data)
        if self._held_size >= _BLOCK:
            self._put_down()

    def read(self) -> Iterator[bytes]:
        """Everything added so far, in pieces of at most 1 MiB or as added.

        Raises:
            WriteFailed: It cannot be read.
        """
        place = 0
        if self._descriptor is not None:
            with reported(_PLACE):
                while block := os.pread(self._descriptor, _BLOCK, place):
                    place += len(block)
                    yield block
        if self._held:
            yield b"".join(self._held)

    def _put_down(self) -> None:
        with reported(_PLACE):
            if self._descriptor is None:
                self._descriptor = self._open()
            reach("temp:write")
            descriptors.write_all(self._descriptor, b"".join(self._held))
        self._held.clear()
        self._held_size = 0

    def _open(self) -> int:
        self._files.refuse_read_only(_PLACE)
        workspace = self._files.workspace
        parts = workspace.resolve(_PLACE).relative_to(workspace.root).parts
        with descriptors.open_folder(workspace.root, parts, create=True) as folder:
            return descriptors.nameless(folder, "spool")
