"""Repetitions that can take exponential time are found by probing (robustness R1)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.topics.expressions import tree
from engine.topics.patterncheck import pattern_findings
from engine.topics.repetitions import hostile_texts, is_suspicious
from tests.cases import each_case


def parsed(expression: str) -> Any:
    found = tree(expression)
    assert found is not None
    return found


def is_reported(expression: str) -> bool:
    return any("exponential" in finding.what for finding in pattern_findings(expression))


@each_case(
    ("expression", "repeated"),
    [
        (r"(a+)+$", "a"),
        (r"(a|a)*b", "a"),
        (r"(\w+\s?)*$", "a"),
        (r"(x+x+)+y", "x"),
        (r"(a*)*b", "a"),
        (r"(a|aa)+$", "a"),
        (r"(foo|FOO)*bar", "foo"),
        (r"(\d+|\w+)+x", "0"),
        (r"((ab)*)*c", "ab"),
        (r"(a{1,20}){1,20}b", "a"),
        (r"(?=(a+)+b)", "a"),
        (r"(?:\w+@?)*\.com", "a"),
        (r"(?:éa|ÉA)*x", "éa"),
        (r"id: (a|aa)+$", "id: a"),
    ],
)
def test_an_ambiguous_loop_is_found_with_the_text_to_repeat(expression: str, repeated: str) -> None:
    assert is_suspicious(parsed(expression))
    finding = pattern_findings(expression)[0]
    assert f"exponential time on texts such as '{repeated}" in finding.what


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
        r"(?:a++)+$",
        r"(?>a+)+$",
        r"(?:,\s*\w+)*;",
        r"https?://(?:[\w-]+\.)+com",
        r"(ab|ac)*d",
        r"\s+$",
        r"(a+)+",
        r"(\w+\s?)*",
        r"x(a+)+(?:b)?",
    ],
)
def test_unambiguous_loops_and_loops_that_cannot_fail_are_not_reported(expression: str) -> None:
    assert not is_reported(expression)


@each_case(
    ("expression", "beginning"),
    [
        (r"x[^a-z]+y", "x00"),
        (r"[^\W\d]*!", "aaaa"),
        (r"(?:one|two)\s{9,}$", "one  "),
        (r"(?>b|c)\D+d", "baaa"),
        (r"[0-9]{12,}", "0000"),
    ],
)
def test_a_hostile_text_enters_the_loop_and_repeats_it(expression: str, beginning: str) -> None:
    text, sample = next(hostile_texts(parsed(expression), 50))
    assert text.startswith(beginning) and sample.startswith(beginning)
    assert len(text) == 51


@given(st.text("ab(|)*+?[]^\\wd. ", max_size=12))
def test_hostile_texts_are_generated_for_any_pattern(expression: str) -> None:
    found = tree(expression)
    if found is not None:
        assert all(len(text) > 50 for text, _ in hostile_texts(found, 50))


def test_a_pattern_without_unbounded_loops_has_no_hostile_text() -> None:
    assert list(hostile_texts(parsed(r"\b(?:a|b){1,3}c?"), 100)) == []
