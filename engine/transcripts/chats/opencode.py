"""Reads opencode's sessions: what ``opencode export`` and ``/export`` write, and the files of its ``storage``
folder."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from engine.transcripts.brief import one_line
from engine.transcripts.chats.chat import Chat, ChatBuilder, stamp
from engine.transcripts.chats.labelled import without_rule
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import json_in, list_of, object_of, text_of
from engine.transcripts.importers.tools import is_shortened, result_of, summary_of
from engine.transcripts.turn import Role

NAME = "opencode"
_SAVED = re.compile(r"\A\s*# (?P<title>[^\n]*)\n+\*\*Session ID:\*\* (?P<id>ses_\w+)$", re.MULTILINE)
_STEP = re.compile(
    r"^---\n+## (?:(?P<user>User)|Assistant(?: \([^\n·]* · (?P<model>[^\n·]*[^\s·])[^\n]*\))?)$", re.MULTILINE
)
_TOOL = re.compile(r"^\*\*Tool: (?P<name>[^\n*]+)\*\*$", re.MULTILINE)
_INPUT = re.compile(r"\*\*Input:\*\*\n```json\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
# A program's output may have fences of its own.
_OUTPUT = re.compile(r"^\*\*(?P<how>Output|Error):\*\*\n```\n(?P<text>.*)\n```", re.MULTILINE | re.DOTALL)
_THOUGHT = "_Thinking:_"
_TITLED = re.compile(r"\*\*[^\n*]+\*\*")
_ROLES: dict[str, Role] = {"user": "user", "assistant": "agent"}


def is_export(record: Record) -> bool:
    """Whether a record is an exported session."""
    first = next(iter(list_of(record, "messages")), None)
    return bool(object_of(record, "info")) and bool(list_of(first, "parts"))


def is_stored(record: Record, path: Path) -> bool:
    """Whether a record is a session in opencode's ``storage`` folder."""
    return "projectID" in record and "directory" in record and path.parts[-3:-2] == ("session",)


def is_programs(part: Record) -> bool:
    """Whether opencode wrote a part, or a plugin, which shows it to the person alone."""
    return part.get("synthetic") is True or part.get("ignored") is True


def read_stored(record: Record, path: Path) -> Chat:
    """The conversation of a session whose messages and their parts are in files beside it."""
    storage = path.parents[2]
    messages = [
        {"info": info, "parts": _objects_in(storage / "part" / text_of(info, "id"))}
        for info in _objects_in(storage / "message" / text_of(record, "id"))
    ]
    return read({"info": record, "messages": messages})


def is_saved(text: str) -> bool:
    """Whether a text was written by ``/export``."""
    return _SAVED.match(text) is not None


def read_saved(text: str) -> Chat:
    """The conversation in a text that ``/export`` wrote, with ``\\n`` line ends."""
    about, marks = _SAVED.match(text), [*_STEP.finditer(text)]
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    messages = [
        {
            "info": {"role": "user" if mark["user"] else "assistant", "modelID": mark["model"] or ""},
            "parts": [*_parts(without_rule(text[mark.end() : end]).strip(), is_persons=bool(mark["user"]))],
        }
        for mark, end in zip(marks, ends, strict=True)
    ]
    return read({"info": about.groupdict() if about is not None else {}, "messages": messages})


def _parts(text: str, *, is_persons: bool) -> Iterator[Record]:
    tools = [] if is_persons else [*_TOOL.finditer(text)]
    above = text[: tools[0].start()] if tools else text
    said, *thoughts = [text] if is_persons else above.split(_THOUGHT)
    yield {"type": "text", "text": said.strip()}
    yield from ({"type": "reasoning"} for _ in thoughts)
    if thoughts and not tools:
        yield {"type": "text", "text": _behind_thought(thoughts[-1])}
    for tool, end in zip(tools, [*(each.start() for each in tools), len(text)][1:], strict=True):
        given, output = _INPUT.search(text, tool.end(), end), _OUTPUT.search(text, tool.end(), end)
        state = {"input": json_in(given[1]) if given is not None else None}
        if output is not None:
            how = output["how"].lower()
            state |= {"status": how, how: output["text"]}
        yield {"type": "tool", "tool": tool["name"], "state": state}
        if output is not None:
            yield {"type": "text", "text": text[output.end() : end].strip()}


def _behind_thought(text: str) -> str:
    """What was said behind a thought; nothing marks its end, but its paragraphs have titles, or it is one."""
    paragraphs = [each.strip() for each in text.split("\n\n") if each.strip()]
    if not (paragraphs and _TITLED.fullmatch(paragraphs[0])):
        return "\n\n".join(paragraphs[1:])
    while paragraphs and _TITLED.fullmatch(paragraphs[0]):
        del paragraphs[:2]
    return "\n\n".join(paragraphs)


def _objects_in(folder: Path) -> list[Record]:
    """The objects in the files of a folder, in the order of their names, which are in order of time."""
    found: list[Record] = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(OSError):
            value = json_in(path.read_bytes())
            found += [value] if isinstance(value, dict) else []
    return found


def read(record: Record) -> Chat:
    """The conversation of an exported session."""
    about = object_of(record, "info")
    chat = ChatBuilder()
    chat.session_id, chat.title = text_of(about, "id"), text_of(about, "title")
    chat.cwd, chat.is_sub_agents = text_of(about, "directory"), bool(text_of(about, "parentID"))
    for message in list_of(record, "messages"):
        info = object_of(message, "info")
        role = _ROLES.get(text_of(info, "role"))
        if role is None:
            chat.drop("system-records")
            continue
        chat.model = chat.model or text_of(info, "modelID")
        at = stamp(object_of(info, "time").get("created"))
        for part in list_of(message, "parts"):
            kind = text_of(part, "type")
            if kind == "text" and role == "user" and chat.is_sub_agents:
                chat.drop("sub-agents")  # the agent wrote it
            elif kind == "text" and is_programs(part):
                chat.drop("injected")
            elif kind == "text":
                chat.say(role, text_of(part, "text").replace("\r\n", "\n"), at)
            elif kind == "tool":
                name, state = one_line(text_of(part, "tool"), 80) or "tool", object_of(part, "state")
                failed = text_of(state, "status") == "error"
                output = text_of(state, "error" if failed else "output")
                chat.drop("tool-output", is_shortened(output))
                result = result_of(name, output, failed=failed) if output or failed else ""
                chat.call(name, summary_of(name, state.get("input")), result, at)
            elif kind == "file":
                chat.attach(role, one_line(text_of(part, "filename") or text_of(part, "mime") or "file"), at)
            elif kind == "reasoning":
                chat.drop("thinking")
    return chat.chat(NAME)
