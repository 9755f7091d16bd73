"""Merging files changed on both sides, by kind of file; nothing that was added is lost."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from engine.knowledge import ledger
from engine.sync import contents, entries
from engine.sync.contents import kind_of
from engine.sync.model import Hunk

FACTS = "knowledge/facts.md"
WORDS = ("gauge", "lock", "tide", "Hafenamt", "advisory", "alarm", "phone", "plants", "tablet", "Postgres")


def test_the_kind_of_a_file_is_determined_by_its_path() -> None:
    kinds = {
        "logs/decisions/2026-06.jsonl": "log",
        "logs/caches.json": "state",
        "knowledge/ledger.json": "ledger",
        "knowledge/facts.md": "entries",
        "knowledge/memory/MEMORY.md": "entries",
        "knowledge/journal/2026-06-12.md": "entries",
        "knowledge/projects/locks/context.md": "entries",
        "knowledge/files/notes-a.md": "entries",
        "archive/raw/conversations/2026/06/12/0900-s-x.md": "conversation",
        "knowledge/digest.md": "digest",
        "topics/travel.md": "page",
        "memory-config.yaml": "text",
        "knowledge/people/ada.md": "page",
        "knowledge/rules.md": "rules",
    }
    assert {path: kind_of(path) for path in kinds} == kinds


def record(minute: int, name: str) -> bytes:
    return b'{"at":"2026-06-12T08:%02d:00+00:00","id":"%s"}\n' % (minute, name.encode())


def test_logs_are_merged_by_time_and_a_removed_secret_stays_removed() -> None:
    base = record(1, "a") + record(2, "secret")
    ours = record(1, "a") + record(5, "b") + record(9, "c") + record(9, "c")
    theirs = base + b"not json\n" + record(7, "d") + record(9, "c")
    result = contents.merged_logs(base, ours, theirs)
    wanted = record(1, "a") + b"not json\n" + record(5, "b") + record(7, "d") + record(9, "c") * 2
    assert result == wanted == contents.merged_logs(base, theirs, ours)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.booleans())))
def test_a_merged_log_has_each_line_as_often_as_the_side_with_more_of_it(
    added: list[tuple[int, str, bool]],
) -> None:
    base = record(0, "base")
    ours = base + b"".join(record(at, name) for at, name, mine in added if mine)
    theirs = base + b"".join(record(at, name) for at, name, mine in added if not mine)
    wanted = Counter(ours.splitlines()) | Counter(theirs.splitlines())
    assert Counter(contents.merged_logs(base, ours, theirs).splitlines()) == wanted


def test_entries_of_both_sides_are_merged_in_order_without_duplicates() -> None:
    base = b"---\ntype: facts\n---\n# Facts\n\n- Old.\n"
    same = b"- Said twice. [from: s, %s]\n"
    ours = base + b"- B. [from: y, 2026-06-12]\n  with more\n" + same % b"2026-06-13"
    theirs = base + b"- A. [from: x, 2026-06-11]\n" + same % b"2026-06-14" + b"\n## Aside\n\n- Z.\n"
    result = entries.merged(FACTS, base, ours, theirs)
    assert result.hunks == ()
    assert result.data.decode() == (
        "---\ntype: facts\n---\n# Facts\n\n- Old.\n- A. [from: x, 2026-06-11]\n"
        "- B. [from: y, 2026-06-12]\n  with more\n- Said twice. [from: s, 2026-06-13]\n\n## Aside\n\n- Z.\n"
    )


def test_adjacent_entries_may_be_edited_ticked_and_removed_on_both_sides() -> None:
    base = b"# Tasks\n\n## Open\n\n- Water.\n- Call the office.\n- Write the advisory.\n\n## Done\n"
    ours = b"# Tasks\n\n## Open\n\n- Water twice.\n- Call the office.\n\n## Done\n\n- Write the advisory.\n"
    theirs = base.replace(b"- Call the office", b"- [x] Call the office").replace(
        b"## Open\n", b"## Open\n\n- First."
    )
    result = entries.merged("knowledge/tasks.md", base, ours, theirs)
    assert result.data.decode() == (
        "# Tasks\n\n## Open\n\n- Water twice.\n- First.\n- [x] Call the office.\n\n"
        "## Done\n\n- Write the advisory.\n"
    )
    assert result.hunks == ()


def test_a_piece_changed_on_both_sides_is_a_conflict_about_it_alone() -> None:
    for mark in (b"", b"- "):
        base, ours, theirs = (b"# F\n\n%sIt is %s.\n" % (mark, word) for word in (b"low", b"lower", b"high"))
        ours, theirs = ours + b"- New here.\n", theirs + b"- New there.\n"
        result = entries.merged(FACTS, base, ours, theirs)
        name = mark.decode()
        assert result.hunks == (Hunk(f"{name}It is low.", f"{name}It is lower.", f"{name}It is high.", "F"),)
        added = b"- New here.\n- New there.\n" if mark else b"\n- New here.\n- New there.\n"
        for take, kept in (("ours", b"lower"), ("theirs", b"high")):
            made = entries.merged(FACTS, base, ours, theirs, take)  # type: ignore[arg-type]
            assert made.data == b"# F\n\n%sIt is %s.\n" % (mark, kept) + added
    assert entries.merged(FACTS, base, b"# F\n", theirs).data == theirs, "an edit survives a deletion"


def test_a_journal_started_on_both_sides_has_each_heading_once() -> None:
    ours = b"## 2026-06-12\n\n### locks\n- Of ours.\n\n### ops\n- Ours too.\n"
    theirs = b"## 2026-06-12\n\n### people\n- Ada.\n\n### locks\n- Of theirs.\n"
    result = entries.merged("knowledge/journal/2026-06-12.md", b"", ours, theirs)
    assert result.data.decode() == (
        "## 2026-06-12\n\n### people\n- Ada.\n\n### locks\n- Of ours.\n- Of theirs.\n\n### ops\n- Ours too.\n"
    )


TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


@given(st.lists(TEXT, max_size=6, unique=True), st.data())
def test_every_line_of_both_sides_is_in_the_result_or_in_a_conflict(
    base: list[str], data: st.DataObject
) -> None:
    def side(mark: str) -> list[str]:
        found: list[str] = []
        for line in base:
            match data.draw(st.sampled_from(("keep", "keep", "edit", "drop", "add"))):
                case "keep":
                    found.append(line)
                case "edit":
                    found.append(f"{line} {mark}{len(found)}")
                case "add":
                    found += [line, f"{mark} {len(found)} {data.draw(TEXT)}"]
        return [*found, *(f"{mark} end {text}" for text in data.draw(st.lists(TEXT, max_size=3)))]

    def file(found: list[str]) -> bytes:
        return "".join(["# Facts\n", "\n", *(f"- {line}\n" for line in found)]).encode()

    left, right = side("ours"), side("theirs")
    result = entries.merged(FACTS, file(base), file(left), file(right))
    shown = result.data.decode() + "".join(piece.ours + "\n" + piece.theirs + "\n" for piece in result.hunks)
    new = {*left, *right} - {*base}
    assert new <= {line.removeprefix("- ") for line in shown.splitlines()}
    kept = [line for line in base if line in left and line in right]
    assert Counter(kept) <= Counter(line.removeprefix("- ") for line in shown.splitlines())
    if file(left) == file(base):
        assert result.data.rstrip() == file(right).rstrip() and not result.hunks


def entry(at: str, status: str = "harvested", **more: object) -> dict[str, object]:
    return {
        "path": "conversations/a.md",
        "status": status,
        "at": at,
        "items": {"facts": 1},
        "deleted": False,
        **more,
    }


def line(name: str) -> dict[str, str]:
    return {"id": name, "path": FACTS, "text": f"- {name}"}


def test_ledgers_are_merged_entry_by_entry() -> None:
    one, two, three, four = (letter * 64 for letter in "abcd")
    base = {one: entry("2026-06-10", lines=[line("x")])}
    ours = {
        one: entry("2026-06-10", lines=[line("x")], deleted=True),
        two: entry("2026-06-12", lines=[line("b")]),
    }
    theirs = {
        one: entry("2026-06-10", lines=[line("x")], restored=True),
        two: entry("2026-06-13", "harvest-failed", error="cut"),
        four: entry("2026-06-11"),
        three: entry("2026-06-11"),
    }
    result = contents.merged_ledgers(*(ledger.bytes_of(each) for each in (base, ours, theirs)))
    assert result is not None
    found = json.loads(result)["entries"]
    assert list(found) == [one, two, three, four]
    assert found[one]["restored"] and not found[one]["deleted"], "a restored conversation stays restored"
    assert found[two]["status"] == "harvested" and found[two]["lines"] == [line("b")]
    assert ledger.trees_of(result) == found
    assert contents.merged_ledgers(b"", b"{", result) is None


def test_state_files_are_merged_key_by_key() -> None:
    result = contents.merged_state(
        b'{"a": {"x": 1}, "gone": 1}', b'{"a": {"x": 2}, "gone": 1, "b": 1}', b'{"a": {"x": 1, "y": 3}}'
    )
    assert result is not None and json.loads(result) == {"a": {"x": 2, "y": 3}, "b": 1}
    assert contents.merged_state(b"", b"[]", b"{}") is None


def test_the_longer_conversation_wins_and_diverging_ones_are_both_kept() -> None:
    begun = b"---\nsession_id: s1\n---\n# Talk\n"
    ended = b"---\nsession_id: s1\nended: 2026-06-12T09:00:00Z\n---\n# Talk\n\n## 09:00 - user\nhello\n"
    other = begun + b"\n## 09:00 - user\ngoodbye\n"
    assert contents.longer(begun, ended) == contents.longer(ended, begun) == ended
    assert contents.longer(ended, other) is None
    path, data = contents.as_own_session(
        "raw/conversations/2026/06/12/0900-s1-talk.md", other, "0123456789abcdef"
    )
    assert path == "raw/conversations/2026/06/12/0900-s1.01234567-talk.md"
    assert b"session_id: s1.01234567\n" in data and data.endswith(b"goodbye\n")
    assert (
        contents.as_own_session("conversations/a.jsonl", b"{}", "0123456789")[0]
        == "conversations/a-01234567.jsonl"
    )


def test_line_ends_are_kept() -> None:
    base = b"# Facts\n\n## One\n\n- The gauge stands.\n\nA paragraph.\n\n## Two\n\n- second\n"
    ours, theirs = base + b"- of ours\n", base.replace(b"stands.\n", b"stands.\n- of theirs\n")
    wanted = theirs + b"- of ours\n"
    for is_crlf in range(8):
        first, second, third = (
            data.replace(b"\n", b"\r\n") if is_crlf >> at & 1 else data
            for at, data in enumerate((base, ours, theirs))
        )
        made = entries.merged(FACTS, first, second, third)
        was, mine, other = (b"\r" in side for side in (first, second, third))
        converted = mine if mine != was else other
        assert not made.hunks
        assert made.data == (wanted.replace(b"\n", b"\r\n") if converted else wanted), is_crlf


def test_an_entry_that_both_added_is_there_once_even_if_one_deleted_the_entry_above() -> None:
    old = b"- The gauge stands at Nordersiel. [from: a, 2026-06-01]\n"
    new = b"- Kvalnes has a modem that dials at night. [from: b, 2026-06-02]\n"
    base, ours, theirs = b"# Facts\n\n" + old, b"# Facts\n\n" + new, b"# Facts\n\n" + old + new
    assert entries.merged(FACTS, base, ours, theirs).data == ours
    assert entries.merged(FACTS, base, theirs, ours).data == ours
