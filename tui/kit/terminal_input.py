"""Reads a terminal's input: what is pasted arrives whole, as one event, whatever stands in it.

The parser of textual goes on looking for keys inside a paste: an ESC in pasted text ends what it takes for a
key, and that and the text behind it arrive as keys. So pastes are cut out here, before it sees the input.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from typing import Any, Final

from textual import constants, events
from textual._parser import ParseError
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

READ_BYTES: Final = 64 * 1024
"""Bytes that are read at once; what a terminal sends of a paste in one go should be seen in one go."""
ALT_ENTER: Final = "\x1b[13;3u"
"""How the parser knows this key; what terminals send by old custom it takes for a plain enter."""
START_S: Final = 1.0
"""Seconds for which the rest of a paste's mark is waited for, over a slow connection, once it is clear
that it is no ESC typed by hand."""


class Pastes:
    """Feeds keys to a parser and keeps pastes from it.

    Args:
        parser: Reads what is not pasted.
        clock: Seconds that only grow.
    """

    def __init__(self, parser: XTermParser, clock: Callable[[], float] = time.monotonic) -> None:
        self._parser = parser
        self._clock = clock
        self._held = ""
        self._held_at = 0.0
        self._pasted: list[str] | None = None

    def feed(self, data: str) -> Iterator[Message]:
        """What some input means. Its last characters may be held back until what follows them is known."""
        if data:
            data, self._held = self._held + data, ""
        while data:
            if self._pasted is None:
                keys, start, data = data.partition(BRACKETED_PASTE_START)
                if not start:
                    keys, self._held = _split(keys, BRACKETED_PASTE_START)
                    self._held_at = self._clock()
                if keys:
                    yield from self._parser.feed(keys.replace("\x1b\r", ALT_ENTER))
                if start:
                    self._pasted = []
                continue
            text, end, data = _to_the_end(data)
            if not end:
                text, self._held = _split(text, BRACKETED_PASTE_END)
            self._pasted.append(text)
            if end:
                yield events.Paste("".join(self._pasted).replace("\0", ""))
                self._pasted = None

    def tick(self) -> Iterator[Message]:
        """What the lapse of time means: an ESC behind which nothing came was a key."""
        if self._held and self._pasted is None:
            patience = constants.ESCAPE_DELAY if len(self._held) < len("\x1b[2") else START_S
            if self._clock() - self._held_at >= patience:
                held, self._held = self._held, ""
                if held == "\x1b":
                    yield events.Key("escape", held)
                else:
                    yield from self._parser.feed(held)
        yield from self._parser.tick()


def _split(text: str, mark: str) -> tuple[str, str]:
    """A text, and the end of it that may be the beginning of a mark."""
    size = next((size for size in range(len(mark) - 1, 0, -1) if text.endswith(mark[:size])), 0)
    return text[: len(text) - size], text[len(text) - size :]


def _to_the_end(data: str) -> tuple[str, str, str]:
    """What is pasted, the mark of its end, and what comes behind it.

    A mark within the pasted text, which some terminals let through, is followed by another one before any
    other paste begins; as much as came at once is looked at for that.
    """
    pasted, start, rest = data.partition(BRACKETED_PASTE_START)
    text, end, keys = pasted.rpartition(BRACKETED_PASTE_END)
    if end:
        return text, end, keys + start + rest
    text, end, rest = data.partition(BRACKETED_PASTE_END)
    return text, end, rest


class Output:
    """Where the driver's writing thread writes. It has to outlive the terminal: what is drawn for one that is
    gone fills the thread's queue, and whoever puts something into a full one waits until it is emptied.
    """

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()


class PasteDriver(LinuxDriver):
    """The terminal, with pastes kept whole, and no harm done when it goes away."""

    def start_application_mode(self) -> None:
        """Takes the terminal over."""
        if not isinstance(self._file, Output):
            self._file = Output(self._file)  # type: ignore[assignment]
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def run_input_thread(self) -> None:
        """Reads input and sends on what it means, until the driver is told to stop."""
        parser = XTermParser(self._debug)
        pastes = Pastes(parser)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(constants.ESCAPE_DELAY):
                    data = self._read()
                    if not data:  # the terminal is gone, and no reading waits any more
                        self.exit_event.wait(constants.ESCAPE_DELAY)
                    for message in pastes.feed(decode(data)):
                        self.process_message(message)
                for message in pastes.tick():
                    self.process_message(message)
        try:
            for _message in parser.feed(""):
                pass
        except (EOFError, ParseError):
            pass

    def _read(self) -> bytes:
        try:
            return os.read(self.fileno, READ_BYTES)
        except OSError:
            return b""
