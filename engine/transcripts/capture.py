"""Writes a running session to its transcript, leaving out repetitions (spec 8.2, 9.2)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from itertools import accumulate

from engine.errors import NoSession, TranscriptError
from engine.redaction.detect import PLACEHOLDER, redacted, secrets_in
from engine.store.documents import edit_header
from engine.store.files import Files
from engine.store.header import locate
from engine.store.paths import valid_session_id
from engine.transcripts.brief import LIMIT, one_line
from engine.transcripts.corrections import is_correction
from engine.transcripts.days import date_of, day_to_write, following, iso, moment
from engine.transcripts.format import (
    KEY_PREFIX,
    last_day,
    last_turn,
    parse,
    render,
    render_blocks,
    render_turn,
)
from engine.transcripts.injected import strip_injected
from engine.transcripts.places import AUTHOR_FIELD, find_session, session_of, session_path
from engine.transcripts.secrets import REDACTED_FIELD, clean_turn
from engine.transcripts.turn import (
    CORRECTION,
    MEMORY,
    Attachment,
    Block,
    KnowledgeChange,
    Role,
    Text,
    ToolCall,
    Transcript,
    Turn,
)

_WORD = re.compile(r"[A-Za-z0-9_.-]*")
_ROLES = ("user", "agent", "system")
_TITLE_LIMIT = 80
_NAME_LIMIT = 80
_CHANGES_BYTES = 8 * 1024


def utc_now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to record or, with ``tool``, a tool call or, with ``action``, a memory operation."""

    role: Role
    content: str
    """Markdown; of a call its arguments and of an operation its path, truncated to one line of at most 200
    characters."""
    kind: str = ""
    """A short word for the brackets in the heading; empty for dialogue. If empty, a message that corrects the
    agent gets the kind ``correction``."""
    at: datetime | None = None
    key: str = ""
    attachments: Sequence[str] = ()  # paths of binary content the message refers to
    tool: str = ""
    result: str = ""  # of the call, or the operation's summary, with the same limit as ``content``
    action: str = ""  # what was done to the file: ``created``, ``updated``, ``appended``, …


@dataclass(frozen=True, slots=True)
class _Session:
    path: str
    data: bytes
    header: Mapping[str, object]


