"""The user's statements in each session about how to work, read once per session and cached in ``scratch/``.

The cache can be rebuilt from the transcripts. Which rules were ever written to the file cannot; that is in
``logs/rules-YYYY-MM.jsonl``, append-only.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.reading import read_source
from engine.provenance.spoken import own_and_quoted
from engine.provenance.voices import is_from_tool, plain
from engine.redaction.detect import redacted
from engine.rules.instructions import instructions_in
from engine.store.monthly import MonthlyLog, line_of, record_of
from engine.store.typed import typed
from engine.transcripts.days import date_of, moment
from engine.transcripts.injected import BY_PROGRAM
from engine.transcripts.places import head_fields, read_head, session_files
from engine.transcripts.projects import project_of
from engine.transcripts.turn import ANSWER, COMMAND, CORRECTION, Turn

if TYPE_CHECKING:
    from engine.store.files import Files

KIND = "rules"
SESSIONS = "scratch/rules-sessions.jsonl"  # an older cache has projects by their folders' names

_ODD = (ValueError, TypeError, KeyError, AttributeError)

_FIELDS = ("started", "ended", "channel")
_COMMANDS = frozenset({"bash", "shell", "exec_command", "local_shell", "run_shell_command"})
_REFUSED = re.compile(r"rejected\b")
_COMMAND = re.compile(r"[a-z][\w.-]*(?: [a-z][\w:-]*(?![\w/.:-]))?(?: --?[a-z][\w-]*)?")
"""A command with subcommand and option, without paths or names."""
_REFUSAL = 1.1
"""Weight of a command rejected without comment: once is not a rule, in two sessions it may be."""
_CORRECTED = 0.8
"""Added to a sentence with which the user rejected what the agent was about to do."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the user about how to work, with its place."""

    line: int  # of the turn's heading, from 1
    day: str  # ``YYYY-MM-DD``, UTC
    text: str
    weight: float
    fails: str = ""
    standing: bool = False
    corrects: bool = False  # said when rejecting what the agent was about to do
    refused: str = ""  # a command rejected without comment; ``text`` is then not the user's

    @property
    def key(self) -> str:
        """Its subject if certain: statements with different keys are never the same rule."""
        return (
            f"fails:{self.fails.split()[-1]}"
            if self.fails
            else f"refused:{self.refused}"
            if self.refused
            else ""
        )


@dataclass(frozen=True, slots=True)
class SessionRead:
    """The user's statements in one session."""

    path: str  # workspace-relative
    size: int  # of the file when read, bytes
    project: str = ""  # slug; empty if unknown
    agent: str = ""  # empty if unknown
    said: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """A rule that was written to the file: if it is missing now, the user deleted it."""

    id: str
    text: str  # its first wording; empty if removed again because no session contains it


@dataclass(frozen=True, slots=True)
class Known:
    """The content of the cache and the log."""

    sessions: Mapping[str, SessionRead] = field(default_factory=dict)  # by path, oldest first
    written: Mapping[str, str] = field(default_factory=dict)  # the first wording of a rule by id


