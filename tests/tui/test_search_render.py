"""Drawing of results, preview, score components and overview: content and width."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.search.reports import IndexStatus
from engine.search.results import Share
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.cases import each_case
from tests.tui.search_data import BUILDING, DECISIONS, FILES, READY, RESULTS, SESSION
from tui.kit.editor import editor_command
from tui.render.draw import FILL, Row
from tui.render.roles import PLAIN
from tui.render.search import (
    Words,
    draw_why,
    hit_of,
    hundredths,
    lines_of,
    place_of,
    plain_ranks,
    plain_shares,
    title_of,
)
from tui.screens.search.draw import (
    KINDS,
    Inventory,
    draw_help,
    draw_nothing,
    draw_overview,
    draw_passage,
    notice,
    read_passage,
)

WORDS = Words("connection pool timeout")


def text_of(rows: list[Row]) -> str:
    return "\n".join(row.text.rstrip() for row in rows)


def marked_in(rows: list[Row]) -> list[str]:
    return [text for row in rows for text, style in row.pieces if style.bold and style.underline]


def test_a_session_is_named_by_its_id_and_subject() -> None:
    assert title_of(RESULTS[0]) == "pool-exhausted › 09:31 — agent"
    assert place_of(RESULTS[0]) == "ses_7c41d0aa:19-25"
    assert place_of(RESULTS[1]) == f"{DECISIONS}:4-6"
    other = f"raw/conversations/2026/06/11/0921-0198f2c4-{'0000-' * 3}000000000000-pool-exhausted.md"
    assert title_of(replace(RESULTS[0], path=other)) == "pool-exhausted › 09:31 — agent"
    assert place_of(replace(RESULTS[0], path=other)) == "0198f2c4:19-25"
    assert lines_of(replace(RESULTS[1], end_line=4)) == "4"
    assert title_of(replace(RESULTS[1], heading="")) == "decisions"


def test_matched_and_missing_words_are_compared_by_stem() -> None:
    hit = hit_of(1, RESULTS[1], Words("connections pooling zeppelin timeout"))
    assert hit.matched == ("connections", "pooling") and hit.missing == ("zeppelin", "timeout")


@given(
    parts=st.lists(st.floats(-0.3, 1, allow_nan=False), min_size=1, max_size=8),
)
def test_shown_parts_always_add_up_to_the_shown_score(parts: list[float]) -> None:
    numbers, total = hundredths(parts, sum(parts))
    assert sum(numbers) == total == round(sum(parts) * 100)
    assert all(abs(number - part * 100) <= 1 for number, part in zip(numbers, parts, strict=True))


def test_without_components_ranks_and_words_are_the_reason() -> None:
    text = text_of(draw_why(hit_of(3, replace(RESULTS[8], shares=()), WORDS), 76, PLAIN))
    assert FILL not in text and "by words –" in text and "by meaning 9" in text and "✗ connection" in text


def test_very_many_words_are_cut_and_counted() -> None:
    words = Words(" ".join(f"word{number}" for number in range(60)))
    rows = draw_why(hit_of(1, RESULTS[0], words), 40, PLAIN)
    assert all(row.cells <= 40 for row in rows) and "more" in rows[-1].text


def test_only_a_conversation_is_called_a_session() -> None:
    session = draw_why(hit_of(1, RESULTS[0], WORDS), 110, PLAIN)
    assert "the whole session" in text_of(session)
    part = RESULTS[0].shares[0]._replace(name="session")
    note = replace(RESULTS[1], shares=(*RESULTS[1].shares, part))
    rows = text_of(draw_why(hit_of(1, note, WORDS), 110, PLAIN))
    assert "the whole file" in rows and "session" not in rows
    assert "session" not in plain_shares(note) and " + file " in f" + {plain_shares(note)}"
    assert "session" in plain_shares(RESULTS[0])


def test_plain_shares_and_ranks_for_the_command_line() -> None:
    assert plain_shares(RESULTS[1]) == "words .31 + meaning .26 + use .06 − recency .02 = .61"
    assert plain_ranks(RESULTS[1]) == "rank 3 by words, 1 by meaning"
    assert plain_ranks(RESULTS[8]) == "rank – by words, 9 by meaning"
    assert plain_shares(replace(RESULTS[0], shares=())) == ""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return Files(Workspace(tmp_path))


@pytest.mark.parametrize("width", [30, 56, 116])
def test_the_preview_numbers_lines_and_separates_the_result_from_its_context(
    files: Files, width: int
) -> None:
    passage = read_passage(hit_of(1, RESULTS[0], WORDS), WORDS, files)
    assert [line.number for line in passage.lines if line.inside] == list(range(19, 26))
    assert passage.lines[0].number == 1 and passage.lines[-1].number == 31 and not passage.note
    rows, first = draw_passage(passage, width, PLAIN)
    assert all(row.cells <= width for row in rows)
    assert rows[first].text.startswith("19 ▎")
    assert sum("▎" in row.text for row in rows) >= 7
    assert "timeout" in marked_in(rows)


def test_the_preview_keeps_the_indent_of_code(files: Files) -> None:
    (files.workspace.root / DECISIONS).write_text(
        "a\nb\nc\n    deep(\n        deeper)\nend\n", encoding="utf-8"
    )
    result = replace(RESULTS[1], text="    deep(\n        deeper)\nend")
    rows, _first = draw_passage(read_passage(hit_of(1, result, WORDS), WORDS, files), 60, PLAIN)
    assert "4 ▎     deep(" in text_of(rows) and "5 ▎         deeper)" in text_of(rows)


def test_a_marked_word_is_not_separated_from_what_follows_it(files: Files) -> None:
    (files.workspace.root / DECISIONS).write_text("aaaa bbbb pool's own\n", encoding="utf-8")
    result = replace(RESULTS[1], start_line=1, end_line=1, text="aaaa bbbb pool's own")
    rows, _first = draw_passage(read_passage(hit_of(1, result, WORDS), WORDS, files), 4 + 14, PLAIN)
    assert [row.text[4:].rstrip() for row in rows] == ["aaaa bbbb", "pool's own"]
    assert marked_in(rows) == ["pool"]


def test_line_endings_and_a_byte_order_mark_do_not_count_as_changes(files: Files) -> None:
    data = FILES[DECISIONS].replace("\n", "\r\n").encode("utf-8-sig")
    (files.workspace.root / DECISIONS).write_bytes(data)
    assert not read_passage(hit_of(1, RESULTS[1], WORDS), WORDS, files).note


def test_a_result_from_a_session_log_shows_its_turn(files: Files) -> None:
    result = replace(RESULTS[0], path="raw/conversations/x.jsonl")
    passage = read_passage(hit_of(1, result, WORDS), WORDS, files)
    assert passage.note == "from a session log: this turn is on lines 19-25" and passage.lines[0].number == 0
    rows, _first = draw_passage(passage, 60, PLAIN)
    assert "The backfill opens" in text_of(rows)
    short = replace(result, end_line=result.start_line)
    assert (
        read_passage(hit_of(1, short, WORDS), WORDS, files).note
        == "from a session log: this turn is on line 19"
    )


def test_very_long_lines_are_cut_and_counted(files: Files) -> None:
    (files.workspace.root / SESSION).write_text("x" * 9000, encoding="utf-8")
    result = replace(RESULTS[0], start_line=1, end_line=1, text="x" * 9000)
    passage = read_passage(hit_of(1, result, WORDS), WORDS, files)
    assert passage.lines[0].text.endswith("… 5,000 more")


@each_case("width", [20, 56, 116])
def test_the_overview_counts_by_kind(width: int) -> None:
    inventory = Inventory(READY, {"journal": 10, "conversation": 13})
    rows = draw_overview(inventory, "", width, PLAIN)
    assert all(row.cells <= max(width, 24) for row in rows)
    text = text_of(rows)
    assert "23 files" in text and "journal" in text and "identity" not in text
    only = text_of(draw_overview(inventory, "identity", 116, PLAIN))
    assert "only identity" in only and "esc searches all" in only


@each_case(("width", "height"), [(76, 8), (56, 11), (52, 38)])
def test_every_kind_has_room_on_every_screen(width: int, height: int) -> None:
    files = {kind: number * 100 for number, kind in enumerate(KINDS, 1)}
    rows = draw_overview(Inventory(READY, files), "", width, PLAIN, height)
    assert len(rows) <= height and all(row.cells <= width for row in rows)
    assert all(name in text_of(rows) for name in KINDS.values()) and "1,000" in text_of(rows)


def test_files_that_cannot_be_indexed_are_counted() -> None:
    from engine.search.reports import Skipped

    status = replace(READY, skipped=(Skipped("knowledge/a.md", "is no text"),))
    assert "1 file could not be indexed" in text_of(
        draw_overview(Inventory(status, {"journal": 1}), "", 76, PLAIN)
    )


def test_search_help_mentions_meaning_only_with_vectors() -> None:
    assert "same meaning" in text_of(draw_help(76, PLAIN, meaning=True))
    assert "same meaning" not in text_of(draw_help(76, PLAIN, meaning=False))


@each_case(
    ("status", "read_only", "words", "urgent"),
    [
        (None, False, "", False),
        (READY, False, "", False),
        (BUILDING, False, "being built: searching files by keyword until it is ready", True),
        (BUILDING, True, "being built: searching files by keyword", True),
        (
            IndexStatus("broken", "it is damaged", error="no space"),
            False,
            "rebuilding failed: no space",
            True,
        ),
        (replace(READY, without_vectors="no model"), False, "keyword search only: no model", False),
        (
            replace(READY, vectors_coming="40 of 312"),
            False,
            "semantic search is incomplete: 40 of 312",
            False,
        ),
    ],
)
def test_the_notice_says_what_affects_the_results(
    status: IndexStatus | None, read_only: bool, words: str, urgent: bool
) -> None:
    text, is_urgent = notice(status, read_only=read_only)
    assert words in text and bool(words) == bool(text) and is_urgent is urgent


def test_punctuation_alone_is_not_a_query() -> None:
    text = text_of(draw_nothing("?!", "", 0, False, READY, 76, PLAIN))
    assert "at least one letter or digit" in text


@each_case(
    ("editor", "words"),
    [
        ("vim -p", ["vim", "-p", "+12", "/w/a.md"]),
        ("/usr/bin/nano", ["/usr/bin/nano", "+12", "/w/a.md"]),
        ("code --wait", ["code", "--wait", "--goto", "/w/a.md:12"]),
        ("hx", ["hx", "/w/a.md:12"]),
        ("myedit", ["myedit", "/w/a.md"]),
    ],
)
def test_each_editor_gets_the_line_in_its_own_syntax(editor: str, words: list[str]) -> None:
    assert editor_command(Path("/w/a.md"), {"EDITOR": editor}, line=12) == words


def test_an_unknown_score_component_is_still_drawn() -> None:
    result = replace(RESULTS[0], shares=(Share("words", 0.5), Share("luck", 0.3)), score=0.8)  # type: ignore[arg-type]
    assert "luck" in text_of(draw_why(hit_of(1, result, WORDS), 120, PLAIN))
