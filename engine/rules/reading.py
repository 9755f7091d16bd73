"""The sentences of each session that ask for something, read once per session and kept in ``scratch/``.

What is kept can be read again from the transcripts. Which rules were ever written to the file cannot; that is
in ``logs/rules-YYYY-MM.jsonl``, append-only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.redaction.detect import redacted
from engine.rules.habits import habit
from engine.rules.judge import DATA, LIMITED, gives_leave, may_hold_on, says_always
from engine.rules.sentences import rules_in
from engine.startup.lazy import expression
from engine.store.authorship import person
from engine.store.monthly import MonthlyLog, line_of
from engine.store.typed import typed
from engine.store.zone import local_day
from engine.transcripts.chats.any import CHATS
from engine.transcripts.days import following, moment
from engine.transcripts.format import parse
from engine.transcripts.importers.state import PROMPTS_FIELD
from engine.transcripts.injected import strip_injected
from engine.transcripts.places import AUTHOR_FIELD, FOLDER, session_files
from engine.transcripts.projects import project_of
from engine.transcripts.turn import CORRECTION, Turn
from engine.transcripts.typed import Pastes, doubted_in, typed_in

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.paths import Workspace

KIND = "rules"
SESSIONS = "scratch/rules-said.jsonl"

_HEAD = expression(rb'^\{"path": ?("(?:[^"\\]|\\.)*"), ?"size": ?(\d{1,18})', re.MULTILINE)
_ODD = (ValueError, TypeError, KeyError, AttributeError)
_LONG = 12
"""Words of a message from which the same words, and what follows them, are a copy whenever they were said."""
_DOUBTED = 2.7
"""Score of a rule that the person may have pasted: it waits after the first time."""
_QUOTED_WORDS = 6
"""Words of a sentence from which it counts as another's if an agent or a tool said them before."""
PLAIN = 5.0
"""Score of a sentence that plainly states a rule, apart from its probability."""
_CORRECTS = 0.8
"""Added to a sentence with which the person rejected what the agent was about to do."""
_FENCE = "\n```"
"""Begins a block of code: where some is shown, something is being made."""
_REPORT = 0.96
"""Probability from which a sentence is a report, or talk, whatever words it has."""
_AGAIN = 0.5
"""Probability from which a sentence in another language than English, which ``habit`` does not read, is
kept: it waits when it is said again."""
_LEAST = 1.6
"""``habit`` from which a sentence is kept: it may come back."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the person, with its place, and the rule that it states."""

    line: int  # of the turn's heading, from 1
    day: str  # ``YYYY-MM-DD``, in the person's time zone
    text: str
    score: float  # how clearly it states a way of working: from ``_LEAST``, rarely above 6
    standing: bool = False  # it plainly says that it holds on
    message: str = ""  # a digest: the same one in two sessions is one message
    group: str = ""  # id of the rule it states; empty if none, or not decided yet
    over: tuple[str, ...] = ()  # ids of the rules it replaces or ends
    ends: bool = False  # it only ends rules
    doubt: str = ""  # why it may be another's text, one clause; it then waits for the person


@dataclass(frozen=True, slots=True)
class SessionRead:
    """What the person asked for in one session."""

    path: str  # workspace-relative
    size: int  # of the file when read, bytes
    project: str = ""  # slug; empty if unknown
    agent: str = ""  # empty if unknown
    said: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """A rule that was written to the file: if it is missing now, the person deleted it."""

    id: str
    text: str  # its first wording; empty if removed again because no session contains it


@dataclass(frozen=True, slots=True)
class Known:
    """The content of the cache and the log."""

    sessions: Mapping[str, SessionRead] = field(default_factory=dict)  # by path
    written: Mapping[str, str] = field(default_factory=dict)  # the first wording of a rule by id
    stamp: object = None  # changes whenever either does


