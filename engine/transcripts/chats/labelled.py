"""Reads chats whose lines say who speaks: ``## User``, ``**You:**``, ``Human: …``, ``[10:00] Alice: …``.

None of these layouts is unambiguous: any text in the file that has such a line can speak as the person. So
a file is read by one layout only, the one it begins with, and a line inside fenced code or a quotation
counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from engine.transcripts.chats.chat import Chat, ChatBuilder, moment_in, when_in
from engine.transcripts.escape import outside_code
from engine.transcripts.turn import Role

NAME = "chat"

ROLES: dict[str, Role] = {
    "user": "user", "human": "user", "you": "user", "me": "user", "person": "user", "you said": "user",
    "prompt": "user", "benutzer": "user", "utilisateur": "user", "usuario": "user", "utente": "user",
    "用户": "user", "ユーザー": "user", "пользователь": "user",
    "assistant": "agent", "agent": "agent", "ai": "agent", "ai assistant": "agent", "model": "agent",
    "bot": "agent", "chatbot": "agent", "llm": "agent", "response": "agent", "claude": "agent",
    "claude code": "agent", "chatgpt": "agent", "chatgpt said": "agent", "gpt": "agent", "gpt-4": "agent",
    "gpt-4o": "agent", "gpt-5": "agent", "cursor": "agent", "copilot": "agent", "github copilot": "agent",
    "codex": "agent", "gemini": "agent", "gemini cli": "agent", "bard": "agent", "aider": "agent",
    "llama": "agent", "mistral": "agent", "deepseek": "agent", "grok": "agent", "perplexity": "agent",
    "windsurf": "agent", "cascade": "agent", "assistent": "agent", "asistente": "agent",
    "assistente": "agent", "助手": "agent", "アシスタント": "agent", "ассистент": "agent",
    "system": "system", "developer": "system", "tool": "system", "function": "system",
    "tool result": "system", "tool output": "system",
}  # fmt: skip
"""Who is meant by a label, in lower case."""

_WHO = "|".join(re.escape(name) for name in sorted(ROLES, key=len, reverse=True))
_STAMP = (
    r"(?:[(\[{][^)\]}\n]{1,60}[)\]}]"
    r"|(?:[—–@|·-]+|at|on)?[ \t]*(?:\d{4}[-/.]\d\d?[-/.]\d\d?[T ,]*)?\d{1,2}:\d\d[^\n]{0,16}"
    r"|\#?\d{1,4}|[—–-]+[ \t]*\d{4}-\d\d-\d\d)"
)
_SIGN = r"(?:[^\w\s#*_`>\[\](){}<&$|\\/-]+[\ufe0f\u200d]*[ \t]*)?"
_MARKS = r"(?:[*_]{1,3})?"
_HEADING = re.compile(
    rf"^(?P<level>\#{{1,6}})[ \t]+{_SIGN}(?:\d{{1,4}}[.):][ \t]*)?{_MARKS}{_SIGN}(?P<who>{_WHO}){_MARKS}"
    rf"[ \t]*[:：]?{_MARKS}[ \t]*(?P<about>{_STAMP})?[ \t]*[:：]?[ \t]*\#*[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_BOLD = re.compile(
    rf"^{_SIGN}(?:\*\*|__){_SIGN}(?P<who>{_WHO})(?:[ \t]*(?P<about>{_STAMP})?[ \t]*"
    rf"(?:[:：](?:\*\*|__)|(?:\*\*|__)[ \t]*(?P<after>{_STAMP})?[ \t]*[:：])(?=\s|$)"
    rf"|[ \t]*(?P<alone>{_STAMP})?(?:\*\*|__)[ \t]*(?P<behind>{_STAMP})?[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)
_LABEL = re.compile(
    rf"^(?P<who>{_WHO})[ \t]*(?P<about>[(\[][^)\]\n]{{1,40}}[)\]])?[ \t]*[:：](?=\s|$)",
    re.MULTILINE | re.IGNORECASE,
)
_STAMPED = re.compile(
    r"^[\u200e\u200f]?(?:\[(?P<in>[^\]\n]{0,24}?\d{1,2}:\d\d[^\]\n]{0,24})\][ \t]*[-–—]?"
    r"|(?P<out>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4},?[ \t]\d{1,2}:\d\d(?::\d\d)?(?:[ \u202f]?[AaPp][Mm])?)"
    r"[ \t]*[-–—])[ \t]*(?:<(?P<angle>[^<>\n]{1,40})>"
    r"|(?:\*\*)?(?P<who>[^\s:*<>\[\]`][^:*<>\[\]`\n]{0,39}?)(?:\*\*)?[:：](?:\*\*)?)(?=\s|$)",
    re.MULTILINE,
)
_EXPORTED = re.compile(
    r"^_Exported on (?P<at>[^\n]*?) from (?P<what>Cursor|[A-Z]\w+)\b[^\n]*_[ \t]*$", re.MULTILINE
)
_TITLE = re.compile(r"^#[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_PARAGRAPH = re.compile(r"(?:\A\ufeff?|\n[ \t]*\n)[ \t]*\Z")
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*")


@dataclass(frozen=True, slots=True)
class _Mark:
    """A line that says who speaks: whether it is the person, where it and what is said begin, and when."""

    who: str
    role: Role
    start: int
    said: int
    at: datetime | str | None


def read(text: str) -> Chat | None:
    """The conversation in a text; ``None`` where not both a person and an agent are named in one layout.

    The text has ``\\n`` line ends.
    """
    layouts = [marks for find in (_headings, _bolds, _labels, _stamped) if _both(marks := find(text))]
    if not layouts:
        return None
    marks = min(layouts, key=lambda each: each[0].start)
    people = {mark.who.lower() for mark in marks if mark.role == "user"}
    names_people = marks[0].who.lower() not in ROLES or len(people) > 1
    chat = ChatBuilder()
    exported = _EXPORTED.search(text, 0, marks[0].start)
    title = _TITLE.search(text, 0, marks[0].start)
    chat.title = title[1] if title is not None else ""
    above = text[: marks[0].start]
    for known in (exported, title):
        above = above.replace(known[0], "", 1) if known is not None else above
    if above.strip("-\ufeff \t\n"):
        chat.say("system", _trimmed(above), line=1)
    line = counted = 0
    for number, mark in enumerate(marks):
        line += text.count("\n", counted, mark.start)
        counted = mark.start
        end = marks[number + 1].start if number + 1 < len(marks) else len(text)
        said = _trimmed(text[mark.said : end])
        if said.strip() and names_people and mark.role == "user" and len(people) > 1:
            said = f"{mark.who}: {said.lstrip()}"
        chat.say(mark.role, said.lstrip(" \t"), mark.at, line=line + 1)
    return chat.chat(exported["what"].lower() if exported is not None else NAME)


def _both(marks: Sequence[_Mark]) -> bool:
    return {"user", "agent"} <= {mark.role for mark in marks}


def _headings(text: str) -> list[_Mark]:
    """Headings of the level at which each role is named first; a deeper one belongs to what is said."""
    found = outside_code(text, list(_HEADING.finditer(text)))
    levels: dict[Role, str] = {}
    for match in found:
        levels.setdefault(ROLES[match["who"].lower()], match["level"])
    return [
        _mark(match, match["about"])
        for match in found
        if levels[ROLES[match["who"].lower()]] == match["level"]
    ]


def _bolds(text: str) -> list[_Mark]:
    return [
        _mark(match, match["about"] or match["after"] or match["alone"] or match["behind"])
        for match in outside_code(text, list(_BOLD.finditer(text)))
    ]


def _labels(text: str) -> list[_Mark]:
    """Labels at the start of a paragraph; of every line where only so both sides are named."""
    every = outside_code(text, list(_LABEL.finditer(text)))
    opening = [
        match for match in every if _PARAGRAPH.search(text[max(match.start() - 80, 0) : match.start()])
    ]
    marks = [_mark(match, match["about"]) for match in opening]
    return marks if _both(marks) else [_mark(match, match["about"]) for match in every]


def _stamped(text: str) -> list[_Mark]:
    """Lines with a time and a name. A name that is not an agent's is a person's."""
    return [
        _Mark(
            who,
            ROLES.get(who.lower(), _by_name(who)),
            match.start(),
            match.end(),
            when_in(match["in"] or match["out"]),
        )
        for match in outside_code(text, list(_STAMPED.finditer(text)))
        if (who := (match["angle"] or match["who"]).strip())
    ]


def _by_name(who: str) -> Role:
    words = re.findall(r"[^\W_]+", who.lower())
    return "agent" if any(ROLES.get(word) == "agent" for word in words) else "user"


def _mark(match: re.Match[str], about: str | None) -> _Mark:
    at = (moment_in(about) or when_in(about)) if about else None
    return _Mark(match["who"], ROLES[match["who"].lower()], match.start(), match.end(), at)


def _trimmed(text: str) -> str:
    """A section without the rules that part it from its neighbours."""
    lines = text.split("\n")
    end = len(lines)
    while end and (not lines[end - 1].strip() or _RULE.fullmatch(lines[end - 1])):
        end -= 1
    return "\n".join(lines[:end]).rstrip().strip("\n")
