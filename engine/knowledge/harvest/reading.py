"""Reads a working conversation for a harvest: its turns with speakers, and the hash of the file.

The hashed bytes are the bytes that are read, so the ledger proves what was examined (design 6.2). A file that
is too large is hashed in blocks and not kept in memory.

The generic formats, texts with labels and JSON lines with a role, can be forged: anyone who can add a
paragraph that starts with ``user:`` speaks as the person. A label therefore never counts in fenced code or a
quotation.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from engine.context.quoting import bare
from engine.knowledge.harvest.inquiry import said_in
from engine.provenance.outputs import calls_in, objects_in, tool_output, with_outputs
from engine.provenance.tools import brings_outside, reads_document
from engine.provenance.voices import Voices
from engine.transcripts.chats.labelled import ROLES, TOOLS
from engine.transcripts.chats.read import read_chat
from engine.transcripts.days import iso
from engine.transcripts.format import parse
from engine.transcripts.importers.lines import Line, Record, read_lines
from engine.transcripts.importers.log import Kind, SessionLog, kind_of
from engine.transcripts.importers.session import START, text_of
from engine.transcripts.injected import strip_injected
from engine.transcripts.places import AUTHOR_FIELD
from engine.transcripts.turn import MEMORY, QUOTED, TOOL, KnowledgeChange, Text, ToolCall, Turn

if TYPE_CHECKING:
    from engine.store.files import Files

MAX_TEXT_BYTES = 1024 * 1024
"""Maximum bytes of text in a conversation to harvest (``knowledge-curation.md`` 5.3). An agent's log is many
times larger than its text, and only the text is sent."""
MAX_FILE_BYTES = 64 * 1024 * 1024
"""Maximum size of a file to read."""
UNCLEAR = "could not tell who speaks"

State = Literal["read", "empty", "unclear", "unreadable", "too-large"]


@dataclass(frozen=True)
class SourceText:
    """A conversation as read for a harvest."""

    path: str  # workspace-relative
    sha256: str  # of the file's bytes, hexadecimal
    size: int  # bytes of the file
    state: State
    """``empty``: no turn has content. ``unclear``: there is text, but no speakers."""
    why: str = ""  # the reason for any state but ``read``, one clause
    turns: tuple[Turn, ...] = ()
    """In order, without injected text: quotes of memory keep no blocks, memory operations only their
    changes."""
    sizes: tuple[int, ...] = ()  # bytes of the file for each turn; the first includes what precedes it
    session: str = ""  # empty if the file names none
    began: str = ""  # ISO 8601, UTC; empty if the file does not say
    outside: str = ""
    """Complete outside text from tools, if the file has more of it than the turns."""
    local: str = ""  # complete output of the agent's own commands, likewise
    author: str = ""  # whose conversation it is, if another person's
    header: Mapping[str, object] = field(default_factory=dict)  # of a transcript

    @property
    def name(self) -> str:
        """The file name without suffix, safe for a provenance."""
        return safe_name(self.path)

    @property
    def read(self) -> int:
        """Bytes of the file covered by turns."""
        return sum(self.sizes)

    @property
    def shown(self) -> tuple[tuple[int, Turn], ...]:
        """The turns for a model, by number from 1: those in which someone speaks or acts."""
        return tuple(
            (number, turn)
            for number, turn in enumerate(self.turns, 1)
            if turn.blocks and turn.kind not in (MEMORY, QUOTED)
        )

    @cached_property
    def text_size(self) -> int:
        """Bytes of the text for a model, without the speakers' markup."""
        return sum(len(said_in(turn).encode("utf-8", "replace")) for _, turn in self.shown)

    @cached_property
    def voices(self) -> Voices:
        """Who said what; quoted text belongs to neither the person nor the agent."""
        from engine.provenance.spoken import voices_of  # noqa: PLC0415 — only if something was found

        turns = with_outputs(self.turns, self.header)
        return voices_of(turns, self.outside, self.local, self.author)


