"""The rows of word pieces, without all of them being read into a dictionary.

A process that scores one message looks up some dozen of thirty thousand pieces. So the pieces stay the bytes
they are in the file, and a dictionary is made only of those that begin like the one looked for.
"""

from __future__ import annotations

import numpy

INNER = b"##"
"""How a piece begins that goes on with a word."""


class Pieces:
    """Word pieces by the number of their line.

    Safe to use from several threads. ``data`` is the pieces in UTF-8, one a line.

    Raises:
        UnicodeDecodeError: That is no UTF-8.
    """

    def __init__(self, data: bytes) -> None:
        data.decode()
        # Every line has a line end behind it, and the last one enough to look at its beginning.
        self._data = data + b"\n\n\n\n"
        signs = numpy.frombuffer(self._data, dtype=numpy.uint8)
        ends = numpy.flatnonzero(signs[: len(data) + 1] == ord("\n"))
        starts = numpy.concatenate([[0], ends[:-1] + 1])
        self._starts, self._ends = starts, ends
        goes_on = (signs[starts] == INNER[0]) & (signs[starts + 1] == INNER[1]) & (ends - starts > len(INNER))
        places = starts + len(INNER) * goes_on
        first, second = signs[places].astype(numpy.int32), signs[places + 1].astype(numpy.int32)
        self._beginnings = first << 9 | second << 1 | goes_on
        # By the first two bytes behind what says that a piece goes on with a word, and whether it does.
        self._rows: dict[int, dict[bytes, int]] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def get(self, piece: str) -> int | None:
        """The row of a piece, ``None`` where there is none; of equal ones the last."""
        sought = piece.encode("utf-8", "surrogatepass")
        if not sought:
            return None
        goes_on = len(sought) > len(INNER) and sought.startswith(INNER)
        place = len(INNER) if goes_on else 0
        second = sought[place + 1] if len(sought) > place + 1 else ord("\n")
        beginning = sought[place] << 9 | second << 1 | goes_on
        rows = self._rows.get(beginning)
        if rows is None:
            rows = self._rows[beginning] = self._rows_of(beginning)
        return rows.get(sought)

    def _rows_of(self, beginning: int) -> dict[bytes, int]:
        rows = numpy.flatnonzero(self._beginnings == beginning)
        places = zip(self._starts[rows].tolist(), self._ends[rows].tolist(), strict=True)
        return {self._data[start:end]: row for (start, end), row in zip(places, rows.tolist(), strict=True)}
