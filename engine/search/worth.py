"""Orders results by their value when space is limited, as in a prompt (spec 6.3).

Results are ordered by value per token: the score divided by a power of the length, so that a long text has
to be better than a short one, but need not be twice as good for being twice as long. If one file could fill
the space alone, more results from it are worth less than results from other files, unless the file stands
out; a short file is best included whole. (Of 198 commits, 176 find something of the session that made
them in 2,048 tokens, and 171 without this.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.rules.words import STANDING
from engine.search.results import SearchResult
from engine.startup.lazy import expression
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

PERSON = "user"
"""The speaker of the user's turns in a conversation with an agent, without a name."""
AGENT = "agent"
"""The speaker of the agent's turns."""
CHARACTERS_PER_TOKEN = 4
LENGTH_POWER = 0.4
LENGTH_FLOOR = 60
"""Tokens. Shorter texts count as this long, because each also needs a source line."""
OWN_FACTOR = 1.5
"""Score factor for earlier turns of the same conversation."""
RELEVANCE_WEIGHT = 0.2
"""Weight of the relevance, added to the score."""

QUESTION_FACTOR = 0.85
"""Score factor for a question that is not the user's, since it contains no information."""

STANDING_FACTOR = 1.75
"""Score factor for a standing request ("Always name the source"): it is about how to answer, and shares few
words with the messages it applies to."""
STANDING_PART = 8
"""Standing requests get the factor until they fill 1/8 of the space, since a memory may contain many."""
_PLAIN, _IS_QUESTION, _IS_STANDING = range(3)
_STANDING_CHARACTERS = 150
"""In a longer text, a request is only one part."""
_QUESTION_CHARACTERS = 200
_QUESTION = expression(r"[?？؟]\s*(?:\[[^\[\]]*\]\s*)?$")  # the brackets describe a picture

_ITEM_SHARE = 4
_ANSWER_SHARE = 6
_ITEM_TOKENS = 160
_SURPLUS = 1.25
_AT_LEAST = 48
"""The number of results fills the space 1.25 times and is at least this, because some of them will repeat
what is already in the prompt."""
_MANY_FILES = 16
"""With this many files among the results, the part of a score that comes from the file may count only for the
file's first result: if many files match about equally well, another file is worth more than more of one."""
_FILLS = (0.3, 1.0)
"""The share of the space that a file's results would take: little, and all of it."""
_NEXT_BEST = 8
_STANDS_OUT = (1.0, 1.2)
"""A file's best score relative to that of the next eight: not standing out, and clearly standing out."""


@dataclass(frozen=True, slots=True)
class Room:
    """The space in a prompt for search results."""

    tokens: int  # for all results together
    own: str = ""  # the transcript of the conversation the prompt is for; empty without one


@dataclass(frozen=True, slots=True)
class Offers:
    """``N`` candidate results, best first."""

    files: NDArray[Any]  # int ``[N]``: a number for each file, from 0
    own: int  # the number of the conversation's own transcript; -1 if it is not among the results
    scores: NDArray[Any]  # float ``[N]``, as in ``SearchResult``
    by_file: NDArray[Any]  # float ``[N]``: the part of each score that comes from its file
    relevance: NDArray[Any]  # float ``[N]``, as in ``SearchResult``; 0 if not measured
    tokens: NDArray[Any]  # int ``[N]``: approximate length
    kinds: NDArray[Any]  # int ``[N]``: as returned by ``kind``


def about(characters: int) -> int:
    """Estimate the tokens of a text. Counting them would be too slow for hundreds of texts."""
    return characters // CHARACTERS_PER_TOKEN


def kind(text: str, speaker: str) -> int:
    """Classify a text: 1 for a short question that is not the user's, 2 for a standing request, else 0.

    A standing request is a short message of the user that says that it applies from then on.
    """
    if speaker == PERSON:
        return _IS_STANDING if len(text) <= _STANDING_CHARACTERS and STANDING.search(text) else _PLAIN
    is_question = speaker and len(text) <= _QUESTION_CHARACTERS and _QUESTION.search(text)
    return _IS_QUESTION if is_question else _PLAIN


