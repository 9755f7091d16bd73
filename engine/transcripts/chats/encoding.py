"""Recognizes the encoding of a text that was not saved as UTF-8."""

from __future__ import annotations

import codecs

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 4096


def as_utf8(data: bytes) -> bytes:
    """A text as UTF-8; binary data, and a UTF-8 text with a few damaged bytes, are returned unchanged.

    ``data`` may be only the beginning of a file.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace").encode("utf-8")
    sample = data[:_SAMPLE]
    if b"\0" in sample:
        # The high bytes of Latin characters in UTF-16, which are in a chat's line ends and labels at least.
        high, low = sample[1::2].count(0), sample[::2].count(0)
        if high and low:
            return data
        return data.decode("utf-16-le" if high else "utf-16-be", "replace").encode("utf-8")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return _from_windows(data)
    return data


def _from_windows(data: bytes) -> bytes:
    """A text that is not UTF-8, from Windows-1252, unless most of its characters are UTF-8 after all."""
    text = data.decode("utf-8", "surrogateescape")
    other = sum(1 for character in text if character > "\x7f")
    damaged = sum(1 for character in text if "\udc80" <= character <= "\udcff")
    if damaged * 2 <= other:
        return data
    try:
        return data.decode("cp1252").encode("utf-8")
    except UnicodeDecodeError:
        return data
