"""A message is normalized once, and every offset maps back to the original text."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from engine.activation.scan import MAX_CHARACTERS, Scan
from tests.cases import each_case


@each_case("text", ["u\u0308o\u0301 fu\u0308r", "\u1100\u1161\u11a8 İßx_", "ab ñ"])
def test_the_text_is_composed_and_then_has_no_places_in_the_message(text: str) -> None:
    scan = Scan(text)
    assert scan.text == unicodedata.normalize("NFC", text)
    is_composed = scan.text == text
    assert scan.original(0, 2) == ((0, 2) if is_composed else (-1, -1))
    assert all(scan.text[start:end] for _, start, end in scan.words)


@given(st.integers(MAX_CHARACTERS - 3, MAX_CHARACTERS + 3000), st.sampled_from(["word ", "x", "wörd "]))
def test_a_long_text_is_cut_between_words_and_offsets_map_back(length: int, filler: str) -> None:
    text = (filler * length)[:length]
    scan = Scan(text)
    assert len(scan.text) <= MAX_CHARACTERS + 2
    for word, start, end in scan.words[:: max(1, len(scan.words) // 50)]:
        assert text[slice(*scan.original(start, end))] == word
    if filler != "x":
        assert {word for word, _, _ in scan.words[:-1]} == {filler.strip()}


def test_code_and_links_are_blanked_in_prose_without_moving_the_rest() -> None:
    text = "see `WHY` and https://x.org/A\n```py\nLOUD = 1\n```\nend"
    prose = Scan(text).prose
    assert len(prose) == len(text)
    assert prose.split() == ["see", "and", "```py", "```", "end"]
    assert prose.index("end") == text.index("end")


def test_fences_are_found_with_and_without_an_end() -> None:
    text = "````md\n```py\n````\n~~~\nx\n```\n~~~\n``` open\ny"
    assert [(info, text[start:end]) for info, start, end in Scan(text).fences] == [
        ("md", "```py\n"),
        ("", "x\n```\n"),
        ("open", "y"),
    ]
