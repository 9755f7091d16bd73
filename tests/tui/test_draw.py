"""Lines have the width they claim, whatever they contain."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from tui.render.draw import FILL, TICK, TRACK, Row, bar, clip, clip_start, found, marked, shares, wrap

PLAIN = Style()
BOLD = Style(bold=True)
texts = st.text(alphabet="ab c日本é\u0301🙂-\x1b\t", max_size=50)


@given(texts, st.integers(0, 30))
@settings(max_examples=80, deadline=None)
def test_clipped_text_fits(text: str, width: int) -> None:
    assert cell_len(clip(text, width)) <= width
    assert cell_len(clip_start(text, width)) <= max(width, 0)


@given(texts, st.integers(1, 30), st.sampled_from(["left", "right"]))
@settings(max_examples=80, deadline=None)
def test_a_column_has_exactly_the_requested_width(text: str, width: int, align: str) -> None:
    row = Row().fit(text, width, BOLD, "left" if align == "left" else "right")
    assert row.cells == width == cell_len(row.text)


@given(st.lists(texts, max_size=4), st.integers(1, 40))
@settings(max_examples=80, deadline=None)
def test_a_strip_has_exactly_the_requested_width(parts: list[str], width: int) -> None:
    strip = Row(*((part, PLAIN) for part in parts)).strip(width)
    assert strip.cell_length == width == sum(cell_len(segment.text) for segment in strip)


@given(st.lists(texts, max_size=4), st.integers(8, 40), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_wrapped_lines_fit_and_lose_nothing(parts: list[str], width: int, indent: int) -> None:
    rows = wrap([(part, PLAIN) for part in parts], width, indent=indent)
    assert all(row.cells <= width for row in rows)
    letters = [letter for row in rows for letter in row.text if letter in "ab日本🙂-"]
    assert letters == [letter for part in parts for letter in part if letter in "ab日本🙂-"]


def test_wrapping_keeps_spaces_between_words() -> None:
    rows = wrap([("it is not ", PLAIN), ("a ledger", BOLD)], 11)
    assert [row.text for row in rows] == ["it is not a", "ledger"]


def test_a_long_word_starts_on_the_current_line() -> None:
    rows = wrap([("! ", PLAIN), ("raw/conversations/2026/06/12.md", PLAIN)], 20, indent=2)
    assert [row.text for row in rows] == ["! raw/conversations/", "  2026/06/12.md"]


def test_gauge_shows_small_values_and_thresholds() -> None:
    assert bar(0.0, 5, PLAIN, PLAIN).text == TRACK * 5
    assert bar(0.001, 5, PLAIN, PLAIN).text == FILL + TRACK * 4
    assert bar(1.0, 5, PLAIN, BOLD, [(0.4, BOLD), (1.0, BOLD)]).text == FILL * 2 + TICK + FILL + TICK


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=6), st.integers(6, 60))
@settings(max_examples=80, deadline=None)
def test_shares_fit_and_skip_no_part(parts: list[int], width: int) -> None:
    cells = shares(parts, max(sum(parts), 1), width)
    assert sum(cells) <= max(width, sum(1 for part in parts if part))
    assert all((cell > 0) == (part > 0) for cell, part in zip(cells, parts, strict=True))


def test_marked_splits_at_spans_and_tolerates_bad_ones() -> None:
    pieces = marked("review the PR", [(11, 99), (0, 6), (3, 5), (-1, -1)], PLAIN, BOLD)
    assert pieces == [("review", BOLD), (" the ", PLAIN), ("PR", BOLD)]


def test_found_matches_text_literally() -> None:
    assert found("a.b A.B axb", "a.b") == [(0, 3), (4, 7)]
    assert found("anything", "") == []


def test_right_part_is_dropped_without_room() -> None:
    assert Row(("left", PLAIN)).right(Row(("right", PLAIN)), 10).text == "left right"
    assert Row(("left", PLAIN)).right(Row(("right", PLAIN)), 9).text == "left"


def test_a_cut_row_ends_with_an_ellipsis() -> None:
    assert Row(("one ", PLAIN), ("two three", BOLD)).cut(8).text == "one two…"
    assert Row(("short", PLAIN)).cut(8).text == "short"