class RuleLog:
    """Writes and reads the cache and the log. Safe across processes."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._log = MonthlyLog(files, KIND, clock)

    def known(self) -> Known:
        """The content of both, with the last record of each session. Damaged lines are skipped."""
        stamp = self.stamp()
        sessions: dict[str, SessionRead] = {}
        written: dict[str, str] = {}
        for line in self._kept().splitlines():
            with contextlib.suppress(*_ODD):
                found = typed(SessionRead, json.loads(line))
                sessions[found.path] = found
        for record in self._log.records():
            with contextlib.suppress(*_ODD):
                rule = typed(Written, record)
                if rule.text:
                    written.setdefault(rule.id, rule.text)
                else:
                    written.pop(rule.id, None)
        return Known(sessions, written, stamp)

    def sizes(self) -> dict[str, int]:
        """The size of each session when it was read, by path; much quicker than ``known``."""
        return {json.loads(path): int(size) for path, size in _HEAD.findall(self._kept())}

    def add(self, read: Sequence[SessionRead], *, anew: bool = False) -> None:
        """Records sessions; ``anew`` in place of all that were recorded.

        Raises:
            WriteFailed, ReadOnly: They were not recorded.
        """
        data = b"".join(line_of(asdict(session)) for session in read)
        if anew or (read and not self._kept()):
            self._files.replace(SESSIONS, _reader() + data)
        elif read:
            self._files.append(SESSIONS, data)

    def _kept(self) -> bytes:
        """The cache without its first line; empty if another version of the program wrote it."""
        with contextlib.suppress(OSError, AutopoiesisError):
            first, _, rest = self._files.read(SESSIONS, limit=None).partition(b"\n")
            if first + b"\n" == _reader():
                return rest
        return b""

    def note(self, written: Written) -> None:
        """Records that a rule was written, or removed again.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        self._log.append(asdict(written))

    def stamp(self) -> object:
        """A value that changes whenever one of the files does."""
        with contextlib.suppress(OSError):
            status = (self._files.workspace.root / SESSIONS).stat()
            return (*self._log.stamp(), status.st_ino, status.st_size, status.st_mtime_ns)
        return self._log.stamp()

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the log, for a commit."""
        return tuple(month.name for month in self._log.stamp())


@lru_cache(maxsize=1)
def _reader() -> bytes:
    """The first line of the cache: what was read by other code, or by another judge, is read again."""
    digest = hashlib.sha256()
    typed_words = Path(__file__).parents[1] / "transcripts" / "typed.py"
    for path in (*sorted(Path(__file__).parent.glob("*.py")), typed_words, DATA):
        digest.update(path.read_bytes())
    return line_of({"reader": digest.hexdigest()[:16]})


def sizes(workspace: Workspace) -> dict[str, int]:
    """The bytes of each session by path, oldest first."""
    found: dict[str, int] = {}
    for place in reversed(tuple(session_files(workspace))):
        with contextlib.suppress(OSError):
            path = "/".join((FOLDER, *place.parts[-4:]))  # quicker than to compare whole paths
            found[path] = os.stat(place).st_size  # noqa: PTH116 — thousands of them
    return found


def read_session(files: Files, path: str, zone: str = "") -> SessionRead:
    """Reads what the person asked for in a session: only what they plainly typed, and nothing that an agent
    or a tool said before in the same session.

    Raises:
        FileNotFoundError: There is no such file.
        PathRefused, DocumentError: As ``Files.read``.
    """
    data = files.read(path, limit=None)
    transcript = parse(data, path)
    at = moment(transcript.started) or moment(transcript.ended) or datetime.min.replace(tzinfo=UTC)
    project, before = project_of(files.workspace.resolve(path)), ""
    heard: list[str] = []
    said: list[Statement] = []
    channel = transcript.header.get("channel", "")
    is_work = channel not in CHATS or any(turn.tools or _FENCE in turn.text for turn in transcript.turns)
    pastes = Pastes(person(files.workspace.root).first_names)
    for turn in transcript.turns if not transcript.header.get(AUTHOR_FIELD) else ():
        at = following(at, turn.time, turn.day)
        if PROMPTS_FIELD in transcript.header:
            pastes.is_open = False  # what answered each prompt is not recorded
        goes_on = pastes.goes_on(turn)
        if turn.role != "user":
            heard.append(
                _plain(" ".join((turn.text, *(f"{call.summary} {call.result}" for call in turn.tools))))
            )
            continue
        message = _plain(turn.text)
        # A fork repeats the times of its parent; the same long message after the same one is a copy too.
        is_long = max(len(message.split()), len(before.split())) >= _LONG
        own = f"{before}\n{message}" if is_long else f"{at:%F %H:%M}\n{message}"
        digest = hashlib.sha256(f"{project}\n{own}".encode("utf-8", "replace")).hexdigest()[:12]
        day = local_day(at, zone).isoformat() if at.year > 1 else ""
        said += (replace(each, message=digest) for each in _statements(turn, day, heard, is_work, goes_on))
        before = message
    return SessionRead(path, len(data), project, channel if isinstance(channel, str) else "", tuple(said))


def _statements(
    turn: Turn, day: str, heard: Sequence[str], is_work: bool, goes_on: bool = False
) -> Iterator[Statement]:
    """The sentences of a turn that state or may state a rule.

    In an agent's session "use the queue, not the cron job" is mostly about the work at hand, so it waits
    unless it says expressly that it holds on.
    """
    for text, verdict in rules_in(strip_injected(typed_in(turn, goes_on=goes_on))):
        plain = _plain(text)
        if len(plain.split()) >= _QUOTED_WORDS and any(plain in each for each in heard):
            continue
        wish = 0.0
        holds_on = may_hold_on(text)
        if not verdict.is_plain and verdict.why != LIMITED and verdict.other < _REPORT:
            may_return = holds_on or (not text.isascii() and verdict.standing >= _AGAIN)
            wish = max(_LEAST * may_return, habit(text) + _CORRECTS * (turn.kind == CORRECTION))
        waits = verdict.is_plain or (says_always(text) and holds_on)
        if waits or wish >= _LEAST:
            standing = (verdict.is_express if is_work else verdict.is_plain) and not gives_leave(text)
            score = PLAIN + verdict.standing if standing else max(wish, _DOUBTED * waits)
            yield Statement(turn.line, day, redacted(text), round(score, 2), standing)
    for passage in doubted_in(turn, goes_on=goes_on):
        for text, verdict in rules_in(strip_injected(passage.text)):
            if verdict.is_express if is_work else verdict.is_plain:
                yield Statement(turn.line, day, redacted(text), _DOUBTED, doubt=passage.why)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def done_before(files: Files, path: str, line: int) -> str:
    """What the agent had done before the turn at a line: its last tool call, else the start of its answer;
    empty for nothing.

    Raises:
        FileNotFoundError, PathRefused, DocumentError: As ``Files.read``.
    """
    answer: list[Turn] = []
    spoke = ""
    for turn in parse(files.read(path, limit=None), path).turns:
        if turn.line >= line:
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
