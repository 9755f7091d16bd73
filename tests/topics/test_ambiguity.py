"""Exponentially ambiguous repetitions are found by analysis, with a text that proves it (robustness R1)."""

from __future__ import annotations

import time
from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.topics.ambiguity import Pump, find_pump
from engine.topics.expressions import tree
from tests.cases import each_case


def pump(expression: str) -> Pump | None:
    parsed = tree(expression)
    assert parsed is not None
    return find_pump(parsed)


@each_case(
    ("expression", "text"),
    [
        (r"(a+)+$", "a"),
        (r"(a|a)*b", "a"),
        (r"(\w+\s?)*$", "a"),
        (r"(x+x+)+y", "xx"),
        (r"(a*)*b", "a"),
        (r"(a|aa)+$", "aa"),
        (r"(foo|FOO)*bar", "foofoo"),
        (r"(\d+|\w+)+x", "0"),
        (r"((ab)*)*c", "ab"),
        (r"(.*a){20}", "aa"),
        (r"(a{1,20}){1,20}b", "a"),
        (r"(?=(a+)+b)", "a"),
        (r"((a+)+b)*", "a"),
        (r"(?:\w+@?)*\.com", "a"),
        (r"(a?b?)*c", "ba"),
        (r"^(\s*\w+\s*)+=$", "a"),
        (r"(?:éa|ÉA)*x", "éa"),
    ],
)
def test_an_ambiguous_loop_is_found_with_the_text_to_repeat(expression: str, text: str) -> None:
    found = pump(expression)
    assert found is not None
    assert len(found.text) <= 2 * len(text)
    assert set(found.text) == set(text)


@each_case(
    "expression",
    [
        r"\b(email|inbox|mail)\b",
        r"(a+b)+$",
        r"(\w+\s)*$",
        r"(?:foo|bar)+x",
        r"^\s*(.*)\s*$",
        r"(\d{1,3}\.){3}\d{1,3}",
        r"(?:[a-z]+-)*[a-z]+",
        r"(\b\w+\b\s?)*$",
        r"(?:a++)+$",
        r"(?>a+)+$",
        r"(?:,\s*\w+)*;",
        r"https?://(?:[\w-]+\.)+com",
        r"(ab|ac)*d",
        r'("[^"]*"|[^",]+,)*$',
        r"\s+$",
    ],
)
def test_an_unambiguous_loop_is_never_accused(expression: str) -> None:
    assert pump(expression) is None


@pytest.mark.parametrize("expression", [r"(a+)+", r"(\w+\s?)*", r"x(a+)+(?:b)?"])
def test_a_loop_after_which_nothing_can_fail_is_harmless(expression: str) -> None:
    assert pump(expression) is None


def test_the_way_into_the_loop_is_part_of_the_finding() -> None:
    assert pump(r"id: (a+)+$") == Pump("id: ", "a")


def ways(expression: str, text: str) -> int:
    """The ways in which a backtracking search can match the whole of a text."""

    def in_order(items: Any, starts: Counter[int]) -> Counter[int]:
        for operator, argument in items:
            starts = one(str(operator), argument, starts)
        return starts

    def one(name: str, argument: Any, starts: Counter[int]) -> Counter[int]:
        ends: Counter[int] = Counter()
        if name in ("LITERAL", "IN"):
            letters = [chr(argument)] if name == "LITERAL" else [chr(value) for _, value in argument]
            for at, count in starts.items():
                ends[at + 1] += count * (text[at : at + 1] in letters)
        elif name == "SUBPATTERN":
            ends = in_order(argument[3], starts)
        elif name == "BRANCH":
            for branch in argument[1]:
                ends += in_order(branch, starts)
        else:
            least, most, body = argument
            for at, count in starts.items():
                ends += Counter({end: ways * count for end, ways in repeated(least, most, body, at).items()})
        return +ends

    def repeated(least: int, most: int, body: Any, at: int) -> Counter[int]:
        reached = Counter({at: 1})
        ends = Counter({at: 1}) if least == 0 else Counter[int]()
        for _ in range(min(int(most), len(text))):
            further: Counter[int] = Counter()
            for start, count in reached.items():
                for end, more in in_order(body, Counter({start: 1})).items():
                    # Engines stop at an empty repetition.
                    further[end] += count * more * (end > start)
            reached = +further
            ends += reached
        return ends

    return in_order(tree(expression), Counter({0: 1}))[len(text)]


TEXTS = ["".join(letters) for length in range(1, 9) for letters in product("ab", repeat=length)]


@given(
    st.recursive(
        st.sampled_from(["a", "b"]),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
            inner.map(lambda body: f"(?:{body})?"),
            inner.map(lambda body: f"(?:{body})+"),
        ),
        max_leaves=4,
    )
)
def test_a_loop_is_accused_exactly_when_a_text_matches_in_two_ways(body: str) -> None:
    loop = f"(?:{body})*"
    is_ambiguous = any(ways(loop, text) > 1 for text in TEXTS)
    assert (pump(f"{loop}c") is not None) is is_ambiguous


def test_the_analysis_of_a_long_pattern_ends() -> None:
    words = "|".join(f"word{number}" for number in range(300))
    started = time.process_time()
    pump(rf"(?:(?:{words})\s?)+$")
    pump(r"(?:" + "(?:a|b|c)?" * 150 + r")+$")
    assert time.process_time() - started < 20
