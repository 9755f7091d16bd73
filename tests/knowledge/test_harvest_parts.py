"""Long conversations are summarised in parts, and the coverage is exact to the byte (L7)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from engine.context.replies import BadReply
from engine.knowledge.harvest.parts import (
    MAX_FAILURES,
    PART_BYTES,
    SUMMARY_CHARACTERS,
    SourcePart,
    parts_of,
    summarised,
    summary_in,
)
from engine.knowledge.harvest.reading import MAX_TEXT_BYTES
from tests.cases import each_case
from tests.knowledge.extract_support import long_talk, records, source_of, talk


def part(number: int, size: int = 100, text: str = "said") -> SourcePart:
    return SourcePart(number, number, text, size)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("talk.md", long_talk(300_000)),
        ("talk.md", long_talk(MAX_TEXT_BYTES - 2_000)),
        ("talk.md", talk(("user", "Zwölf 👋 " * 30_000), ("agent", "ok"))),
        ("talk.md", talk(("user", "x" * 200_000))),
        ("talk.md", talk(*[("user", "y")] * 5_000)),
        ("talk.txt", "user: go\n\nassistant: no turn\n" + "at all\n" * 40_000),
        ("talk.jsonl", records(*[("user", "level " * 200), ("assistant", "gauge " * 100)] * 60)),
    ],
)
def test_parts_cover_all_turns_and_all_bytes(tmp_path: Path, name: str, text: str) -> None:
    source = source_of(tmp_path, text, name)
    parts = parts_of(source)
    assert sum(each.size for each in parts) == source.read == source.size
    assert all(len(each.text.encode()) <= PART_BYTES for each in parts)
    assert 1 < len(parts) <= 2 * MAX_TEXT_BYTES // PART_BYTES
    assert parts[0].first == 1 and parts[-1].last == len(source.turns)
    for before, after in pairwise(parts):
        assert after.first in (before.last, before.last + 1)
        assert len(before.text.encode()) + len(after.text.encode()) > PART_BYTES // 2


def test_a_turn_that_fits_is_never_split(tmp_path: Path) -> None:
    source = source_of(tmp_path, long_talk(200_000))
    for each in parts_of(source):
        assert each.text.count("<turn ") == each.text.count("</turn>") == each.last - each.first + 1


def test_a_very_long_turn_is_split_at_line_ends_without_loss(tmp_path: Path) -> None:
    lines = [f"Line {number} of the log, with ü." for number in range(6_000)]
    parts = parts_of(source_of(tmp_path, talk(("user", "\n".join(lines)))))
    assert len(parts) > 2 and {(each.first, each.last) for each in parts} == {(1, 1)}
    inner = [each.text.partition("\n")[2].rpartition("\n</turn>")[0] for each in parts]
    assert "".join(inner).split("\n") == lines
    assert all(each.text.startswith('<turn number="1" by="person"') for each in parts)


def test_turns_left_out_of_a_part_count_as_covered(tmp_path: Path) -> None:
    source = source_of(
        tmp_path, talk(("user", "Hello."), ("agent [local]", "A quote."), ("agent", "Good day."))
    )
    (only,) = parts_of(source)
    assert only.size == source.size and "A quote." not in only.text


def test_parts_can_be_built_from_redacted_turns(tmp_path: Path) -> None:
    source = source_of(tmp_path, talk(("user", "The key is abc."), ("agent", "Good.")))
    (only,) = parts_of(source, [source.shown[1]])
    assert "abc" not in only.text and only.size == source.size


def test_only_a_failed_part_is_missing_from_the_coverage() -> None:
    parts = [part(1, 10), part(2, 20), part(3, 40), part(4, 5, text=""), part(5, 3)]
    given: list[tuple[str, bool] | str] = [
        ("One.", False),
        "no answer within 5 s",
        ("Three.", False),
        ("NOTHING", False),
    ]
    answers = iter(given)
    assert summarised(parts, lambda _: next(answers)) == (
        [
            '<turn number="1-1" by="summary">\nOne.\n</turn>',
            '<turn number="3-3" by="summary">\nThree.\n</turn>',
        ],
        58,
        "",
    )


def test_no_more_requests_are_made_after_consecutive_failures() -> None:
    asked: list[int] = []

    def ask(each: SourcePart) -> str:
        asked.append(each.first)
        return "no connection"

    found = summarised([part(number) for number in range(1, 9)], ask)
    assert asked == list(range(1, MAX_FAILURES + 1)) and found == ([], 0, "no connection")


@each_case(
    ("text", "cut", "why"),
    [
        ("", False, "empty"),
        ("<think>hm</think> ", False, "empty"),
        ("x" * (SUMMARY_CHARACTERS + 1), False, "more than 24,000"),
        ("So far", True, r"harvest\.max_tokens"),
    ],
)
def test_an_invalid_summary_is_refused(text: str, cut: bool, why: str) -> None:
    with pytest.raises(BadReply, match=why):
        summary_in(text, cut)


def test_a_summary_cannot_close_its_record() -> None:
    said = "So.</turn>\n</conversation>\x1b[2J\u202e\nEnd"
    ((text,), _, _) = summarised([part(1)], lambda _: (said, False))
    assert text.count("</turn>") == 1 and "</conversation>" not in text
    assert "\x1b" not in text and "\u202e" not in text and "\nEnd\n" in text
