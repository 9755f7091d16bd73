"""Category files are read as people write them, and written so that no line can imitate markup."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DocumentError
from engine.knowledge.category_files import CATEGORY_FILES, entries, line_for, place_of, refuse_broken
from engine.knowledge.item import CATEGORIES, Item, Origin
from tests.cases import each_case

ORIGIN = Origin("2026-06-12-investigate-cache", "2026-06-12")
FROM = "[from: 2026-06-12-investigate-cache, 2026-06-12]"
SAMPLE = Path("engine/sample/workspace/knowledge")


def texts(data: str) -> list[str]:
    return [entry.text for entry in entries(data.encode(), "knowledge/facts.md")]


def test_every_line_of_the_sample_is_parsed() -> None:
    for file in CATEGORY_FILES:
        name = file.path.rpartition("/")[2]
        data = (SAMPLE / name).read_bytes()
        found = entries(data, file.path)
        bullets = [
            (number, line)
            for number, line in enumerate(data.decode().split("\n"), 1)
            if line.startswith("- ")
        ]
        assert [(entry.number, entry.raw) for entry in found] == bullets
        for entry in found:
            assert entry.raw == f"- {entry.text} [from: {entry.source}, {entry.day}]"
        assert len(found) >= 6


def test_tasks_know_their_section() -> None:
    data = b"# Tasks\n- loose\n\n## open ##\n- a\n### Wren\n- b\n\n## Done\n- c\n\n## Someday\n- d\n"
    found = [(entry.text, entry.section) for entry in entries(data, "knowledge/tasks.md")]
    assert found == [("loose", ""), ("a", "Open"), ("b", "Open"), ("c", "Done"), ("d", "Someday")]


def test_lines_of_each_category_have_the_specified_format() -> None:
    for category in CATEGORIES:
        assert line_for(Item(category, "It is so."), ORIGIN) == f"- It is so. {FROM}"
    assert line_for(Item("playbooks", "**Harvest**: scan -> append"), ORIGIN) == (
        f"- **Harvest**: scan -> append {FROM}"
    )
    assert line_for(Item("files", "gone", "/repo/a.py"), ORIGIN) == f"- /repo/a.py: gone {FROM}"
    assert place_of("tasks_done")[1] == "Done" and place_of("tasks_open")[1] == "Open"


@each_case(
    ("text", "written"),
    [
        ("two\nlines\r\n## and a heading", "two lines ## and a heading"),
        ("a [from: somebody, 2020-01-01] b", "a \\[from: somebody, 2020-01-01] b"),
        ("a [ From : x, 2020-01-01]", "a \\[ From : x, 2020-01-01]"),
        ("a (supersedes: “b”, 2020-01-01)", "a \\(supersedes: “b”, 2020-01-01)"),
        ("x {/knowledge} y", "x {\\/knowledge} y"),
        ("<!-- memory:MEMORY.md -->", "<\\!-- memory:MEMORY.md -->"),
        ("[x] done already", "\\[x] done already"),
        ("a\x1b[31mred\x00\u202e", "a\ufffd[31mred\ufffd\ufffd"),
        ("a\u2028b\x85c\x0bd", "a b c d"),
    ],
)
def test_imitated_markup_is_escaped(text: str, written: str) -> None:
    assert line_for(Item("facts", text), ORIGIN) == f"- {written} {FROM}"
    (entry,) = entries(f"- {written} {FROM}\n".encode(), "knowledge/facts.md")
    assert (entry.source, entry.day, entry.is_ticked) == (ORIGIN.name, ORIGIN.day, False)


@given(st.text(min_size=1))
def test_a_line_is_read_back_as_one_entry_of_its_origin(text: str) -> None:
    line = line_for(Item("tasks_open", f"x {text}"), ORIGIN)
    assert "\n" not in line and len(line.splitlines()) == 1
    (entry,) = entries(f"# Tasks\n\n## Open\n\n{line}\n\n## Done\n".encode(), "knowledge/tasks.md")
    assert (entry.raw, entry.source, entry.day, entry.section) == (line, ORIGIN.name, ORIGIN.day, "Open")
    assert line_for(Item("tasks_open", entry.text), ORIGIN) == line


def test_the_last_provenance_counts_and_text_after_it_is_kept() -> None:
    (entry,) = entries(b"- a [from: x, 2020-01-01] b [from: y, z, 2021-02-03]. See c.\n", "p")
    assert (entry.text, entry.source, entry.day) == (
        "a [from: x, 2020-01-01] b . See c.",
        "y, z",
        "2021-02-03",
    )


def test_a_bullet_written_by_a_person_needs_no_provenance() -> None:
    found = entries(b"* mine\n+ also mine [from: memory]\n1. numbered [from: x, 2026-99-99]\n", "p")
    assert [(entry.text, entry.source, entry.day) for entry in found] == [
        ("mine", "", ""),
        ("also mine", "memory", ""),
        ("numbered", "x, 2026-99-99", ""),
    ]


def test_lines_below_a_bullet_belong_to_it() -> None:
    data = (
        b"- a\n  goes on [from: x, 2026-01-02]\n  - below\n\n  later\n  ```\n- code\n  ```\n- b\nlazy\n\nno\n"
    )
    first, second = entries(data, "p")
    assert (first.text, first.source, first.number, first.last) == ("a goes on", "x", 1, 8)
    assert first.lines[2] == "  - below" and first.lines[6] == "- code"
    assert (second.text, second.number, second.last) == ("b lazy", 9, 10)


def test_code_comments_rules_and_headings_are_not_entries() -> None:
    assert texts("```\n- no\n```\n- yes\n\n<!--\n- no\n-->\n- - -\n    - no\n***\n- too\n# - no\n") == [
        "yes",
        "too",
    ]
    assert texts("- a\n<!-- never closed\n- b\n") == ["a", "b"]
    assert texts("- a\n#411 goes on\n") == ["a #411 goes on"]


def test_checkboxes_are_read() -> None:
    found = entries(b"- [ ] open\n- [x] ticked\n- [X] too\n", "p")
    assert [(entry.text, entry.is_ticked) for entry in found] == [
        ("open", False),
        ("ticked", True),
        ("too", True),
    ]


def test_headers_byte_order_marks_and_line_endings_do_not_matter() -> None:
    plain = b"---\ntype: x\n---\n# Facts\n\n- a\n- b\n"
    expected = [(entry.number, entry.raw) for entry in entries(plain, "p")]
    assert expected == [(6, "- a"), (7, "- b")]
    for data in (plain.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + plain, plain + b"\xff\xfe\n"):
        assert [(entry.number, entry.raw) for entry in entries(data, "p")][:2] == expected
    assert [entry.raw for entry in entries(b"\xef\xbb\xbf- a", "p")] == ["- a"]
    assert entries(b"", "p") == () == entries(b"---\nbroken: [\n---\n", "p")


@given(st.binary(max_size=300))
def test_the_reader_accepts_any_bytes(data: bytes) -> None:
    count = data.count(b"\n") + 1
    numbers = [(entry.number, entry.last) for entry in entries(data, "p")]
    assert all(0 < first <= last <= count for first, last in numbers)
    assert numbers == sorted(numbers)


@each_case(
    ("data", "where"),
    [
        (b"# Facts\n- caf\xe9\n", "facts.md:2: is not UTF-8"),
        ("# Facts\n".encode("utf-16"), "facts.md:1: is not UTF-8"),
        (b"# Facts\n- a\0\n", "facts.md:2: is not text"),
        (b"# Facts\n<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x\n", "facts.md:2: contains conflict markers"),
        (b"---\na: b\n---\n# Facts\n```\n- a\n", "facts.md:5: has an unclosed code block"),
    ],
)
def test_a_file_that_cannot_be_appended_to_is_refused_with_the_line(data: bytes, where: str) -> None:
    with pytest.raises(DocumentError) as caught:
        refuse_broken(data, "knowledge/facts.md")
    assert where in str(caught.value) and caught.value.hint
