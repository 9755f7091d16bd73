"""The rules file: edited by both the person and the program without losing anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DocumentError
from engine.rules.rulebook import HEADINGS, Rule, Rulebook, bytes_of, rule_id, rules_in

_TEXTS = st.text(
    st.characters(exclude_categories=("C", "Z"), exclude_characters="{}"), min_size=1, max_size=40
)
_RULES = st.builds(
    Rule,
    id=st.integers(0, 16**7 - 1).map(lambda number: f"{number:07x}"),
    text=_TEXTS,
    state=st.sampled_from(list(HEADINGS)),
    told=st.integers(0, 99),
    last=st.sampled_from(["", "2026-06-12"]),
    accepted=st.sampled_from(["", "2026-06-13"]),
    own=st.booleans(),
    project=st.sampled_from(["", "gauges"]),
    also=st.lists(st.sampled_from(["0000001", "0000002"]), unique=True).map(tuple),
)


@given(st.lists(_RULES, unique_by=lambda rule: rule.id, max_size=8))
def test_rulebooks_round_trip(rules: list[Rule]) -> None:
    data = bytes_of(Rulebook(tuple(rules)))
    book = rules_in(data)
    assert sorted(book.rules, key=lambda rule: rule.id) == sorted(rules, key=lambda rule: rule.id)
    assert bytes_of(book) == data


def test_a_person_can_add_move_and_delete_lines() -> None:
    data = bytes_of(
        Rulebook((Rule("aaaaaaa", "draft PRs", "waiting", told=3), Rule("bbbbbbb", "no amend", "in force")))
    )
    text = data.decode()
    assert (
        text.index("## In force")
        < text.index("no amend")
        < text.index("## Waiting for")
        < text.index("draft")
    )
    moved = text.replace(
        "- no amend {#bbbbbbb}\n", "- draft PRs {#aaaaaaa told=3}\n* my own rule\n\nwhy: because\n"
    )
    moved = moved[: moved.index("## Waiting for")] + "## Notes\n\n- no rule\n"
    book = rules_in(moved.encode())
    assert [(rule.id, rule.state, rule.own) for rule in book.rules] == [
        ("aaaaaaa", "in force", False), (rule_id("my own rule"), "in force", True),
    ]  # fmt: skip
    kept = bytes_of(book).decode()
    assert "why: because" in kept and kept.endswith("## Notes\n\n- no rule\n")
    assert rules_in(kept.encode()).rules == book.rules


def test_malformed_files_are_read_without_error() -> None:
    for data in (
        b"",
        b"\x00",
        b"---\n: [\n---\n## In force\n- x {#zzz}\n",
        b"## In force\n- {#aaaaaaa}\n" * 3,
        b"## In force\n- x {#aaaaaaa told=" + b"9" * 5_000 + b"}\n",
        b"## Replaced\n- one {#aaaaaaa by=aaaaaaa also=aaaaaaa}\n",
    ):
        book = rules_in(data)
        assert rules_in(bytes_of(book)).rules == book.rules


def test_line_endings_and_byte_order_mark_are_kept() -> None:
    lines = (
        "---",
        "type: rules",
        "---",
        "",
        "# Rules",
        "",
        "## In force",
        "",
        "- one {#aaaaaaa}",
        "",
        "a note",
        "",
    )
    for data in ("\r\n".join(lines).encode(), b"\xef\xbb\xbf" + "\n".join(lines).encode()):
        book = rules_in(data)
        assert bytes_of(book) == data
        added = bytes_of(book.changed([Rule("bbbbbbb", "two", "in force")]))
        end = b"\r\n" if b"\r\n" in data else b"\n"
        assert added == data.replace(b"{#aaaaaaa}", b"{#aaaaaaa}" + end + b"- two {#bbbbbbb}")


def test_a_file_that_is_not_utf8_is_read_and_not_rewritten() -> None:
    book = rules_in(b"## In force\n\n- caf\xe9 first {#aaaaaaa}\n")
    assert [rule.text for rule in book.rules] == ["caf\ufffd first"]
    with pytest.raises(DocumentError, match=r"knowledge/rules.md:3: is not UTF-8 text; save it as UTF-8"):
        bytes_of(book)


def test_an_edited_copy_of_a_line_is_a_separate_rule() -> None:
    book = rules_in(
        b"## In force\n\n- squash merges {#aaaaaaa told=2}\n- never squash on main {#aaaaaaa told=2}\n"
    )
    assert [(rule.id, rule.text) for rule in book.rules] == [
        ("aaaaaaa", "squash merges"), (rule_id("never squash on main"), "never squash on main"),
    ]  # fmt: skip