class RuleLog:
    """Writes and reads the cache and the log. Safe across processes."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._log = MonthlyLog(files, KIND, clock)

    def known(self) -> Known:
        """The content of both, with the last record of each session. Damaged lines are skipped."""
        sessions: dict[str, SessionRead] = {}
        written: dict[str, str] = {}
        for line in self._sessions().split(b"\n"):
            with contextlib.suppress(*_ODD):
                found = typed(SessionRead, record_of(line) or {})
                sessions[found.path] = found
        for record in self._log.records():
            with contextlib.suppress(*_ODD):
                rule = typed(Written, record)
                if rule.text:
                    written.setdefault(rule.id, rule.text)
                else:
                    written.pop(rule.id, None)
        return Known(sessions, written)

    def _sessions(self) -> bytes:
        try:
            return self._files.read(SESSIONS, limit=None)
        except (OSError, AutopoiesisError):
            return b""

    def add(self, read: Sequence[SessionRead]) -> None:
        """Records sessions.

        Raises:
            WriteFailed, ReadOnly: They were not recorded.
        """
        if read:
            self._files.append(SESSIONS, b"".join(line_of(asdict(session)) for session in read))

    def note(self, written: Written) -> None:
        """Records that a rule was written, or removed again.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        self._log.append(asdict(written))

    def stamp(self) -> tuple[object, ...]:
        """A value that changes whenever one of the files does."""
        found: tuple[object, ...] = self._log.stamp()
        with contextlib.suppress(OSError):
            status = (self._files.workspace.root / SESSIONS).stat()
            return (*found, status.st_ino, status.st_size, status.st_mtime_ns)
        return found

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the log, for a commit."""
        return tuple(month.name for month in self._log.stamp())


def unread(files: Files, known: Known) -> Iterator[tuple[str, int]]:
    """New or grown sessions with their size in bytes, oldest first."""
    for place in reversed(tuple(session_files(files.workspace))):
        path = files.workspace.relative(place)
        with contextlib.suppress(OSError):
            size = place.stat().st_size
            before = known.sessions.get(path)
            if before is None or before.size != size:
                yield path, size


def existing(files: Files, known: Known) -> list[SessionRead]:
    """The sessions that still exist, oldest first."""
    root = files.workspace.root
    found = [session for session in known.sessions.values() if (root / session.path).is_file()]
    return sorted(found, key=lambda session: session.path)


def read_session(files: Files, path: str) -> SessionRead:
    """Reads the user's statements in a session.

    Only what the user wrote themselves: no quotations, pasted text or plans of the agent, and no text that a
    tool showed in the same session.

    Raises:
        FileNotFoundError: There is no such file.
        PathRefused, DocumentError: As ``Files.read``.
    """
    source = read_source(files, path)
    place = files.workspace.resolve(path)
    head = head_fields(read_head(place), _FIELDS)
    began = moment(head["started"]) or moment(head["ended"])
    day = began.date().isoformat() if began is not None else ""
    said: list[Statement] = []
    for turn, after in zip_longest(source.turns, source.turns[1:]):
        if date_of(turn.day):
            day = turn.day
        if after is None or after.kind != CORRECTION:
            said += _refusals(turn, day)
        for each in _statements(turn, day):
            text = plain(each.text)
            # The name of a failing check is a quotation: only a whole sentence could be a tool's.
            if text not in plain(source.voices.tool) if each.fails else not is_from_tool(text, source.voices):
                said.append(each)
    return SessionRead(path, source.size, project_of(place), head["channel"], tuple(said))


def _refusals(turn: Turn, day: str) -> Iterator[Statement]:
    """Commands of the agent that the user rejected without comment."""
    for call in turn.tools:
        if turn.role == "agent" and call.name.casefold() in _COMMANDS and _REFUSED.match(call.result):
            command = _COMMAND.match(call.summary)
            if command is not None:
                name = " ".join(command[0].split())
                yield Statement(turn.line, day, f"ask before you run `{name}`", _REFUSAL, refused=name)


def done_before(files: Files, path: str, line: int) -> str:
    """What the agent had done before the turn at a line: its last tool call, else the start of its answer;
    empty for nothing.

    Raises:
        FileNotFoundError, PathRefused, DocumentError: As ``read_source``.
    """
    answer: list[Turn] = []
    spoke = ""
    for turn in read_source(files, path).turns:
        # A rejection without comment is part of the agent's own turn.
        if turn.line > line or (turn.line == line and turn.role == "user"):
            break
        if turn.role == "agent" and turn.is_dialogue:
            answer = [*answer, turn] if spoke == "agent" else [turn]
        spoke = turn.role if turn.is_dialogue else spoke
    calls = [call for turn in answer for call in turn.tools]
    if calls:
        last = calls[-1]
        return f"{last.name} {last.summary}{f' → {last.result}' if last.result else ''}"
    said = "\n".join(turn.text for turn in answer).strip()
    return said.split("\n", 1)[0]


def _statements(turn: Turn, day: str) -> Iterator[Statement]:
    if turn.role != "user" or not turn.is_dialogue or turn.kind == ANSWER:
        return
    # The first line is the command the user typed; the rest is its expansion.
    text = turn.text.split("\n", 1)[0] if turn.kind == COMMAND else turn.text
    own, _ = own_and_quoted(text)
    if BY_PROGRAM.search(own):
        return
    corrects = turn.kind == CORRECTION
    for instruction in instructions_in(own):
        weight = instruction.weight + _CORRECTED * corrects
        text = redacted(instruction.text)
        yield Statement(turn.line, day, text, weight, instruction.fails, instruction.standing, corrects)
