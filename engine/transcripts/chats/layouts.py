"""Puts the messages of programs with a layout of their own into the usual shape: ``role`` and ``content``.

Each layout is known by keys that only its records have together. Records without a speaker are passed on
without a role, so that they are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import json_in, list_of, number_of, object_of, text_of
from engine.transcripts.turn import ANSWER, COMMAND

_SEARCHED = 50
_REQUEST = re.compile(r"\s*<USER_REQUEST>\n?(?P<text>.*)\n?</USER_REQUEST>", re.DOTALL)

_ISSUE = re.compile(
    r"\AWe're currently solving the following issue[^\n]*\nISSUE:\n(?P<text>.*?)\n+INSTRUCTIONS:\n", re.DOTALL
)
# pi writes the whole skill above what was typed behind its name.
_SKILL = re.compile(
    r'\A<skill name="(?P<name>[^"\n]+)" location="[^"\n]*">\n(?:.*\n)?</skill>(?:\n\n(?P<given>.*))?\Z',
    re.DOTALL,
)

# The name that its extension for sub-agents gives to their sessions.
_SUB_AGENT = re.compile(r"subagent-[\w-]+-[0-9a-f]{8}-\d+")

Conversations = Iterator[tuple[Record, Iterable[Record]]]
"""Each conversation in a file: what describes it, and its messages."""

_NOBODY: Record = {}
"""A record without a speaker, which is counted."""

OUTPUT: Record = {"role": "tool"}
"""What a tool returned, which is counted."""


def conversations(records: Sequence[Record]) -> tuple[str, Conversations] | None:
    """The program that wrote the records, and the conversations in them; ``None`` if it is none of these."""
    for name, marks, read in LAYOUTS:
        if any(mark <= record.keys() for record in records[:_SEARCHED] for mark in marks):
            return name, read(records)
    return None


def _cline(records: Sequence[Record]) -> Conversations:
    """``ui_messages.json`` of Cline, Roo Code and Kilo Code: what the panel has shown."""
    yield {}, (found for number, each in enumerate(records) for found in _cline_messages(each, number == 0))


def _cline_messages(record: Record, is_first: bool) -> Iterator[Record]:
    kind, text = text_of(record, "say") or text_of(record, "ask"), text_of(record, "text")
    about = json_in(text) if text.startswith("{") else None
    at = {"timestamp": record.get("ts")}
    if kind in ("task", "user_feedback") or (is_first and kind == "text"):
        images = [{"type": "image"} for _ in list_of(record, "images")]
        yield {"role": "user", "content": [text, *images], **at}
    elif kind in ("text", "completion_result"):
        yield {"role": "assistant", "content": text, **at}
    elif kind in ("followup", "plan_mode_respond"):
        asked = text_of(about, "question") or text_of(about, "response") or text
        yield {"role": "assistant", "content": asked, **at}
        # An option that is chosen is no message of its own.
        yield {"role": "user", "content": text_of(about, "selected"), "kind": ANSWER, **at}
    elif kind in ("tool", "command", "use_mcp_server", "browser_action"):
        name = text_of(about, "tool") or text_of(about, "toolName") or kind
        yield calls([(name, about if about is not None else {"command": text})], at)
    elif kind == "reasoning":
        yield {"role": "assistant", "content": [{"type": "reasoning"}], **at}
    elif kind in ("command_output", "mcp_server_response", "browser_action_result"):
        yield OUTPUT
    else:
        yield _NOBODY


def _kiro(records: Sequence[Record]) -> Conversations:
    """What Kiro's and Amazon Q's command line save: exchanges of a prompt, or results, and a reply."""
    for record in records:
        exchanges = [_sides(each) for each in list_of(record, "history")]
        folders = (
            text_of(object_of(object_of(user, "env_context"), "env_state"), "current_working_directory")
            for user, _ in exchanges
        )
        about = {
            "session_id": text_of(record, "conversation_id"),
            "cwd": next(filter(None, folders), ""),
        }
        yield about, (found for user, reply in exchanges for found in _exchange(user, reply))


def _sides(exchange: Any) -> tuple[Record, Record]:
    if isinstance(exchange, list):  # the first versions wrote pairs
        user, reply = (each if isinstance(each, dict) else {} for each in [*exchange, {}, {}][:2])
        return user, reply
    return object_of(exchange, "user"), object_of(exchange, "assistant")


def _exchange(user: Record, reply: Record) -> Iterator[Record]:
    at = {"timestamp": user.get("timestamp")}
    for kind, content in object_of(user, "content").items():
        # Words that are typed while tools run cancel them.
        yield {"role": "user", "content": text_of(content, "prompt"), **at}
        if "ToolUse" in kind:
            yield OUTPUT
    for content in reply.values():
        yield {"role": "assistant", "content": text_of(content, "content"), **at}
        yield calls(((text_of(each, "name"), each.get("args")) for each in objects(content, "tool_uses")), at)


def _kiro_log(records: Sequence[Record]) -> Conversations:
    """The session logs of Kiro's command line."""
    yield {}, map(_kiro_message, records)


