"""Detects the format of a conversation file by its content, and reads it."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from engine.errors import ImportFailed
from engine.store.header import BOM
from engine.transcripts.chats import (
    aider,
    claude_export,
    databases,
    gemini,
    labelled,
    layouts,
    opencode,
    prompts,
    records,
    sectioned,
    specstory,
)
from engine.transcripts.chats.chat import Chat, day_in
from engine.transcripts.days import iso, moment
from engine.transcripts.format import parse
from engine.transcripts.importers.lines import Record, plain_path, read_lines
from engine.transcripts.importers.log import LINES_CHECKED, SessionLog, kind_of
from engine.transcripts.importers.session import START, text_of
from engine.transcripts.turn import Transcript, Turn

_SUFFIXES = (".md", ".markdown", ".txt", ".text", ".log", ".json", ".jsonl", ".ndjson", ".traj")
_PARTS = frozenset({"message", "part", "session_diff", "todo", "project"})

_HEAD = 2_000
"""Characters above the first turn in which the date of a conversation is looked for."""
_FIRST_LINES = 6
"""The same in lines, where the line of the turn is not known."""
_LINKED = frozenset({"parentUuid", "sessionId", "message"})
"""Keys of Claude Code's messages; other programs write some of them."""

_OWN = "transcript"
"""The format name of our own transcripts."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 4096

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_DECODER = json.JSONDecoder()
_TRIES = 1000


_DOCUMENT = re.compile(r'\s*(?:\{\s*"|\[\s*[\[{"])')


def may_be_chat(path: Path) -> bool:
    """Whether a file in a folder may contain a conversation, by its name.

    A file of opencode's ``storage`` folder is part of a session unless it is the session's own.
    """
    is_part = any(folder.name in _PARTS and folder.parent.name == "storage" for folder in path.parents)
    return not is_part and (
        plain_path(path).suffix.lower() in _SUFFIXES
        or path.name in databases.NAMES
        or databases.is_log_alone(path)
    )


def read_chat(data: bytes, name: str) -> Transcript | None:
    """Parse a conversation in any supported format into a transcript.

    Supported are our own transcripts, session logs, and the formats of ``read_chats``. Several conversations
    in one file are concatenated. ``name`` is the file's name or path, which becomes the transcript's.

    Returns:
        ``None`` if **speakers cannot be told apart**, because nothing in the file names them; the caller
        keeps the file unchanged and reports it. An empty conversation is a transcript without turns instead.
    """
    is_text = not data.startswith(databases.MAGIC)
    data = _as_utf8(data) if is_text else data
    stream = BytesIO(data)
    kind = kind_of(stream) if is_text else None
    if kind is not None:
        return _log(SessionLog(kind, Path(name), stream), name)
    if not data.strip():
        return Transcript(name, "", "", "", "", {}, ())
    if is_text and _is_own(data):
        return parse(data, name)
    try:
        chats = read_chats(data, name)
    except ImportFailed:
        return None
    if not chats:
        return None
    first = chats[0]
    started = f"{first.started:%Y-%m-%dT%H:%M:%SZ}" if first.started is not None else ""
    header: dict[str, object] = {"session_id": first.session_id, "started": started, "channel": first.format}
    header |= {key: value for key, value in {"model": first.model, "cwd": first.cwd}.items() if value}
    turns = tuple(turn for chat in chats for turn in _turns_of(chat, chats[0]))
    return Transcript(name, first.session_id, started, "", first.title, header, turns)


def _log(log: SessionLog, name: str) -> Transcript:
    turns: list[Turn] = []
    reader = log.read(START, turns.append)
    turns += reader.unfinished
    started = iso(reader.first) if reader.first else ""
    header: dict[str, object] = {"session_id": log.session_id(), "started": started}
    header |= {"model": reader.model, "channel": log.kind, "cwd": reader.cwd}
    title = reader.topic or reader.question.strip().partition("\n")[0]
    return Transcript(name, log.session_id(), started, "", title, header, tuple(turns))


def read_chats(data: bytes, name: str) -> tuple[Chat, ...]:
    """The conversations in a file; empty if speakers cannot be told apart. Those of sub-agents are counted.

    Supported are SpecStory, Aider, Claude Code's ``/export``, ``claude-code-log``, what Windsurf, Cursor,
    Cline and Copilot export, Gemini CLI, exports of ChatGPT and Claude.ai, opencode, prompt histories of
    Claude Code and Codex, the programs in ``layouts``, ``agent_logs`` and ``databases``, JSON or JSON Lines
    with a role per message, and texts that label speakers with headings, names or timestamps.

    Raises:
        ImportFailed: It has the conversations of several people.
    """
    found = [chat for chat in _all_chats(data, name) if any(turn.blocks for turn in chat.turns)]
    spoken = [chat for chat in found if not chat.is_sub_agents]
    if spoken and len(spoken) < len(found):
        left_out = {**spoken[0].left_out, "sub-agent-logs": len(found) - len(spoken)}
        spoken[0] = replace(spoken[0], left_out=left_out)
    return tuple(spoken)


def why_empty(data: bytes, name: str) -> str:
    """Why a file has no conversations, if it is in a supported format; else empty."""
    found = _all_chats(data, name)
    if any(chat.is_sub_agents for chat in found):
        return "it is a sub-agent's log"
    if any(chat.format == "cursor" for chat in found):
        return "it has no dialogue; Cursor keeps that in globalStorage/state.vscdb"
    return "it has no dialogue yet" if found or not data.strip() else ""


def _all_chats(data: bytes, name: str) -> tuple[Chat, ...]:
    if data.startswith(databases.MAGIC):
        return tuple(databases.read(data))
    data = _as_utf8(data)
    if b"\0" in data[:4096]:
        return ()
    if _is_own(data):
        return _own_chats(parse(data, name))
    text = data.removeprefix(BOM).decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    found = tuple(_json_chats(data, text, Path(name)) if text.lstrip()[:1] in ("{", "[") else ())
    return found or tuple(_text_chats(text, Path(name)))


def identity_of(chat: Chat) -> str:
    """A session id for a conversation without one; stable when it is exported again, moved or continued."""
    opening = chat.turns[: 1 + next((at for at, turn in enumerate(chat.turns) if turn.role == "user"), 0)]
    parts = [
        chat.format,
        f"{chat.started}" if chat.started else "",
        chat.title,
        *(turn.text for turn in opening),
    ]
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{chat.format}-{digest[:16]}"


def _is_own(data: bytes) -> bool:
    """Whether a file is one of our transcripts, which has our turn headings."""
    turns = parse(data[: 64 * 1024], "").turns
    return any(turn.line for turn in turns)


def _own_chats(transcript: Transcript) -> tuple[Chat, ...]:
    started, ended = moment(transcript.started), moment(transcript.ended)
    header = {key: str(transcript.header.get(key) or "") for key in ("cwd", "model", "channel")}
    chat = Chat(
        header["channel"] or _OWN,
        transcript.turns,
        transcript.session_id,
        started,
        ended,
        transcript.title,
        header["cwd"],
        header["model"],
    )
    return (chat,) if transcript.turns else ()


def _text_chats(text: str, path: Path) -> Iterator[Chat]:
    for chat in _chats_in(text, path):
        if chat.started is None and chat.begun is None:
            line = next((turn.line for turn in chat.turns if turn.role != "system"), 1) or _FIRST_LINES
            chat = replace(chat, begun=day_in("\n".join(text[:_HEAD].split("\n")[: line - 1])))
        yield chat


def _chats_in(text: str, path: Path) -> Iterator[Chat]:
    if aider.looks_like(text, path.name):
        yield Chat(aider.NAME, ())
        yield from aider.read(text, aider.inputs_beside(path))
    elif specstory.looks_like(text):
        history = specstory.read(text)
        is_begun = path.is_absolute() and history.session_id.lower() in specstory.begun_by_others(path.parent)
        yield replace(history, is_sub_agents=history.is_sub_agents or is_begun)
    elif sectioned.is_claude_code_log(text):
        yield from sectioned.claude_code_log(text)
    elif claude_export.looks_like(text):
        yield claude_export.read(text)
    elif sectioned.is_windsurf(text):
        yield sectioned.windsurf(text)
    elif opencode.is_saved(text):
        yield opencode.read_saved(text)
    elif sectioned.is_copilot(text):
        yield sectioned.copilot(text)
    else:
        chat = labelled.read(text)
        if chat is not None:
            yield chat


def _json_chats(data: bytes, text: str, path: Path) -> Iterator[Chat]:
    found, odd = _json_records(data, text)
    for chat in _record_chats(found, path) if found else ():
        # What could not be read is said once.
        yield (
            replace(chat, left_out={**chat.left_out, "unreadable-lines": odd}) if odd and chat.turns else chat
        )
        odd = 0 if chat.turns else odd


def _record_chats(found: list[tuple[Record, int]], path: Path) -> Iterator[Chat]:
    first = found[0][0]
    if gemini.is_session(first):
        yield gemini.read(record for record, _ in found)
    elif gemini.is_log(first):
        yield from gemini.read_log(record for record, _ in found)
    elif opencode.is_export(first):
        yield from (opencode.read(record) for record, _ in found if opencode.is_export(record))
    elif opencode.is_stored(first, path):
        yield opencode.read_stored(first, path)
    elif all(text_of(record, "type") == "file-history-snapshot" for record, _ in found):
        yield Chat("claude-code", ())  # the log of a session in which nobody said anything
    elif prompts.kind_of_history(first):
        yield from prompts.read(record for record, _ in found)
    elif (log := _listed_log([record for record, _ in found], path)) is not None:
        yield _logged(log)
    elif (known := layouts.conversations([record for record, _ in found])) is not None:
        yield Chat(known[0], ())  # the layout is known even if nobody has said anything yet
        for about, messages in known[1]:
            is_sub_agents = about.get("is_sub_agents") is True
            yield from records.conversation(about, messages, known[0], is_sub_agents=is_sub_agents)
    else:
        yield from records.read(found)


def _listed_log(records: list[Record], path: Path) -> SessionLog | None:
    """The session log that a hook has copied into one JSON list; ``None`` if the records are none."""
    first = records[:LINES_CHECKED]
    if not any(record.keys() >= _LINKED for record in first) or kind_of(_lines_of(first)) != "claude-code":
        return None
    return SessionLog("claude-code", path, _lines_of(records))


def _lines_of(records: Iterable[Record]) -> BytesIO:
    return BytesIO("".join(f"{json.dumps(record)}\n" for record in records).encode())


def _logged(log: SessionLog) -> Chat:
    turns: list[Turn] = []
    reader = log.read(START, turns.append)
    turns += reader.unfinished
    about = reader.first, reader.last, reader.topic, reader.cwd, reader.model, reader.left_out
    is_sub_agents = not turns and "sub-agents" in reader.left_out
    return Chat(log.kind, tuple(turns), log.session_id(), *about, is_sub_agents=is_sub_agents)


def _json_records(data: bytes, text: str) -> tuple[list[tuple[Record, int]], int]:
    """The records of a JSON document or of JSON Lines, each with its line number, and how much is damaged."""
    try:
        return _records_in(json.loads(text)), 0
    except (ValueError, RecursionError):
        found, odd = _json_lines(data)
    first = text[: len(text) - len(text.lstrip())].count("\n") + 1
    if (found and found[0][1] == first) or not _is_document(text):
        return found, odd
    document = _records_in(_mended(text)) or [(record, 1) for record in _salvaged(text)]
    return (document, 1) if len(document) > len(found) or len(document) == 1 else (found, odd)


def _records_in(value: Any) -> list[tuple[Record, int]]:
    return [(each, 1) for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]


def _json_lines(data: bytes) -> tuple[list[tuple[Record, int]], int]:
    """The records of a JSON Lines file, with their line numbers, and the number of damaged lines."""
    found: list[tuple[Record, int]] = []
    number, place, odd = 1, 0, 0
    for line in read_lines(BytesIO(data)):
        number += data.count(b"\n", place, line.start)
        place, odd = line.start, odd + line.odd
        found += [(record, number) for record in line.records]
    return found, odd


def _turns_of(chat: Chat, first: Chat) -> tuple[Turn, ...]:
    """The turns of a conversation; if it follows another in the file, its first turn gets a date."""
    if chat is first or chat.started is None or not chat.turns:
        return chat.turns
    opening = replace(chat.turns[0], day=f"{chat.started:%Y-%m-%d}")
    return (opening, *chat.turns[1:])


def _as_utf8(data: bytes) -> bytes:
    """A text as UTF-8; binary data, and a UTF-8 text with a few damaged bytes, are returned unchanged.

    ``data`` may be only the beginning of a file.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace").encode("utf-8")
    sample = data[:_SAMPLE]
    if b"\0" in sample:
        # The high bytes of Latin characters in UTF-16, which are in a chat's line ends and labels at least.
        high, low = sample[1::2].count(0), sample[::2].count(0)
        if high and low:
            return data
        return data.decode("utf-16-le" if high else "utf-16-be", "replace").encode("utf-8")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return _from_windows(data)
    return data


