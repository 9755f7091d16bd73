"""Exponentially ambiguous repetitions are found by analysis, with a text that proves it (robustness R1)."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.topics.ambiguity import Pump, find_pump
from engine.topics.expressions import tree


def pump(expression: str) -> Pump | None:
    parsed = tree(expression)
    assert parsed is not None
    return find_pump(parsed)


@pytest.mark.parametrize(
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
        (r"(?:é|É)*x", "éé"),
    ],
)
def test_an_ambiguous_loop_is_found_with_the_text_to_repeat(expression: str, text: str) -> None:
    found = pump(expression)
    assert found is not None
    assert len(found.text) <= 2 * len(text)
    assert set(found.text) == set(text)


@pytest.mark.parametrize(
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
    """The ways in which a backtracking search can match the whole of a text, counted naively."""
    parsed = tree(expression)

    def ends(items: list[object], at: int) -> list[int]:
        found = [at]
        for item in items:
            found = [end for start in found for end in one(item, start)]
        return found

    def one(item: object, at: int) -> list[int]:
        operator, argument = item  # type: ignore[misc]
        name = str(operator)
        if name == "LITERAL":
            return [at + 1] if text[at : at + 1] == chr(argument) else []
        if name == "SUBPATTERN":
            return ends(list(argument[3]), at)
        if name == "BRANCH":
            return [end for branch in argument[1] for end in ends(list(branch), at)]
        if name == "IN":
            letters = [chr(value) for _, value in argument]
            return [at + 1] if text[at : at + 1] in letters else []
        least, most, body = argument
        found, reached, count = ([at] if least == 0 else []), [at], 0
        while reached and count < min(int(most), len(text) + 1):
            count += 1
            reached = [end for start in reached for end in ends(list(body), start) if end > start]
            found += reached if count >= least else []
        return found

    return sum(end == len(text) for end in ends(list(parsed), 0))


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.sampled_from(["a", "b"]),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
            inner.map(lambda body: f"(?:{body})?"),
            inner.map(lambda body: f"(?:{body})+"),
        ),
        max_leaves=5,
    )
)
def test_a_finding_is_true_and_its_absence_too(body: str) -> None:
    expression = f"(?:{body})*c"
    found = pump(expression)
    loop = f"(?:{body})*"
    if found is None:
        # Polynomially many ways at most: far from doubling with each repetition.
        assert all(ways(loop, text * 4) < 2**7 for text in ("a", "b", "ab", "ba"))
    else:
        assume(len(found.text) <= 4)
        counts = [ways(f".?{loop}".replace(".?", ""), found.text * times) for times in (2, 4)]
        inner = [ways(f"(?:a|b|{loop})*".replace("(?:a|b|", "(?:"), found.text * times) for times in (2, 4)]
        assert counts[1] > counts[0] or inner[1] > inner[0]


def test_the_analysis_of_a_long_pattern_ends() -> None:
    words = "|".join(f"word{number}" for number in range(300))
    started = time.process_time()
    pump(rf"(?:(?:{words})\s?)+$")
    pump(r"(?:" + "(?:a|b|c)?" * 150 + r")+$")
    assert time.process_time() - started < 20
