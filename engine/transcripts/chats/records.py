"""Reads conversations in JSON: ``role`` and ``content``, ``sender`` and ``text``, lists of ``messages``.

This includes exports of ChatGPT, DeepSeek, Open WebUI, Qwen and Z.ai (each conversation a tree of messages),
Claude.ai (``chat_messages``), opencode, LibreChat and Grok. Records that do not name a speaker are skipped
and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from engine.transcripts.brief import one_line
from engine.transcripts.chats import opencode
from engine.transcripts.chats.chat import Chat, ChatBuilder, stamp
from engine.transcripts.chats.labelled import NAME, ROLES
from engine.transcripts.chats.wrapped import unwrapped
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import list_of, object_of, text_of
from engine.transcripts.importers.tools import result_of, summary_of
from engine.transcripts.turn import ANSWER, COMMAND, Role

_LISTS = (
    "messages",
    "chat_messages",
    "conversation",
    "conversations",
    "history",
    "turns",
    "chat",
    "dialogue",
    "responses",
    "items",
    "data",
)
_ABOUT = ("info", "session", "conversation", "chat")
"""Where an export describes a conversation beside its messages."""
_MORE_ROLES: dict[str, Role] = {
    "user_message": "user", "user.message": "user", "ai_message": "agent", "assistant_message": "agent",
    "assistant.message": "agent",
}  # fmt: skip
_IDS = ("session_id", "sessionId", "conversation_id", "conversationId", "chat_id", "uuid", "id")
_NOT_SHOWN = "[REDACTED]"
"""Stands below the text of a reply where Cursor keeps the thinking to itself."""
_TIMES = (
    "timestamp", "created_at", "create_time", "createdAt", "inserted_at", "created", "time", "date", "ts",
)  # fmt: skip


def read(records: Iterable[tuple[Record, int]]) -> Iterator[Chat]:
    """The conversations in records, each given with its line number.

    A record with messages in it is a conversation, or several; all other records together form one.
    """
    loose = ChatBuilder()
    for record, line in records:
        found = list(_conversations(record))
        for about, messages, name in found:
            yield from conversation(about, messages, name, line)
        if not found:
            _message(loose, record, line)
            loose.session_id = loose.session_id or _first_text(record, _IDS[:5])
    chat = loose.chat(NAME)
    if chat.turns:
        yield chat


def conversation(
    about: Record, messages: Iterable[Record], name: str, line: int = 0, *, is_sub_agents: bool = False
) -> Iterator[Chat]:
    """The conversation in messages; none if nothing was said.

    Args:
        about: What describes it: its id, title, model and folder.
        name: The program that wrote it.
    """
    chat = ChatBuilder()
    chat.is_sub_agents = is_sub_agents
    chat.session_id = _first_text(about, _IDS)
    chat.title = text_of(about, "title") or text_of(about, "name")
    chat.model = text_of(about, "model") or text_of(about, "default_model_slug")
    chat.cwd = text_of(about, "cwd") or text_of(about, "directory")
    for message in messages:
        _message(chat, message, line)
    account = text_of(object_of(about, "account"), "uuid") or text_of(about, "requesterUsername")
    found = replace(chat.chat(name), account=account)
    if found.turns:
        yield found


def _conversations(record: Record) -> Iterator[tuple[Record, Iterable[Record], str]]:
    """Each conversation in a record: what describes it, its messages, and the program that wrote it."""
    listed = next((record[key] for key in _LISTS if isinstance(record.get(key), list)), None)
    about = next((found for key in _ABOUT if (found := object_of(record, key))), record)
    open_webui = object_of(object_of(about, "history"), "messages")
    if isinstance(tree := record.get("mapping"), dict):
        messages = _tree_messages(tree, text_of(record, "current_node"))
        if any(list_of(object_of(node, "message"), "fragments") for node in tree.values()):
            yield record, map(_joined, messages), "deepseek"
        else:
            yield record, messages, "chatgpt"
    elif isinstance(requests := record.get("requests"), list) and "responderUsername" in record:
        yield record, _copilot_messages(requests), "copilot"
    elif open_webui:
        current = text_of(about["history"], "currentId")
        yield {**record, **about}, _tree_messages(_linked(open_webui), current), "open-webui"
    elif listed is not None and role_of(record) is None:
        records = [each for each in listed if isinstance(each, dict)]
        inner = (
            []
            if any(map(role_of, records))
            else [found for each in records for found in _conversations(each)]
        )
        # Our opencode plugin passes its sessions on in this form, and "opencode export" writes "info".
        name = "opencode" if record.get("agent") == "opencode" or "info" in record else NAME
        name = "claude-ai" if "chat_messages" in record else name
        yield from inner or [({**record, **about}, _with_children(records), name)]


def _joined(message: Record) -> Record:
    """A message of DeepSeek, which is in fragments: what was asked, thought and replied."""
    fragments = [each for each in list_of(message, "fragments") if isinstance(each, dict)]
    is_asked = any(text_of(each, "type") == "REQUEST" for each in fragments)
    content = [
        {"type": "thinking"} if text_of(each, "type") == "THINK" else text_of(each, "content")
        for each in fragments
    ]
    return {**message, "role": "user" if is_asked else "assistant", "content": content}


def _linked(messages: Record) -> Record:
    """The messages of Open WebUI, by id, as the nodes of a tree."""
    return {
        name: {
            "parent": message.get("parentId"),
            "children": message.get("childrenIds"),
            "message": {**message, "create_time": message.get("timestamp")},
        }
        for name, message in messages.items()
        if isinstance(message, dict)
    }


def _with_children(messages: Iterable[Record]) -> Iterator[Record]:
    """Messages, each followed by those below it, as LibreChat exports branches."""
    left = [*messages][::-1]
    while left:
        message = left.pop()
        yield object_of(message, "response") or message  # Grok puts each into an object of its own
        left += [each for each in reversed(list_of(message, "children")) if isinstance(each, dict)]


def _tree_messages(tree: Record, current: str) -> Iterator[Record]:
    """The messages of a tree, each after the one it answers, including abandoned branches.

    Where the conversation branches, the branch with the ``current`` node comes last, as it was written last.
    """
    listed = {
        child: name
        for name, node in tree.items()
        for child in list_of(node, "children")
        if isinstance(child, str)
    }
    parents = {name: text_of(node, "parent") or listed.get(name, "") for name, node in tree.items()}
    chosen: set[str] = set()
    while current in tree and current not in chosen:
        chosen.add(current)
        current = parents[current]
    # Times are often missing or, after a regeneration, out of order; they only order what has no links.
    order = sorted(tree, key=lambda name: (name in chosen, _time(tree[name])))
    children: dict[str, list[str]] = {}
    for name in reversed(order):
        children.setdefault(parents[name] if parents[name] in tree else "", []).append(name)
    left = [*reversed(order), *children.get("", ())]  # after the tree, whatever hangs on no root
    seen: set[str] = set()
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        left += children.get(name, ())
        message = object_of(tree[name], "message")
        if message and object_of(message, "metadata").get("is_visually_hidden_from_conversation") is not True:
            yield message


def _time_of(value: Any) -> datetime | None:
    """A timestamp as it is, or as opencode (``created``) and databases (``$date``) write it."""
    for key in ("created", "$date", "$numberLong"):
        value = value.get(key, value) if isinstance(value, dict) else value
    return stamp(int(value) if isinstance(value, str) and value.isdecimal() else value)


def _time(node: Any) -> float:
    at = object_of(node, "message").get("create_time")
    return at if isinstance(at, int | float) else 0


def _copilot_messages(requests: list[Any]) -> Iterator[Record]:
    """The messages of a VS Code chat export: each request and its response."""
    for request in requests:
        if not isinstance(request, dict):
            continue
        at = request.get("timestamp")
        message = request.get("message")  # its parts have no text for a participant and a command
        yield {"role": "user", "content": text_of(message, "text") or message, "timestamp": at}
        parts = [
            part
            for part in list_of(request, "response")
            if isinstance(part, dict) and part.get("kind") in (None, "markdownContent", "markdown")
        ]
        texts = [text_of(part, "value") or text_of(part.get("value"), "value") for part in parts]
        yield {"role": "assistant", "content": "".join(texts), "timestamp": at}


def role_of(message: Any) -> Role | None:
    """The role of a message's speaker, if it names one."""
    if isinstance(by_user := message.get("isCreatedByUser") if isinstance(message, dict) else None, bool):
        return "user" if by_user else "agent"
    author, nested = object_of(message, "author"), object_of(message, "message")
    for value, key in (
        (message, "role"), (author, "role"), (message, "sender"), (message, "from"), (message, "author"),
        (message, "speaker"), (nested, "role"), (object_of(message, "info"), "role"), (message, "type"),
    ):  # fmt: skip
        name = text_of(value, key).lower().replace("_", " ")
        role = ROLES.get(name) or _MORE_ROLES.get(name.replace(" ", "_"))
        if role is not None:
            return role
    return None