class ConversationCapture:
    """Appends to transcripts; safe with concurrent processes and crashes at any time.

    All state is in the transcript: each call looks up the session's file. A call is one locked append, or one
    atomic replacement for ``start`` and ``end``, so readers see an entry completely or not at all.

    An interrupted caller cannot know whether the entry was written, so every call may be repeated:

    - ``start`` and ``end`` are idempotent.
    - With a ``key``, a call is recorded by a line ``<!-- key:… -->`` after its entry, which is invisible in
      rendered Markdown and not part of the turn. Any later call with the same key changes nothing.
    - Without a key, a message identical to the last entry, by the same role and within a minute, counts as a
      repetition (a retry, or a hook registered twice). Tool calls without a key are always written, because
      agents do run the same command twice.

    A session id consists of letters, digits, ``.``, ``_`` and ``-``. Times default to now. Methods that add
    an entry return whether it was written: not if its key was seen before.

    Args:
        redact: Replace likely keys and passwords with ``[secret]``. The header of an ended session then gives
            their number.
    """

    def __init__(
        self,
        files: Files,
        *,
        clock: Callable[[], datetime] = utc_now,
        redact: bool = True,
    ) -> None:
        self._files = files
        self._clock = clock
        self._clean: Callable[[str], str] = redacted if redact else str
        self._paths: dict[str, str] = {}

    def start(
        self,
        session_id: str,
        *,
        model: str = "",
        channel: str = "",
        title: str = "",
        started: datetime | None = None,
        author: str = "",
    ) -> str:
        """Create a session's transcript; an existing one is unchanged.

        Args:
            author: Whose session it is, if not the user's: nothing is learned from it without review.
            channel: Where the session takes place, such as ``cli``.
            title: The topic; determines the file's slug, which never changes.

        Returns:
            The transcript's workspace-relative path.

        Raises:
            TranscriptError: The session id cannot be used in a file name, or looks like a secret.
            WriteFailed, ReadOnly: As ``Files.create``.
        """
        _check_id(session_id)
        if secrets_in(session_id):
            raise TranscriptError(
                "the session id looks like a secret", hint="use another id: it names the transcript"
            )
        topic = one_line(self._clean(strip_injected(title)), _TITLE_LIMIT)
        at = (started or self._clock()).astimezone(UTC)
        header: dict[str, object] = {"session_id": session_id, "started": iso(at)}
        about = {"model": model, "channel": channel, "topic": topic, AUTHOR_FIELD: author}
        header |= {key: one_line(self._clean(value)) for key, value in about.items() if value}
        header["tags"] = []
        data = render(Transcript("", "", "", "", topic or "Session", header, ())).encode("utf-8")
        with self._files.lock():
            found = self.find(session_id)
            if found is not None:
                return found
            first = path = session_path(session_id, at, topic)
            # On a case-insensitive file system, a session id that differs only in case may own the name.
            for number in range(2, 100):
                if self._files.create(path, data):
                    self._paths[session_id] = path
                    return path
                path = f"{first[:-3]}-{number}.md"
        raise TranscriptError("the file name is already taken", where=path, hint="use another session id")

    def message(
        self,
        session_id: str,
        role: Role,
        content: str,
        *,
        kind: str = "",
        at: datetime | None = None,
        key: str = "",
        attachments: Sequence[str] = (),
    ) -> bool:
        """Append a message; see ``NewMessage`` for its fields and ``append`` for errors.

        Returns:
            Whether it was written: not if it is a repetition, or empty without injected blocks.
        """
        return self.append(session_id, [NewMessage(role, content, kind, at, key, attachments)])[0]

    def tool_call(
        self,
        session_id: str,
        tool: str,
        args_summary: str,
        result_summary: str = "",
        at: datetime | None = None,
        *,
        key: str = "",
    ) -> bool:
        """Append a tool call to the agent's turn, opening one if needed. Raises the errors of ``append``."""
        call = NewMessage("agent", args_summary, at=at, key=key, tool=tool, result=result_summary)
        return self.append(session_id, [call])[0]

    def memory_change(
        self,
        session_id: str,
        action: str,
        path: str,
        summary: str = "",
        at: datetime | None = None,
        *,
        key: str = "",
    ) -> bool:
        """Append a memory operation to the agent's memory turn, opening one if needed (spec 2.1).

        ``end`` lists it in the header. Raises the errors of ``append``.

        Args:
            action: What was done to the file: ``created``, ``updated``, ``appended``, …
            path: The file, relative to the workspace.
        """
        if not action:
            raise TranscriptError("a memory operation needs an action", hint="such as created or updated")
        change = NewMessage("agent", path, at=at, key=key, result=summary, action=action)
        return self.append(session_id, [change])[0]

    def append(self, session_id: str, messages: Sequence[NewMessage]) -> list[bool]:
        """Append messages, tool calls and memory operations in order, in one atomic write.

        Injected blocks are removed first (design 3.13). Agent text that follows the tool calls at the start
        of a turn is part of that turn.

        Returns:
            For each, whether it was written.

        Raises:
            NoSession: There is no such session.
            TranscriptError: It has ended, or a role, a kind, an action or its path is invalid.
            WriteFailed, ReadOnly: As ``Files.append``.
        """
        entries = [self._entry(each) for each in messages]
        with self._files.lock():
            session = self._read(session_id)
            if session.header.get("ended"):
                raise _ended(session.path)
            end = _TurnAppender(session.data, session.header.get("started"))
            written = [entry is not None and end.add(*entry) for entry in entries]
            self._files.append(session.path, end.added.encode("utf-8"))
            return written

    def _entry(self, new: NewMessage) -> tuple[Turn, datetime, str] | None:
        """A message as a turn, its time and its key; ``None`` if it is empty without injected blocks."""
        at = (new.at or self._clock()).astimezone(UTC)
        if new.tool or new.action:
            first, second = self._line(new.content), self._line(new.result)
            if new.tool:
                turn = Turn("agent", "", (ToolCall(self._line(new.tool, _NAME_LIMIT), first, second),))
            else:
                _check_word("action", new.action)
                if not first:
                    raise TranscriptError(
                        "a memory operation needs a path", hint="name the file that changed"
                    )
                turn = Turn("agent", "", (KnowledgeChange(new.action, first, second),), MEMORY)
        else:
            if new.role not in _ROLES:
                raise TranscriptError(
                    f"unknown role {one_line(new.role, 40)}", hint=f"use one of {', '.join(_ROLES)}"
                )
            _check_word("kind of turn", new.kind)
            text = strip_injected(new.content.replace("\r\n", "\n"))
            blocks: tuple[Block, ...] = (Text(text),) if text.strip() else ()
            blocks += tuple(Attachment(self._line(path)) for path in new.attachments)
            if not blocks:
                return None
            turn = Turn(new.role, "", blocks, new.kind)
        return clean_turn(replace(turn, time=f"{at:%H:%M}"), self._clean), at, new.key

    def _line(self, text: str, limit: int = LIMIT) -> str:
        """A text on one line; a secret that only its lines or its end tell is redacted before."""
        text = strip_injected(text)
        return one_line(self._clean(text) if len(text) > limit or "\n" in text else text, limit)

    def end(
        self,
        session_id: str,
        *,
        tokens_in: int = 0,
        tokens_out: int = 0,
        tags: Iterable[str] = (),
        at: datetime | None = None,
    ) -> str:
        """Finish a transcript: add end time, counts and memory changes to its header; the body is unchanged.

        Without ``tags``, the header's tags are kept. The changes are collected from the memory turns.

        Returns:
            The transcript's workspace-relative path.

        Raises:
            TranscriptError: There is no such session, or it has ended with other values.
            DocumentError: Its header is broken.
            WriteFailed, ReadOnly: As ``Files.update``.
        """
        labels = [one_line(self._clean(tag), _NAME_LIMIT) for tag in tags]
        counts = {"tags": labels, "tokens_in": tokens_in, "tokens_out": tokens_out}
        ended = iso((at or self._clock()).astimezone(UTC))
        with self._files.lock():
            path = self._read(session_id).path

            def change(data: bytes | None) -> bytes | None:
                if data is None:
                    raise _missing(session_id)
                redactions = data.count(PLACEHOLDER.encode(), locate(data).body)
                learned = {**counts, **_changes(data), REDACTED_FIELD: redactions}
                fields = {key: value for key, value in learned.items() if value}
                header: Mapping[str, object] = locate(data).mapping or {}
                if header.get("ended"):
                    if any(header.get(key) != _as_read(value) for key, value in fields.items()):
                        raise _ended(path)
                    return data
                return edit_header(data, {"ended": ended, **fields}, path)

            # An editor may save the transcript in the meantime.
            self._files.update(path, change)
            return path

    def find(self, session_id: str) -> str | None:
        """The path of a session's transcript; ``None`` if it was never started."""
        known = self._paths.get(session_id)
        if known is not None and session_of(self._files.workspace.root / known) == session_id:
            return known
        found = find_session(self._files.workspace, session_id)
        if found is not None:
            self._paths[session_id] = found
        return found

    def _read(self, session_id: str) -> _Session:
        _check_id(session_id)
        path = self.find(session_id)
        if path is None:
            raise _missing(session_id)
        data = self._files.read(path, limit=None)
        return _Session(path, data, locate(data).mapping or {})


