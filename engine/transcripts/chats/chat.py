"""A conversation read from another program's file, and its builder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from engine.transcripts.corrections import is_correction
from engine.transcripts.days import day_to_write, following, moment, not_ahead
from engine.transcripts.importers.claude_records import entries_of
from engine.transcripts.importers.turns import TurnDraft, clean
from engine.transcripts.turn import CORRECTION, Attachment, Role, Text, ToolCall, Turn

_MOMENT = re.compile(
    r"(?P<date>\d{4}[-/.]\d{1,2}[-/.]\d{1,2})[T ,]+(?P<time>\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?)"
    r"[ ]?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?"
)
_AMERICAN = re.compile(
    r"\b(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4}),? (?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?"
    r"[ \u202f]?(?P<half>[AaPp])\.?[Mm]\b"
)
_THOUGHT = re.compile(r"\s*<(?P<tag>think(?:ing(?:-content-[0-9a-f]+)?)?)>.*?</(?P=tag)>", re.DOTALL)
"""What a model thought, as it stands above its reply; the longest tag is Aider's."""
_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_CLOCK = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?(?:[ \u202f]?([AaPp])\.?[Mm]\b\.?)?")


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation in a file."""

    format: str  # the program that wrote it, or its layout; one word
    turns: tuple[Turn, ...]  # in order; each with the file line it begins on
    session_id: str = ""  # empty if not in the file
    started: datetime | None = None  # time of the first turn; ``None`` if the file has no dates
    ended: datetime | None = None  # time of the last turn
    title: str = ""  # as given in the file
    cwd: str = ""  # the project folder, if given in the file
    model: str = ""  # the first model named
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of omitted items by reason, as in ``SessionReader.left_out``."""
    prompts_only: bool = False  # whether the file has only what the user typed
    is_sub_agents: bool = False  # whether another agent speaks in the user's place
    begun: datetime | None = None  # when it began, by a heading of the file
    account: str = ""  # whose it is, if given in the file: the id or name of an account

    @property
    def opening(self) -> str:
        """The user's first message; the agent's if there are no user messages."""
        turns = [turn for turn in self.turns if turn.role == "user" and turn.text.strip()] or self.turns
        return next((turn.text for turn in turns if turn.text.strip()), "")


