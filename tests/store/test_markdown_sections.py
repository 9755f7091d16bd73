from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.store.documents import MarkdownSection, sections
from tests.cases import each_case

BODY = """intro

# Title #
text
## Steps
1. one
```python
# not a heading
```
### Detail
deep
## Notes
end
"""


def test_the_sections_add_up_to_the_text() -> None:
    assert sections(BODY, first_line=5) == [
        MarkdownSection(0, "", 5, 6, "intro\n"),
        MarkdownSection(1, "Title", 7, 8, "text", ("Title",)),
        MarkdownSection(2, "Steps", 9, 13, "1. one\n```python\n# not a heading\n```", ("Title", "Steps")),
        MarkdownSection(3, "Detail", 14, 15, "deep", ("Title", "Steps", "Detail")),
        MarkdownSection(2, "Notes", 16, 17, "end", ("Title", "Notes")),
    ]


def test_a_section_includes_its_subsections() -> None:
    ends = {section.title: section.end_line for section in sections(BODY, nested=True)}
    assert ends == {"": 2, "Title": 13, "Steps": 11, "Detail": 11, "Notes": 13}


@each_case(
    "line",
    ["#hashtag", "    # indented code", "####### seven", "text # no", "\\# escaped", "> # quoted"],
)
def test_lines_that_are_not_headings(line: str) -> None:
    assert [section.level for section in sections(f"{line}\n")] == [0]


@each_case(
    ("line", "level", "title"),
    [
        ("# A", 1, "A"),
        ("   ## A  ##  ", 2, "A"),
        ("#", 1, ""),
        ("###### six", 6, "six"),
        ("# C#", 1, "C#"),
        ("#\ttab", 1, "tab"),
        ("# #", 1, ""),
        ("# a # b", 1, "a # b"),
    ],
)
def test_a_heading_has_level_and_title(line: str, level: int, title: str) -> None:
    (section,) = sections(f"{line}\n")
    assert (section.level, section.title) == (level, title)


@each_case(
    "body",
    [
        "~~~\n# a\n~~~\n",
        "````\n```\n# a\n````\n",
        "```\n# never closed\n",
        "  ```sh\n# a\n  ```\n",
        "```\n~~~\n# a\n```\n",
        "```\n``` not an end\n# a\n```\n",
    ],
)
def test_fenced_code_has_no_headings(body: str) -> None:
    assert [section.level for section in sections(body)] == [0]


def test_backticks_within_a_line_are_not_a_fence() -> None:
    assert [section.title for section in sections("```x``` inline\n# A\n")] == ["", "A"]


def test_an_empty_text_has_no_sections() -> None:
    assert sections("") == []
    assert sections("\n\n") == []


@given(st.lists(st.sampled_from(["# a", "## b", "### c", "```", "~~~~", "text", "", "    # x"]), max_size=25))
def test_every_line_is_in_exactly_one_section(lines: list[str]) -> None:
    body = "".join(f"{line}\n" for line in lines)
    found = sections(body)
    covered = [line for section in found for line in range(section.start_line, section.end_line + 1)]
    skipped = len(lines) - len(covered)
    assert covered == list(range(skipped + 1, len(lines) + 1))
    assert not any(line.strip() for line in lines[:skipped])