def largest(room: int, speaker: str = "") -> int:
    """Tokens one text may take: a quarter of the space, or a sixth for an agent's text, but at least 160.

    Long texts by an agent are mostly general, and several shorter texts are more informative.
    """
    return max(_ITEM_TOKENS, room // (_ANSWER_SHARE if speaker == AGENT else _ITEM_SHARE))


def chosen(results: Sequence[SearchResult], room: Room | None, *, every: bool = False) -> list[SearchResult]:
    """The results ordered by their value for the space; unchanged if ``room`` is ``None``."""
    if room is None or not results:
        return list(results)
    best_first = sorted(results, key=lambda each: (-each.score, each.path, each.start_line))
    return [best_first[place] for place in in_order(_offers(best_first, room), room, every=every)]


def _offers(results: Sequence[SearchResult], room: Room) -> Offers:
    import numpy  # noqa: PLC0415 — only a search needs it

    numbers: dict[str, int] = {}
    files = [numbers.setdefault(result.path, len(numbers)) for result in results]
    return Offers(
        files=numpy.array(files),
        own=numbers.get(room.own, -1),
        scores=numpy.array([result.score for result in results]),
        by_file=numpy.array([
            sum(share.value for share in result.shares if share.name == "session") for result in results
        ]),
        relevance=numpy.array([result.relevance or 0.0 for result in results]),
        tokens=numpy.array([about(len(result.text)) for result in results]),
        kinds=numpy.array([kind(result.text, result.speaker) for result in results]),
    )  # fmt: skip


def in_order(offers: Offers, room: Room, *, every: bool = False) -> list[int]:
    """The positions of the offers, most valuable first; ties keep their order.

    ``every`` returns all of them, not only as many as may fit.
    """
    import numpy  # noqa: PLC0415 — only a search needs it

    if not len(offers.files):
        return []
    worth = _worth(offers, offers.scores, room)
    order = numpy.argsort(-worth, kind="stable")
    less = _repeat_discounts(offers, room)[offers.files]
    if less.any():
        # A file's best result counts in full; once the file is included, its other results count less.
        firsts = order[numpy.unique(offers.files[order], return_index=True)[1]]
        less[firsts] = 0.0
        worth = _worth(offers, offers.scores - less * offers.by_file, room)
        order = numpy.argsort(-worth, kind="stable")
    if not every:
        most = largest(room.tokens) + LENGTH_FLOOR
        spent = numpy.cumsum(numpy.minimum(offers.tokens[order], most))
        filled = 1 + int(numpy.searchsorted(spent, room.tokens * _SURPLUS))
        order = order[: max(filled, _AT_LEAST)]
    found: list[int] = order.tolist()
    return found


def _worth(offers: Offers, scores: NDArray[Any], room: Room) -> NDArray[Any]:
    """The value of each offer per token."""
    import numpy  # noqa: PLC0415 — only a search needs it

    scores = numpy.where(offers.files == offers.own, scores * OWN_FACTOR, scores)
    scores = numpy.where(offers.kinds == _IS_QUESTION, scores * QUESTION_FACTOR, scores)
    standing = numpy.flatnonzero(offers.kinds == _IS_STANDING)
    standing = standing[numpy.cumsum(offers.tokens[standing]) <= room.tokens // STANDING_PART]
    scores[standing] *= STANDING_FACTOR
    lengths = numpy.maximum(offers.tokens, LENGTH_FLOOR) ** LENGTH_POWER
    # Values that differ only in the last digits count as equal.
    worth: NDArray[Any] = numpy.round((scores + RELEVANCE_WEIGHT * offers.relevance) / lengths, 9)
    return worth


def _repeat_discounts(offers: Offers, room: Room) -> NDArray[Any]:
    """By file, the share of its ``by_file`` scores that counts only for the file's first result."""
    import numpy  # noqa: PLC0415 — only a search needs it

    best = numpy.zeros(int(offers.files.max()) + 1)
    if len(best) < _MANY_FILES:
        return best
    numpy.maximum.at(
        best, offers.files, numpy.where(offers.files == offers.own, OWN_FACTOR, 1.0) * offers.scores
    )
    tokens = numpy.bincount(offers.files, weights=offers.tokens)
    usual = float(numpy.mean(numpy.sort(best)[::-1][1 : 1 + _NEXT_BEST])) or 1.0
    low, high = _STANDS_OUT
    short, long = (share * room.tokens for share in _FILLS)
    found: NDArray[Any] = _between(tokens, short, long) * (1 - _between(best / usual, low, high))
    return found


def _between(values: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """Where values are between two others, from 0 to 1."""
    import numpy  # noqa: PLC0415 — only a search needs it

    return numpy.clip((values - low) / (high - low or 1.0), 0.0, 1.0)