def _message(chat: ChatBuilder, message: Record, line: int) -> None:
    role = role_of(message)
    if role is None:
        chat.drop("system-records")
        return
    is_programs = message.get("synthetic") is True or "synthetic_reason" in message  # Grok's command line
    if role == "user" and (is_programs or message.get("subtype") == "notification"):  # Qwen Code
        chat.drop("injected")
        return
    body = object_of(message, "message") or object_of(message, "data") or message
    about = object_of(message, "info") or message
    at = next((found for key in _TIMES if (found := _time_of(about.get(key) or body.get(key)))), None)
    chat.model = chat.model or text_of(body, "model")
    if role == "system" and text_of(message, "role") in ("tool", "function"):
        chat.drop("tool-output")
        return
    content = next(
        (
            body[key]
            for key in ("content", "text", "value", "parts", "message")
            if body.get(key) not in (None, "", [])
        ),
        None,
    )
    parts = list(_parts(content, chat, at))
    if not any(text.strip() for text in parts) and text_of(body, "text"):
        parts = [text_of(body, "text")]
    if role == "user" and (prompt := unwrapped(parts)) is not None:
        chat.drop("injected", sum(bool(part.strip()) for part in parts) - bool(prompt.typed))
        parts, at, chat.cwd = [prompt.typed], prompt.at or at, chat.cwd or prompt.cwd
    elif role == "agent" and parts and parts[-1].rstrip().endswith(_NOT_SHOWN):
        chat.drop("thinking")
        parts[-1] = parts[-1].rstrip().removesuffix(_NOT_SHOWN)
    kind = text_of(message, "kind") if role == "user" else ""
    kind = kind if kind in (ANSWER, COMMAND) else ""  # commands are from our plugin for opencode
    chat.say(role, "\n\n".join(part for part in parts if part.strip()), at, kind=kind, line=line)
    _attachments(chat, message, role, at, line)
    if role == "agent" and text_of(body, "thinking"):  # Cursor
        chat.drop("thinking")
    for call in (*list_of(body, "tool_calls"), *list_of(body, "toolCalls")):
        function = object_of(call, "function")
        if function or text_of(call, "toolName"):
            name = one_line(text_of(function, "name") or text_of(call, "toolName"), 80) or "tool"
            given = function.get("arguments") if function else call.get("args")
            chat.call(name, summary_of(name, given), at=at, line=line)


