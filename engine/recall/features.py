"""What speaks for telling a session a passage of an earlier one.

A session is known by its rare words: names, files and subjects that few sessions share. The strongest sign is
how much the whole session so far shares with the passage's session; the message alone says little.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy

from engine.search.passages import CLOSING, PERSON, packed_words
from engine.search.past import WordFinder
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engine.search.past import Past, Words

    Values = NDArray[numpy.float64]

NAMES = (
    "asked", "answered", "session", "session_recent", "session_names", "recent", "alike",
    "adds", "adds_share", "person", "closing",
)  # fmt: skip
"""The features, in order:

asked           the share of the message's known words in the passage, by their rarity
answered        likewise, of the message and the agent's last words
session         how alike the rare words of the two sessions are
session_recent  likewise, of the last turns alone
session_names   the number of rare words they share (logarithm, as all numbers and sums)
recent          the rarity of the words that the passage shares with the last turns
alike           how alike the rare words of the passage and of the session are
adds            the rarity of the words that the passage adds
adds_share      their share of its rare words
person          1 if the person said it
closing         1 if it stands at the end of its session
"""

FEWEST_SESSIONS = 3
"""Sessions from which a message can be answered."""
MANY_SESSIONS = 30
"""Sessions from which it can be told which words are rare; in fewer, most words of a language are."""
RARE_SHARE = 0.04
RARE_LEAST = 2
"""A word is rare in at most 4 % of the sessions, or in two."""
_SHARED_WORDS = 2
_SHARED_NAMES = 4
_ASKED = 0.45
"""A candidate shares two rare words with the session, and its session four, or it has this share of the
message."""
_LEAST_ASKED = 12.0
"""Sum of the rarity of a message's words below which its share counts less."""
RECENT_TURNS = 3
_RECENT_CHARACTERS = 6_000
_ANSWER_CHARACTERS = 800
_MOST = 400
"""Candidates, of which the ones with the most shared words are examined."""


