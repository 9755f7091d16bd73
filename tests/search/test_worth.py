"""Results are ordered by their worth for their length when room is limited."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy
import pytest

from engine.search.worth import (
    LENGTH_FLOOR,
    LENGTH_POWER,
    OWN_FACTOR,
    STANDING_FACTOR,
    STANDING_PART,
    Offers,
    Room,
    chosen,
    in_order,
    kind,
)
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import BagOfWords, put

pytestmark = pytest.mark.both


class Offer(NamedTuple):
    path: str
    score: float
    tokens: int = LENGTH_FLOOR
    by_file: float = 0.0
    relevance: float = 0.0
    kind: int = 0


def order_of(each: list[Offer], room: Room, *, every: bool = False) -> list[int]:
    paths = [*dict.fromkeys(offer.path for offer in each)]
    offers = Offers(
        files=numpy.array([paths.index(offer.path) for offer in each], dtype=int),
        own=paths.index(room.own) if room.own in paths else -1,
        scores=numpy.array([offer.score for offer in each]),
        by_file=numpy.array([offer.by_file for offer in each]),
        relevance=numpy.array([offer.relevance for offer in each]),
        tokens=numpy.array([offer.tokens for offer in each]),
        kinds=numpy.array([offer.kind for offer in each], dtype=int),
    )
    return in_order(offers, room, every=every)


def test_a_longer_text_needs_a_better_score() -> None:
    for factor, expected in ((1.02, [1, 0]), (0.98, [0, 1])):
        long = Offer("b", 0.5 * 4**LENGTH_POWER * factor, 4 * LENGTH_FLOOR)
        assert order_of([Offer("a", 0.5), long], Room(4_000)) == expected


def test_the_current_conversation_counts_more() -> None:
    offers = [Offer("a", 0.5), Offer("own", 0.5 / OWN_FACTOR * 1.01)]
    assert order_of(offers, Room(4_000)) == [0, 1]
    assert order_of(offers, Room(4_000, "own")) == [1, 0]


def test_a_question_counts_less_than_a_statement_unless_the_user_asks_it() -> None:
    assert order_of([Offer("a", 0.5, kind=1), Offer("b", 0.45)], Room(4_000)) == [1, 0]
    for text, speaker, expected in (
        ("What's up, Ann?", "agent Bob", 1),
        ("Seen this? [shares image: a heron]", "user Bob", 1),
        ("何をしますか？", "agent", 1),
        ("How do I release?", "user", 0),
        ("Is it safe?", "", 0),
        ("Really? Then do it.", "agent", 0),
        ("word " * 60 + "?", "agent", 0),
    ):
        assert kind(text, speaker) == expected


def test_a_standing_request_of_the_user_counts_more_but_only_the_best_of_many() -> None:
    for text, speaker, expected in (
        ("Always name the source when I ask about birds.", "user", 2),
        ("From now on, metric units.", "user", 2),
        ("Antworte künftig auf Deutsch.", "user", 2),
        ("Always name the source when I ask about birds.", "agent", 0),
        ("Always good to see you!", "user Ann", 0),  # A user among other people.
        ("Name the source.", "user", 0),
        (f"I always wondered about herons. {'They wait. ' * 20}", "user", 0),
    ):
        assert kind(text, speaker) == expected
    statements = [Offer("a", 0.5) for _ in range(20)]
    wish = Offer("b", 0.5 / STANDING_FACTOR * 1.01, 20, kind=2)
    assert order_of([*statements, wish], Room(4_000))[0] == 20
    # Only those that fit into an eighth of the room get the bonus.
    room = Room(STANDING_PART * 100)
    assert order_of([*statements, *[wish] * 30], room, every=True)[:6] == [20, 21, 22, 23, 24, 0]


def test_relevance_decides_between_ties() -> None:
    assert order_of([Offer("a", 0.5), Offer("b", 0.5, relevance=0.4)], Room(4_000)) == [1, 0]


def test_no_more_results_than_may_fit() -> None:
    offers = [Offer(f"{number:03}", 0.5, 100) for number in range(400)]
    assert order_of(offers, Room(8_000)) == [*range(100)]
    assert order_of(offers, Room(100)) == [*range(48)]
    assert order_of(offers, Room(100), every=True) == [*range(400)]
    assert order_of([], Room(100)) == []


def test_if_many_files_match_another_file_is_worth_more_than_more_of_the_same() -> None:
    same = [Offer("a", 0.52, 200, by_file=0.3) for _ in range(6)]
    others = [Offer(f"{number:02}", 0.5, 200, by_file=0.3) for number in range(20)]
    order = order_of([*same, *others], Room(800))
    assert order[0] == 0
    assert order[1:21] == [*range(6, 26)]
    # Not if one file is clearly better, or if only a few files match.
    best = [Offer("a", 0.7, 200, by_file=0.3) for _ in range(6)]
    assert order_of([*best, *others], Room(800))[:6] == [*range(6)]
    assert order_of([*same, *others[:10]], Room(800))[:6] == [*range(6)]


def test_a_search_with_a_room_returns_what_packing_all_results_would_choose(
    workspace: Workspace, open_index: Open
) -> None:
    pick = random.Random(7)
    for number in range(40):
        turns = (
            f"## 10:{turn:02} — user\n\nThe heron {'waits ' * pick.randint(1, 90)}by pond {number}.\n"
            for turn in range(9)
        )
        put(workspace, f"raw/conversations/2026/02/16/10{number:02}-ses_{number}.md", "\n".join(turns))
    index = open_index(workspace, BagOfWords())
    index.refresh()
    everything = index.search("heron at pond 7", 300, in_full=False)
    room = Room(600, everything[5].path)
    wanted = chosen(everything, room)
    found = index.search("heron at pond 7", 300, in_full=False, room=room)
    assert len(found) == len(wanted) < len(everything)
    assert [(each.path, each.start_line) for each in found] == [
        (each.path, each.start_line) for each in wanted
    ]


def test_a_search_with_a_room_works_without_an_index(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, read_only=True)
    everything = index.search("plain files")
    assert everything[0].source != "index"
    assert index.search("plain files", room=Room(500)) == chosen(everything, Room(500))
