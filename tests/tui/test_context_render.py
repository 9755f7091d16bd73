"""Drawing of the context screen: line breaking, locating sections, and fitting rows."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from engine.context.compiled import Compiled
from tests.cases import each_case
from tests.tui.context_data import LEFT_OUT, candidates, compiled_of, prompt, prompt_before, with_many_results
from tui.render.roles import PLAIN
from tui.render.safe import visible
from tui.screens.context.draw import (
    TextPage,
    compare,
    difference_items,
    difference_summary,
    draw_part,
    gutter_of,
    left_out_detail,
    parts_of,
    section_head,
)
from tui.screens.context.lists import (
    NOWHERE,
    Columns,
    HeadItem,
    RuleItem,
    SectionItem,
    draw_item,
    left_out_items,
    left_out_order,
    prepare,
    rule_text,
    section_items,
)


@given(st.lists(st.text(max_size=80), max_size=6), st.integers(4, 40))
def test_wrapped_lines_fit_and_lose_only_spaces(lines: list[str], width: int) -> None:
    shown = [visible(line.replace("\n", " ")) for line in lines]
    parts = parts_of(shown, width)
    assert [at for at, _start, _end in parts] == sorted(at for at, _start, _end in parts)
    for at, line in enumerate(shown):
        own = [(start, end) for where, start, end in parts if where == at]
        assert own[0][0] == 0 and own[-1][1] == len(line)
        for start, end in own:
            assert cell_len(line[start:end]) <= max(width, 2)
        for (_start, end), (following, _end) in pairwise(own):
            assert line[end:following] in ("", " ")


def test_words_are_not_split_if_possible() -> None:
    line = "one two three four"
    assert [line[start:end] for _at, start, end in parts_of([line], 9)] == ["one two", "three", "four"]
    wide = "日本 日本語 日本"
    assert [wide[start:end] for _at, start, end in parts_of([wide], 7)] == ["日本", "日本語", "日本"]


def test_only_the_first_part_of_a_line_is_numbered() -> None:
    page = TextPage(("abc def", "x"), (98, 0))
    gutter = gutter_of(page)
    parts = parts_of(page.lines, 4)
    assert [draw_part(page, part, gutter, PLAIN).text.rstrip() for part in parts] == [
        "98  abc",
        "    def",
        "    x",
    ]
    assert gutter_of(TextPage(("x",), (0,))) == 0


def test_diff_signs_are_split_from_the_lines() -> None:
    page = TextPage(("@@ -1 +1 @@", "- old", "same"), signs=("@", "-", " "))
    drawn = [draw_part(page, part, gutter_of(page), PLAIN).text for part in parts_of(page.lines, 20)]
    assert drawn == ["  @@ -1 +1 @@", "- - old", "  same"]


def test_every_section_is_located_in_the_text() -> None:
    twice = [*candidates(), *(each for each in candidates("again") if each.layer == 12)]
    prepared = prepare(compiled_of(twice), len)
    assert sorted(prepared.markers) == list(prepared.markers) and NOWHERE not in prepared.markers
    assert len(set(prepared.markers)) == len(prepared.markers)
    for index, marker in enumerate(prepared.markers):
        following = (*prepared.markers[index + 1 :], len(prepared.lines))[0]
        assert marker < prepared.ends[index] <= following


def test_sections_missing_from_the_text_are_harmless() -> None:
    prepared = prepare(prompt(text="something else"), len)
    assert set(prepared.markers) == {NOWHERE} and set(prepared.ends) == {0}
    assert section_items(prepared)


def test_an_empty_prompt_has_no_rows() -> None:
    empty = Compiled("", 0, 0, 0, (), (), (), 0, (), (), 0)
    assert section_items(prepare(empty, len)) == []


def test_what_one_more_kb_would_include_comes_first_and_only_once() -> None:
    order = left_out_order(LEFT_OUT, (LEFT_OUT[3], LEFT_OUT[1]))
    assert order == (LEFT_OUT[3], LEFT_OUT[1], LEFT_OUT[0], LEFT_OUT[2], LEFT_OUT[4])
    rows = left_out_items(order, 2, 1024)
    assert [row.index for row in rows if isinstance(row, SectionItem)] == [0, 1, 2, 3, 4]
    assert all(isinstance(row, SectionItem) for row in left_out_items(order, 0, 1024))


def test_many_left_out_search_results_are_one_row_after_the_rest() -> None:
    compiled = with_many_results()
    order = left_out_order(compiled.left_out, compiled.next_pieces)
    assert [each.label for each in order[:4]] == [
        "topic:release-notes", "memory:MEMORY.md", "history:1-3", "knowledge:gate"
    ]  # fmt: skip
    closed = [row for row in left_out_items(order, 1, 1024) if isinstance(row, SectionItem)]
    assert [row.index for row in closed] == [0, 1, 2, len(order)]
    assert closed[-1].fold == "▸" and closed[-1].place == "40 search results"
    assert closed[-1].tokens == sum(each.tokens for each in order[3:])
    assert closed[-1].score == 0.31 and "note-00.md:20-31" in closed[-1].note
    opened = [row for row in left_out_items(order, 1, 1024, unfolded=True) if isinstance(row, SectionItem)]
    assert [row.index for row in opened] == [0, 1, 2, len(order), *range(3, len(order))]
    for unfolded in (False, True):
        rows = left_out_items(order, 1, 1024, unfolded=unfolded)
        heads = [row.tokens for row in rows if isinstance(row, HeadItem)]
        assert heads == [420, sum(each.tokens for each in order[1:])]
    filtered = [row for row in left_out_items(order, 1, 1024, "note-0") if isinstance(row, SectionItem)]
    assert len(filtered) == 10 and not any(row.fold for row in filtered)


@each_case("width", [18, 24, 36, 44, 60, 80, 120])
def test_rows_fit_their_width(width: int) -> None:
    compiled = prompt()
    comparison = compare(prompt_before(broken=True), compiled)
    lists = (
        section_items(prepare(compiled, len)),
        left_out_items(LEFT_OUT, 2, 1024),
        left_out_items(with_many_results().left_out, 0, 1024, unfolded=True),
        difference_items(comparison),
    )
    for items in lists:
        for reasons in (False, True):
            columns = Columns.of(items, reasons=reasons)
            for item in items:
                assert draw_item(item, width, PLAIN, columns, query="md").cells <= max(width, 40)
    for section in compiled.sections:
        assert (
            all(row.cells <= width for row in section_head(section, 1024, max(width, 24), PLAIN)[1:-1])
            or width < 24
        )
    assert all(row.cells <= max(width, 24) for row in left_out_detail(LEFT_OUT[0], max(width, 24), PLAIN)[1:])


def test_a_rule_shows_the_longest_text_that_fits() -> None:
    rule = RuleItem(True, 11_676, 3_427)
    assert rule_text(rule, 80) == "stable prefix ends here: 3,427 tokens, 11,676 characters · cache boundary"
    assert rule_text(rule, 60) == "stable prefix ends here: 3,427 tokens, 11,676 characters"
    for width in range(80):
        assert len(rule_text(rule, width)) <= width


@each_case("width", [200, 118, 78, 58])
def test_the_summary_of_a_difference_names_the_byte_if_it_fits(width: int) -> None:
    comparison = compare(prompt_before(broken=True), prompt())
    text = "".join(words for words, _style in difference_summary(comparison, width, PLAIN))
    assert "byte 1,588" in text[:width] and "+2" in text and "-1" in text and "~3" in text
