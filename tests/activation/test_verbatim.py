"""Patterns that only list texts are matched exactly as the regular expression would."""

from __future__ import annotations

import unicodedata

import regex
from hypothesis import given
from hypothesis import strategies as st

from engine.activation.literals import needs
from engine.activation.scan import Scan
from engine.activation.verbatim import is_word, verbatim_spans
from engine.topics.expressions import compile_expression
from tests.cases import each_case

MOST = 5


def spans(match: str, text: str) -> list[tuple[int, int]] | None:
    texts = needs(match).texts
    assert texts is not None
    return verbatim_spans(texts, Scan(text), MOST)


@each_case(
    ("match", "text", "expected"),
    [
        (r"\b(mail|inbox)\b", "Mail: my INBOX, mailbox, e-mail", [(0, 4), (9, 14), (27, 31)]),
        ("pr", "April PR", [(1, 3), (6, 8)]),
        (r"\bfoo(bar)?\b", "foobar foo foobarx", [(0, 6), (7, 10)]),
        ("foo|foobar", "foobar", [(0, 3)]),
        ("aa", "aaaaa", [(0, 2), (2, 4)]),
        ("xy", "xy" * 9, [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10)]),
        (r"\bc\b", "ÄÖ c", None),
        (r"\bmail\b", "„mail“ — mail…", [(1, 5), (9, 13)]),
        (r"\bmail\b", "ümail mailß xmail", []),
        (r"\bprüfen\b", "Prüfen, PRÜFEN", [(0, 6), (8, 14)]),
        (r"\bfoo\b", "Maße foo", [(5, 8)]),
        ("masse", "Maße", None),
        ("kilo", "\u017filo \u0130", []),
        ("sky", "\u017fky", None),
        ("sik", "sık", None),
        (r"\bmail\b", "mail🚨", None),
        (r"\bmail\b", "mail\u0334", None),
        ("", "x", None),
    ],
)
def test_listed_texts_are_found_or_left_to_the_expression(
    match: str, text: str, expected: list[tuple[int, int]] | None
) -> None:
    if needs(match).texts is None:
        assert expected is None
    else:
        assert spans(match, text) == expected


def test_hostile_repetition_is_left_to_the_expression() -> None:
    assert spans(r"\baa\b", "a" * 20_000) is None


def test_word_boundaries_are_those_of_the_expression() -> None:
    word, other = regex.compile(r"\w"), regex.compile(r"\W")
    characters = [chr(code) for code in [*range(0xD800), *range(0xE000, 0x110000)]]
    by_answer = {answer: "".join(c for c in characters if is_word(c) is answer) for answer in (True, False)}
    assert len(by_answer[True]) > 100_000
    assert len(by_answer[False]) > 500
    assert other.search(by_answer[True]) is None
    assert word.search(by_answer[False]) is None


LETTERS = st.text("aAbBkKsSiIßẞſıİ\u212aüÜσςΣ _-'.🚨\u0301é中ᾳ", max_size=14)
WORDS = st.text("abBkKsSiIßſıİüÜσς _-'", min_size=1, max_size=4)


@given(
    st.lists(WORDS, min_size=1, max_size=4),
    st.sampled_from(["{}", r"\b(?:{})\b", r"\b{}", r"(?:{})\b", r"(?:{})s?\b", "(?:{}){{1,2}}", "(?:{})?k"]),
    LETTERS,
)
def test_matches_equal_those_of_the_expression(words: list[str], frame: str, text: str) -> None:
    match = frame.format("|".join(regex.escape(word, literal_spaces=True) for word in words))
    texts = needs(match).texts
    if texts is None:
        return
    composed = unicodedata.normalize("NFC", text)
    found = verbatim_spans(texts, Scan(text), MOST)
    if found is not None:
        expression = compile_expression(match)
        assert found == [each.span() for each in expression.finditer(composed)][:MOST]
