"""The literal index gives the same results before and after building its automaton."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from engine.activation.automaton import LiteralIndex
from engine.activation.scan import fold

TEXT = "a text of some length, in which one literal or other occurs " * 8

LITERALS = st.sets(st.text("abcü中\ud800", min_size=1, max_size=4), min_size=1, max_size=3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 9), LITERALS),
        st.tuples(st.just("remove"), st.integers(0, 9), LITERALS),
        st.tuples(st.just("grow"), st.integers(0, 0), LITERALS),
    ),
    max_size=14,
)


def build_automaton(index: LiteralIndex[int]) -> None:
    """Search until everything is in the automaton."""
    for _ in range(2_000):
        if not index.searched:
            return
        index.find(TEXT)
    raise AssertionError("the automaton is never built")


@given(STEPS, st.text("abcüÜ中\ud800 ", max_size=20))
def test_the_index_finds_exactly_what_individual_searches_find(
    steps: list[tuple[str, int, set[str]]], text: str
) -> None:
    index: LiteralIndex[int] = LiteralIndex()
    filed: dict[int, set[str]] = {}
    for step, key, literals in steps:
        if step == "grow":
            build_automaton(index)
        elif step == "remove":
            index.remove(filed.pop(key, literals), key)
        elif key not in filed:
            filed[key] = literals
            index.add(literals, key)
        expected = {key for key, those in filed.items() if any(literal in fold(text) for literal in those)}
        assert set(index.find(fold(text))) == expected
    assert len(index) == len(set().union(*filed.values()))


def test_new_literals_are_searched_until_building_pays() -> None:
    index: LiteralIndex[int] = LiteralIndex()
    index.add((f"literal{number}" for number in range(500)), 1)
    assert index.find("literal7 ") == [1]
    assert index.searched == 500
    build_automaton(index)
    assert index.find("literal7 ") == [1]


def test_an_added_literal_is_found_without_rebuilding() -> None:
    index: LiteralIndex[int] = LiteralIndex()
    index.add((f"literal{number:03}" for number in range(500)), 1)
    build_automaton(index)
    index.add(["new"], 2)
    index.add(["literal007"], 3)
    assert index.searched == 1
    assert sorted(index.find("new literal007")) == [1, 2, 3]
    index.remove(["literal007"], 1)
    index.remove(["new"], 2)
    assert index.find("new literal007") == [3]
    assert index.searched == 0


def test_a_literal_added_again_after_removal_is_found() -> None:
    index: LiteralIndex[int] = LiteralIndex()
    index.add(["here"], 1)
    build_automaton(index)
    index.remove(["here"], 1)
    assert index.find("here") == []
    index.add(["here"], 2)
    assert index.find("here") == [2]


def test_a_single_message_does_not_load_the_automaton() -> None:
    script = (
        "import sys; from engine.activation.automaton import LiteralIndex; index = LiteralIndex();"
        "index.add((f'literal{n}' for n in range(300)), 1);"
        "print(index.find('literal7'), 'ahocorasick' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "[1] False", ran.stderr
