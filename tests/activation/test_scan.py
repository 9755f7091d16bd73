"""A message is normalized once, and every offset maps back to the original text."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from engine.activation.scan import MAX_CHARACTERS, Scan

LETTERS = st.text(st.sampled_from("ab u\u0308o\u0301ñ각ㄱ\u1100\u1161\u11a8İßx_\n"), max_size=40)


@given(LETTERS)
def test_the_text_is_composed_and_offsets_map_back(text: str) -> None:
    scan = Scan(text)
    assert scan.text == unicodedata.normalize("NFC", text)
    assert scan.original(0, len(scan.text)) == (0, len(text))
    places = [scan.original(offset, offset + 1) for offset in range(len(scan.text))]
    assert places == sorted(places)
    assert all(start < end for start, end in places)
    for word, start, end in scan.words:
        assert word
        original = text[slice(*scan.original(start, end))]
        assert scan.text[start:end] in unicodedata.normalize("NFC", original)


@given(st.integers(MAX_CHARACTERS - 3, MAX_CHARACTERS + 3000), st.sampled_from(["word ", "x", "wo\u0308rd "]))
def test_a_long_text_is_cut_between_words_and_offsets_map_back(length: int, filler: str) -> None:
    text = (filler * length)[:length]
    scan = Scan(text)
    assert len(scan.text) <= MAX_CHARACTERS + 2
    for word, start, end in scan.words[:: max(1, len(scan.words) // 50)]:
        original = text[slice(*scan.original(start, end))]
        assert unicodedata.normalize("NFC", original) == word


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
