"""Injections are recorded without text and read back with their notes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from engine.errors import ReadOnly, WriteFailed
from engine.injections.log import (
    RECENT_BYTES,
    InjectionLog,
    RulesShown,
    message_hash,
    place_of,
    useful_places,
)
from engine.store.faults import fail, trip
from engine.store.files import Files
from tests.injections.conftest import JUNE, Log, prompt


def test_a_record_contains_locations_scores_and_tokens_but_no_text(log: Log) -> None:
    log.log.record(prompt("a.md", "b.md"), "What is\nnew?", session_id="ses_1", turn="conversations/x.md#4")
    (line,) = log.month().read_text().splitlines()
    record = json.loads(line)
    assert record.pop("id")
    assert record == {
        "at": JUNE.isoformat(),
        "session": "ses_1",
        "turn": "conversations/x.md#4",
        "message": message_hash("What is new?"),
        "tokens": 500,
        "budget": 8192,
        "sections": [
            {"path": path, "lines": "3-9", "priority": 3, "tokens": 40, "score": 0.5123}
            for path in ("a.md", "b.md")
        ],
    }


def test_rules_are_optional_in_a_record(log: Log) -> None:
    log.use("a.md", useful=[True])
    shown = RulesShown(("3f2a91c", "77be012"), ("77be012",), 41)
    log.log.record(prompt("a.md"), "What is new?", rules=shown)
    with log.month().open("a") as file:
        file.write('{"id":"x","rules":{"held":[7],"called":[],"tokens":1}}\n')
    newest, oldest = log.log.backwards()
    assert (newest.rules, oldest.rules) == (shown, None) and oldest.useful


def test_only_sections_chosen_for_the_message_are_recorded(log: Log) -> None:
    for priority in range(5):
        log.log.record(prompt("a.md", priority=priority), "m")
    assert [len(each.sections) for each in reversed(log.log.last(9))] == [0, 0, 1, 1, 0]


def test_an_injection_is_read_with_the_notes_about_it(log: Log) -> None:
    first = log.use("a.md", "b.md", "c.md")
    assert log.log.last(5) == (first,) and log.log.unfinished() == (first,)
    second = log.log.note(first, "x.md#0", [None, True, None], finished=False)
    assert useful_places(second) == ("b.md:3-9",) and second.is_claimed and not second.finished
    assert log.log.unfinished() == (second,) == log.log.last(5)
    third = log.log.note(second, "x.md#0", [False, False, True], finished=True)
    assert [section.was_useful for section in third.sections] == [False, True, True], (
        "a useful section stays useful"
    )
    assert log.log.last(5) == (third,) and log.log.unfinished() == ()
    assert place_of(third.sections[0]) == "a.md:3-9"


def test_known_use_is_not_noted_again(log: Log) -> None:
    known = log.use("a.md", useful=[None], finished=False)
    size = log.month().stat().st_size
    assert log.log.note(known, known.turn, [None], finished=False) == known
    assert log.month().stat().st_size == size


def test_a_note_names_each_newly_useful_file_once(log: Log) -> None:
    known = log.use("a.md", "a.md", "b.md", useful=[True, None, None], finished=False)
    log.log.note(known, known.turn, [None, True, True], finished=True)
    notes = [json.loads(line)["paths"] for line in log.month().read_text().splitlines()[1:]]
    assert notes == [["a.md"], ["b.md"]]


def test_injections_are_newest_first_across_months(log: Log) -> None:
    names = []
    for day in range(40):
        log.clock.now = JUNE + timedelta(days=day)
        names.append(log.use("a.md").id)
    assert [each.id for each in log.log.last(30)] == names[:-31:-1]
    assert len(log.log.last(99)) == 40


def test_a_note_in_the_next_month_belongs_to_its_injection(log: Log) -> None:
    log.clock.now = datetime(2026, 6, 30, 23, 59, tzinfo=UTC)
    first = log.use("a.md")
    log.clock.now = datetime(2026, 7, 1, tzinfo=UTC)
    noted = log.log.note(first, "x.md#0", [True], finished=True)
    assert log.log.last(1) == (noted,) and log.counts() == {"a.md": 1}


def test_files_are_ranked_by_use(log: Log) -> None:
    log.use("a.md", "b.md", useful=[True, False])
    log.clock.now = JUNE + timedelta(days=1)
    log.use("a.md", "c.md", "c.md", useful=[True, None, True])
    log.use("c.md")
    found = log.log.by_file()
    assert [(use.path, use.useful, use.injected, use.tokens) for use in found] == [
        ("a.md", 2, 2, 80),
        ("c.md", 1, 2, 120),
        ("b.md", 0, 1, 40),
    ]
    assert [use.last_useful[:10] for use in found] == ["2026-06-13", "2026-06-13", ""]


def test_old_injections_are_not_returned_as_unfinished(log: Log) -> None:
    first = log.use("a.md")
    with log.month().open("ab") as file:
        file.write((b"x" * 999 + b"\n") * (RECENT_BYTES // 1000 + 1))
    assert InjectionLog(log.files, log.clock).unfinished() == ()
    assert log.log.last(1) == (first,)


BROKEN = [
    b"\xff\xfe\n",
    b"{}\n",
    b"[1]\n",
    b"null\n",
    b"{" * 5000 + b"\n",
    b'{"was_useful":[1],"injection":"a","at":"x","turn":"","paths":["a.md"],"finished":true}\n',
    b'{"was_useful":[true],"injection":"a","at":"x","turn":"","paths":[7],"finished":true}\n',
    b'{"was_useful":[true],"injection":"a","at":"x","turn":"","paths":"a.md","finished":true}\n',
    b'{"id":"a","at":"x","session":"","turn":"","message":"","tokens":"7","budget":1,"sections":[]}\n',
    b'{"id":"a","at":"x","session":"","turn":"","message":"","tokens":7,"budget":1,"sections":[{}]}\n',
    b'{"id":"a","at":"x","session":"","turn":"","message":"","tokens":NaN,"budget":1,"sections":[]}\n',
]


def test_a_damaged_line_is_skipped(log: Log) -> None:
    first = log.use("a.md", useful=[True])
    with log.month().open("ab") as file:
        file.writelines(BROKEN)
        file.write(b'{"id":"cut","at":')
    second = log.use("b.md", useful=[True])
    assert log.log.last(9) == (second, first)
    assert [use.path for use in log.log.by_file()] == ["a.md", "b.md"]
    assert log.counts() == {"a.md": 1, "b.md": 1}


def test_other_files_in_the_folder_are_ignored(log: Log) -> None:
    log.use("a.md", useful=[True])
    (log.root / "logs/injections-2026-05.jsonl").mkdir()
    (log.root / "logs/injections-2026-04.jsonl").symlink_to("/etc/passwd")
    (log.root / "logs/injections-2026-03.jsonl").symlink_to("injections-2026-03.jsonl")
    (log.root / "logs/injections-old.jsonl").write_bytes(log.month().read_bytes())
    assert len(log.log.last(9)) == 1 and log.counts() == {"a.md": 1}


def test_a_read_only_workspace_records_nothing(log: Log) -> None:
    with trip("create:link", fail(28)), pytest.raises(WriteFailed):
        log.use("a.md")
    with pytest.raises(ReadOnly):
        InjectionLog(Files(log.files.workspace, read_only=True), log.clock).record(prompt("a.md"), "m")
    assert log.log.last(1) == () and log.counts() == {}