def _kiro_message(record: Record) -> Record:
    kind, data = text_of(record, "kind"), object_of(record, "data")
    at = {"timestamp": object_of(data, "meta").get("timestamp")}
    parts = objects(data, "content")
    if kind == "ToolResults":
        return OUTPUT
    if kind not in ("Prompt", "AssistantMessage"):
        return _NOBODY
    content: list[Any] = []
    for part in parts:
        value, kind_of_part = part.get("data"), text_of(part, "kind")
        if kind_of_part == "toolUse":
            content.append(
                {"type": "tool_use", "name": text_of(value, "name"), "input": object_of(value, "input")}
            )
        elif kind_of_part == "text":
            content.append(value)
        else:
            content.append({"type": kind_of_part})
    return {"role": "user" if kind == "Prompt" else "assistant", "content": content, **at}


def _antigravity(records: Sequence[Record]) -> Conversations:
    """The steps of an Antigravity conversation."""
    yield {}, map(_step, records)


def _step(record: Record) -> Record:
    kind, text, at = (
        text_of(record, "type"),
        text_of(record, "content"),
        {"timestamp": record.get("created_at")},
    )
    if kind == "USER_INPUT":
        request = _REQUEST.match(text)
        return {"role": "user", "content": request["text"].strip("\n") if request else text, **at}
    if kind == "PLANNER_RESPONSE":
        given = ((text_of(each, "name"), each.get("args")) for each in objects(record, "tool_calls"))
        return calls(given, at, text)
    return OUTPUT if text_of(record, "source") == "MODEL" else _NOBODY


def _kimi(records: Sequence[Record]) -> Conversations:
    """The wire log of Kimi's command line, which has each prompt twice."""
    yield {}, map(_kimi_message, records)


def _kimi_message(record: Record) -> Record:
    at = {"timestamp": record.get("time")}
    event, message = object_of(record, "event"), object_of(record, "message")
    if message:
        is_persons = text_of(object_of(message, "origin"), "kind") in ("", "user")
        return {**message, "synthetic": not is_persons, **at}
    match text_of(event, "type"):
        case "content.part":
            part = object_of(event, "part")
            return {"role": "assistant", "content": [part], **at}
        case "tool.call":
            return calls([(text_of(event, "name"), event.get("args"))], at)
        case "tool.result":
            return OUTPUT
    return _NOBODY


def _pi(records: Sequence[Record]) -> Conversations:
    """A session of pi: its messages, and beside them what its extensions keep, say and show."""
    begun = next((each for each in records if text_of(each, "type") == "session"), {})
    names = [text_of(each, "name") for each in records if text_of(each, "type") == "session_info"]
    about: Record = {
        "session_id": text_of(begun, "id"),
        "cwd": text_of(begun, "cwd"),
        "title": [*names, ""][0],
    }
    about["is_sub_agents"] = any(map(_SUB_AGENT.fullmatch, names))
    yield about, map(_pi_message, records)


