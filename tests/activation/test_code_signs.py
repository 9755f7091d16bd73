"""The shapes of code are only tried where the texts are that they need."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.activation.code import code_blocks
from engine.activation.code_shapes import SHAPES
from engine.activation.code_signs import _signs, judged
from engine.activation.scan import Scan
from tests.cases import each_case

ALPHABET = st.characters(min_codepoint=32, max_codepoint=126)


@pytest.mark.parametrize("sign", range(len(SHAPES)), ids=[languages for languages, *_ in SHAPES])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_line_of_a_shape_holds_one_of_its_texts(sign: int, data: st.DataObject) -> None:
    _, hints, _ = _signs()[sign]
    shape = data.draw(st.sampled_from(SHAPES[sign][2]))
    line = data.draw(st.from_regex(re.compile(shape), alphabet=ALPHABET))
    text = f"\n{line}".lower()
    # Drawn texts may begin before the match does; a line never does.
    found = re.compile(shape).search(line)
    assert found is not None
    text = f"\n{line[found.start() :]}".lower()
    assert any(hint in text for hint in hints), (line, hints)


def test_lines_are_judged_as_if_every_shape_were_tried() -> None:
    lines = [
        "def f(x):",
        "let x: number = 3;",
        "SELECT a FROM b",
        "<div>",
        "we met for lunch (again)",
        "x = f(y)",
        "git push --force",
        "git is a tool",
        "make sure - to check",
        "",
    ]
    every = [(tuple(languages), re.compile(shape)) for languages, _, shape in _signs()]
    for line, (_, languages) in zip(lines, judged(lines), strict=True):
        expected = [name for names, shape in every if shape.match(line) for name in names] if line else []
        assert set(languages) - {"bash"} == set(expected) - {"bash"}


@each_case(
    "text",
    [
        "a(b) " * 4_000,
        "x = (1)\n" * 2_500,
        "{;" * 10_000,
        "a===b " * 3_000,
        "- " * 9_000,
        "a:\n  b: c\n" * 2_000,
        "git " + "- " * 9_000,
        ("ab cd " * 60 + "(\n") * 50,
        "<a " * 6_000,
        "```\nx = 1\n" * 2_000,
        "\\(" * 9_000,
    ],
)
def test_hostile_text_costs_little(text: str) -> None:
    from time import process_time

    started = process_time()
    code_blocks(Scan(text))
    assert process_time() - started < 2
