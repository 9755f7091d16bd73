"""In which order results are worth their place where room is short, as in a prompt (spec 6.3).

Room goes to what is worth most per token: the score divided by a power of the length, so that a long text has
to be better than a short one, but not twice as good because it is twice as long. Of a file that would fill
the room by itself, more of the same is worth less than another file, unless it stands out; a short one is
best read whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.search.results import SearchResult

CHARACTERS_PER_TOKEN = 4
LENGTH_POWER = 0.4
LENGTH_FLOOR = 60
"""Tokens: shorter texts are taken for as long, because each also costs its source."""
OWN = 1.5
"""By what the score of earlier turns of the same conversation is multiplied."""
RELEVANCE = 0.2
"""What relevance counts beside the score."""

_ITEM_SHARE = 4
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
    """Where results are wanted.

    Attributes:
        tokens: Of the room for all of them.
        own: The transcript of the conversation for which it is; empty without one.
    """

    tokens: int
    own: str = ""


class Offer(NamedTuple):
    """A result that might get room; a tuple, for hundreds are made of a query.

    Attributes:
        path: Its file.
        score: As in ``SearchResult``.
        by_file: The part of the score that its file gave it.
        relevance: As in ``SearchResult``; 0 where it was not measured.
        tokens: About how many it takes.
    """

    path: str
    score: float
    by_file: float
    relevance: float
    tokens: int


def about(characters: int) -> int:
    """About how many tokens so much text takes: hundreds are looked at, and counting them would take long."""
    return characters // CHARACTERS_PER_TOKEN


def largest(room: int) -> int:
    """Tokens that one text may take: a fourth of the room, or 160 where that is more."""
    return max(_ITEM_TOKENS, room // _ITEM_SHARE)


def _offered(result: SearchResult) -> Offer:
    """A result as an offer."""
    by_file = sum(share.value for share in result.shares if share.name == "session")
    return Offer(result.path, result.score, by_file, result.relevance or 0.0, about(len(result.text)))


def chosen(results: Sequence[SearchResult], room: Room | None, *, every: bool = False) -> list[SearchResult]:
    """The results in the order in which they are worth the room; as they are where there is none.

    Args:
        results: In any order.
        room, every: As for ``in_order``.
    """
    if room is None:
        return list(results)
    best_first = sorted(results, key=lambda each: (-each.score, each.path, each.start_line))
    return [best_first[place] for place in in_order([*map(_offered, best_first)], room, every=every)]


def in_order(offers: Sequence[Offer], room: Room, *, every: bool = False) -> list[int]:
    """The places of the offers, those worth most first; equals as they were given.

    Args:
        offers: Best first.
        room: What they would share.
        every: Whether to give all of them, or no more than may find room.
    """
    repeats = _repeats(offers, room)
    waiting = [(-_worth(offer, room, 0.0), place, False) for place, offer in enumerate(offers)]
    heapq.heapify(waiting)
    most = largest(room.tokens) + LENGTH_FLOOR
    left = room.tokens * _MORE
    seen: set[str] = set()
    found: list[int] = []
    while waiting and (every or left > 0 or len(found) < _AT_LEAST):
        _, place, is_known = heapq.heappop(waiting)
        offer = offers[place]
        if not is_known and offer.path in seen and (less := repeats.get(offer.path)):
            heapq.heappush(waiting, (-_worth(offer, room, less), place, True))
            continue
        seen.add(offer.path)
        left -= min(offer.tokens, most)
        found.append(place)
    return found


def _worth(offer: Offer, room: Room, repeats: float) -> float:
    """What an offer is worth per token.

    Args:
        offer: The offer.
        room: Where it is wanted.
        repeats: Part of what its file gave it that is not counted, because the file is there already.
    """
    score = offer.score - repeats * offer.by_file
    if offer.path == room.own:
        score *= OWN
    length: float = max(offer.tokens, LENGTH_FLOOR) ** LENGTH_POWER
    return round((score + RELEVANCE * offer.relevance) / length, 9)


def _repeats(offers: Sequence[Offer], room: Room) -> dict[str, float]:
    """By file, which part of what the file gave its results counts for the first of them alone."""
    best: dict[str, float] = {}
    tokens: dict[str, int] = {}
    for offer in offers:
        score = offer.score * (OWN if offer.path == room.own else 1.0)
        best[offer.path] = max(best.get(offer.path, 0.0), score)
        tokens[offer.path] = tokens.get(offer.path, 0) + offer.tokens
    if len(best) < _MANY_FILES:
        return {}
    following = sorted(best.values(), reverse=True)[1 : 1 + _EQUALS]
    usual = sum(following) / len(following) or 1.0
    low, high = _STANDS_OUT
    short, long = (share * room.tokens for share in _FILLS)
    found = {
        path: _between(tokens[path], short, long) * (1 - _between(score / usual, low, high))
        for path, score in best.items()
    }
    return {path: part for path, part in found.items() if part}


def _between(value: float, low: float, high: float) -> float:
    """Where a value lies between two others, 0 to 1."""
    return min(1.0, max(0.0, (value - low) / (high - low or 1.0)))
