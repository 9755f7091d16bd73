"""Tells what a file is by its content, and reads it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from engine.store.header import BOM
from engine.transcripts.chats import aider, claude_export, gemini, labelled, records, specstory
from engine.transcripts.chats.chat import Chat
from engine.transcripts.days import iso, moment
from engine.transcripts.format import parse
from engine.transcripts.importers.lines import Record, read_lines
from engine.transcripts.importers.log import SessionLog, kind_of
from engine.transcripts.importers.session import START
from engine.transcripts.turn import Transcript, Turn

CHAT_SUFFIXES = (".md", ".markdown", ".txt", ".text", ".log", ".json", ".jsonl", ".ndjson")
"""What the name of a file ends with that can hold a conversation."""

OWN = "transcript"
"""The format of a transcript of ours."""


def read_chat(data: bytes, name: str) -> Transcript | None:
    """A conversation in whichever form it was kept, as a transcript.

    Transcripts of ours, session logs, exports and histories of other programs, and chats whose lines say who
    speaks (``read_chats`` says which). Several conversations in one file follow each other. ``name`` is the
    file's name or path, which becomes the transcript's.

    Returns:
        ``None`` where **speakers cannot be told apart**: nothing in the file says who speaks. That
        differs from a conversation without a word, which is a transcript without turns.
        The caller keeps such a file and says so.
    """
    stream = BytesIO(data)
    kind = kind_of(stream)
    if kind is not None:
        return _log(SessionLog(kind, Path(name), stream), name)
    if not data.strip():
        return Transcript(name, "", "", "", "", {}, ())
    if _is_own(data):
        return parse(data, name)
    chats = read_chats(data, name)
    if not chats:
        return None
    first = chats[0]
    started = f"{first.started:%Y-%m-%dT%H:%M:%SZ}" if first.started is not None else ""
    header: dict[str, object] = {"session_id": first.session_id, "started": started, "channel": first.format}
    header |= {key: value for key, value in {"model": first.model, "cwd": first.cwd}.items() if value}
    turns = tuple(turn for chat in chats for turn in _dated(chat, chats[0]))
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
    """The conversations in a file; none where speakers cannot be told apart.

    SpecStory, Aider, Claude Code's ``/export``, Cursor's export, Gemini CLI, exports of ChatGPT and
    Claude.ai, JSON or JSON lines that name a role, and texts with headings, bold names, labels or times
    before names.
    """
    if b"\0" in data[:4096]:
        return ()
    if _is_own(data):
        return _own(parse(data, name))
    text = data.removeprefix(BOM).decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    found = tuple(_json(data, text) if text.lstrip()[:1] in ("{", "[") else ())
    found = found or tuple(_text(text, PurePosixPath(name).name))
    return tuple(chat for chat in found if any(turn.blocks for turn in chat.turns))


def identity_of(chat: Chat) -> str:
    """A session id for a conversation that has none: the same when it is exported again, moved or goes on."""
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
    """Whether a file is one of our transcripts: its first mark is one of our headings."""
    turns = parse(data[: 64 * 1024], "").turns
    return any(turn.line for turn in turns)


def _own(transcript: Transcript) -> tuple[Chat, ...]:
    started, ended = moment(transcript.started), moment(transcript.ended)
    header = {key: str(transcript.header.get(key) or "") for key in ("cwd", "model", "channel")}
    chat = Chat(
        header["channel"] or OWN,
        transcript.turns,
        transcript.session_id,
        started,
        ended,
        transcript.title,
        header["cwd"],
        header["model"],
    )
    return (chat,) if transcript.turns else ()


def _text(text: str, name: str) -> Iterator[Chat]:
    if aider.looks_like(text, name):
        yield from aider.read(text)
    elif specstory.looks_like(text):
        yield specstory.read(text)
    elif claude_export.looks_like(text):
        yield claude_export.read(text)
    else:
        chat = labelled.read(text)
        if chat is not None:
            yield chat


def _json(data: bytes, text: str) -> Iterator[Chat]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if value is not None:
        tree = value if isinstance(value, list) else [value]
        found = [(record, 1) for record in tree if isinstance(record, dict)]
    else:
        found = list(_lines(data))
    if not found:
        return
    first = found[0][0]
    if gemini.is_session(first):
        yield gemini.read(record for record, _ in found)
    elif gemini.is_log(first):
        yield from gemini.read_log(record for record, _ in found)
    else:
        yield from records.read(found)


def _lines(data: bytes) -> Iterator[tuple[Record, int]]:
    number, place = 1, 0
    for line in read_lines(BytesIO(data)):
        number += data.count(b"\n", place, line.start)
        place = line.start
        for record in line.records:
            yield record, number


def _dated(chat: Chat, first: Chat) -> tuple[Turn, ...]:
    """The turns of a conversation that follows others: the day of its first one is written."""
    if chat is first or chat.started is None or not chat.turns:
        return chat.turns
    opening = replace(chat.turns[0], day=f"{chat.started:%Y-%m-%d}")
    return (opening, *chat.turns[1:])