def safe_name(path: str) -> str:
    """The name of a conversation, with hyphens for characters that could end a provenance or a line."""
    stem = unicodedata.normalize("NFC", PurePosixPath(path).stem)
    plain = "".join(c if c.isalnum() or c in "._ -" else "-" for c in stem)
    return re.sub(r"[\s-]{2,}|\s", "-", plain).strip("-. ")[:120] or "conversation"


def read_source(files: Files, path: str) -> SourceText:
    """Reads a conversation in any supported format.

    Raises:
        FileNotFoundError: There is no such file.
        PathRefused, DocumentError: As ``Files.read``.
    """
    digest = hashlib.sha256()
    held: list[bytes] = []
    size = 0
    for block in files.read_blocks(path):
        digest.update(block)
        size += len(block)
        if size <= MAX_FILE_BYTES:
            held.append(block)
        else:
            held.clear()
    blank = SourceText(path, digest.hexdigest(), size, "read")
    if size > MAX_FILE_BYTES:
        why = f"has {size:,} bytes, more than the maximum of {MAX_FILE_BYTES:,}"
        return replace(blank, state="too-large", why=why)
    data = b"".join(held)
    if not _is_text(data):
        return replace(blank, state="unreadable", why="is not text")
    found = (_log if PurePosixPath(path).suffix.lower() == ".jsonl" else _text)(path, data)
    if found is None:
        return replace(blank, state="unclear", why=UNCLEAR)
    source = replace(
        blank,
        turns=tuple(map(_without_injected, found.turns)),
        sizes=tuple(found.sizes),
        session=found.session,
        began=found.began,
        outside="\n".join(found.outside),
        local="\n".join(found.local),
        author=found.author,
        header=found.header,
    )
    if not any(turn.blocks for turn in source.turns):
        return replace(source, state="empty", why="it contains no messages")
    if source.text_size > MAX_TEXT_BYTES:
        why = f"has {source.text_size:,} bytes of text, more than the maximum of {MAX_TEXT_BYTES:,}"
        return replace(blank, state="too-large", why=why)
    return source


@dataclass(frozen=True, slots=True)
class _Parsed:
    """The content of a file; fields as in ``SourceText``."""

    turns: Sequence[Turn]
    sizes: Sequence[int]
    session: str = ""
    began: str = ""
    outside: Sequence[str] = ()
    local: Sequence[str] = ()
    author: str = ""
    header: Mapping[str, object] = field(default_factory=dict)


def _is_text(data: bytes) -> bool:
    """True if bytes are mostly text, despite a few control or damaged characters."""
    sample = data[: 64 * 1024]
    odd = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in sample)
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    return 10 * (odd + broken) <= len(sample)


def _text(path: str, data: bytes) -> _Parsed | None:
    transcript = parse(data, path)
    turns = transcript.turns
    if any(turn.text.strip() for turn in turns) and not any(turn.line for turn in turns):
        return _chat(path, data)
    author = str(transcript.header.get(AUTHOR_FIELD) or "")
    began = transcript.started or transcript.ended
    return _Parsed(
        turns, _sizes(turns, data), transcript.session_id, began, author=author, header=transcript.header
    )


def _chat(path: str, data: bytes) -> _Parsed | None:
    """A chat history or export of another program, or a text with labels; ``None`` if it is neither."""
    found = read_chat(data, path)
    return _Parsed(found.turns, _sizes(found.turns, data), found.session_id) if found is not None else None