def _from_windows(data: bytes) -> bytes:
    """A text that is not UTF-8, from Windows-1252, unless most of its characters are UTF-8 after all."""
    text = data.decode("utf-8", "surrogateescape")
    other = sum(1 for character in text if character > "\x7f")
    damaged = sum(1 for character in text if "\udc80" <= character <= "\udcff")
    if damaged * 2 <= other:
        return data
    try:
        return data.decode("cp1252").encode("utf-8")
    except UnicodeDecodeError:
        return data


def _is_document(text: str) -> bool:
    """Whether a text begins like a JSON document, not like a text with brackets."""
    return _DOCUMENT.match(text) is not None


def _mended(text: str) -> Any:
    """The value of a document that is cut off, with all that was complete; ``None`` if it is none."""
    stack: list[str] = []
    end = depth = 0  # of the last value that is complete; what follows it only opens others
    for token in _TOKEN.finditer(text):
        if (mark := token[0]) in _CLOSING:
            stack.append(_CLOSING[mark])
        elif stack and mark == stack[-1]:
            stack.pop()
            end, depth = token.end(), len(stack)
    try:
        return json.loads(text[:end] + "".join(reversed(stack[:depth]))) if end and depth else None
    except (ValueError, RecursionError):
        return None


def _salvaged(text: str) -> list[Record]:
    """The largest whole objects in a text; a thousand places at most are tried in vain."""
    found: list[Record] = []
    place = text.find("{")
    tries = 0
    while place >= 0 and tries < _TRIES:
        try:
            value, end = _DECODER.raw_decode(text, place)
            found.append(value)
        except (ValueError, RecursionError):
            end, tries = place + 1, tries + 1
        place = text.find("{", end)
    return found
