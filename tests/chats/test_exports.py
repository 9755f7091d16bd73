"""Exports in JSON of programs that put their messages in different places."""

from __future__ import annotations

import json
from typing import Any

from engine.transcripts.chats.read import read_chats
from tests.cases import each_case
from tests.transcripts.logs import SESSION, ClaudeCode

_DIALOGUE = [("user", "one"), ("agent", "two"), ("user", "three")]
_SPOKEN = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "two"},
    {"role": "user", "content": "three"},
]


def _librechat(*, nested: bool) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"messageId": "1", "sender": "User", "isCreatedByUser": True, "text": "one"},
        {"messageId": "2", "sender": "Marketing Helper", "isCreatedByUser": False, "text": "two"},
        {"messageId": "3", "sender": "User", "isCreatedByUser": True, "text": "three"},
    ]
    if nested:
        messages[1]["children"] = [messages.pop()]
        messages[0]["children"] = [messages.pop()]
    return {"conversationId": "c1", "title": "T", "messages": messages}


def _open_webui() -> list[dict[str, Any]]:
    def message(name: str, parent: str | None, below: list[str], role: str, content: str) -> dict[str, Any]:
        at = 1772359200 + int(name)
        return {"parentId": parent, "childrenIds": below, "role": role, "content": content, "timestamp": at}

    tree = {
        "1": message("1", None, ["2"], "user", "one"),
        "2": message("2", "1", ["3"], "assistant", "two"),
        "3": message("3", "2", [], "user", "three"),
    }
    branch = [{"id": "1", **tree["1"]}]
    return [
        {
            "id": "o1",
            "chat": {"title": "T", "history": {"messages": tree, "currentId": "3"}, "messages": branch},
        }
    ]


def _opencode() -> dict[str, Any]:
    def message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"info": {"role": role, "time": {"created": 1772359200000}}, "parts": list(parts)}

    return {
        "info": {"id": "ses_1", "directory": "/w", "title": "T"},
        "messages": [
            message(
                "user",
                {"type": "text", "text": "one"},
                {"type": "text", "synthetic": True, "text": "Called the Read tool"},
                {"type": "text", "ignored": True, "text": "-7K removed"},
            ),
            message(
                "assistant",
                {"type": "reasoning", "text": "hm"},
                {
                    "type": "tool",
                    "tool": "read",
                    "state": {"status": "completed", "input": {"filePath": "a"}},
                },
                {"type": "text", "text": "two"},
            ),
            message("user", {"type": "text", "text": "three"}),
        ],
    }


def _grok() -> dict[str, Any]:
    def response(sender: str, text: str) -> dict[str, Any]:
        at = {"$date": {"$numberLong": "1772359200000"}}
        return {"response": {"message": text, "sender": sender, "create_time": at}}

    said = [response("human", "one"), response("ASSISTANT", "two"), response("human", "three")]
    return {"conversations": [{"conversation": {"id": "g1", "title": "T"}, "responses": said}]}


def _deepseek() -> list[dict[str, Any]]:
    def node(name: str, parent: str, below: list[str], *fragments: tuple[str, str]) -> dict[str, Any]:
        parts = [{"type": kind, "content": text} for kind, text in fragments]
        message = {
            "model": "deepseek-chat",
            "inserted_at": f"2026-03-01T10:0{name}:00+03:00",
            "fragments": parts,
        }
        return {"id": name, "parent": parent, "children": below, "message": message}

    tree = {
        "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
        "1": node("1", "root", ["2"], ("REQUEST", "one")),
        "2": node("2", "1", ["3"], ("THINK", "hm"), ("RESPONSE", "two")),
        "3": node("3", "2", [], ("REQUEST", "three")),
    }
    return [{"id": "d1", "title": "T", "inserted_at": "2026-03-01T10:00:00+03:00", "mapping": tree}]


EXPORTS: dict[str, Any] = {
    "deepseek": _deepseek(),
    "qwen": {"success": True, "request_id": "r", "data": _open_webui()},
    "librechat": _librechat(nested=False),
    "librechat-branches": _librechat(nested=True),
    "open-webui": _open_webui(),
    "opencode": _opencode(),
    "grok": _grok(),
    "chatbot-ui": {"version": 4, "history": [{"id": "h1", "name": "T", "messages": _SPOKEN}], "folders": []},
    "first-codex": {
        "session": {"id": "x1", "instructions": ""},
        "items": [
            {"role": role, "type": "message", "content": [{"type": kind, "text": text}]}
            for role, kind, text in (
                ("user", "input_text", "one"),
                ("assistant", "output_text", "two"),
                ("user", "input_text", "three"),
            )
        ],
    },
}


