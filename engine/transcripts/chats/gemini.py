"""Reads sessions of Gemini CLI: ``tmp/<project>/chats/session-*.json`` or ``.jsonl``, and ``logs.json``."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from engine.transcripts.brief import one_line
from engine.transcripts.chats.chat import Chat, ChatBuilder, stamp
from engine.transcripts.chats.wrapped import without_files
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import list_of, object_of, text_of
from engine.transcripts.importers.tools import result_of, summary_of
from engine.transcripts.injected import strip_injected

NAME = "gemini"
_SUMMARY = "<state_snapshot>"
# What the program wrote above the first prompt, the folder in it now and at first.
_FOLDER = re.compile(
    r"\s*(?:<session_context>\s*)?This is the Gemini CLI\.(?:(?!\n\n).)*?(?:Workspace Directories:\**\n\s*-"
    r"|working in the (?:directory:|following directories:\n\s*-))[ ]([^\n]+)",
    re.DOTALL,
)
_REPLY = "Got it. Thanks for the additional context!"


def is_session(record: Record) -> bool:
    """Whether a record is a session, or the first line of one."""
    return "projectHash" in record and "sessionId" in record


def is_log(record: Record) -> bool:
    """Whether a record is from ``logs.json``, which lists the user input of all sessions."""
    return "messageId" in record and "sessionId" in record and isinstance(record.get("message"), str)


def read(records: Iterable[Record]) -> Chat:
    """The conversation in the records of a session: the lines of a file, or its single object.

    A message that is written again replaces its earlier version. Messages undone by a rewind, or replaced by
    a compression summary, were still part of the conversation and are kept.
    """
    chat = ChatBuilder()
    messages: dict[str, Record] = {}
    summaries: set[str] = set()
    for record in records:
        about = object_of(record, "$set") or record
        chat.session_id = chat.session_id or text_of(about, "sessionId")
        chat.title = text_of(about, "summary") or chat.title
        folders = list_of(about, "directories")
        if not chat.cwd and folders and isinstance(folders[0], str):
            chat.cwd = folders[0]
        found = list_of(about, "messages") if "messages" in about else [record]
        found = [each for each in found if isinstance(each, dict) and "type" in each]
        at = _summary_in(found)
        if at is not None:
            summaries.add(text_of(found[at], "id"))
            found[at + 1 :] = _new_in(found[at + 2 :], messages)
        for message in found:
            if (
                not chat.cwd
                and (named := _FOLDER.match("\n".join(_texts(message.get("content"))))) is not None
            ):
                chat.cwd = named[1].strip()
            messages[text_of(message, "id") or f"#{len(messages)}"] = message
    for name, message in messages.items():
        if name in summaries:
            chat.say("system", _text(message), stamp(message.get("timestamp")), kind="summary")
        else:
            _message(chat, message)
    return chat.chat(NAME)


def summary_times(records: Iterable[Record]) -> Iterator[datetime]:
    """The times at which a session was compressed, from the lines of its file."""
    for record in records:
        found = [each for each in list_of(object_of(record, "$set"), "messages") if isinstance(each, dict)]
        at = _summary_in(found)
        if at is not None and (time := stamp(found[at].get("timestamp"))) is not None:
            yield time


def _summary_in(found: list[Record]) -> int | None:
    """The position of a summary among messages: it is followed by a canned reply."""
    for at, (message, reply) in enumerate(itertools.pairwise(found)):
        if text_of(message, "type") == "user" and _SUMMARY in _text(message) and _text(reply) == _REPLY:
            return at
    return None


def _new_in(found: list[Record], known: Mapping[str, Record]) -> Iterator[Record]:
    """The messages after a summary, without those it repeats under new ids."""
    earlier = [(text_of(each, "type"), _text(each)) for each in known.values()]
    for message in found:
        kind, text = text_of(message, "type"), _text(message)
        # A message without text has only tool calls.
        is_repeated = bool(text) and any(kind == each and text in words for each, words in earlier)
        if text_of(message, "id") in known or not is_repeated:
            yield message


def _text(message: Record) -> str:
    return strip_injected(without_files("\n".join(_texts(message.get("content"))))).strip()


def read_log(records: Iterable[Record]) -> Iterator[Chat]:
    """The conversations in ``logs.json``, which stores only the user's messages."""
    chats: dict[str, ChatBuilder] = {}
    for record in records:
        session_id = str(record.get("sessionId") or "")  # a number in the first versions
        chat = chats.setdefault(session_id, ChatBuilder())
        chat.session_id = session_id
        text = text_of(record, "message")
        if text_of(record, "type") in ("user", ""):
            chat.say("user", text, stamp(record.get("timestamp")), kind=_kind(text))
    for chat in chats.values():
        found = chat.chat(NAME)
        if found.turns:
            yield found


def _message(chat: ChatBuilder, message: Record) -> None:
    at = stamp(message.get("timestamp"))
    kind = text_of(message, "type")
    shown = message.get("displayContent")
    content = message.get("content") if shown in (None, "", []) else shown
    if kind == "user":
        said = "\n".join(_texts(content))
        text = without_files(said)
        chat.drop("injected", text != said)
        chat.say("user", text, at, kind=_kind(text))
        for path in _files(content):
            chat.attach("user", path, at)
    elif kind == "gemini":
        chat.model = chat.model or text_of(message, "model")
        chat.drop("thinking", len(list_of(message, "thoughts")))
        chat.say("agent", "\n".join(_texts(content)), at)
        for call in list_of(message, "toolCalls"):
            if isinstance(call, dict):
                _call(chat, call, at)
    elif kind == "error":
        chat.say("system", "\n".join(_texts(content)), at, kind="error")
    else:
        chat.drop("system-records")


def _call(chat: ChatBuilder, call: Record, at: datetime | None) -> None:
    name = one_line(text_of(call, "name"), 80) or "tool"
    status = text_of(call, "status")
    output = "\n".join(_output(call.get("result"))) or text_of(call, "resultDisplay")
    result = result_of(name, output, failed=status == "error") if output else ""
    if status == "cancelled":
        result = "refused by the user"
    elif "\n" in output:
        chat.drop("tool-output")
    chat.call(name, summary_of(name, call.get("args")), result, at)


def _output(value: Any) -> Iterator[str]:
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            answer = object_of(part, "functionResponse")
            if isinstance(response := answer.get("response"), dict):
                found = response.get("output", response.get("error", response))
                yield found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
            elif isinstance(part.get("text"), str):
                yield part["text"]


def _texts(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and part.get("thought") is not True and isinstance(part.get("text"), str):
            yield part["text"]


def _files(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else []:
        for key in ("inlineData", "fileData"):
            data = part.get(key) if isinstance(part, dict) else None
            if isinstance(data, dict):
                yield one_line(
                    text_of(data, "fileUri") or f"{text_of(data, 'mimeType') or 'file'} (not kept)"
                )


def _kind(text: str) -> str:
    first = text.split(maxsplit=1)[:1]
    return "command" if first and first[0][0] in "/?" and first[0][1:].isidentifier() else ""
