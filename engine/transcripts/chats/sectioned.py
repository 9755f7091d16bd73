"""Reads Markdown in which a program gives each step a section: what Windsurf and Antigravity save of a
conversation, and what ``/share`` of Copilot's command line writes.
"""

from __future__ import annotations

import re

from engine.transcripts.brief import one_line
from engine.transcripts.chats.chat import Chat, ChatBuilder, moment_in
from engine.transcripts.escape import outside_code
from engine.transcripts.turn import Role

WINDSURF = "windsurf"
COPILOT = "copilot-cli"

_WINDSURF = re.compile(
    r"\A\s*# (?:Cascade )?Chat Conversation\s+Note: _This is purely the output of the chat "
)
_STEP = re.compile(r"^### (?P<what>User Input|Planner Response)[ \t]*$", re.MULTILINE)
# What was done stands as a paragraph of its own, also between a prompt and its reply.
_DONE = re.compile(
    r"\*(?P<what>(?:Viewed|Edited|Updated|Searched|Ran|Checked|Grep|Listed|Read|Created|Wrote|Deleted|Deployed"
    r"|Analyzed|Retrieved|Found|Generated|Proposed|Opened|Captured|Started"
    r"|User accepted|User rejected)\b[^\n]*)\*"
)

_COPILOT = re.compile(r"\A\s*# \S+ Copilot CLI Session\s+(?:> |<)")
_TIMED = re.compile(r"^<sub>⏱️ [^<\n]*</sub>\n+### (?P<what>[^\n]+)$", re.MULTILINE)
_ABOUT = re.compile(r"^> (?:- )?\*\*(?P<key>[^*\n:]+):\*\* `?(?P<value>[^`\n]*?)`?[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"\n---[ \t]*\s*\Z")


def is_windsurf(text: str) -> bool:
    """Whether a text was saved by Windsurf or Antigravity."""
    return _WINDSURF.match(text) is not None


def is_copilot(text: str) -> bool:
    """Whether a text was written by ``/share`` of Copilot's command line."""
    return _COPILOT.match(text) is not None


def windsurf(text: str) -> Chat:
    """The conversation in a text with ``\\n`` line ends."""
    chat, line, counted = ChatBuilder(), 1, 0
    marks = outside_code(text, [*_STEP.finditer(text)])
    for number, mark in enumerate(marks):
        line += text.count("\n", counted, mark.start())
        counted = mark.start()
        end = marks[number + 1].start() if number + 1 < len(marks) else len(text)
        paragraphs = text[mark.end() : end].strip().split("\n\n")
        done: list[str] = []
        while paragraphs and (last := _DONE.fullmatch(paragraphs[-1].strip())) is not None:
            done.insert(0, last["what"])
            paragraphs.pop()
        role: Role = "user" if mark["what"] == "User Input" else "agent"
        chat.say(role, "\n\n".join(paragraphs).strip(), line=line)
        for each in done:
            name, _, about = one_line(each).partition(" ")
            chat.call(name, about, line=line)
    return chat.chat(WINDSURF)


def copilot(text: str) -> Chat:
    """The conversation in a text with ``\\n`` line ends."""
    chat, line, counted = ChatBuilder(), 1, 0
    marks = [*_TIMED.finditer(text)]
    head = text[: marks[0].start()] if marks else text
    about = {found["key"]: found["value"] for found in _ABOUT.finditer(head)}
    chat.session_id = about.get("Session ID", "")
    at = moment_in(about.get("Started", ""))
    for number, mark in enumerate(marks):
        line += text.count("\n", counted, mark.start())
        counted = mark.start()
        end = marks[number + 1].start() if number + 1 < len(marks) else len(text)
        sign, _, what = mark["what"].partition(" ")
        body = _RULE.sub("", text[mark.end() : end].rstrip()).strip()
        if what == "User":
            chat.say("user", body, at, line=line)
        elif what == "Copilot":
            chat.say("agent", body, at, line=line)
        elif what.startswith("`"):
            chat.call(one_line(what.strip("`")), "", "failed" if sign == "❌" else "", at, line=line)
            chat.drop("tool-output", bool(body))
        else:
            chat.drop("thinking" if "easoning" in what else "system-records")
        at = None
    return chat.chat(COPILOT)