def _pi_message(record: Record) -> Record:
    kind, message, at = (
        text_of(record, "type"),
        object_of(record, "message"),
        {"timestamp": record.get("timestamp")},
    )
    role, content = text_of(message, "role"), message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else objects(message, "content")
    if kind != "message":
        return {"role": "user", "synthetic": True} if kind == "custom_message" else _NOBODY
    if role == "bashExecution":
        return {"role": "user", "content": f"! {text_of(message, 'command')}", **at}
    if role == "assistant":
        used = [
            (text_of(each, "name"), each.get("arguments"))
            for each in parts
            if text_of(each, "type") == "toolCall"
        ]
        said = [each for each in parts if text_of(each, "type") != "toolCall"]
        found = calls(used, at)
        return {**found, "content": [*said, *found["content"]], "model": text_of(message, "model")}
    if role != "user":
        return OUTPUT if role == "toolResult" else _NOBODY
    skill = _SKILL.match(text_of(parts[0], "text")) if parts else None
    if skill is None:
        return {"role": "user", "content": parts, **at}
    typed = f"/skill:{skill['name']} {skill['given'] or ''}".rstrip()
    return {"role": "user", "content": [typed, *parts[1:]], "kind": COMMAND, **at}


def _copilot(records: Sequence[Record]) -> Conversations:
    """``events.jsonl`` of Copilot's command line."""
    begun = next(
        (object_of(each, "data") for each in records if text_of(each, "type") == "session.start"), {}
    )
    about = {
        "session_id": text_of(begun, "sessionId"),
        "cwd": text_of(object_of(begun, "context"), "cwd"),
        "model": text_of(begun, "selectedModel"),
    }
    yield about, map(_copilot_message, records)


def _copilot_message(record: Record) -> Record:
    kind, data, at = (
        text_of(record, "type"),
        object_of(record, "data"),
        {"timestamp": record.get("timestamp")},
    )
    if kind == "user.message":
        # A skill's text and the like have a source of their own.
        source = text_of(data, "source")
        files = [
            {"file_name": text_of(each, "displayName") or "file"} for each in objects(data, "attachments")
        ]
        content = {"content": text_of(data, "content"), "files": files}
        return {"role": "user", **content, "synthetic": source not in ("", "user", "cli"), **at}
    if kind == "assistant.message" and not data.get("parentToolCallId"):
        given = ((text_of(each, "name"), each.get("arguments")) for each in objects(data, "toolRequests"))
        return calls(given, at, text_of(data, "content"))
    if kind == "assistant.reasoning":
        return {"role": "assistant", "content": [{"type": "reasoning"}], **at}
    return OUTPUT if kind == "tool.execution_complete" else _NOBODY


def _openhands(records: Sequence[Record]) -> Conversations:
    """The events of OpenHands: each an action or an observation, or since version 1 of a kind."""
    yield {}, map(_openhands_event, records)


def _openhands_event(record: Record) -> Record:
    at, is_user = {"timestamp": record.get("timestamp")}, text_of(record, "source") == "user"
    action, given = record.get("action"), object_of(record, "args")
    if action == "message" or text_of(record, "kind") == "MessageEvent":
        content = list_of(object_of(record, "llm_message"), "content") or text_of(given, "content")
        images = [{"type": "image"} for _ in list_of(given, "image_urls")]
        return {"role": "user" if is_user else "assistant", "content": [content, *images], **at}
    if "observation" in record:
        return OUTPUT if text_of(record, "source") == "agent" or text_of(record, "kind") else _NOBODY
    if is_user or action in ("system", "recall", "condensation", "change_agent_state"):
        return _NOBODY
    if isinstance(action, dict):
        thought = "\n\n".join(text_of(each, "text") for each in objects(record, "thought"))
        return calls(
            [(text_of(record, "tool_name") or "tool", action)], at, thought or text_of(action, "message")
        )
    if not action:
        return _NOBODY
    said = (
        text_of(given, "thought")
        or text_of(given, "final_thought")
        or text_of(object_of(given, "outputs"), "content")
    )
    return calls([] if action in ("finish", "think") else [(str(action), given)], at, said)


def _swe_agent(records: Sequence[Record]) -> Conversations:
    """A trajectory of SWE-agent, which tells its model in the user's place a task and what tools returned; a
    person's is the issue that the task quotes, or that the settings have.
    """
    for record in records:
        settings = record.get("replay_config")
        settings = json_in(settings) if isinstance(settings, str) else settings
        issue = text_of(object_of(settings, "problem_statement"), "text")
        yield {}, _swe_agent_messages(record, issue)


