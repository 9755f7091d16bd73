"""The rules that decide whether a prompt contains the evidence."""

from __future__ import annotations

import pytest

from engine.context.compiled import Section, SlotName
from engine.probes.places import NOTHING, contains, normal, of_file, of_lines, of_text, words
from tests.cases import each_case

LINES = [
    "## Machines",
    "The broker listens on port 8883 with TLS.",
    "It was moved from the old rack in March.",
]


def section(text: str, source: str = "a.md", slot: SlotName = "knowledge", tokens: int = 9) -> Section:
    return Section(f"knowledge:{source}", 10, 3, slot, source, "", tokens, None, "", text)


def test_lines_are_found_regardless_of_wrapping_case_and_markup() -> None:
    whole = "# Hosts\n\n" + "\n".join(LINES)
    assert of_lines("a.md", LINES, [section(whole)]).share == 1
    wrapped = (
        "MACHINES the   broker *listens* on\nport `8883` with TLS; it was moved from the\nold rack in March"
    )
    assert of_lines("a.md", LINES, [section(wrapped)]).share == 1


def test_lines_of_another_file_or_of_the_message_are_not_evidence() -> None:
    text = "\n".join(LINES)
    assert of_lines("a.md", LINES, [section(text, "b.md"), section(text, "", "message")]) == NOTHING


def test_sixty_percent_of_the_wording_is_enough() -> None:
    # The lines have one, eight and nine words: one, five and six word runs.
    evidence = of_lines("a.md", LINES, [section("\n".join(LINES[1:]))])
    assert evidence.share == pytest.approx(11 / 12) and evidence.is_enough
    evidence = of_lines("a.md", LINES, [section(f"{LINES[0]}\n{LINES[1]} It was moved")])
    assert evidence.share == pytest.approx(6 / 12) and not evidence.is_enough
    evidence = of_lines("a.md", LINES, [section(f"{LINES[0]}\n{LINES[1]} It was moved from the")])
    assert evidence.share == pytest.approx(8 / 12) and evidence.is_enough


def test_sections_of_a_file_add_up_and_the_smallest_match_is_named() -> None:
    first, second = section(LINES[1]), section(LINES[2], tokens=3)
    evidence = of_lines("a.md", LINES, [first, second])
    assert evidence.share == pytest.approx(11 / 12) and evidence.section is second


def test_lines_without_words_are_never_found() -> None:
    assert of_lines("a.md", ["", "---", "| | |"], [section("---")]) == NOTHING


def test_short_lines_must_match_whole() -> None:
    assert of_lines("a.md", ["- Odile"], [section("Ask Odile first")]).is_enough
    assert not of_lines("a.md", ["- Odile Ferrand"], [section("Odile, Ferrand's sister")]).share < 1
    assert not of_lines("a.md", ["- Odile Ferrand"], [section("Ferrand, Odile")]).is_enough


def test_scripts_without_spaces_are_compared_by_character() -> None:
    line = "水位計の時計は三分遅れている"
    assert of_lines("a.md", [line], [section(f"前の文。{line[2:]}")]).is_enough
    assert words("水位 CO2") == ["水", "位", "co2"]


def test_a_file_is_found_by_any_section_of_it() -> None:
    large = section("more", tokens=50)
    assert of_file("a.md", [section("x"), large]).section is large
    assert of_file("a.md", [section("x", "b.md")]) == NOTHING


@each_case(
    "text",
    [
        "the RAW  curves\nof Vestrand",
        "the **raw curves** of `Vestrand`",
        "The raw curves of Vestrand, please",
    ],
)
def test_a_text_is_found_regardless_of_case_spacing_and_markup(text: str) -> None:
    assert of_text("the raw curves of Vestrand", [section(text)]).is_enough


def test_the_message_and_fragments_of_a_text_are_not_evidence() -> None:
    assert of_text("raw curves", [section("raw curves", "", "message")]) == NOTHING
    assert of_text("raw curves", [section("raw"), section("curves")]) == NOTHING
    assert of_text("c++", [section("only c")]) == NOTHING


def test_curly_and_straight_quotes_are_equal() -> None:
    assert contains("She said “you could’ve asked”.", normal('"you could\'ve asked"'))
    assert not contains("anything", normal("  ** "))