@each_case("name", EXPORTS)
def test_an_export_is_read_with_both_sides_in_order(name: str) -> None:
    (found,) = read_chats(json.dumps(EXPORTS[name]).encode(), f"{name}.json")
    assert [(turn.role, turn.text) for turn in found.turns] == _DIALOGUE
    assert found.session_id
    assert (found.started is not None) == (name in ("open-webui", "opencode", "grok", "deepseek", "qwen"))


def test_an_export_of_several_conversations_gives_each() -> None:
    export = {"history": [{"id": "h1", "messages": _SPOKEN[:1]}, {"id": "h2", "messages": _SPOKEN[1:]}]}
    found = read_chats(json.dumps(export).encode(), "x.json")
    assert [(chat.session_id, len(chat.turns)) for chat in found] == [("h1", 1), ("h2", 2)]


def test_every_branch_of_open_webui_is_read() -> None:
    export = _open_webui()
    tree = export[0]["chat"]["history"]["messages"]
    tree["1"]["childrenIds"].append("4")
    tree["4"] = {
        "parentId": "1",
        "childrenIds": [],
        "role": "assistant",
        "content": "another",
        "timestamp": 1,
    }
    (found,) = read_chats(json.dumps(export).encode(), "x.json")
    assert [turn.text for turn in found.turns] == ["one", "another\n\ntwo", "three"], "the current one last"


def test_qwens_sessions_are_not_taken_for_claudes() -> None:
    def line(kind: str, *parts: dict[str, Any]) -> str:
        message = {"role": "user" if kind == "user" else "model", "parts": parts}
        at = "2026-03-01T10:00:00Z"
        return json.dumps(
            {"uuid": kind, "sessionId": "q1", "type": kind, "timestamp": at, "message": message}
        )

    lines = [
        line("user", {"text": "one"}),
        line("assistant", {"text": "hm", "thought": True}, {"text": "two"}),
    ]
    (found,) = read_chats("\n".join([*lines, line("user", {"text": "three"})]).encode(), "q.jsonl")
    assert [(turn.role, turn.text) for turn in found.turns] == _DIALOGUE
    assert found.left_out == {"thinking": 1}


def test_a_log_of_claude_code_in_one_list_is_read_as_the_log() -> None:
    log = ClaudeCode()
    listed = [
        log.record("summary", summary="T"),
        log.user("Warmup", isSidechain=True),
        log.user("one"),
        log.user("# A skill\n\nDo this.", isMeta=True),
        log.thinks("hm"),
        log.says("two"),
        log.user("three"),
    ]
    (chat,) = read_chats(json.dumps(listed).encode(), "chat.json")
    assert [(turn.role, turn.text) for turn in chat.turns] == _DIALOGUE
    assert (chat.format, chat.session_id, chat.cwd) == ("claude-code", SESSION, "/home/robin/shop")
    assert chat.left_out == {"system-records": 1, "sub-agents": 1, "injected": 1, "thinking": 1}
    assert not read_chats(json.dumps(listed[1:2]).encode(), "chat.json"), "nobody but an agent speaks"


def test_events_of_copilots_command_line_are_read() -> None:
    events = [
        {"type": "session.start", "data": {"sessionId": "c"}},
        {"type": "user.message", "data": {"content": "one", "transformedContent": "<now/>\n\none"}},
        {"type": "assistant.message", "data": {"content": "two", "toolRequests": []}},
        {"type": "user.message", "data": {"content": "three"}},
    ]
    (found,) = read_chats("\n".join(map(json.dumps, events)).encode(), "events.jsonl")
    assert [(turn.role, turn.text) for turn in found.turns] == _DIALOGUE


def test_a_message_of_nobody_is_counted() -> None:
    export = {"messages": [*_SPOKEN, {"sender": "Somebody Else", "text": "four"}]}
    (found,) = read_chats(json.dumps(export).encode(), "x.json")
    assert found.left_out == {"system-records": 1}
