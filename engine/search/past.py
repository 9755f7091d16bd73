"""Past sessions in memory, as arrays: the words of each, and the passages that may be told in another one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy

from engine.search.facts import day_of
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[numpy.uint32]
    Numbers = NDArray[numpy.int32]

_SLOTS = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Session:
    """A conversation: ``W`` distinct words, ``P`` passages with ``V`` words in all."""

    file: int  # row id
    path: str
    day: int  # proleptic Gregorian ordinal; 0 if unknown
    words: Words  # ``[W]``, ascending
    places: Numbers  # int32 ``[P, 4]``: position of the chunk, first and last line in it, flags
    lengths: Numbers  # int32 ``[P]``: the number of distinct words of each passage
    spoken: Words  # ``[V]``: their words, ascending in each


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """``S`` sessions, oldest first, with ``P`` passages in all."""

    sessions: tuple[Session, ...] = ()
    words: Words = field(default_factory=lambda: numpy.zeros(0, numpy.uint32))  # of all sessions, ``[W]``
    owners: Numbers = field(default_factory=lambda: numpy.zeros(0, numpy.int32))  # ``[W]``: their sessions
    spoken: Words = field(default_factory=lambda: numpy.zeros(0, numpy.uint32))  # of all passages, ``[V]``
    speakers: Numbers = field(default_factory=lambda: numpy.zeros(0, numpy.int32))  # ``[V]``: the passages
    passages: Numbers = field(default_factory=lambda: numpy.zeros((0, 5), numpy.int32))
    """int32 ``[P, 5]``: session, position of the chunk, first and last line in it, flags."""

    def place_of(self, path: str) -> int | None:
        """The place of a session by path."""
        return next((place for place, each in enumerate(self.sessions) if each.path == path), None)


def joined(sessions: Sequence[Session]) -> Past:
    """Sessions as one set of arrays."""
    ordered = tuple(sorted(sessions, key=lambda each: (each.day, each.path)))
    if not ordered:
        return Past()
    counts = numpy.array([len(each.words) for each in ordered])
    lengths = numpy.concatenate([each.lengths for each in ordered])
    numbers = numpy.repeat(numpy.arange(len(ordered)), [len(each.places) for each in ordered])
    places = numpy.concatenate([each.places for each in ordered])
    return Past(
        sessions=ordered,
        words=numpy.concatenate([each.words for each in ordered]),
        owners=numpy.repeat(numpy.arange(len(ordered), dtype=numpy.int32), counts),
        spoken=numpy.concatenate([each.spoken for each in ordered]),
        speakers=numpy.repeat(numpy.arange(len(lengths), dtype=numpy.int32), lengths),
        passages=numpy.concatenate([numbers[:, None], places], axis=1).astype(numpy.int32),
    )


class WordFinder:
    """Finds some words among many by a table of their lowest bits, ten times as fast as in sorted order."""

    def __init__(self, wanted: Words) -> None:
        self.wanted = wanted
        self._table = numpy.zeros(_SLOTS, dtype=numpy.int32)
        self._table[wanted & numpy.uint32(_SLOTS - 1)] = numpy.arange(len(wanted), dtype=numpy.int32)

    def found(self, words: Words) -> tuple[NDArray[numpy.intp], Numbers]:
        """The places in ``words`` of wanted ones, and which each of them is."""
        if not len(self.wanted) or not len(words):
            return numpy.zeros(0, numpy.intp), numpy.zeros(0, numpy.int32)
        which = self._table[words & numpy.uint32(_SLOTS - 1)]
        at = numpy.flatnonzero(self.wanted[which] == words)
        return at, which[at]


class PastReader:
    """Provides the past sessions that a workspace itself has. Thread-safe; what it returns is immutable."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._seen: Hashable = None
        self._sessions: dict[tuple[int, int], Session] = {}
        self._past = Past()

    def read(
        self,
        stamp: Hashable,
        held: Callable[[], list[tuple[Any, ...]]],
        sessions: Callable[[list[int]], list[tuple[Any, ...]]],
    ) -> Past:
        """The past in a state of the index.

        Args:
            stamp: Equal for equal states.
            held: Returns the row id and the stamp of each session's file.
            sessions: Returns some of them: row id, path, date, and the arrays of ``Session``, packed.

        Raises:
            apsw.Error, ValueError: The index is damaged.
        """
        with self._guard:
            if stamp == self._seen:
                return self._past
            stamps: dict[int, int] = dict(held())
            known = {each: self._sessions[each] for each in stamps.items() if each in self._sessions}
            missing = [file for file in stamps if (file, stamps[file]) not in known]
            for file, path, date, words, places, lengths, spoken in sessions(missing):
                known[file, stamps[file]] = Session(
                    file,
                    path,
                    day_of(date),
                    numpy.frombuffer(words, dtype=numpy.uint32),
                    numpy.frombuffer(places, dtype=numpy.int32).reshape(-1, 4),
                    numpy.frombuffer(lengths, dtype=numpy.int32),
                    numpy.frombuffer(spoken, dtype=numpy.uint32),
                )
            self._seen, self._sessions = stamp, known
            self._past = joined(list(known.values()))
            return self._past
