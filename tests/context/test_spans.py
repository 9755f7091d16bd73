"""Line ranges of a file: parsed as people write them, and never shown twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.context.spans import covered, excerpt, parse_spans, shown_spans, uncovered
from tests.cases import each_case

SPAN = st.tuples(st.integers(1, 40), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@each_case(
    ("text", "spans"),
    [
        ("10-40", ((10, 40),)),
        ("12", ((12, 12),)),
        ("20-31, 3 - 9", ((3, 9), (20, 31))),
        ("1–2", ((1, 2),)),
    ],
)
def test_line_ranges_are_parsed(text: str, spans: tuple[tuple[int, int], ...]) -> None:
    assert parse_spans(text) == spans
    assert parse_spans(shown_spans(spans)) == spans


@each_case("text", ["", "a", "1-", "-3", "1-2-3", "4,,5", "0", "9-1", "1-5, 5-9", "99999999999"])
def test_invalid_ranges_are_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ValueError, match=r"range|starts|overlap"):
        parse_spans(text)


def lines(spans: object) -> list[int]:
    return [line for first, last in spans for line in range(first, last + 1)]  # type: ignore[attr-defined]


@given(SPAN, st.lists(SPAN, max_size=5))
def test_every_line_is_either_covered_or_not(span: tuple[int, int], taken: list[tuple[int, int]]) -> None:
    known = set(lines(taken))
    wanted = range(span[0], span[1] + 1)
    assert lines(uncovered(span, taken)) == [line for line in wanted if line not in known]
    assert lines(covered(span, taken)) == [line for line in wanted if line in known]


@given(
    st.lists(st.sampled_from(["", "  ", "text", "text  "]), min_size=1, max_size=12),
    st.integers(1, 9),
    st.data(),
)
def test_an_excerpt_has_text_at_both_ends(text: list[str], first: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(first, first + len(text) - 1))
    end = data.draw(st.integers(start, first + len(text) - 1))
    found = excerpt(text, first, (start, end))
    wanted = [line for line in text[start - first : end - first + 1] if line.strip()]
    if found is None:
        assert not wanted
        return
    (begin, last), shown = found
    assert start <= begin <= last <= end
    assert shown.split("\n")[0].strip() and shown.split("\n")[-1].strip()
    assert shown.count("\n") == last - begin
    assert [line.rstrip() for line in shown.split("\n") if line.strip()] == [line.rstrip() for line in wanted]
