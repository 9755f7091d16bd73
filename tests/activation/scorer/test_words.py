"""Tokenizing texts in any script into words with their offsets, in bounded time."""

from __future__ import annotations

import unicodedata
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.activation.scorer.words import (
    WORDS_READ,
    code_of,
    places_of,
    terms_of,
    words_of,
)
from engine.meaning.text import CHARACTERS_READ
from tests.cases import each_case


@each_case(
    ("text", "expected"),
    [
        ("", []),
        ("😀 🎉 … !", []),
        ("Can't STOP snake_case x2", ["can't", "stop", "snake", "case", "x2"]),
        ("don’t", ["don't"]),
        ("ﬁne ｆｕｌｌ ②", ["fine", "full", "2"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("İstanbul STRASSE straße", ["istanbul", "strasse", "straße"]),
        ("Верните ДЕНЬГИ", ["верните", "деньги"]),
        ("أريد استرداد المبلغ", ["أريد", "استرداد", "المبلغ"]),
        ("환불을 원합니다", ["환불을", "원합니다"]),
        ("我想申请退款", ["我想", "想申", "申请", "请退", "退款"]),
        ("退款？好", ["退款", "好"]),
        ("返金してください", ["返金", "金し", "して", "てく", "くだ", "ださ", "さい"]),
        ("ﾃﾞﾌﾟﾛｲ", ["デプ", "プロ", "ロイ"]),
        ("iPhoneを買う v2", ["iphone", "を買", "買う", "v2"]),
        ("\ud800 lone \udfff", ["lone"]),
        ("a" * 500 + " b", ["a" * 40, "b"]),
    ],
)
def test_texts_are_split_into_words(text: str, expected: list[str]) -> None:
    assert words_of(text) == expected


def test_only_the_first_and_last_of_many_words_are_read() -> None:
    text = " ".join(f"w{number}" for number in range(2_000))
    found = words_of(text)
    assert len(found) == WORDS_READ
    assert (found[0], found[499], found[500], found[-1]) == ("w0", "w499", "w1500", "w1999")


def test_only_both_ends_of_a_huge_text_are_read() -> None:
    text = "begin " + "x" * 200_000 + " end"
    assert words_of(text) == ["begin", "x" * 40, "x" * 40, "end"]
    assert [text[start:end] for _, start, end in places_of(text)][::3] == ["begin", "end"]


@pytest.mark.parametrize("fill", ["e\u0301\u0323", "\u0323\u0301", "ﷺ", "退款", "é"])
def test_normalization_work_is_bounded(fill: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unicode normalization takes quadratic time for a run of combining marks."""
    sizes: list[int] = []
    original = unicodedata.normalize

    def counting(form: Any, text: str) -> str:
        sizes.append(len(text))
        return original(form, text)

    monkeypatch.setattr(unicodedata, "normalize", counting)
    found = words_of(fill * (200_000 // len(fill)))
    assert max(sizes) <= 1_000
    assert sum(sizes) <= CHARACTERS_READ + 1
    assert len(found) <= WORDS_READ


@given(
    st.text(alphabet="abc XYZ 012 ' -_./ äéß Жщ αΩ عرب 가나 退款办理 かなカナ ﬁ İ 😀 \ud800\n", max_size=60)
)
def test_offsets_belong_to_the_words(text: str) -> None:
    assert [word for word, _, _ in places_of(text)] == words_of(text)


def test_words_pairs_and_parts_are_terms_that_are_counted() -> None:
    terms = terms_of(["deploy", "it", "deploy", "it"])
    counts = dict(zip(terms.words.tolist(), terms.word_counts.tolist(), strict=True))
    assert counts[code_of("deploy")] == counts[code_of("deploy it")] == 2
    assert counts[code_of("it deploy")] == 1
    assert terms.part_counts[terms.parts == code_of("# it ")].tolist() == [2.0]
    assert len(terms_of([]).words) == len(terms_of([]).parts) == 0


def test_codes_are_fixed() -> None:
    """They are stored on disk, so other processes must compute the same ones."""
    assert code_of("deploy") == zlib.crc32(b"deploy") == 2453354746
