"""Reads chats with speaker labels: ``## User``, ``**You:**``, ``[USER]``, ``Human: …``, ``[10:00] Alice: …``.

None of these layouts is unambiguous: any text that contains such a line could pose as the user. So a file is
read in a single layout, the one that appears first, and labels inside fenced code or quotations are ignored.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from engine.transcripts.chats.chat import Chat, ChatBuilder, moment_in, when_in
from engine.transcripts.chats.wrapped import unwrapped_text
from engine.transcripts.escape import Fences, outside_code
from engine.transcripts.importers.tools import summary_of
from engine.transcripts.turn import TOOL, Role

NAME = "chat"

ROLES: dict[str, Role] = {
    "user": "user", "human": "user", "you": "user", "me": "user", "person": "user", "you said": "user",
    "prompt": "user", "benutzer": "user", "utilisateur": "user", "usuario": "user", "utente": "user",
    "utilizador": "user", "usuário": "user",
    "用户": "user", "ユーザー": "user", "пользователь": "user",
    "assistant": "agent", "agent": "agent", "ai": "agent", "ai assistant": "agent", "model": "agent",
    "bot": "agent", "chatbot": "agent", "llm": "agent", "response": "agent", "claude": "agent",
    "claude code": "agent", "chatgpt": "agent", "chatgpt said": "agent", "gpt": "agent", "gpt-4": "agent",
    "gpt-4o": "agent", "gpt-5": "agent", "cursor": "agent", "copilot": "agent", "github copilot": "agent",
    "codex": "agent", "gemini": "agent", "gemini cli": "agent", "bard": "agent", "aider": "agent",
    "llama": "agent", "mistral": "agent", "deepseek": "agent", "grok": "agent", "perplexity": "agent",
    "windsurf": "agent", "cascade": "agent", "assistent": "agent", "asistente": "agent",
    "assistente": "agent", "助手": "agent", "アシスタント": "agent", "ассистент": "agent",
    "用户请求": "user", "用戶": "user", "用戶請求": "user", "使用者": "user", "사용자": "user",
    "助理": "agent", "ai 助理": "agent", "ai 助手": "agent",
    "ai 回复": "agent", "ai 回應": "agent", "어시스턴트": "agent",
    "system": "system", "developer": "system", "tool": "system", "function": "system",
    "tool result": "system", "tool output": "system",
}  # fmt: skip
"""The role of each speaker label, in lower case."""
TOOLS = frozenset({"tool", "function", "tool result", "tool output"})
"""The labels above what a tool returned."""

_WHO = "|".join(re.escape(name) for name in sorted(ROLES, key=len, reverse=True))
_STAMP = (
    r"(?:\((?:[^()\n]|\([^()\n]{0,40}\)){1,60}\)|\[[^\]\n]{1,60}\]|\{[^}\n]{1,60}\}"
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
_BRACKETED = re.compile(
    rf"^\[(?P<who>{_WHO})\][ \t]*(?P<about>{_STAMP})?(?:[ \t]*[:：](?=\s|$)|[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)
_STAMPED = re.compile(
    r"^[\u200e\u200f]?(?:\[(?P<in>[^\]\n]{0,24}?\d{1,2}:\d\d[^\]\n]{0,24})\][ \t]*[-–—]?"
    r"|(?P<out>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4},?[ \t]\d{1,2}:\d\d(?::\d\d)?(?:[ \u202f]?[AaPp][Mm])?)"
    r"[ \t]*[-–—])[ \t]*(?:<(?P<angle>[^<>\n]{1,40})>"
    r"|(?:\*\*)?(?P<who>[^\s:*<>\[\]`][^:*<>\[\]`\n]{0,39}?)(?:\*\*)?[:：](?:\*\*)?)(?=\s|$)",
    re.MULTILINE,
)
# Exporters of Claude Code's logs put what a tool returned below the user's label, as the log has it.
_TOOL_RESULT = re.compile(rf"\s*{_SIGN}\*\*{_SIGN}Tool (?:Result|Output)\b[^\n]*\*\*[ \t]*\n", re.IGNORECASE)
_EXPORTED = re.compile(
    r"^_Exported on (?P<at>[^\n]*?) from (?P<what>Cursor|[A-Z]\w+)\b[^\n]*_[ \t]*$", re.MULTILINE
)
_TITLE = re.compile(r"^#[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_ANY_HEADING = re.compile(r"^(?P<level>\#{1,6})[ \t]+(?P<who>[^\s#][^\n]{0,40}?)[ \t]*$", re.MULTILINE)
# Copied from Copilot's panel: the person by the name of their account.
_COPIED = re.compile(r"\A\ufeff?(?:# )?(?P<who>[\w.-]{1,40}): ")
_PARAGRAPH = re.compile(r"(?:\A\ufeff?|\n[ \t]*\n)[ \t]*\Z")
# Where Antigravity's tools have cut a text, perhaps within a fence.
_CUT = re.compile(r"^<truncated \d+ bytes>$", re.MULTILINE)
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*")

# What Cursor writes: the words of a reply, then calls of tools, then their results.
_MARK = re.compile(r"^\[(?P<what>Tool call|Tool result)\] (?P<name>[\w.-]+)[ \t]*$", re.MULTILINE)
_GIVEN = re.compile(r"^  (?P<key>[\w-]+): (?P<value>[^\n]*)$", re.MULTILINE)
_THINKING = re.compile(r"\s*\[Thinking\] [^\n]*(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class _Label:
    """A speaker label in the text."""

    who: str
    role: Role
    start: int  # offset of the label
    body: int  # offset of the text after it
    at: datetime | str | None


def read(text: str) -> Chat | None:
    """The conversation in a text; ``None`` unless one layout labels both a user and an agent.

    The text has ``\\n`` line ends.
    """
    bare = _with_ends(text)
    layouts = [
        labels
        for find in (
            _copied_labels,
            _heading_labels,
            _bold_labels,
            _bracketed_labels,
            _plain_labels,
            _stamped_labels,
            _named_headings,
        )
        if _has_both_sides(labels := find(bare))
    ]
    if not layouts:
        return None
    labels = min(layouts, key=lambda each: each[0].start)
    people = {label.who.lower() for label in labels if label.role == "user"}
    names_people = labels[0].who.lower() not in ROLES or len(people) > 1
    chat = ChatBuilder()
    exported = _EXPORTED.search(text, 0, labels[0].start)
    title = _TITLE.search(text, 0, labels[0].start)
    chat.title = title[1] if title is not None else ""
    above = text[: labels[0].start]
    for known in (exported, title):
        above = above.replace(known[0], "", 1) if known is not None else above
    if above.strip("-\ufeff \t\n"):
        chat.say("system", without_rule(above), line=1)
    line = counted = 0
    for number, label in enumerate(labels):
        line += text.count("\n", counted, label.start)
        counted = label.start
        end = labels[number + 1].start if number + 1 < len(labels) else len(text)
        body = without_rule(text[label.body : end])
        if label.role == "user" and _TOOL_RESULT.match(body) is not None:
            chat.drop("tool-output")
            continue
        if label.role == "user" and (prompt := unwrapped_text(body)) is not None:
            chat.drop("injected")
            body = prompt.typed
        if body.strip() and names_people and label.role == "user" and len(people) > 1:
            body = f"{label.who}: {body.lstrip()}"
        reply = _reply_in(body) if label.role == "agent" else None
        if reply is not None:
            chat.drop("thinking", reply.thoughts)
            chat.drop("tool-output", reply.results)
            body = reply.text
        kind = TOOL if label.who.lower() in TOOLS else ""
        chat.say(label.role, body.lstrip(" \t"), label.at, kind=kind, line=line + 1)
        for name, summary in reply.calls if reply is not None else ():
            chat.call(name, summary, at=label.at)
    return chat.chat(exported["what"].lower() if exported is not None else NAME)


def _with_ends(text: str) -> str:
    """The text, as long as before, with an end for each fence that was cut off."""
    pieces, place = [], 0
    for cut in _CUT.finditer(text):
        part = text[place : cut.start()]
        pieces += [part, "```".ljust(len(cut[0])) if Fences(part).any_open() else cut[0]]
        place = cut.end()
    return "".join((*pieces, text[place:]))


def _has_both_sides(labels: Sequence[_Label]) -> bool:
    return {"user", "agent"} <= {label.role for label in labels}


def _heading_labels(text: str) -> list[_Label]:
    """Headings at the level where each role first appears; deeper ones are part of a message."""
    found = outside_code(text, list(_HEADING.finditer(text)))
    levels: dict[Role, str] = {}
    for match in found:
        levels.setdefault(ROLES[match["who"].lower()], match["level"])
    return [
        _label(match, match["about"])
        for match in found
        if levels[ROLES[match["who"].lower()]] == match["level"]
    ]


def _bold_labels(text: str) -> list[_Label]:
    return [
        _label(match, match["about"] or match["after"] or match["alone"] or match["behind"])
        for match in outside_code(text, list(_BOLD.finditer(text)))
    ]


def _bracketed_labels(text: str) -> list[_Label]:
    return [_label(match, match["about"]) for match in outside_code(text, list(_BRACKETED.finditer(text)))]


def _plain_labels(text: str) -> list[_Label]:
    """Labels at the start of a paragraph; at the start of any line if otherwise one side is missing."""
    every = outside_code(text, list(_LABEL.finditer(text)))
    opening = [
        match for match in every if _PARAGRAPH.search(text[max(match.start() - 80, 0) : match.start()])
    ]
    labels = [_label(match, match["about"]) for match in opening]
    return labels if _has_both_sides(labels) else [_label(match, match["about"]) for match in every]


def _copied_labels(text: str) -> list[_Label]:
    """Labels of what Copilot's panel copies: above a message an account's name, or ``GitHub Copilot``."""
    copied = _COPIED.match(text)
    if copied is None or ROLES.get(copied["who"].lower(), "user") != "user":
        return []
    name = re.escape(copied["who"])
    labels = re.compile(
        rf"(?:\A\ufeff?|(?<=\n\n))(?:# |\*\*)?(?P<who>{name}|(?P<agent>GitHub Copilot)):(?:\*\*\s|[ ])"
    )
    found = list(labels.finditer(text))  # also behind a fence, which a prompt may have opened and not closed
    if not any(match["agent"] for match in found):
        return []
    return [
        _Label(match["who"], "agent" if match["agent"] else "user", match.start(), match.end(), None)
        for match in found
    ]


def _named_headings(text: str) -> list[_Label]:
    """Headings of which one names the person, any name, and the other an agent.

    The person's stands above the agent's, more than once or written ``@name``.
    """
    found = outside_code(text, list(_ANY_HEADING.finditer(text)))
    agents = [match for match in found if ROLES.get(match["who"].lower()) == "agent"]
    level = agents[0]["level"] if agents else ""
    here = [match for match in found if match["level"] == level]
    above = Counter(
        one["who"] for one, other in itertools.pairwise(here) if other in agents and one not in agents
    )
    if not above:
        return []
    (who, times), *_ = above.most_common(1)
    if who.lower() in ROLES or (times < 2 and not who.startswith("@")):
        return []
    return [
        _Label(match["who"], "user" if match["who"] == who else "agent", match.start(), match.end(), None)
        for match in here
        if match["who"] == who or match in agents
    ]


def _stamped_labels(text: str) -> list[_Label]:
    """Lines with a time and a name. Any name that is not an agent's is a user's."""
    return [
        _Label(
            who,
            ROLES.get(who.lower(), _role_by_name(who)),
            match.start(),
            match.end(),
            when_in(match["in"] or match["out"]),
        )
        for match in outside_code(text, list(_STAMPED.finditer(text)))
        if (who := (match["angle"] or match["who"]).strip())
    ]


def _role_by_name(who: str) -> Role:
    words = re.findall(r"[^\W_]+", who.lower())
    return "agent" if any(ROLES.get(word) == "agent" for word in words) else "user"


def _label(match: re.Match[str], about: str | None) -> _Label:
    at = (moment_in(about) or when_in(about)) if about else None
    return _Label(match["who"], ROLES[match["who"].lower()], match.start(), match.end(), at)


def without_rule(text: str) -> str:
    """A section without the horizontal rule and the blank lines that end it."""
    lines = text.split("\n")
    end = len(lines)
    while end and (not lines[end - 1].strip() or _RULE.fullmatch(lines[end - 1])):
        end -= 1
    return "\n".join(lines[:end]).rstrip().strip("\n")


@dataclass(frozen=True, slots=True)
class _Reply:
    """What a reply says and does, in a transcript that Cursor writes as text."""

    text: str
    calls: tuple[tuple[str, str], ...]  # name and summary of each
    results: int
    thoughts: int


def _reply_in(text: str) -> _Reply | None:
    """The reply in a text; ``None`` if it is no such transcript's.

    What Cursor's model thought stands in ``<think>`` or, later, behind ``[Thinking]``, of which nothing tells
    the end: only its first line is left out.
    """
    marks = [*_MARK.finditer(text)]
    thinking = _THINKING.match(text)
    if not marks and thinking is None:
        return None
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    calls = tuple(
        (mark["name"], summary_of(mark["name"], dict(_GIVEN.findall(text, mark.end(), end))))
        for mark, end in zip(marks, ends, strict=False)
        if mark["what"] == "Tool call"
    )
    said = text[thinking.end() if thinking is not None else 0 : marks[0].start() if marks else len(text)]
    return _Reply(said, calls, len(marks) - len(calls), thinking is not None)