def _check_id(session_id: str) -> None:
    if not valid_session_id(session_id):
        raise TranscriptError(
            "is not a valid session id",
            where=one_line(session_id, 60) or "(empty)",
            hint="use at most 128 letters, digits, '.', '_' and '-'",
        )


def _check_word(what: str, word: str) -> None:
    if not _WORD.fullmatch(word):
        raise TranscriptError(
            f"invalid {what} {one_line(word, 40)}", hint="use letters, digits, '.', '_' and '-'"
        )


def _missing(session_id: str) -> NoSession:
    return NoSession("no transcript for this session", where=session_id, hint="start the session first")


def _ended(path: str) -> TranscriptError:
    return TranscriptError("the session has ended", where=path, hint="start a session with another id")


def _as_read(value: object) -> object:
    return str(value) if isinstance(value, int) else value


def _changes(data: bytes) -> dict[str, object]:
    """The header fields for the memory operations: as many as fit, and the number of the others."""
    blocks = (block for turn in parse(data, "").turns for block in turn.blocks)
    listed = [
        {
            key: one_line(value)
            for key, value in (("path", block.path), ("action", block.action), ("summary", block.summary))
            if value
        }
        for block in blocks
        if isinstance(block, KnowledgeChange)
    ]
    sizes = accumulate(
        24 + sum(len(f"{key}{value}".encode("utf-8", "replace")) + 8 for key, value in each.items())
        for each in listed
    )
    kept = listed[: sum(size <= _CHANGES_BYTES for size in sizes)]
    return {"knowledge_changes": kept, "knowledge_changes_left_out": len(listed) - len(kept)}


