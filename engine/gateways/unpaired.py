"""Replaces halves of characters in JSON, such as half an emoji that a client cut a text in.

JSON may write them as escapes, but they are no text: parsers refuse the whole message, so that a request
would never be answered.
"""

from __future__ import annotations

import os
import re
from io import BufferedReader, FileIO, TextIOWrapper
from typing import TextIO

_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)", re.DOTALL)


def without_halves(message: bytes) -> bytes:
    """The JSON with the replacement character instead of each half of a character."""
    if b"\\ud" not in message and b"\\uD" not in message:
        return message
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found["half"] else found[0], message)


def requests_on(descriptor: int) -> TextIO:
    """The lines that arrive on a descriptor, without halves of characters.

    Until the process ends, nothing else can read there: the descriptor is empty for other code and programs.
    """
    private, nothing = os.dup(descriptor), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)
    return TextIOWrapper(_Lines(FileIO(private)), encoding="utf-8", errors="replace")


class _Lines(BufferedReader):
    def read1(self, _size: int = -1, /) -> bytes:
        return without_halves(self.readline())
