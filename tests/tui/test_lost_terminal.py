"""Drawing to a lost terminal does not block."""

from __future__ import annotations

import io

import pytest
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from tui.kit.terminal import Output


class _LostTerminal(io.StringIO):
    def write(self, text: str, /) -> int:
        raise BrokenPipeError(text)

    def flush(self) -> None:
        if not self.closed:
            raise BrokenPipeError


@pytest.mark.timeout(30)
def test_drawing_continues_for_a_lost_terminal() -> None:
    thread = WriterThread(Output(_LostTerminal()))  # type: ignore[arg-type]
    thread.start()
    for _ in range(10 * MAX_QUEUED_WRITES):
        thread.write("drawn\n")
    thread.stop()
    assert not thread.is_alive()