_AGENT = re.compile(rb"\n##[ \t].*\b(?:agent|assistant)\b", re.IGNORECASE)
_REPEAT_MINUTES = 1


class _TurnAppender:
    """Collects the text to append to a transcript.

    Args:
        data: The transcript.
        started: The start time in its header.

    Attributes:
        added: The text to append.
    """

    def __init__(self, data: bytes, started: object) -> None:
        self.added = ""
        self._data = data
        self._started = started
        self._last = last_turn(data)
        self._agent_added = False  # whether a turn of the agent was added
        self._last_date: date | None = None

    def add(self, turn: Turn, at: datetime, key: str) -> bool:
        """Add a turn unless it is a repetition; return whether it was added."""
        last = self._last
        marker = f"{KEY_PREFIX}{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:12]} -->"
        is_plain = turn.role == "user" and not turn.kind
        if is_plain and is_correction(turn.text) and (self._agent_added or _AGENT.search(b"\n" + self._data)):
            turn = replace(turn, kind=CORRECTION)
        if key:
            if f"\n{marker}".encode() in self._data or f"\n{marker}" in self.added:
                return False
        elif last is not None and _repeats(last, turn):
            return False
        if last is not None and _continues(last, turn):
            entry = render_blocks(turn.blocks, last.blocks[-1] if last.blocks else None)
            self._last = replace(last, blocks=last.blocks + turn.blocks)
        else:
            day = self._day_to_write(at)
            entry = render_turn(replace(turn, day=day))
            ends_blank = self.added.endswith("\n\n") if self.added else self._data.endswith(b"\n\n")
            entry = entry if ends_blank else f"\n{entry}"
            self._last, self._last_date = turn, date_of(day) or self._last_date
        self._agent_added = self._agent_added or turn.role == "agent"
        self.added += entry + (f"{marker}\n" if key else "")
        return True

    def _day_to_write(self, at: datetime) -> str:
        """The date for a new heading; empty if it follows from the last date above it."""
        if self._last_date is None:
            started = moment(self._started)
            first = started.date() if started is not None else None
            self._last_date = date_of(last_day(self._data)) or first
        if self._last_date is None:
            return at.date().isoformat()
        before = datetime.combine(self._last_date, time(), UTC)
        return day_to_write(at, following(before, self._last.time) if self._last is not None else before)


def _same_speaker(last: Turn, turn: Turn) -> bool:
    return last.role == turn.role and last.kind == turn.kind


def _continues(last: Turn, turn: Turn) -> bool:
    """Whether both belong to one turn: calls can follow anything, text only a turn's opening calls."""
    is_open = bool(last.blocks) and not last.text
    return turn.role == "agent" and (is_open or bool(turn.tools)) and _same_speaker(last, turn)


def _repeats(last: Turn, turn: Turn) -> bool:
    is_same = _same_speaker(last, turn) and last.blocks[-len(turn.blocks) :] == turn.blocks
    if turn.tools or not is_same or not last.time:
        return False
    apart = abs(_minutes(turn.time) - _minutes(last.time))
    return min(apart, 24 * 60 - apart) <= _REPEAT_MINUTES


def _minutes(time: str) -> int:
    return int(time[:2]) * 60 + int(time[3:])
