"""A message is normalized once, and every offset maps back to the original text."""

from __future__ import annotations

import unicodedata

from engine.activation.scan import Scan
from engine.meaning.text import CHARACTERS_READ
from tests.cases import each_case


@each_case("text", ["u\u0308o\u0301 fu\u0308r", "\u1100\u1161\u11a8 İßx_", "ab ñ"])
def test_the_text_is_composed_and_then_has_no_places_in_the_message(text: str) -> None:
    scan = Scan(text)
    assert scan.text == unicodedata.normalize("NFC", text)
    is_composed = scan.text == text
    assert scan.original(0, 2) == ((0, 2) if is_composed else (-1, -1))
    assert all(scan.text[start:end] for _, start, end in scan.words)


def test_of_a_long_text_both_ends_are_read_and_offsets_map_back() -> None:
    text = f"first {'wörd ' * CHARACTERS_READ} last"
    scan = Scan(text)
    assert len(scan.text) == CHARACTERS_READ + 1
    for word, start, end in (scan.words[0], scan.words[-1]):
        assert text[slice(*scan.original(start, end))] == word
    assert scan.spans_gap(0, len(scan.text)) and not scan.spans_gap(0, 10)


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
