"""Finds what the person typed in a prompt that a program has wrapped: Cursor, Cline, Roo Code, Gemini CLI."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from engine.transcripts.chats.chat import moment_in
from engine.transcripts.injected import notice_in

_BLOCK = re.compile(
    r"\s*<(?P<tag>[a-z_]+)(?:[ \t][^<>\n]*)?>(?P<text>.*?)</(?P=tag)>(?=\s*(?:<[a-z_]|\Z))", re.DOTALL
)
_PICTURES = re.compile(r"\A(?:\s*\[Image\][ \t]*\n)+")
_QUERY, _QUERY_END = "<user_query>", "</user_query>"
_BETWEEN_QUERIES = re.compile(rf"{_QUERY_END}\s*{_QUERY}")
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_WRITTEN = re.compile(
    rf"(?:(?P<month>{'|'.join(re.findall('...', _MONTHS))})[a-z]* (?P<day>\d{{1,2}}), "
    r"|(?P<number>\d{1,2})/(?P<date>\d{1,2})/)(?P<year>\d{4}),? "
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?[ \u202f](?P<half>[AP])M"
    r" \((?:[\w/+-]+, )?UTC(?P<sign>[+-])?(?P<ahead>\d{1,2})?(?::(?P<more>\d\d))?\)"
)

# Cline and Roo Code write a message of several parts: what a tool returned, the person's words in a tag, how
# to write a list of steps, and at last the environment.
_ENVIRONMENT = re.compile(
    r"\s*(?:<environment_details>|\[ERROR\] You did not use a tool in your previous"
    r"|\[TASK RESUMPTION\] This task was interrupted |Files attached by the user:\s+<file_content "
    r"|If you have completed the user's task, use the attempt_completion tool\.[^\n]*"
    r" \(This is an automated message,)"
)
_CALL, _CALL_END = re.compile(r"\s*\[\w+ for '"), "'] Result:"
# Claude Dev, as Cline was called until 1.x, wrote the tool's name alone.
_RESUMED = "Task resumption: This autonomous coding task was interrupted "
_HEAD = r"\[\w+(?: for '[^\n]*')?\] Result:|\[[a-z]+(?:_[a-z]+)+\](?=\n)"
_RESULT = re.compile(rf"\s*(?:{_HEAD})")
_SAID = re.compile(
    r"\s*(?:(?:The user |\[The user has switched to |New (?:message to respond to|instructions for) "
    rf"|\[TASK RESUMPTION\]|{_RESUMED}|{_HEAD})(?:(?!\n<\w).)*\n)?"
    r"<(?P<tag>task|feedback|answer|user_message)>(?P<text>.*)</(?P=tag)>(?=\s*(?:<[a-z_]|\Z))",
    re.DOTALL,
)

_DETAILS = re.compile(r"^<environment_details>\n", re.MULTILINE)
_DETAILS_END = "</environment_details>"
_NOW = re.compile(r"^# Current Time\n([^\n]+)", re.MULTILINE)
_WHERE = re.compile(r"^# Current (?:Working|Workspace) Directory \(([^\n]+)\) Files", re.MULTILINE)
_PROGRESS = re.compile(r"\s*# (?:TODO LIST|task_progress) ?\b", re.IGNORECASE)
_BELOW = re.compile(rf"(?<=>)\s*\n(?={_PROGRESS.pattern}|{_RESUMED})", re.IGNORECASE)

# opencode adds what it read of the files that a prompt mentions.
_READ = re.compile(r"^Called the \w+ tool with the following input: \{[^\n]*\}$", re.MULTILINE)

# Antigravity adds where the person is and what is open; its tools cut a long text.
_STATE = re.compile(r"^<ADDITIONAL_METADATA>\nThe current local time is: \d{4}-\d\d-\d\dT", re.MULTILINE)
_STATE_END = re.compile(r"(?:</ADDITIONAL_METADATA>|<truncated \d+ bytes>)\s*\Z")

_FILES, _FILES_END = "\n--- Content from referenced files ---", "--- End of content ---"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the person typed."""

    typed: str  # empty if a program wrote everything
    at: datetime | None = None
    cwd: str = ""  # the project folder, if the program names it


