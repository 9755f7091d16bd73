"""Programs that keep their chats in a layout of their own: the person's words, and whose the others are."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from engine.transcripts.chats.chat import Chat
from engine.transcripts.chats.read import read_chats
from engine.transcripts.turn import ANSWER, ToolCall

_DIALOGUE = [("user", "one"), ("agent", "two"), ("user", "three")]


def chats(value: Any, name: str = "x.json") -> tuple[Chat, ...]:
    return read_chats(json.dumps(value).encode(), name)


def lines(*records: dict[str, Any]) -> Chat:
    (found,) = read_chats("\n".join(map(json.dumps, records)).encode(), "x.jsonl")
    return found


def said(chat: Chat) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in chat.turns]


def calls(chat: Chat) -> list[str]:
    return [block.name for turn in chat.turns for block in turn.blocks if isinstance(block, ToolCall)]


def test_what_the_panel_of_cline_has_shown_is_read() -> None:
    def shown(kind: str, name: str, text: str = "", **more: Any) -> dict[str, Any]:
        return {"ts": 1767644899093, "type": kind, kind: name, "text": text, **more}

    (found,) = chats(
        [
            shown("say", "text", "one", images=["data:image/png;base64,AA"]),
            shown("say", "checkpoint_created"),
            shown("say", "api_req_started", json.dumps({"request": "<task>\none\n</task>"})),
            shown("say", "reasoning", "hm"),
            shown("ask", "tool", json.dumps({"tool": "readFile", "path": "a.py"})),
            shown("say", "command", "ls"),
            shown("ask", "command_output", "a.py"),
            shown("say", "text", "two"),
            shown("ask", "followup", json.dumps({"question": "Which?", "options": ["a"], "selected": "a"})),
            shown("ask", "followup", json.dumps({"question": "Sure?", "options": []})),
            shown("say", "user_feedback", "three"),
            shown("say", "completion_result", "four"),
            shown("ask", "completion_result"),
        ]
    )
    assert found.format == "cline"
    assert found.started == datetime.fromtimestamp(1767644899.093, UTC)
    assert said(found) == [
        ("user", "one"),
        ("agent", "two\n\nWhich?"),
        ("user", "a"),
        ("agent", "Sure?"),
        ("user", "three"),
        ("agent", "four"),
    ]
    assert found.turns[2].kind == ANSWER
    assert calls(found) == ["readFile", "command"]
    assert found.left_out == {"images": 1, "thinking": 1, "tool-output": 1, "system-records": 2}


def test_what_kiros_command_line_saves_is_read() -> None:
    def user(kind: str, **content: Any) -> dict[str, Any]:
        folder = {"env_state": {"current_working_directory": "/w"}}
        return {"content": {kind: content}, "env_context": folder, "timestamp": "2026-03-10T10:00:00Z"}

    result = {"tool_use_results": [{"content": [{"Text": "a.py"}]}]}
    history = [
        {
            "user": user("Prompt", prompt="one"),
            "assistant": {
                "ToolUse": {"content": "two", "tool_uses": [{"name": "fs_read", "args": {"path": "a"}}]}
            },
        },
        {"user": user("ToolUseResults", **result), "assistant": {"Response": {"content": "then"}}},
        {"user": user("CancelledToolUses", prompt="three", **result), "assistant": {"Response": {}}},
    ]
    saved = {"conversation_id": "c1", "history": history, "transcript": ["> one", "two"]}
    (found,) = chats(saved)
    assert (found.format, found.session_id, found.cwd) == ("kiro", "c1", "/w")
    assert said(found) == [("user", "one"), ("agent", "two\n\nthen"), ("user", "three")]
    assert calls(found) == ["fs_read"]
    assert found.left_out == {"tool-output": 2}

    pairs = [[each["user"], each["assistant"]] for each in history]
    (earlier,) = chats({**saved, "history": pairs})
    assert said(earlier) == said(found)


def test_a_session_log_of_kiros_command_line_is_read() -> None:
    def record(kind: str, *content: tuple[str, Any], **more: Any) -> dict[str, Any]:
        parts = [{"kind": name, "data": data} for name, data in content]
        return {"version": "v1", "kind": kind, "data": {"message_id": "m", "content": parts, **more}}

    found = lines(
        record("Prompt", ("text", "one"), meta={"timestamp": 1780841667}),
        record(
            "AssistantMessage",
            ("thinking", {"text": "hm"}),
            ("text", "two"),
            ("toolUse", {"name": "grep", "input": {"pattern": "x"}}),
        ),
        record("ToolResults", ("toolResult", {"content": [{"kind": "text", "data": "quoted"}]})),
        record("Prompt", ("text", "three")),
    )
    assert found.format == "kiro"
    assert found.started == datetime.fromtimestamp(1780841667, UTC)
    assert said(found) == _DIALOGUE
    assert found.left_out == {"thinking": 1, "tool-output": 1}


def test_the_steps_of_antigravity_are_read() -> None:
    def step(source: str, kind: str, content: str = "", **more: Any) -> dict[str, Any]:
        at = "2026-06-26T21:16:16Z"
        return {"step_index": 0, "source": source, "type": kind, "content": content, "created_at": at, **more}

    found = lines(
        step("USER_EXPLICIT", "USER_INPUT", "<USER_REQUEST>\none\n</USER_REQUEST>\n<X>\nset\n</X>"),
        step("SYSTEM", "CONVERSATION_HISTORY"),
        step("MODEL", "PLANNER_RESPONSE", "two", tool_calls=[{"name": "list_dir", "args": {}}]),
        step("MODEL", "LIST_DIRECTORY", "a.py"),
        step("USER_EXPLICIT", "USER_INPUT", "three"),
    )
    assert found.format == "antigravity"
    assert said(found) == _DIALOGUE
    assert found.left_out == {"system-records": 1, "tool-output": 1}


def test_a_prompt_in_kimis_wire_log_is_read_once_and_its_reminders_are_nobodys() -> None:
    def message(text: str, kind: str = "user") -> dict[str, Any]:
        content = {"role": "user", "content": [{"type": "text", "text": text}], "origin": {"kind": kind}}
        return {"type": "context.append_message", "message": content, "time": 1785612812820}

    def event(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": "context.append_loop_event", "event": {"type": kind, **more}, "time": 1785612812825}

    found = lines(
        {"type": "metadata", "protocol_version": "1.4", "created_at": 1785612812000},
        {"type": "turn.prompt", "input": [{"type": "text", "text": "one"}], "origin": {"kind": "user"}},
        message("one"),
        message("be brief", "injection"),
        event("content.part", part={"type": "think", "think": "hm"}),
        event("content.part", part={"type": "text", "text": "two"}),
        event("tool.call", name="Bash", args={"command": "ls"}),
        event("tool.result", result={"output": "a.py"}),
        message("three"),
    )
    assert found.format == "kimi"
    assert said(found) == _DIALOGUE
    assert calls(found) == ["Bash"]
    assert found.left_out == {"system-records": 2, "injected": 1, "thinking": 1, "tool-output": 1}


def test_what_groks_and_qwens_programs_write_in_the_persons_place_is_not_theirs() -> None:
    grok = lines(
        {"type": "user", "content": "<user_info>\nmacos\n</user_info>", "synthetic_reason": "environment"},
        {"type": "user", "content": [{"type": "text", "text": "one"}]},
        {"type": "assistant", "content": "two"},
    )
    assert said(grok) == _DIALOGUE[:2]
    hook = "<qwen:user-prompt-submit-context>\nfrom a hook\n</qwen:user-prompt-submit-context>"

    def record(kind: str, *texts: str, **more: Any) -> dict[str, Any]:
        message = {"role": "user" if kind == "user" else "model", "parts": [{"text": text} for text in texts]}
        return {"uuid": "u", "sessionId": "s", "type": kind, "message": message, **more}

    qwen = lines(
        {"uuid": "u", "sessionId": "s", "type": "system", "subtype": "ui_telemetry", "systemPayload": {}},
        record("user", "one", hook),
        record("assistant", "two"),
        record("user", "a task has ended", subtype="notification"),
        {"uuid": "u", "sessionId": "s", "type": "system", "cwd": "/w"},
    )
    assert said(qwen) == _DIALOGUE[:2]


def test_sessions_that_gemini_has_numbered_stay_apart() -> None:
    one, two = chats(
        [
            {"sessionId": 1748393130, "messageId": 0, "type": "user", "message": "one"},
            {"sessionId": 1748393199, "messageId": 0, "type": "user", "message": "two"},
        ]
    )
    assert [(each.session_id, said(each)) for each in (one, two)] == [
        ("1748393130", [("user", "one")]),
        ("1748393199", [("user", "two")]),
    ]


def test_a_prompt_to_a_participant_of_copilot_is_read() -> None:
    asked = {"text": "@terminal /explain it", "parts": [{"kind": "agent"}, {"kind": "slash"}]}
    (found,) = chats(
        {"responderUsername": "GitHub Copilot", "requests": [{"message": asked, "response": []}]}
    )
    assert said(found) == [("user", "@terminal /explain it")]