NOTHING: Words = numpy.zeros(0, numpy.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """Where a session stands: words, uint32, ascending."""

    message: Words
    answer: Words  # the agent's last words before it
    recent: Words  # the last turns and the message
    so_far: Words  # the whole session, the message included


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """``N`` passages with their features."""

    places: NDArray[numpy.intp]  # ``[N]``: rows of ``Past.passages``
    values: Values  # float64 ``[N, F]``, in the order of ``NAMES``
    shared: NDArray[numpy.intp]  # ``[N]``: rare words shared by the two sessions
    added: NDArray[numpy.intp]  # ``[N]``: rare words that the passage adds
    sessions: int = 0  # that could have told something


def situation(message: str, recent: Sequence[str], answer: str, so_far: Words) -> Situation:
    """Where a session stands.

    Args:
        recent: The turns before the message with their tool calls, at least the last three.
        answer: What the agent said last.
        so_far: The words of the session; those of the arguments are added.
    """
    asked = numbers(message[:_RECENT_CHARACTERS])
    latest = union(numbers("\n".join(recent[-RECENT_TURNS:])[-_RECENT_CHARACTERS:]), asked)
    return Situation(asked, numbers(answer[-_ANSWER_CHARACTERS:]), latest, union(so_far, latest))


def numbers(text: str) -> Words:
    """The words of a text as numbers."""
    return numpy.frombuffer(packed_words(text), dtype=numpy.uint32)


def union(*words: Words) -> Words:
    """All words of several sets."""
    return reduce(numpy.union1d, words)


def examine(past: Past, now: Situation, may_tell: NDArray[numpy.bool_]) -> Candidates:
    """The passages that may be worth telling.

    Args:
        may_tell: bool ``[S]``: the sessions that count, which are all that are known.
    """
    count = int(may_tell.sum())
    if not count or not len(past.passages):
        return no_candidates()
    wanted = union(now.so_far, now.message, now.recent, now.answer)
    finder = WordFinder(wanted)
    at, which = finder.found(past.words)
    owners = past.owners[at]
    held = may_tell[owners]
    owners, which = owners[held], which[held]
    frequency = numpy.bincount(which, minlength=len(wanted))
    rarity = _rarity(frequency, count)
    rare = rarity * _is_rare(frequency, count)
    in_session, in_recent = (rare * numpy.isin(wanted, each) for each in (now.so_far, now.recent))
    asked = rarity * numpy.isin(wanted, now.message)
    if not rare[asked > 0].any():
        return no_candidates()  # it is about what is at hand
    answered = numpy.maximum(asked, rarity / 2 * numpy.isin(wanted, now.answer))

    sessions = len(past.sessions)
    share = numpy.bincount(owners, in_session[which], sessions)
    share_recent = numpy.bincount(owners, in_recent[which], sessions)
    names = numpy.bincount(owners, in_session[which] > 0, sessions)

    total = len(past.passages)
    at, which = finder.found(past.spoken)
    speakers = past.speakers[at]
    over = numpy.bincount(speakers, in_session[which], total)
    over_names = numpy.bincount(speakers, in_session[which] > 0, total)
    has_asked = numpy.bincount(speakers, asked[which], total) / max(asked.sum(), _LEAST_ASKED)
    session = past.passages[:, 0]
    is_related = (over_names >= _SHARED_WORDS) & (names[session] >= _SHARED_NAMES)
    chosen = may_tell[session] & (is_related | (has_asked >= _ASKED))
    places = numpy.flatnonzero(chosen)
    if len(places) > _MOST:
        best = numpy.argsort(-(over + has_asked * _LEAST_ASKED)[places], kind="stable")[:_MOST]
        places = numpy.sort(places[best])
    adds, added = _added(past, places, now.so_far, may_tell, count)

    own = session[places]
    sizes = numpy.array([len(each.words) for each in past.sessions])
    flags = past.passages[places, 4]
    mine = over[places]
    everything = max(in_session.sum(), 1.0)
    columns = (
        has_asked[places],
        numpy.bincount(speakers, answered[which], total)[places] / max(answered.sum(), _LEAST_ASKED),
        share[own] / numpy.sqrt(everything * sizes[own]),
        share_recent[own] / numpy.sqrt(max(in_recent.sum(), 1.0) * sizes[own]),
        numpy.log1p(names[own]),
        numpy.log1p(numpy.bincount(speakers, in_recent[which], total)[places]),
        mine / numpy.sqrt(everything * numpy.maximum(mine + adds, 1.0)),
        numpy.log1p(adds),
        added / (1 + added + over_names[places]),
        (flags & PERSON) > 0,
        (flags & CLOSING) > 0,
    )
    values = numpy.stack([numpy.asarray(each, dtype=float) for each in columns], axis=1)
    return Candidates(places, values, names[own].astype(numpy.intp), added, count)


def no_candidates() -> Candidates:
    """Nothing to tell."""
    nothing = numpy.zeros(0, numpy.intp)
    return Candidates(nothing, numpy.zeros((0, len(NAMES))), nothing, nothing)


def rare_among(past: Past, words: Words, may_tell: NDArray[numpy.bool_]) -> Words:
    """Those of some words that are rare in the sessions that count."""
    at, which = WordFinder(words).found(past.words)
    frequency = numpy.bincount(which[may_tell[past.owners[at]]], minlength=len(words))
    return words[_is_rare(frequency, int(may_tell.sum()))]


def _rarity(frequency: NDArray[numpy.intp], count: int) -> Values:
    """By the number of sessions with each word; 0 for a word of every session, or of none."""
    return numpy.log((count + 1) / numpy.clip(frequency, 1, count)) * (frequency > 0)


def _is_rare(frequency: NDArray[numpy.intp], count: int) -> NDArray[numpy.bool_]:
    return (frequency > 0) & (frequency <= max(RARE_LEAST, RARE_SHARE * count))


def _added(
    past: Past,
    places: NDArray[numpy.intp],
    so_far: Words,
    may_tell: NDArray[numpy.bool_],
    count: int,
) -> tuple[Values, NDArray[numpy.intp]]:
    """The rarity, and the number, of the rare words that each passage adds to a session."""
    row = numpy.full(len(past.passages), -1)
    row[places] = numpy.arange(len(places))
    rows = row[past.speakers]
    mine = rows >= 0
    rows, words = rows[mine], past.spoken[mine]
    is_new = ~numpy.isin(words, so_far)
    rows, words = rows[is_new], words[is_new]
    distinct, which = numpy.unique(words, return_inverse=True)
    at, found = WordFinder(distinct).found(past.words)
    frequency = numpy.bincount(found[may_tell[past.owners[at]]], minlength=len(distinct))
    rare = _is_rare(frequency, count)
    weight = _rarity(frequency, count) * rare
    return (
        numpy.bincount(rows, weight[which], len(places)).astype(float),
        numpy.bincount(rows, rare[which], len(places)).astype(numpy.intp),
    )
