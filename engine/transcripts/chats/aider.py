"""Reads Aider's ``.aider.chat.history.md``: ``#### `` marks user input, ``> `` the program's output."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.transcripts.brief import one_line
from engine.transcripts.chats.chat import Chat, ChatBuilder, moment_in
from engine.transcripts.escape import Fences

NAME = "aider"

_STARTED = re.compile(r"^# aider chat started at ([^\n]+)$", re.MULTILINE)
_APPLIED = re.compile(r"^(Applied edit to|Commit|Running|Added|Create new file)[ \t]+(.*)$")
_MODEL = re.compile(r"^(?:Main model|Model): (\S+)")


def looks_like(text: str, name: str) -> bool:
    """Whether a text is an Aider chat history."""
    return _STARTED.search(text) is not None or name.startswith(".aider.chat.history")


def read(text: str) -> Iterator[Chat]:
    """The conversations in a history, one per start of the program; empty ones are skipped."""
    starts = [*_STARTED.finditer(text)]
    if not starts or text[: starts[0].start()].strip():
        yield from _conversation(text[: starts[0].start() if starts else len(text)], "", 1)
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        line = 2 + text.count("\n", 0, match.start())
        yield from _conversation(text[match.end() + 1 : end], match[1], line)


def _conversation(text: str, started: str, line: int) -> Iterator[Chat]:
    chat = ChatBuilder()
    at = moment_in(started)
    fenced = [(a, b) for a, b in Fences(text).blocks()]
    lines: list[str] = []
    who, first, place = "", line, 0

    def flush() -> None:
        if who:
            chat.say("user" if who == "user" else "agent", "\n".join(lines), at, line=first)
        lines.clear()

    for number, content in enumerate(text.split("\n")):
        in_code = any(a <= place < b for a, b in fenced)
        place += len(content) + 1
        if content.startswith("#### ") or content.rstrip() == "####":
            now, words = "user", content[5:].removesuffix("  ")
        elif not in_code and (content.startswith("> ") or content.rstrip() == ">"):
            now, words = "", content[2:].strip()
        else:
            # A blank line belongs to the speaker of the line above it.
            now, words = who if who and not content.strip() else "agent", content
        if now != who:
            flush()
            who, first = now, line + number
        if now:
            lines.append(words)
        elif words:
            _program_output(chat, words)
    flush()
    found = chat.chat(NAME)
    if any(turn.role == "user" for turn in found.turns):
        yield found


def _program_output(chat: ChatBuilder, words: str) -> None:
    """Handle a line of program output: edits and commits are tool calls, the rest is dropped."""
    model, done = _MODEL.match(words), _APPLIED.match(words)
    if model is not None:
        chat.model = chat.model or model[1]
    elif done is not None:
        chat.call(done[1].split()[0].lower(), one_line(done[2]))
    else:
        chat.drop("system-records")