class ChatBuilder:
    """Builds a ``Chat``. Consecutive agent activity is merged into one turn.

    Set the metadata attributes as they become known.
    """

    def __init__(self) -> None:
        self.session_id = ""
        self.title = ""
        self.cwd = ""
        self.model = ""
        self.begun: datetime | None = None
        self.is_sub_agents = False
        self.left_out: Counter[str] = Counter()
        self._turns: list[tuple[datetime | str | None, TurnDraft]] = []

    def say(
        self, role: Role, text: str, at: datetime | str | None = None, *, kind: str = "", line: int = 0
    ) -> None:
        """Add a text, unless nothing remains after injected blocks are removed.

        A user's text without a kind may be as Claude Code records it: a command, a shell line, a summary.

        Args:
            text: With ``\\n`` line ends.
            at: A string is a time of day, as written in the file.
            line: The file line it begins on.
        """
        text = text.replace("\r\n", "\n")
        if role == "agent" and (thought := _THOUGHT.match(text)) is not None:
            self.drop("thinking")
            text = text[thought.end() :]
        entered = entries_of(text) if (role, kind) == ("user", "") else [(role, text, kind)]
        for role, text, kind in entered:
            if text := clean(text):
                self._draft(role, at, kind, line).add(Text(text))

    def call(
        self, name: str, summary: str, result: str = "", at: datetime | str | None = None, *, line: int = 0
    ) -> None:
        """Add a tool call."""
        self._draft("agent", at, "", line).add(ToolCall(name, summary, result))

    def attach(
        self, role: Role, path: str, at: datetime | str | None = None, *, kind: str = "", line: int = 0
    ) -> None:
        """Add a reference to a non-text item to the speaker's current turn."""
        last = self._turns[-1][1] if self._turns else None
        draft = last if last is not None and last.role == role else self._draft(role, at, kind, line)
        draft.add(Attachment(path))

    def paste(self, role: Role, text: str, at: datetime | str | None = None, *, line: int = 0) -> None:
        """Add a pasted text, which anybody may have written, quoted in a turn of its own."""
        if text.strip():
            longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
            fence = "`" * (longest + 1)
            text = text.replace("\r\n", "\n").strip("\n")
            self.say(role, f"{fence}\n{text}\n{fence}", at, line=line)

    def drop(self, reason: str, number: int = 1) -> None:
        """Count omitted items."""
        if number:
            self.left_out[reason] += number

    def chat(self, format: str) -> Chat:
        """Build the conversation."""
        moments = [at for at, _ in self._turns if isinstance(at, datetime)]
        turns: list[Turn] = []
        acted = False
        before = moments[0] if moments else None
        for at, draft in self._turns:
            if isinstance(at, datetime):
                draft.time = f"{at:%H:%M}"
                draft.day = day_to_write(at, before) if before else ""
            before = following(before, draft.time, draft.day) if before else None
            turn = draft.turn()
            if acted and turn.role == "user" and not turn.kind and is_correction(turn.text):
                turn = replace(turn, kind=CORRECTION)
            acted = acted or turn.role == "agent"
            turns.append(turn)
        return Chat(
            format,
            tuple(turns),
            self.session_id,
            moments[0] if moments else None,
            moments[-1] if moments else None,
            self.title.strip(),
            self.cwd,
            self.model,
            dict(self.left_out),
            is_sub_agents=self.is_sub_agents,
            begun=self.begun,
        )

    def _draft(self, role: Role, at: datetime | str | None, kind: str, line: int) -> TurnDraft:
        last = self._turns[-1][1] if self._turns else None
        if last is not None and role == last.role == "agent" and kind == last.kind:
            return last
        draft = TurnDraft(role, "", at if isinstance(at, str) else "", kind, line=line)
        self._turns.append((at, draft))
        return draft


def moment_in(text: str) -> datetime | None:
    """The first date and time in a text, in UTC; local time is assumed if it has no zone."""
    found = _MOMENT.search(text)
    if found is None:
        return None
    day = "-".join(part.zfill(2) for part in re.split(r"[-/.]", found["date"]))
    clock = found["time"].partition(".")[0]
    clock = clock.zfill(8 if clock.count(":") > 1 else 5)
    zone = (found["zone"] or "").replace("UTC", "Z")
    try:
        return datetime.fromisoformat(f"{day}T{clock}{zone}").astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def day_in(text: str) -> datetime | None:
    """The first date in a text, in UTC, also without a time, which then is noon, or as Americans write it."""
    found, american = moment_in(text), _AMERICAN.search(text)
    if found is None and american is not None:
        hour = int(american["hour"]) % 12 + (12 if american["half"] in "pP" else 0)
        clock = f"{hour:02}:{american['minute']}"
        return moment_in(f"{american['year']}-{american['month']}-{american['day']} {clock}")
    day = _DAY.search(text) if found is None else None
    return found if day is None else moment_in(f"{day[0]} 12:00")


def when_in(text: str) -> datetime | str | None:
    """The first date and time in a text, else the first time of day as ``HH:MM``."""
    found = moment_in(text)
    if found is not None:
        return found
    clock = _CLOCK.search(text)
    if clock is None:
        return None
    hour = int(clock[1])
    if clock[3]:
        hour = hour % 12 + (12 if clock[3] in "pP" else 0)
    return f"{hour:02}:{clock[2]}"


def stamp(value: object) -> datetime | None:
    """Parse a JSON timestamp: ISO 8601, or seconds or milliseconds since the epoch, none ahead."""
    if isinstance(value, str):
        return not_ahead(moment(value) or moment_in(value))
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        try:
            return not_ahead(datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC))
        except (ValueError, OverflowError, OSError):
            return None
    return None
