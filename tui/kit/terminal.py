"""The terminal: its input, where a paste arrives as one event; and what is kept out of its output.

Textual's parser looks for keys inside a paste: after an ESC in pasted text, the rest arrives as key presses.
So pastes are separated here, before the parser sees the input.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import sys
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from typing import Any, Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import constants, events
from textual._parser import ParseError
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.color import Color
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import LineFilter
from textual.message import Message

READ_BYTES: Final = 64 * 1024
"""Bytes read at once, so that a paste sent in one go is seen in one go."""
ALT_ENTER: Final = "\x1b[13;3u"
"""The sequence the parser recognises as alt+enter; it takes what older terminals send for a plain enter."""
SIZELESS: Final = (80, 24)
"""Columns and lines of a terminal that does not know its size."""
START_S: Final = 1.0
"""Seconds to wait for the rest of a paste marker on a slow connection, once it cannot be a typed ESC."""


class Pastes:
    """Passes keys to a parser, and pastes around it.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self, parser: XTermParser, clock: Callable[[], float] = time.monotonic) -> None:
        self._parser = parser
        self._clock = clock
        self._held = ""
        self._held_at = 0.0
        self._pasted: list[str] | None = None

    def feed(self, data: str) -> Iterator[Message]:
        """Messages for some input; its last characters may be held back until more arrives."""
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
        """Messages due to elapsed time: an ESC that nothing followed was a key."""
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
    """A text without the end that may be the start of a marker, and that end."""
    size = next((size for size in range(len(mark) - 1, 0, -1) if text.endswith(mark[:size])), 0)
    return text[: len(text) - size], text[len(text) - size :]


def _to_the_end(data: str) -> tuple[str, str, str]:
    """The pasted text, its end marker, and what follows.

    Some terminals let an end marker inside the pasted text through; it is followed by another one before the
    next paste starts. Only the data that arrived at once is checked for this.
    """
    pasted, start, rest = data.partition(BRACKETED_PASTE_START)
    text, end, keys = pasted.rpartition(BRACKETED_PASTE_END)
    if end:
        return text, end, keys + start + rest
    text, end, rest = data.partition(BRACKETED_PASTE_END)
    return text, end, rest


class Output:
    """The output of the driver's writer thread, which ignores errors.

    The thread must survive the loss of the terminal: otherwise its queue fills up and drawing blocks.
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


class TerminalDriver(LinuxDriver):
    """The terminal driver, with complete pastes, and tolerant of a lost terminal and of one without a size.

    It draws on the terminal even if standard error, where Textual draws, is redirected.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        shown_on = next((file for file in (sys.__stderr__, sys.__stdout__) if file and file.isatty()), None)
        self._file = Output(shown_on or self._file)  # type: ignore[assignment]
        # Textual asks here and in the application, and assumes different heights if the terminal has none.
        self._size = self._size or self._get_terminal_size()

    def _get_terminal_size(self) -> tuple[int, int]:
        """The size of the terminal; ``SIZELESS`` while it has none, as before a container's first resize."""
        return shutil.get_terminal_size(SIZELESS)

    def _sigcont_application(self, *_signal: Any) -> None:
        """Resumes what was suspended.

        A terminal that hangs up sends SIGCONT, too; to start again then would leave the threads that read and
        write without anyone to end them, and the process with them.
        """
        if self._must_signal_resume:
            super()._sigcont_application()

    def run_input_thread(self) -> None:
        """Reads and processes input until the driver stops."""
        parser = XTermParser(self._debug)
        pastes = Pastes(parser)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(constants.ESCAPE_DELAY):
                    data = self._read()
                    if not data:  # the terminal is gone, so reads return at once
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


_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class ControlFilter(LineFilter):
    """Removes control characters and links from every line the application draws."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Replaces control characters, keeping each segment's width."""
        if all(_harmless(segment) for segment in segments):
            return segments
        return [_cleaned(segment) for segment in segments]


def _harmless(segment: Segment) -> bool:
    text, style, control = segment
    if control is not None or (style is not None and style.link):
        return False
    return (text.isascii() and text.isprintable()) or not _STEERING.search(text)


def _cleaned(segment: Segment) -> Segment:
    text, style, _control = segment
    if _STEERING.search(text):
        text = set_cell_size(_STEERING.sub("\ufffd", text), cell_len(text))
    if style is not None and style.link:
        style = style.update_link(None)
    return Segment(text, style)
