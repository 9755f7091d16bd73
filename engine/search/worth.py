"""In which order results are worth their place where room is short, as in a prompt (spec 6.3).

Room goes to what is worth most per token: the score divided by a power of the length, so that a long text has
to be better than a short one, but not twice as good because it is twice as long. Of a file that would fill
the room by itself, more of the same is worth less than another file, unless it stands out; a short one is
best read whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.rules.standing import STANDING
from engine.search.resident.segment import AGENT, PERSON
from engine.search.results import SearchResult
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHARACTERS_PER_TOKEN = 4
LENGTH_POWER = 0.4
LENGTH_FLOOR = 60
"""Tokens: shorter texts count as this long, because each also costs its source."""
OWN = 1.5
"""By what the score of earlier turns of the same conversation is multiplied."""
RELEVANCE = 0.2
"""What relevance counts beside the score."""

ASKED = 0.85
"""By what the score of a question is multiplied that somebody else than the person asks: it tells nothing."""

STANDS = 1.75
"""By what the score of a standing wish is multiplied ("Always name the source"): it is about how to answer,
and shares few words with the messages that it holds for."""
WISHES_PART = 8
"""Which part of the room the wishes that count for more may take: a memory may hold many."""
_PLAIN, _ASKS, _STANDS = range(3)
_WISH_CHARACTERS = 150
"""Of what is longer a wish is but a part."""
_QUESTION_CHARACTERS = 200
_QUESTION = re.compile(r"[?？؟]\s*(?:\[[^\[\]]*\]\s*)?$")  # the brackets describe a picture

_ITEM_SHARE = 4
_ANSWER_SHARE = 6
_ITEM_TOKENS = 160
_MORE = 1.25
_AT_LEAST = 48
"""As many results are given as fill the room and a quarter of it more, and at least so many: some of them
will repeat what the prompt holds."""
_MANY_FILES = 16
"""Files among the results from which what a file gave all of its results may count for one of them alone:
where many answer about equally well, another file is worth more than more of the same."""
_FILLS = (0.3, 1.0)
"""Of how much of the room what was found of a file takes: little, and all of it."""
_EQUALS = 8
_STANDS_OUT = (1.0, 1.2)
"""How much better than the next eight a file has to be to stand out among many: not at all, and quite."""


@dataclass(frozen=True, slots=True)
class Room:
    """Where results are wanted."""

    tokens: int  # of the room for all of them
    own: str = ""  # the transcript of the conversation for which it is; empty without one


@dataclass(frozen=True, slots=True)
class Offers:
    """``N`` results that might get room, best first."""

    files: NDArray[Any]  # int ``[N]``: the same number for those of one file, from 0
    own: int  # the number of the transcript of the conversation itself; -1 where nothing of it was found
    scores: NDArray[Any]  # float ``[N]``, as in ``SearchResult``
    by_file: NDArray[Any]  # float ``[N]``: the part of each score that its file gave it
    relevance: NDArray[Any]  # float ``[N]``, as in ``SearchResult``; 0 where it was not measured
    tokens: NDArray[Any]  # int ``[N]``: about how many each takes
    kinds: NDArray[Any]  # int ``[N]``: as ``kind``


def about(characters: int) -> int:
    """About how many tokens so much text takes: hundreds are looked at, and counting them would take long."""
    return characters // CHARACTERS_PER_TOKEN


def kind(text: str, speaker: str) -> int:
    """What a text is: 1 for a short question that is not the person's, 2 for a standing wish, else 0.

    What a person asks an agent is a wish; a standing one is short, and says that it holds from then on.
    """
    if speaker == PERSON:
        return _STANDS if len(text) <= _WISH_CHARACTERS and STANDING.search(text) else _PLAIN
    return _ASKS if speaker and len(text) <= _QUESTION_CHARACTERS and _QUESTION.search(text) else _PLAIN


def largest(room: int, speaker: str = "") -> int:
    """Tokens that one text may take: a fourth of the room, a sixth what an agent says; or 160 where more.

    What an agent has to say at length is mostly general, and several shorter texts tell more.
    """
    return max(_ITEM_TOKENS, room // (_ANSWER_SHARE if speaker == AGENT else _ITEM_SHARE))


def chosen(results: Sequence[SearchResult], room: Room | None, *, every: bool = False) -> list[SearchResult]:
    """The results in the order in which they are worth the room; as they are where there is none."""
    if room is None or not results:
        return list(results)
    best_first = sorted(results, key=lambda each: (-each.score, each.path, each.start_line))
    return [best_first[place] for place in in_order(_offered(best_first, room), room, every=every)]


def _offered(results: Sequence[SearchResult], room: Room) -> Offers:
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
    """The places of the offers, those worth most first; equals as they were given.

    ``every`` gives all of them, not only those that may find room.
    """
    import numpy  # noqa: PLC0415 — only a search needs it

    if not len(offers.files):
        return []
    worth = _worth(offers, offers.scores, room)
    order = numpy.argsort(-worth, kind="stable")
    less = _repeats(offers, room)[offers.files]
    if less.any():
        # The best of a file counts in full; the file is there then, and gives the others less.
        firsts = order[numpy.unique(offers.files[order], return_index=True)[1]]
        less[firsts] = 0.0
        worth = _worth(offers, offers.scores - less * offers.by_file, room)
        order = numpy.argsort(-worth, kind="stable")
    if not every:
        most = largest(room.tokens) + LENGTH_FLOOR
        spent = numpy.cumsum(numpy.minimum(offers.tokens[order], most))
        filled = 1 + int(numpy.searchsorted(spent, room.tokens * _MORE))
        order = order[: max(filled, _AT_LEAST)]
    found: list[int] = order.tolist()
    return found


def _worth(offers: Offers, scores: NDArray[Any], room: Room) -> NDArray[Any]:
    """What each offer is worth per token."""
    import numpy  # noqa: PLC0415 — only a search needs it

    scores = numpy.where(offers.files == offers.own, scores * OWN, scores)
    scores = numpy.where(offers.kinds == _ASKS, scores * ASKED, scores)
    wishes = numpy.flatnonzero(offers.kinds == _STANDS)
    wishes = wishes[numpy.cumsum(offers.tokens[wishes]) <= room.tokens // WISHES_PART]
    scores[wishes] *= STANDS
    lengths = numpy.maximum(offers.tokens, LENGTH_FLOOR) ** LENGTH_POWER
    # What differs in the last digits only is equal.
    worth: NDArray[Any] = numpy.round((scores + RELEVANCE * offers.relevance) / lengths, 9)
    return worth


def _repeats(offers: Offers, room: Room) -> NDArray[Any]:
    """By file, which part of what the file gave its results counts for the first of them alone."""
    import numpy  # noqa: PLC0415 — only a search needs it

    best = numpy.zeros(int(offers.files.max()) + 1)
    if len(best) < _MANY_FILES:
        return best
    numpy.maximum.at(best, offers.files, numpy.where(offers.files == offers.own, OWN, 1.0) * offers.scores)
    tokens = numpy.bincount(offers.files, weights=offers.tokens)
    usual = float(numpy.mean(numpy.sort(best)[::-1][1 : 1 + _EQUALS])) or 1.0
    low, high = _STANDS_OUT
    short, long = (share * room.tokens for share in _FILLS)
    found: NDArray[Any] = _between(tokens, short, long) * (1 - _between(best / usual, low, high))
    return found


def _between(values: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """Where values lie between two others, 0 to 1."""
    import numpy  # noqa: PLC0415 — only a search needs it

    return numpy.clip((values - low) / (high - low or 1.0), 0.0, 1.0)
