"""Untrusted text: it cannot control the terminal, hide, or be measured wrongly."""

from __future__ import annotations

import json
import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from tests.cases import each_case
from tui.kit.terminal import ControlFilter
from tui.render.safe import MAX_MARKS, first_line, json_text, visible, visible_lines

BLACK = Color(0, 0, 0)


def controls_terminal(text: str) -> bool:
    """Whether a terminal would do anything other than show the text."""
    return any(
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(character)
        in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        for character in text
    )


@each_case(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("a\tb\nc\r\nd\re", "a⇥b⏎c⏎d␍e"),
        ("\x9b31m red \x7f", "\\x9b31m red ␡"),
        ("\u202efdp.exe", "\\u202efdp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\udc80\ud800", "\\x80\\ud800"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("[/] [todo] buy [@click=app.x]", "[/] [todo] buy [@click=app.x]"),
        ("naïve café 日本語", "naïve café 日本語"),
    ],
)
def test_every_hazard_becomes_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_emoji_sequences_are_split_into_characters_of_known_width() -> None:
    shown = visible("👨‍👩‍👧 ⚠️")
    assert "\u200d" not in shown and "\ufe0f" not in shown
    assert cell_len(shown) == 2 + 2 + 2 + 1 + 1


def test_joiners_between_letters_are_kept() -> None:
    assert visible("می\u200cخواهم") == "می\u200cخواهم"


def test_combining_marks_are_limited_and_never_combine_with_the_border() -> None:
    assert visible("Z" + "\u0301" * 50) == "Z" + "\u0301" * MAX_MARKS
    assert visible("\u0301x").startswith("◌")


def test_lines_and_first_line() -> None:
    assert visible_lines("a\r\nb\x1b\n") == ["a", "b␛"]
    assert first_line("\n\n  hello \x07\nworld") == "hello ␇"
    assert first_line(" \n\t\n") == ""


@given(st.text(alphabet=st.characters(), max_size=60))
@settings(max_examples=80, deadline=None)
def test_any_text_becomes_harmless_and_encodable(text: str) -> None:
    shown = visible(text)
    assert not controls_terminal(shown)
    shown.encode("utf-8")
    assert visible(shown) == shown


def test_filter_cleans_unsafe_text_and_keeps_its_width() -> None:
    segments = [Segment("ab\x1b]52;c;x\x07cd\u202e", Style(bold=True)), Segment("fine")]
    cleaned = ControlFilter().apply(segments, BLACK)
    assert not any(controls_terminal(segment.text) for segment in cleaned)
    assert sum(segment.cell_length for segment in cleaned) == sum(segment.cell_length for segment in segments)
    assert cleaned[1].text == "fine"


def test_filter_removes_links() -> None:
    (segment,) = ControlFilter().apply([Segment("x", Style(link="javascript:alert(1)"))], BLACK)
    assert segment.style is not None and segment.style.link is None


def test_the_filter_leaves_clean_lines_alone() -> None:
    segments = [Segment("│ ▇▇┄ 日本 ✓", Style(bold=True))]
    assert ControlFilter().apply(segments, BLACK) is segments


@given(st.text(alphabet=st.characters(), max_size=40))
@settings(max_examples=80, deadline=None)
def test_the_filter_removes_every_control_character(text: str) -> None:
    cleaned = ControlFilter().apply([Segment(text)], BLACK)
    assert not any(re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", segment.text) for segment in cleaned)


def test_json_is_equivalent_and_hides_nothing() -> None:
    value = {"text": "a\u202eb\u200b\U000e0041\x9b31m\ufeff\ud800 straße ✓\n"}
    shown = json_text(value, indent=2)
    assert json.loads(shown) == value and "straße ✓" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert json_text({"a": 1}) == '{"a": 1}'