def _attachments(chat: ChatBuilder, message: Record, role: Role, at: datetime | None, line: int) -> None:
    """Add what a message of Claude.ai brings along: files by name, and pastes and texts, which anybody may
    have written, quoted in turns of their own.
    """
    listed = [*list_of(message, "attachments"), *list_of(message, "files")]
    texts = [text_of(each, "extracted_content") for each in listed]
    for each, text in zip(listed, texts, strict=True):
        if not text.strip() and (name := one_line(text_of(each, "file_name"))):
            chat.attach(role, name, at, line=line)
            chat.drop("images")
    for each, text in zip(listed, texts, strict=True):
        if text.strip():
            chat.paste(role, text, at, line=line)
            if name := one_line(text_of(each, "file_name")):
                chat.attach(role, name, at)


def _parts(content: Any, chat: ChatBuilder, at: datetime | None = None) -> Iterator[str]:
    """The texts of a message; tool calls are added to the chat, other parts are only counted."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from _parts(part, chat, at)
    elif isinstance(content, dict):
        kind = text_of(content, "type") or text_of(content, "content_type")
        if opencode.is_programs(content):
            chat.drop("injected")  # added to a prompt, such as the files that it mentions
        elif "think" in kind or "reasoning" in kind or kind == "thoughts" or content.get("thought") is True:
            chat.drop("thinking")
        elif "image" in kind:
            chat.drop("images")
        elif kind == "tool_use":
            name = one_line(text_of(content, "name"), 80) or "tool"
            output, failed = text_of(content, "output"), content.get("is_error") is True
            result = result_of(name, output, failed=failed) if output or failed else ""
            chat.call(name, summary_of(name, content.get("input")), result, at)
        elif kind == "tool" and (state := object_of(content, "state")):
            name = one_line(text_of(content, "tool"), 80) or "tool"
            output = text_of(state, "output") or text_of(state, "error")
            result = result_of(name, output, failed=state.get("status") == "error") if output else ""
            chat.call(name, summary_of(name, state.get("input")), result, at)
        elif kind == "tool_result":
            output = "\n".join(_parts(content.get("content"), ChatBuilder()))
            if result_of("tool", output):
                chat.drop("tool-output")
        elif parts := list_of(content, "parts"):
            yield from _parts(parts, chat, at)
        else:
            yield text_of(content, "text") or text_of(content, "content")


def _first_text(record: Record, keys: Iterable[str]) -> str:
    return next((text_of(record, key) for key in keys if text_of(record, key)), "")
