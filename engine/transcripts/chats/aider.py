"""Reads Aider's ``.aider.chat.history.md``: ``#### `` what the person said, ``> `` what the program did."""

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
    """Whether a text is such a history."""
    return _STARTED.search(text) is not None or name.startswith(".aider.chat.history")


def read(text: str) -> Iterator[Chat]:
    """The conversations in a history, one for each start of the program; empty ones are left out."""
    starts = [*_STARTED.finditer(text)]
    if not starts or text[: starts[0].start()].strip():
        yield from _one(text[: starts[0].start() if starts else len(text)], "", 1)
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        line = 2 + text.count("\n", 0, match.start())
        yield from _one(text[match.end() + 1 : end], match[1], line)


def _one(text: str, started: str, line: int) -> Iterator[Chat]:
    chat = ChatBuilder()
    at = moment_in(started)
    fenced = [(a, b) for a, b in Fences(text).blocks()]
    said: list[str] = []
    who, first, place = "", line, 0

    def flush() -> None:
        if who:
            chat.say("user" if who == "user" else "agent", "\n".join(said), at, line=first)
        said.clear()

    for number, content in enumerate(text.split("\n")):
        in_code = any(a <= place < b for a, b in fenced)
        place += len(content) + 1
        if content.startswith("#### ") or content.rstrip() == "####":
            now, words = "user", content[5:].removesuffix("  ")
        elif not in_code and (content.startswith("> ") or content.rstrip() == ">"):
            now, words = "", content[2:].strip()
        else:
            # A blank line between two lines of the person is theirs.
            now, words = who if who and not content.strip() else "agent", content
        if now != who:
            flush()
            who, first = now, line + number
        if now:
            said.append(words)
        elif words:
            _program(chat, words)
    flush()
    found = chat.chat(NAME)
    if any(turn.role == "user" for turn in found.turns):
        yield found


def _program(chat: ChatBuilder, words: str) -> None:
    """A line of the program: edits and commits are what the agent did, the rest is left out."""
    model, done = _MODEL.match(words), _APPLIED.match(words)
    if model is not None:
        chat.model = chat.model or model[1]
    elif done is not None:
        chat.call(done[1].split()[0].lower(), one_line(done[2]))
    else:
        chat.drop("system-records")
