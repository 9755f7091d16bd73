"""Room for data that has to be made before what stands above it is known.

It can be written to disk only once, in its place below; until then it must be somewhere other than in memory.
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
    """Bytes added at the end and read again from the start, any number of times.

    The first MiB is held in memory; more goes to a file in ``scratch/`` without a name: no part of it
    can be found, and nothing of it is left however the process ends. It is not synced: what is kept of it is
    written to its place by ``Files``.
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
            WriteFailed: There is no room for them.
            ReadOnly: The workspace cannot be written.
        """
        self._held.append(data)
        self._held_size += len(data)
        if self._held_size >= _BLOCK:
            self._put_down()

    def read(self) -> Iterator[bytes]:
        """Everything added so far, in pieces of at most 1 MiB or of the size in which it was added.

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