def _sizes(turns: Sequence[Turn], data: bytes) -> list[int]:
    """The bytes of each turn, from its line to the next one's.

    If the lines are unknown, each turn gets a share by the length of its text.
    """
    lines = [turn.line for turn in turns]
    if all(lines) and lines == sorted(lines):
        places = [0, *(match.end() for match in re.finditer(b"\n", data))]
        ends = [*(places[line - 1] for line in lines[1:]), len(data)]
    else:
        weights = [sum(len(str(block)) for block in turn.blocks) + 1 for turn in turns]
        ends = [len(data) * done // sum(weights) for done in accumulate(weights)]
    return [end - start for start, end in pairwise([0, *ends])] if turns else []


def _log(path: str, data: bytes) -> _Parsed | None:
    stream = BytesIO(data)
    kind = kind_of(stream)
    read = _records(stream) if kind is None else _agents(path, kind, stream)
    if kind is None and not read.turns and data.strip():
        return _chat(path, data)
    outside: list[str] = []
    local: list[str] = []
    calls: dict[str, ToolCall] = {}
    for line in read_lines(stream):
        for record in line.records:
            calls.update(calls_in(record))
            (local if is_own_output(record, calls) else outside).extend(tool_output(record))
    return replace(read, outside=outside, local=local)


def _agents(path: str, kind: Kind, stream: BytesIO) -> _Parsed:
    """The turns of an agent's session log, each with the bytes of its lines."""
    log = SessionLog(kind, Path(path), stream)
    turns: list[Turn] = []
    reader = log.reader(turns.append, START)
    sizes: list[int] = []
    before = 0
    for line in read_lines(stream):
        for place, record in enumerate(line.records):
            reader.feed(record, line.start, place)
        taken = 0 if line.odd else line.end - line.start
        while len(sizes) < reader.total:
            sizes.append(0)
        if sizes:
            sizes[-1] += taken + before
        before = 0 if sizes else before + taken
    turns += reader.unfinished
    # Text typed ahead counted as a turn until it was withdrawn.
    beyond = sum(sizes[len(turns) :])
    del sizes[len(turns) :]
    if sizes:
        sizes[-1] += beyond
    began = iso(reader.first) if reader.first is not None else ""
    return _Parsed(turns, sizes, log.session_id(), began)


def _records(stream: BytesIO) -> _Parsed:
    """The turns of JSON lines with a role, each with its bytes; other lines are skipped."""
    turns: list[Turn] = []
    sizes: list[int] = []
    for line in read_lines(stream):
        if found := turns_of(line):
            turns += found
            sizes += [line.end - line.start] + [0] * (len(found) - 1)
    return _Parsed(turns, sizes)


def _without_injected(turn: Turn) -> Turn:
    """A turn without text injected by memory."""
    if turn.kind == QUOTED:
        return replace(turn, blocks=())
    if turn.kind == MEMORY:
        changes = tuple(block for block in turn.blocks if isinstance(block, KnowledgeChange))
        return replace(turn, blocks=changes)
    own = bare(turn)
    blocks = tuple(block for block in own.blocks if not isinstance(block, Text) or block.text.strip())
    return replace(own, blocks=blocks)


def turns_of(line: Line) -> list[Turn]:
    """The turns in a JSON line of a common format: ``{"role": …, "content": …}``, alone, as a ``message``, or
    in a list of ``messages``; empty if there is no role.
    """
    return [turn for record in line.records for turn in _turns_of(record)]


def _turns_of(record: Record) -> Iterator[Turn]:
    listed, nested = record.get("messages"), record.get("message")
    messages = listed if isinstance(listed, list) else [nested if isinstance(nested, dict) else record]
    for message in messages:
        label = (text_of(message, "role") or text_of(message, "sender")).lower()
        role = ROLES.get(label)
        if role is not None:
            text = strip_injected("\n\n".join(_texts(message))).strip()
            kind = TOOL if label in TOOLS else ""
            yield Turn(role, _clock(record), (Text(text),) if text else (), kind)


def _texts(message: Any) -> Iterator[str]:
    content = message.get("content", message.get("text"))
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, str):
                yield part
            elif text_of(part, "text"):
                yield text_of(part, "text")


def _clock(record: Record) -> str:
    found = re.search(r"T(\d\d:\d\d)", text_of(record, "timestamp")[:40])
    return found[1] if found else ""


def is_own_output(record: Any, calls: Mapping[str, ToolCall]) -> bool:
    """True if a log record has output of the agent's own commands that is not a document.

    ``calls`` are the earlier calls by id.
    """
    answered = [text_of(part, "tool_use_id") or text_of(part, "call_id") for part in objects_in(record)]
    known = [calls[name] for name in answered if name in calls]
    return bool(known) and not any(brings_outside(call) or reads_document(call) for call in known)