def _swe_agent_messages(record: Record, issue: str) -> Iterator[Record]:
    is_first = True
    for message in objects(record, "history"):
        role, content = text_of(message, "role"), message.get("content")
        if role == "assistant":
            given = (
                (text_of(each, "name"), each.get("arguments"))
                for each in map(_function, objects(message, "tool_calls"))
            )
            yield calls(given, {}, content if isinstance(content, str) else "")
        elif role == "system":
            yield _NOBODY
        elif role == "tool" or message.get("is_demo") or not is_first:
            yield OUTPUT
        else:
            is_first = False
            task = (
                content
                if isinstance(content, str)
                else text_of(next(iter(objects(message, "content")), {}), "text")
            )
            quoted = _ISSUE.match(task)
            yield {"role": "system", "content": task}
            yield {"role": "user", "content": issue or (quoted["text"] if quoted is not None else "")}


def _function(call: Record) -> Record:
    return object_of(call, "function")


def _continue(records: Sequence[Record]) -> Conversations:
    """A session of Continue; what it adds to a prompt stands beside the prompt."""
    for record in records:
        about = {"session_id": text_of(record, "sessionId"), "title": text_of(record, "title")}
        about["cwd"] = text_of(record, "workspaceDirectory")
        yield about, map(_continue_message, objects(record, "history"))


def _continue_message(item: Record) -> Record:
    message = object_of(item, "message") or item
    role = text_of(message, "role")
    if role == "thinking":
        return {"role": "assistant", "content": [{"type": "thinking"}]}
    return OUTPUT if role == "tool" else message


def _zed(records: Sequence[Record]) -> Conversations:
    """A text thread of Zed: one text, from which byte on who speaks, and what a command has put in."""
    for record in records:
        about = {"session_id": text_of(record, "id"), "title": text_of(record, "summary")}
        yield about, _zed_messages(record)


def _zed_messages(record: Record) -> Iterator[Record]:
    text, messages = text_of(record, "text").encode("utf-8", "surrogatepass"), objects(record, "messages")
    put_in = [object_of(each, "range") for each in objects(record, "slash_command_output_sections")]
    starts = [*(number_of(each, "start") for each in messages), len(text)]
    for message, start, end in zip(messages, starts, starts[1:], strict=False):
        place, kept = start, b""
        for found in sorted(put_in, key=lambda each: number_of(each, "start")):
            first, last = number_of(found, "start"), number_of(found, "end")
            if place <= first < last <= end:
                kept, place = kept + text[place:first], last
        content = (kept + text[place:end]).decode("utf-8", "replace").strip("\n")
        yield {"role": text_of(object_of(message, "metadata"), "role"), "content": content}
        if place > start:
            yield {"role": "user", "synthetic": True}


def calls(given: Iterable[tuple[str, Any]], at: Mapping[str, Any], text: str = "") -> Record:
    """A message of the agent with tool calls, each a name and its arguments."""
    parts = [{"type": "tool_use", "name": name, "input": arguments} for name, arguments in given]
    return {"role": "assistant", "content": [text, *parts], **at}


def objects(value: Any, key: str) -> list[Record]:
    """The objects in a list of an object; empty if there is none."""
    return [each for each in list_of(value, key) if isinstance(each, dict)]


LAYOUTS: tuple[tuple[str, tuple[frozenset[str], ...], Callable[[Sequence[Record]], Conversations]], ...] = (
    ("cline", (frozenset({"ts", "say"}), frozenset({"ts", "ask"})), _cline),
    ("kiro", (frozenset({"conversation_id", "history", "transcript"}),), _kiro),
    ("kiro", (frozenset({"version", "kind", "data"}),), _kiro_log),
    ("antigravity", (frozenset({"step_index", "source", "type"}),), _antigravity),
    ("kimi", (frozenset({"type", "protocol_version"}),), _kimi),
    ("pi", (frozenset({"type", "version", "id", "timestamp", "cwd"}),), _pi),
    ("copilot-cli", (frozenset({"type", "data", "timestamp", "parentId"}),), _copilot),
    (
        "openhands",
        (
            frozenset({"source", "action", "args"}),
            frozenset({"source", "observation", "extras"}),
            frozenset({"source", "kind", "llm_message"}),
        ),
        _openhands,
    ),
    ("swe-agent", (frozenset({"trajectory", "history", "info"}),), _swe_agent),
    ("continue", (frozenset({"history", "title", "sessionId"}),), _continue),
    ("zed", (frozenset({"zed", "text", "messages"}),), _zed),
)
"""Each program, the keys of its records, and how they are read."""
