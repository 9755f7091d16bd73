"""The text a pattern needs, and the index that finds patterns by it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.activation.literals import LiteralIndex, required
from engine.activation.scan import fold


@pytest.mark.parametrize(
    ("match", "literals"),
    [
        (r"\b(email|inbox|mail)\b", {"email", "inbox", "mail"}),
        ("PR|pull request", {"pr", "pull request"}),
        (r"\b(mail|box)s?\b", {"mail", "box"}),
        ("foo|bars?", {"foo", "bar", "bars"}),
        (r"\bdeploy(ment)?\b.*\bprod", {"deploy", "deployment"}),
        (r"error \d{3}", {"error "}),
        ("/colou?r/i", {"colour", "color"}),
        ("[Ss]traße", {"strasse"}),
        (r"(?=.*foo)(?=.*barbaz)", {"barbaz"}),
        ("(?:ab){2}", {"abab"}),
        ("x*", None),
        ("a|bcd", None),
        (r"\w+@\w+", None),
        ("foo|.", None),
        ("(foo)?", None),
        (r"\p{L}foo", None),
        ("[[:alpha:]]foo]", None),
        ("(?:foo){e<=1}", None),
        ("", None),
        ("(", None),
    ],
)
def test_what_every_match_contains(match: str, literals: set[str] | None) -> None:
    assert required(match) == literals


WORDS = st.text("abcü", min_size=2, max_size=5)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.integers(0, 9), st.sets(WORDS, min_size=1, max_size=3)),
    st.sets(st.integers(0, 9)),
    st.text("abcü ", max_size=20),
)
def test_the_index_finds_exactly_what_a_search_for_each_would(
    entries: dict[int, set[str]], removed: set[int], text: str
) -> None:
    index: LiteralIndex[int] = LiteralIndex()
    for key, literals in entries.items():
        index.add(key, literals)
    for key in removed:
        index.remove(key)
    expected = {
        key
        for key, literals in entries.items()
        if key not in removed and any(literal in fold(text) for literal in literals)
    }
    assert index.find(fold(text)) == expected
