"""Puts the messages of programs with a layout of their own into the usual shape: ``role`` and ``content``.

Each layout is known by keys that only its records have together. Records without a speaker are passed on
without a role, so that they are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from engine.transcripts.chats import agent_logs
from engine.transcripts.chats.shape import NOBODY, OUTPUT, Conversations, calls, objects
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import json_in, list_of, object_of, text_of
from engine.transcripts.turn import ANSWER

_SEARCHED = 50
_REQUEST = re.compile(r"\s*<USER_REQUEST>\n?(?P<text>.*)\n?</USER_REQUEST>", re.DOTALL)


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
        yield NOBODY


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
        return NOBODY
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
    return OUTPUT if text_of(record, "source") == "MODEL" else NOBODY


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
    return NOBODY


LAYOUTS: tuple[tuple[str, tuple[frozenset[str], ...], Callable[[Sequence[Record]], Conversations]], ...] = (
    ("cline", (frozenset({"ts", "say"}), frozenset({"ts", "ask"})), _cline),
    ("kiro", (frozenset({"conversation_id", "history", "transcript"}),), _kiro),
    ("kiro", (frozenset({"version", "kind", "data"}),), _kiro_log),
    ("antigravity", (frozenset({"step_index", "source", "type"}),), _antigravity),
    ("kimi", (frozenset({"type", "protocol_version"}),), _kimi),
    *agent_logs.LAYOUTS,
)
"""Each program, the keys of its records, and how they are read."""
