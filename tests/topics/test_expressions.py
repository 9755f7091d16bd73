"""Expressions are parsed, measured and compiled safely."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.topics.expressions import MAX_COPIES, ExpressionError, compile_expression
from tests.cases import each_case


@each_case(
    ("match", "text", "is_match"),
    [
        (r"/\b(email|inbox)\b/i", "the INBOX", True),
        (r"/\b(email|inbox)\b/", "inboxes", False),
        (r"/^b/m", "a\nb", True),
        (r"^b", "a\nb", False),
        (r"/a.b/s", "a\nb", True),
        (r"/a b # note/x", "ab", True),
        (r"/etc/hosts", "see /etc/hosts", True),
        ("\bmail\b", "e mail", True),
        ("\bmail\b", "email", False),
        ("mu\u0308ller", "M\u00dcLLER", True),
        (r"\p{Lu}{2}", "x", False),
    ],
)
def test_common_ways_of_writing_expressions_are_understood(match: str, text: str, is_match: bool) -> None:
    assert (compile_expression(match).search(text) is not None) is is_match


@each_case(
    ("match", "position"),
    [("foo(", 4), ("[z-a]", 4), ("/foo(/i", 5), ("a**", 2), ("(?P<a>x)(?P=b)", 11)],
)
def test_the_position_of_an_error_refers_to_the_original_text(match: str, position: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(match)
    assert caught.value.position == position


@each_case(
    "match",
    [
        "a{1000000000}",
        "(?:a{1000}){1000}",
        r"(?:\p{L}{900}){900}",
        "(((a{99}){99}){99}){99}",
        "(?i:x{500000})",
    ],
)
def test_repetitions_that_would_exhaust_memory_are_refused(match: str) -> None:
    with pytest.raises(ExpressionError, match=f"at most {MAX_COPIES:,}"):
        compile_expression(match)


@each_case("match", [r"\d{4}-\d{2}-\d{2}", "a{0,100000}b", r"(\w{1,64}\.){1,8}com", "x{200}y{200}z{200}"])
def test_ordinary_repetitions_are_not_refused(match: str) -> None:
    compile_expression(match)


def test_deep_nesting_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(ExpressionError, match="nested too deeply"):
        compile_expression("(" * 5000 + "a" + ")" * 5000)


@given(st.text(st.sampled_from("ab(|)[]^$*+?{},1\\dwb.:<>=!P#-'\u00fc\u4e2d/i"), max_size=24))
def test_any_text_compiles_or_is_an_expression_error(match: str) -> None:
    try:
        compile_expression(match)
    except ExpressionError as error:
        assert error.what
        assert -1 <= error.position <= len(match)


@given(st.text(st.characters(exclude_characters="\b/"), max_size=20))
def test_an_escaped_text_matches_itself(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert compile_expression(re.escape(text)).search(composed) is not None
