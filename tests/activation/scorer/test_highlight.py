"""Highlighting the words of a message that speak for a topic."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from engine.activation.scorer.fit import fit
from engine.activation.scorer.fitted import Fitted, telling_words
from engine.activation.scorer.texts import TopicTexts
from tests.activation.scorer.support import FakeVectors
from tests.cases import each_case

SCRIPTS = (
    TopicTexts("refund", "refund", "", ("I want a refund", "退款怎么办理", "возврат денег", "café crème")),
    TopicTexts("holiday", "holiday", "", ("take july off", "我想七月请假", "отпуск в июле")),
)


@cache
def fitted() -> Fitted:
    return fit(SCRIPTS, FakeVectors())


def shown(text: str, topic: int = 0) -> list[tuple[str, float]]:
    (spans,) = telling_words(text, fitted(), [topic])
    return [(text[span.start : span.end], span.weight) for span in spans]


def test_content_words_known_to_the_topic_are_highlighted() -> None:
    found = shown("Could I have a REFUND of the money?")
    assert found == [("REFUND", 1.0)]
    assert shown("Could I have a REFUND of the money?", 1) == []


def test_partly_known_words_are_highlighted_with_less_weight() -> None:
    found = dict(shown("a refund, refunding everybody"))
    assert found["refund"] == 1.0
    assert 0 < found["refunding"] < 1


@each_case(
    ("text", "expected"),
    [
        ("😀😀 refund 😀", ["refund"]),
        ("İstanbul — refund", ["refund"]),
        ("ﬁne: возврат!", ["возврат"]),
        ("cafe\u0301 now", ["cafe\u0301"]),
        ("请问退款怎么办理？谢谢", ["退款怎么办理"]),
        ("\ud800 refund \udfff", ["refund"]),
        ("𝐫𝐞𝐟𝐮𝐧𝐝 please", ["𝐫𝐞𝐟𝐮𝐧𝐝"]),
        ("½ refund", ["refund"]),
    ],
)
def test_offsets_are_correct_after_any_characters(text: str, expected: list[str]) -> None:
    assert [word for word, _ in shown(text)] == expected


@each_case("text", ["", "   ", "the and of", "😀", "zebras yawn"])
def test_nothing_is_highlighted_in_an_unrelated_message(text: str) -> None:
    assert shown(text) == []


@given(
    st.lists(
        st.sampled_from(
            [*"退款怎么办理请假 ,.!😀", "refund ", "july", "İ", "ﬁ", "возврат ", "crème ", "\ud800"]
        ),
        max_size=30,
    ).map("".join)
)
def test_spans_are_ordered_and_disjoint(text: str) -> None:
    for spans in telling_words(text, fitted(), [0, 1]):
        ends = [0]
        for span in spans:
            assert ends[-1] <= span.start < span.end <= len(text)
            assert 0 < span.weight <= 1
            ends.append(span.end)
        assert not spans or max(span.weight for span in spans) == 1


def test_each_requested_topic_has_its_own_words() -> None:
    text = "refund for my july trip"
    first, second, again = telling_words(text, fitted(), [1, 0, 1])
    assert first == again
    assert [text[span.start : span.end] for span in first] == ["july"]
    assert [text[span.start : span.end] for span in second] == ["refund"]
    assert telling_words(text, fitted(), []) == []
