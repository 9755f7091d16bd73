"""Files that both sides changed become one, by what kind of file they are; nothing that was added is lost."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from engine.knowledge import ledger
from engine.sync import entries, ledgers, lines, state_files, transcripts
from engine.sync.contents import kind_of
from engine.sync.model import Hunk

FACTS = "knowledge/facts.md"
WORDS = ("gauge", "lock", "tide", "Hafenamt", "advisory", "alarm", "phone", "plants", "tablet", "Postgres")


def test_a_kind_is_known_by_the_path_also_in_the_archive() -> None:
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
        "topics/travel.md": "text",
        "memory-config.yaml": "text",
        "knowledge/people/ada.md": "text",
    }
    assert {path: kind_of(path) for path in kinds} == kinds


def record(minute: int, name: str) -> bytes:
    return b'{"at":"2026-06-12T08:%02d:00+00:00","id":"%s"}\n' % (minute, name.encode())


def test_logs_are_one_in_the_order_of_their_times_and_a_secret_that_was_taken_out_stays_out() -> None:
    base = record(1, "a") + record(2, "secret")
    ours = record(1, "a") + record(5, "b") + record(9, "c") + record(9, "c")
    theirs = base + b"not json\n" + record(7, "d") + record(9, "c")
    made = lines.union(base, ours, theirs)
    wanted = record(1, "a") + b"not json\n" + record(5, "b") + record(7, "d") + record(9, "c") * 2
    assert made == wanted == lines.union(base, theirs, ours)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.booleans())))
def test_every_line_of_a_log_is_there_as_often_as_on_the_side_that_has_it_oftener(
    added: list[tuple[int, str, bool]],
) -> None:
    base = record(0, "base")
    ours = base + b"".join(record(at, name) for at, name, mine in added if mine)
    theirs = base + b"".join(record(at, name) for at, name, mine in added if not mine)
    wanted = Counter(ours.splitlines()) | Counter(theirs.splitlines())
    assert Counter(lines.union(base, ours, theirs).splitlines()) == wanted


def test_entries_of_both_sides_are_there_in_order_and_the_same_one_once() -> None:
    base = b"---\ntype: facts\n---\n# Facts\n\n- Old.\n"
    same = b"- Said twice. [from: s, %s]\n"
    ours = base + b"- B. [from: y, 2026-06-12]\n  with more\n" + same % b"2026-06-13"
    theirs = base + b"- A. [from: x, 2026-06-11]\n" + same % b"2026-06-14" + b"\n## Aside\n\n- Z.\n"
    made = entries.merged(FACTS, base, ours, theirs)
    assert made.hunks == ()
    assert made.data.decode() == (
        "---\ntype: facts\n---\n# Facts\n\n- Old.\n- A. [from: x, 2026-06-11]\n"
        "- B. [from: y, 2026-06-12]\n  with more\n- Said twice. [from: s, 2026-06-13]\n\n## Aside\n\n- Z.\n"
    )


def test_neighbours_may_be_edited_ticked_and_taken_out_on_both_sides() -> None:
    base = b"# Tasks\n\n## Open\n\n- Water.\n- Call the office.\n- Write the advisory.\n\n## Done\n"
    ours = b"# Tasks\n\n## Open\n\n- Water twice.\n- Call the office.\n\n## Done\n\n- Write the advisory.\n"
    theirs = base.replace(b"- Call the office", b"- [x] Call the office").replace(
        b"## Open\n", b"## Open\n\n- First."
    )
    made = entries.merged("knowledge/tasks.md", base, ours, theirs)
    assert made.data.decode() == (
        "# Tasks\n\n## Open\n\n- First.\n- Water twice.\n- [x] Call the office.\n\n"
        "## Done\n\n- Write the advisory.\n"
    )
    assert made.hunks == ()


def test_an_entry_that_both_changed_is_a_conflict_and_the_rest_is_merged() -> None:
    base, ours, theirs = (b"# F\n\n- The gauge is %s.\n" % word for word in (b"low", b"lower", b"high"))
    theirs += b"- New there.\n"
    made = entries.merged(FACTS, base, ours, theirs)
    assert made.hunks == (Hunk("- The gauge is low.", "- The gauge is lower.", "- The gauge is high."),)
    assert entries.merged(FACTS, base, ours, theirs, "theirs").data == theirs
    assert entries.merged(FACTS, base, ours, theirs, "ours").data == ours + b"- New there.\n"
    gone = entries.merged(FACTS, base, b"# F\n", theirs)
    assert gone.hunks == (Hunk("- The gauge is low.", "", "- The gauge is high."),)


def test_a_journal_that_both_began_has_each_heading_once() -> None:
    ours = b"## 2026-06-12\n\n### locks\n- Of ours.\n\n### ops\n- Ours too.\n"
    theirs = b"## 2026-06-12\n\n### people\n- Ada.\n\n### locks\n- Of theirs.\n"
    made = entries.merged("knowledge/journal/2026-06-12.md", b"", ours, theirs)
    assert made.data.decode() == (
        "## 2026-06-12\n\n### people\n- Ada.\n\n### locks\n- Of ours.\n- Of theirs.\n\n### ops\n- Ours too.\n"
    )


TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


@given(st.lists(TEXT, max_size=6, unique=True), st.data())
def test_whatever_two_sides_do_to_a_list_every_line_is_in_the_result_or_in_a_conflict(
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
    made = entries.merged(FACTS, file(base), file(left), file(right))
    told = made.data.decode() + "".join(piece.ours + "\n" + piece.theirs + "\n" for piece in made.hunks)
    new = {*left, *right} - {*base}
    assert new <= {line.removeprefix("- ") for line in told.splitlines()}
    kept = [line for line in base if line in left and line in right]
    assert Counter(kept) <= Counter(line.removeprefix("- ") for line in told.splitlines())
    if file(left) == file(base):
        assert made.data.rstrip() == file(right).rstrip() and not made.hunks


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


def test_ledgers_are_one_entry_by_entry() -> None:
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
    made = ledgers.merged(*(ledger.bytes_of(each) for each in (base, ours, theirs)))
    assert made is not None
    found = json.loads(made)["entries"]
    assert list(found) == [one, two, three, four]
    assert found[one]["restored"] and not found[one]["deleted"], "who took a conversation back keeps it"
    assert found[two]["status"] == "harvested" and found[two]["lines"] == [line("b")]
    assert ledger.trees_of(made) == found
    assert ledgers.merged(b"", b"{", made) is None


def test_states_are_one_key_by_key() -> None:
    made = state_files.merged(
        b'{"a": {"x": 1}, "gone": 1}', b'{"a": {"x": 2}, "gone": 1, "b": 1}', b'{"a": {"x": 1, "y": 3}}'
    )
    assert made is not None and json.loads(made) == {"a": {"x": 2, "y": 3}, "b": 1}
    assert state_files.merged(b"", b"[]", b"{}") is None


def test_a_conversation_goes_on_or_is_kept_twice() -> None:
    begun = b"---\nsession_id: s1\n---\n# Talk\n"
    ended = b"---\nsession_id: s1\nended: 2026-06-12T09:00:00Z\n---\n# Talk\n\n## 09:00 - user\nhello\n"
    other = begun + b"\n## 09:00 - user\ngoodbye\n"
    assert transcripts.longer(begun, ended) == transcripts.longer(ended, begun) == ended
    assert transcripts.longer(ended, other) is None
    path, data = transcripts.as_own_session(
        "raw/conversations/2026/06/12/0900-s1-talk.md", other, "0123456789abcdef"
    )
    assert path == "raw/conversations/2026/06/12/0900-s1.01234567-talk.md"
    assert b"session_id: s1.01234567\n" in data and data.endswith(b"goodbye\n")
    assert (
        transcripts.as_own_session("conversations/a.jsonl", b"{}", "0123456789")[0]
        == "conversations/a-01234567.jsonl"
    )