def unwrapped(parts: Sequence[str]) -> Prompt | None:
    """The prompt in the texts of a message; ``None`` if no program has wrapped it."""
    parts = [*map(_without_call, parts)]
    has_result = any(map(_RESULT.fullmatch, parts[:-1]))  # with what it returned in the next part
    if has_result or any(map(_ENVIRONMENT.match, parts)) or (parts and all(map(_SAID.match, parts))):
        environment = "\n".join(filter(_ENVIRONMENT.match, parts))
        now, where = _NOW.search(environment), _WHERE.search(environment)
        at = (moment_in(now[1]) or _moment(now[1])) if now is not None else None
        return Prompt("\n\n".join(_said(parts)), at, where[1] if where is not None else "")
    return _query("\n\n".join(parts))


def unwrapped_text(text: str) -> Prompt | None:
    """As ``unwrapped``, for an export in which the parts of a message are one text."""
    read = _READ.search(text) or (_STATE.search(text) if _STATE_END.search(text[-200:]) else None)
    if read is not None:
        return Prompt(text[: read.start()].rstrip())
    starts = [found.start() for found in _DETAILS.finditer(text)]
    if not starts or not text.rstrip().endswith(_DETAILS_END):
        return unwrapped([text])
    return unwrapped([*_BELOW.split(text[: starts[-1]], 1), text[starts[-1] :]])


def without_files(text: str) -> str:
    """A prompt of Gemini CLI without the files that it mentions, which stand below it."""
    start = text.find(_FILES)
    return text[:start].rstrip() if start >= 0 and text.rstrip().endswith(_FILES_END) else text


def _without_call(part: str) -> str:
    """A tool's result whose heading is one line; a question that it asked can have more."""
    end = part.find(_CALL_END) if _CALL.match(part) is not None else -1
    return f"[tool] Result:{part[end + len(_CALL_END) :]}" if end >= 0 else part


def _said(parts: Sequence[str]) -> Iterator[str]:
    is_output = False
    for number, part in enumerate(parts):
        if (found := _SAID.match(part)) is not None:
            is_output = False
            yield found["text"].strip("\n")
        elif _ENVIRONMENT.match(part) or _RESULT.match(part) or (number and _PROGRESS.match(part)):
            is_output = True
        elif not is_output:
            yield part


def _query(text: str) -> Prompt | None:
    """Cursor's ``<user_query>``; above and below it stand only blocks in tags."""
    if notice_in(text) is not None:
        return None
    text = _PICTURES.sub("", text)
    at, place = None, 0
    while (block := _BLOCK.match(text, place)) is not None and block["tag"] != "user_query":
        at = _moment(block["text"]) if block["tag"] == "timestamp" else at
        place = block.end()
    start, end = text.find(_QUERY, place), text.rfind(_QUERY_END)
    if start < 0 or end < start or text[place:start].strip():
        return None
    place = end + len(_QUERY_END)
    while (block := _BLOCK.match(text, place)) is not None:
        place = block.end()
    if text[place:].strip():
        return None
    return Prompt(_BETWEEN_QUERIES.sub("\n\n", text[start + len(_QUERY) : end]).strip("\n"), at)


def _moment(text: str) -> datetime | None:
    """The time in ``Tuesday, Jul 21, 2026, 1:11 PM (UTC+3)``, or ``7/21/2026, 1:11:05 PM (EET, UTC+2)``."""
    found = _WRITTEN.search(text)
    if found is None:
        return None
    hour = int(found["hour"]) % 12 + (12 if found["half"] == "P" else 0)
    ahead = timedelta(hours=int(found["ahead"] or 0), minutes=int(found["more"] or 0))
    try:
        zone = timezone(-ahead if found["sign"] == "-" else ahead)
        month = int(found["number"] or 0) or _MONTHS.index(found["month"]) // 3 + 1
        date = int(found["year"]), month, int(found["day"] or found["date"])
        return datetime(*date, hour, int(found["minute"]), tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
