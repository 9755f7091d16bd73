"""Text is folded as by the index when it is searched without one."""

from __future__ import annotations

import re
from typing import cast

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.search.folding import Folding
from engine.search.scripts import searchable


@pytest.fixture(scope="module")
def connection() -> apsw.Connection:
    return apsw.Connection(":memory:")


@pytest.fixture(scope="module")
def folding(connection: apsw.Connection) -> Folding:
    return Folding(connection)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Plain ASCII, 1 Text!", "plain ascii, 1 text!"),
        ("Café, CAFE\u0301", "cafe, cafe"),
        ("Müller größer ŒUVRE", "muller großer œuvre"),
        ("ΣΊΣΥΦΟΣ Сёмга", "σισυφοσ семга"),
        ("日本語 — テスト 🙂", "日本語 — テスト 🙂"),
        ("a\ud800b\0c", "a\ud800b\0c"),
    ],
)
def test_text_is_folded(text: str, folded: str, folding: Folding) -> None:
    assert folding.fold(text) == folded


@given(st.text(st.characters(max_codepoint=0x24F, exclude_categories=["Cs"])))
def test_words_are_folded_as_the_index_folds_them(
    connection: apsw.Connection, folding: Folding, text: str
) -> None:
    tokenizer = connection.fts5_tokenizer("unicode61", [])
    data = searchable(text).encode()
    found = cast(
        "list[tuple[int, int, str]]",
        tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False),
    )
    for start, end, word in found:
        assert folding.fold(data[start:end].decode()) == word


@given(
    st.text(
        st.one_of(
            st.characters(max_codepoint=0x17E, exclude_categories=["Cs"]), st.sampled_from("\u0301\u0308")
        ),
        max_size=12,
    )
)
def test_an_expression_matches_text_that_folds_alike(folding: Folding, text: str) -> None:
    folded = folding.fold(text)
    found = re.compile(folding.expression(folded), re.IGNORECASE).search(text)
    assert found is not None
    assert folding.fold(found[0]) == folded
