"""Files that are cut off or damaged: what is whole is read, and the rest is said."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from engine.transcripts.chats.read import read_chats
from tests.cases import each_case
from tests.chats.test_layouts import said

_MESSAGES = [
    {"message": {"role": "user", "content": "one"}},
    {"message": {"role": "assistant", "content": "two"}},
    {"message": {"role": "user", "content": "three {"}},
]
_CHAT = json.dumps({"title": "x", "sessionId": "x", "history": _MESSAGES}, indent=2)
_LIST = json.dumps(
    [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three {"},
    ],
    indent=1,
)


@each_case("text", [_CHAT[:-30], _LIST[:-20]])
def test_a_document_that_is_cut_off_is_read_to_its_last_whole_message(text: str) -> None:
    (found,) = read_chats(text.encode(), "x.json")
    assert said(found)[:2] == [("user", "one"), ("agent", "two")]
    assert found.left_out["unreadable-lines"] == 1


def test_a_message_that_is_damaged_costs_itself_alone() -> None:
    (found,) = read_chats(_LIST.replace('"two"', '"two').encode(), "x.json")
    assert ("user", "one") in said(found)
    (found,) = read_chats(_LIST.replace('"assistant"', "assistant").encode(), "x.json")
    assert said(found) == [("user", "one"), ("user", "three {")]
    assert found.left_out == {"unreadable-lines": 1}


def test_a_damaged_line_is_counted() -> None:
    lines = ['{"role": "user", "content": "one"}', '{"role": "assis', '{"role": "user", "content": "two"}']
    (found,) = read_chats("\n".join(lines).encode(), "x.jsonl")
    assert said(found) == [("user", "one"), ("user", "two")]
    assert found.left_out == {"unreadable-lines": 1}


def test_a_file_of_several_exports_of_opencode_has_them_all() -> None:
    def export(name: str) -> dict[str, object]:
        message = {"info": {"role": "user"}, "parts": [{"type": "text", "text": name}]}
        return {"info": {"id": name, "directory": "/w"}, "messages": [message]}

    found = read_chats(json.dumps([export("one"), export("two")]).encode(), "x.json")
    assert [said(chat) for chat in found] == [[("user", "one")], [("user", "two")]]


def test_objects_in_a_text_with_brackets_are_no_messages() -> None:
    text = '[USER]\nWhy does {"role": "user",\n"content": "three"} fail?\n\n[ASSISTANT]\nIt is cut.\n'
    (found,) = read_chats(text.encode(), "x.txt")
    assert [turn.role for turn in found.turns] == ["user", "agent"]


@each_case("text", ["[" * 500_000 + "]" * 500_000, '{"a":' * 300_000])
def test_values_within_values_without_end_are_no_chat(text: str) -> None:
    assert not read_chats(text.encode(), "x.json")


def test_a_time_that_lies_ahead_is_none() -> None:
    messages = [{"role": "user", "content": "one", "timestamp": "9999-12-31T23:59:59Z"}]
    messages += [{"role": "assistant", "content": "two", "timestamp": "2026-01-05T08:00:00Z"}]
    (found,) = read_chats(json.dumps(messages).encode(), "x.json")
    assert said(found) == [("user", "one"), ("agent", "two")]
    assert found.started == datetime(2026, 1, 5, 8, tzinfo=UTC)
