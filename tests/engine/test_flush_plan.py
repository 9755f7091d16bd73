"""Turns are flushed before they drop, in batches, and never twice."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.context.budget import Placement
from engine.context.history import History, sizes
from engine.context.tokens import count
from engine.flush import log
from engine.flush.log import ATTEMPTS, FlushPlan, Recorded, digest, plan
from engine.transcripts.turn import Text, ToolCall, Turn

Numbered = list[tuple[int, Turn]]
UNFLUSHED, FLUSHED = Recorded("unflushed"), Recorded("flushed")


def turns_up_to(number: int, words: int = 20) -> Numbered:
    return [
        (each, Turn("user" if each % 2 else "agent", "10:00", (Text(f"Turn {each}: " + "level " * words),)))
        for each in range(1, number + 1)
    ]


def numbers(found: FlushPlan) -> list[int]:
    return [number for part in found.parts for number, _ in part.turns]


def size() -> int:
    return sizes(turns_up_to(1))[0][1]


def test_nothing_is_due_while_the_window_has_room() -> None:
    turns = turns_up_to(7)
    found = plan(turns, 10 * size(), {}, at=0.8, with_provider=True)
    assert found.parts == () and found.leaving == 0
    assert found.tokens == sum(tokens for _, tokens in sizes(turns))


def test_a_flush_is_due_before_a_turn_drops_and_covers_half_the_window() -> None:
    turns = turns_up_to(9)
    room = 10 * size()
    found = plan(turns, room, {}, at=0.8, with_provider=True)
    assert found.leaving == 1, "nine turns out of ten exceed .8"
    assert numbers(found) == [1, 2, 3, 4, 5], "everything older than the newest .4"
    known = dict.fromkeys(numbers(found), FLUSHED)
    for more in range(10, 14):
        assert plan(turns_up_to(more), room, known, at=0.8, with_provider=True).parts == ()
    assert numbers(plan(turns_up_to(14), room, known, at=0.8, with_provider=True)) == [6, 7, 8, 9, 10]


def test_the_threshold_is_configurable() -> None:
    assert plan(turns_up_to(9), 10 * size(), {}, at=1.0, with_provider=True).parts == ()
    assert numbers(plan(turns_up_to(4), 10 * size(), {}, at=0.0, with_provider=True)) == [1, 2, 3]


def test_the_newest_turn_is_not_due_unless_a_prompt_has_dropped_it() -> None:
    turns = [*turns_up_to(2), (3, Turn("agent", "10:02", (Text("x " * 5_000),)))]
    assert numbers(plan(turns, 50, {}, at=0.8, with_provider=True)) == [1, 2]
    assert numbers(plan(turns, 50, {}, at=0.8, dropped=[1, 2, 3], with_provider=True)) == [1, 2, 3]


def test_turns_dropped_by_a_prompt_are_due_regardless_of_size() -> None:
    found = plan(turns_up_to(4), 100_000, {}, at=0.8, dropped=[1], with_provider=False)
    assert numbers(found) == [1]


def test_unflushed_turns_join_the_next_batch_once_there_is_a_provider() -> None:
    known = dict.fromkeys(range(1, 6), UNFLUSHED)
    room = 10 * size()
    assert plan(turns_up_to(9), room, known, at=0.8, with_provider=True).parts == ()
    assert numbers(plan(turns_up_to(14), room, known, at=0.8, with_provider=True)) == list(range(1, 11))
    assert numbers(plan(turns_up_to(14), room, known, at=0.8, with_provider=False)) == [6, 7, 8, 9, 10]
    assert numbers(plan(turns_up_to(9), room, known, at=0.8, with_provider=True, again=True)) == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert plan(turns_up_to(9), room, known, at=0.8, with_provider=False, again=True).parts == ()


def test_a_turn_that_failed_often_is_flushed_only_on_request() -> None:
    known = {1: Recorded("unflushed", ATTEMPTS), 2: Recorded("unflushed", ATTEMPTS - 1)}
    room = 10 * size()
    assert 1 not in numbers(plan(turns_up_to(14), room, known, at=0.8, with_provider=True))
    assert 2 in numbers(plan(turns_up_to(14), room, known, at=0.8, with_provider=True))
    assert 1 in numbers(plan(turns_up_to(14), room, known, at=0.8, with_provider=True, again=True))


def test_everything_includes_the_newest_turn_but_no_flushed_ones() -> None:
    known = {2: FLUSHED}
    found = plan(turns_up_to(4), 100_000, known, at=0.8, with_provider=True, everything=True)
    assert [(part.first, part.last) for part in found.parts] == [(1, 1), (3, 4)]


def test_parts_are_bounded_and_empty_turns_do_not_split_them() -> None:
    turns = turns_up_to(6, words=1_900)
    turns[2] = (3, Turn("agent", "10:00", ()))
    found = plan(turns, 1_000_000, {}, at=0.8, with_provider=True, everything=True)
    assert [(part.first, part.last) for part in found.parts] == [(1, 4), (5, 6)]
    assert 3 not in found.parts[0].digests
    total = dict(sizes(turns))
    for part in found.parts:
        assert sum(total[number] for number, _ in part.turns) <= log.PART_TOKENS


def test_a_turn_that_has_grown_has_a_different_digest() -> None:
    turn = Turn("agent", "10:00", (ToolCall("exec", "ls"),), line=4)
    assert digest(turn) == digest(replace(turn, line=90))
    assert digest(turn) != digest(replace(turn, blocks=(*turn.blocks, Text("Done."))))
    assert len(digest(Turn("user", "10:00", (Text("\udcff"),)))) == 12


growth = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 1200)), min_size=1, max_size=40)


@given(growth, st.floats(0, 1), st.booleans())
@settings(deadline=None)
def test_no_turn_drops_without_having_been_due(
    steps: list[tuple[int, int]], at: float, with_provider: bool
) -> None:
    """A session grows turn by turn, and each prompt has a different amount of room for it."""
    turns: Numbered = []
    recorded: dict[int, Recorded] = {}
    for number, (length, room) in enumerate(steps, 1):
        before = tuple(turn for _, turn in turns)
        _, dropped = History(before).place(Placement(count), room)
        blocks = (Text("w " * length),) if length else ()
        turns.append((number, Turn("user" if number % 2 else "agent", "10:00", blocks)))
        gone = [n for n, _ in sizes(turns)][:dropped]
        found = plan(turns, room, recorded, at=at, dropped=gone, with_provider=with_provider)
        for part in found.parts:
            flushed = [n for n, _ in part.turns]
            assert all(recorded.get(n) != FLUSHED for n in flushed), "no turn is flushed twice"
            recorded |= dict.fromkeys(flushed, FLUSHED if with_provider else UNFLUSHED)
        assert set(gone) <= recorded.keys()
