"""Logs of agents: the person's words, and what the program says in their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.transcripts.chats.read import may_be_chat, read_chats, why_empty
from engine.transcripts.turn import COMMAND, Attachment
from tests.chats.test_layouts import calls, chats, lines, said


def test_the_events_of_copilots_command_line_are_read() -> None:
    def event(kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "id": "x", "timestamp": "2026-04-02T04:40:02Z", "parentId": None}

    started = {"sessionId": "252d6b6b", "selectedModel": "m", "context": {"cwd": "/w"}}
    found = lines(
        event("session.start", **started),
        event("user.message", content="one", attachments=[{"displayName": "a.py"}]),
        event("user.message", content="# A skill", source="skill-pdf"),
        event("assistant.reasoning", content="hm"),
        event(
            "assistant.message", content="two", toolRequests=[{"name": "view", "arguments": {"path": "a"}}]
        ),
        event("assistant.message", content="of a sub-agent", parentToolCallId="t"),
        event("tool.execution_complete", result={"content": "x"}),
        event("user.message", content="three"),
    )
    assert (found.format, found.session_id, found.cwd, found.model) == ("copilot-cli", "252d6b6b", "/w", "m")
    assert said(found) == [("user", "one"), ("agent", "two"), ("user", "three")]
    assert calls(found) == ["view"]
    assert Attachment("a.py") in found.turns[0].blocks
    assert found.left_out == {
        "system-records": 2,
        "injected": 1,
        "thinking": 1,
        "tool-output": 1,
        "images": 1,
    }


def pi(kind: str, **fields: Any) -> dict[str, Any]:
    at = {"id": "0a1b2c3d", "timestamp": "2026-08-07T18:28:27.981Z"}
    return (
        {"type": kind, **at, **fields}
        if kind == "session"
        else {"type": kind, "parentId": None, **at, **fields}
    )


def pi_says(role: str, *parts: Any, **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": each} if isinstance(each, str) else each for each in parts]
    return pi("message", message={"role": role, "content": content, **fields})


def test_a_session_of_pi_is_read_with_what_its_extensions_keep_in_it() -> None:
    skill = '<skill name="tidy" location="/h/SKILL.md">\nTidy </skill> up.\n\nAlways.\n</skill>'
    found = lines(
        pi("session", version=3, cwd="/w"),
        pi("custom", customType="planner", data={"phase": "idle"}),
        pi("session_info", name="Tidying"),
        pi_says("user", "one"),
        pi_says(
            "assistant",
            {"type": "thinking"},
            "two",
            {"type": "toolCall", "name": "ls", "arguments": {}},
            model="m",
        ),
        pi_says("toolResult", "a.py"),
        pi("custom_message", customType="linter", content="Lint it.", display=True),
        pi_says("user", f"{skill}\n\nthe shop"),
        pi_says("user", skill),
        pi("message", message={"role": "bashExecution", "command": "ls", "output": "a.py"}),
        pi_says("user", f"{skill} is what I see"),
    )
    assert (found.format, found.session_id, found.cwd, found.model) == ("pi", "0a1b2c3d", "/w", "m")
    assert (found.title, calls(found)) == ("Tidying", ["ls"])
    asked = [(turn.kind, turn.text) for turn in found.turns if turn.role == "user"]
    assert asked == [
        ("", "one"), (COMMAND, "/skill:tidy the shop"), (COMMAND, "/skill:tidy"), ("", "! ls"),
        ("", f"{skill} is what I see"),
    ]  # fmt: skip
    assert found.left_out == {"system-records": 3, "thinking": 1, "tool-output": 1, "injected": 1}


def test_a_sub_agent_of_pi_is_told_its_task_by_the_agent() -> None:
    about = pi("session", version=3, cwd="/w"), pi("session_info", name="subagent-reviewer-7063d38c-1")
    records = *about, pi_says("user", "Task: look"), pi_says("assistant", "two")
    log = "\n".join(map(json.dumps, records)).encode()
    assert (read_chats(log, "x.jsonl"), why_empty(log, "x.jsonl")) == ((), "it is a sub-agent's log")


def test_a_text_thread_of_zed_is_read_without_what_commands_put_in() -> None:
    parts = [("user", "/file a.py\nx = 1\nwhat is ü?\n"), ("assistant", "A letter.\n"), ("user", "")]
    place, messages = 0, []
    for role, text in parts:
        messages.append({"start": place, "metadata": {"role": role}})
        place += len(text.encode())
    put_in = [{"range": {"start": 0, "end": len("/file a.py\nx = 1\n")}, "label": "a.py"}]
    text = "".join(text for _, text in parts)
    about = {"zed": "context", "version": "0.4.0", "id": "t1", "summary": "Letters"}
    thread = {**about, "text": text, "messages": messages, "slash_command_output_sections": put_in}
    (found,) = chats(thread)
    assert (found.format, found.session_id, found.title) == ("zed", "t1", "Letters")
    assert said(found) == [("user", "what is ü?"), ("agent", "A letter.")]
    assert found.left_out == {"injected": 1}


def test_the_events_of_openhands_are_read() -> None:
    def event(source: str, **more: Any) -> dict[str, Any]:
        return {"id": 1, "timestamp": "2025-07-10T23:44:29", "source": source, "message": "", **more}

    (found,) = chats(
        [
            event("environment", observation="agent_state_changed", content="", extras={}),
            event("agent", action="system", args={"content": "You are OpenHands agent"}),
            event("user", action="message", args={"content": "one", "image_urls": ["x"]}),
            event("user", action="recall", args={"query": "one"}),
            event("agent", action="run", args={"command": "ls", "thought": "two"}),
            event("agent", observation="run", content="a.py", extras={}),
            event("agent", action="finish", args={"final_thought": "Done."}),
            event("user", action="message", args={"content": "three"}),
        ]
    )
    assert said(found) == [("user", "one"), ("agent", "two\n\nDone."), ("user", "three")]
    assert calls(found) == ["run"]
    assert found.left_out == {"system-records": 3, "images": 1, "tool-output": 1}


def test_the_events_of_openhands_since_version_1_are_read() -> None:
    def message(source: str, text: str) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        return {"kind": "MessageEvent", "source": source, "llm_message": {"content": content}}

    (found,) = chats(
        [
            {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"text": "You are"}},
            message("user", "one"),
            {
                "kind": "ActionEvent",
                "source": "agent",
                "thought": [{"text": "two"}],
                "tool_name": "terminal",
                "action": {"command": "ls"},
            },
            {"kind": "ObservationEvent", "source": "environment", "observation": {"content": "a.py"}},
            message("agent", "Done."),
            message("user", "three"),
        ]
    )
    assert said(found) == [("user", "one"), ("agent", "two\n\nDone."), ("user", "three")]
    assert calls(found) == ["terminal"]
    assert found.left_out == {"system-records": 1, "tool-output": 1}


def test_what_swe_agent_tells_its_model_is_not_the_persons() -> None:
    task = (
        "We're currently solving the following issue within our repository. Here's the issue text:\nISSUE:\n"
    )
    history = [
        {"role": "system", "content": "You are"},
        {"role": "user", "content": "Here is a demonstration", "is_demo": True},
        {"role": "user", "content": f"{task}It fails.\n\nINSTRUCTIONS:\nNow solve it."},
        {"role": "assistant", "content": "Let me look."},
        {"role": "user", "content": "a.py\n(Open file: n/a)"},
    ]
    (found,) = chats({"trajectory": [], "history": history, "info": {}}, "x.traj")
    assert [role for role, _ in said(found)] == ["system", "user", "agent"]
    assert said(found)[1:] == [("user", "It fails."), ("agent", "Let me look.")]
    assert found.left_out == {"system-records": 1, "tool-output": 2}
    challenge = [{"role": "user", "content": "We're currently solving the following CTF challenge."}]
    (found,) = chats({"trajectory": [], "history": challenge, "info": {}}, "x.traj")
    assert [role for role, _ in said(found)] == ["system"]
    settings = {"problem_statement": {"type": "text", "text": "Fix it."}}
    (found,) = chats(
        {"trajectory": [], "history": challenge, "info": {}, "replay_config": json.dumps(settings)}, "x.traj"
    )
    assert said(found)[1:] == [("user", "Fix it.")]


def test_a_session_of_continue_is_read() -> None:
    history = [
        {
            "message": {"role": "user", "content": [{"type": "text", "text": "one"}]},
            "contextItems": [{"content": "x"}],
        },
        {"message": {"role": "thinking", "content": "hm"}},
        {
            "message": {
                "role": "assistant",
                "content": "two",
                "toolCalls": [{"function": {"name": "read_file", "arguments": "{}"}}],
            }
        },
        {"message": {"role": "tool", "content": "x"}},
        {"message": {"role": "user", "content": "three"}},
    ]
    (found,) = chats({"history": history, "title": "T", "sessionId": "s-1", "workspaceDirectory": "/w"})
    assert (found.format, found.session_id, found.title, found.cwd) == ("continue", "s-1", "T", "/w")
    assert said(found) == [("user", "one"), ("agent", "two"), ("user", "three")]
    assert calls(found) == ["read_file"]
    assert found.left_out == {"thinking": 1, "tool-output": 1}


def test_a_log_of_claude_code_in_which_nobody_spoke_is_known() -> None:
    log = json.dumps({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}).encode()
    assert not read_chats(log, "x.jsonl") and why_empty(log, "x.jsonl")
    started = b"\n# aider chat started at 2026-01-28 06:18:42\n\n> Aider v0.86.2  \n"
    assert not read_chats(started, "x.md") and why_empty(started, "x.md")


def test_a_session_of_commands_alone_is_counted_and_one_with_words_is_read() -> None:
    def typed(text: str, session: str) -> str:
        record = {"display": text, "pastedContents": {}, "timestamp": 1771264860000, "project": "/w"}
        return json.dumps({**record, "sessionId": session})

    history = [
        typed("/exit", "a"),
        typed("/usage", "a"),
        typed("/ultra where are the results?", "b"),
        typed("hi", "c"),
    ]
    found = read_chats("\n".join(history).encode(), "history.jsonl")
    assert [said(chat) for chat in found] == [
        [("user", "/ultra where are the results?")],
        [("user", "hi")],
    ]
    assert [chat.left_out for chat in found] == [{"commands": 2}, {}]
    assert not read_chats(history[0].encode(), "history.jsonl") and why_empty(
        history[0].encode(), "history.jsonl"
    )


def test_opencodes_storage_is_read_by_session(tmp_path: Path) -> None:
    def write(place: str, **value: Any) -> Path:
        path = tmp_path / "storage" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
        return path

    session = write("session/p1/ses_1.json", id="ses_1", projectID="p1", directory="/w", title="T")
    message = write("message/ses_1/msg_1.json", id="msg_1", role="user", time={"created": 1771216037742})
    write("message/ses_1/msg_2.json", id="msg_2", role="assistant", modelID="m")
    part = write("part/msg_1/prt_1.json", type="text", text="one")
    write("part/msg_1/prt_2.json", type="text", text="a file", synthetic=True)
    write("part/msg_2/prt_3.json", type="text", text="two")
    (tmp_path / "storage/part/msg_2/prt_4.json").write_text("{")
    (found,) = read_chats(session.read_bytes(), str(session))
    assert (found.format, found.session_id, found.cwd) == ("opencode", "ses_1", "/w")
    assert said(found) == [("user", "one"), ("agent", "two")]
    assert found.left_out == {"injected": 1}
    assert [may_be_chat(path) for path in (session, message, part)] == [True, False, False]
    sub_agents = write("session/p1/ses_2.json", id="ses_2", projectID="p1", directory="/w", parentID="ses_1")
    write("message/ses_2/msg_3.json", id="msg_3", role="user")
    write("part/msg_3/prt_5.json", type="text", text="find it")
    write("message/ses_2/msg_4.json", id="msg_4", role="assistant")
    write("part/msg_4/prt_6.json", type="text", text="found it")
    assert not read_chats(sub_agents.read_bytes(), str(sub_agents))
