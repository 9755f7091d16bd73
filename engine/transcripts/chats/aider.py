"""Reads Aider's ``.aider.chat.history.md``: ``#### `` marks user input, ``> `` the program's output.

Replies have such headings too, and an architect's reply and the pages of ``/help`` are repeated as if the
person had typed them. What they typed stands in ``.aider.input.history``, if that is still beside it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice, takewhile
from pathlib import Path

from engine.errors import ImportFailed
from engine.transcripts.brief import one_line
from engine.transcripts.chats.chat import Chat, ChatBuilder, moment_in
from engine.transcripts.escape import Fences
from engine.transcripts.importers.lines import opened
from engine.transcripts.turn import COMMAND

NAME = "aider"

INPUTS = ".aider.input.history"
"""The file beside a history that has each input: a line with the time, and the input's lines behind ``+``."""
_INPUT = re.compile(r"(?:^\+[^\n]*\n?)+", re.MULTILINE)
_SURE = 20
"""Characters of a part of an input that no other text has by chance."""
_LINES_BEFORE = 20
"""Lines by which it is known where in an input a line stands; more would take time."""

_STARTED = re.compile(r"^# aider chat started at ([^\n]+)$", re.MULTILINE)
# What was typed ends with two blanks, unless an editor has removed them; a heading in a reply does not.
_TYPED = re.compile(r"^####(?: [^\n]*)?  $", re.MULTILINE)
_HEADED = re.compile(r"^####(?: [^\n]*|[ \t]*)$", re.MULTILINE)
_COMMAND = re.compile(r"/[a-z][a-z-]*(?:\s+(?P<given>.*))?", re.DOTALL)
_NOTHING = "<blank>"
"""Written when the person typed nothing."""
# A question that the program answered itself, as the person wanted for all of a kind.
_ASKED = re.compile(r"[^\n?]*\? \(Y\)es/\(N\)o(?:/\([A-Z]\)[^\n/\[\]]*)* \[(?:Yes|No)\]: \w+[ \t]*")
_APPLIED = re.compile(r"^(Applied edit to|Commit|Running|Added|Create new file)[ \t]+(.*)$")
_MODEL = re.compile(r"^(?:Main model|Model): (\S+)")


def looks_like(text: str, name: str) -> bool:
    """Whether a text is an Aider chat history."""
    return _STARTED.search(text) is not None or ".aider.chat.history" in name


class _Inputs:
    """What was typed, without blanks, since an editor may have broken the lines of the history anew."""

    def __init__(self, text: str) -> None:
        inputs = [each[0].replace("\n+", "\n")[1:] for each in _INPUT.finditer(text)]
        self._all = "\0".join(map(_squeezed, inputs))
        self._lines = {_squeezed(line) for each in inputs for line in each.split("\n")}
        self._place = 0  # where the last line was found, since the next one stands behind it

    def has(self, line: str, before: str = "") -> bool:
        """Whether a line was typed, alone or behind other lines of the same input."""
        line, before = _squeezed(line), _squeezed(before)
        if before or not line:
            return bool(before) and self._stands(f"{before}{line}")
        return line in self._lines or (len(line) >= _SURE and self._stands(line))

    def _stands(self, text: str) -> bool:
        found = self._all.find(text, max(self._place - len(text), 0))
        found = found if found >= 0 else self._all.find(text)
        self._place = found if found >= 0 else self._place
        return found >= 0


def _squeezed(text: str) -> str:
    return "".join(text.split())


def inputs_beside(path: Path) -> _Inputs:
    """What was typed, by the file beside a history; nothing if there is none."""
    with contextlib.suppress(ImportFailed), opened(path.with_name(INPUTS)) as stream:
        return _Inputs((stream.read() or b"").decode("utf-8", "replace"))
    return _Inputs("")


def read(text: str, inputs: _Inputs) -> Iterator[Chat]:
    """The conversations in a history, one per start of the program; empty ones are skipped."""
    starts = [*_STARTED.finditer(text)]
    if not starts or text[: starts[0].start()].strip():
        yield from _conversation(text[: starts[0].start() if starts else len(text)], "", 1, inputs)
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        line = 2 + text.count("\n", 0, match.start())
        yield from _conversation(text[match.end() + 1 : end], match[1], line, inputs)


def _conversation(text: str, started: str, line: int, inputs: _Inputs) -> Iterator[Chat]:
    chat = ChatBuilder()
    at = moment_in(started)
    fenced = [(a, b) for a, b in Fences(text).blocks()]
    has_marks = _TYPED.search(text) is not None
    # The inputs of a conversation may be gone.
    has_inputs = any(inputs.has(heading[0][5:]) for heading in _HEADED.finditer(text))
    lines: list[str] = []
    replied: list[str] = []
    asked = ""  # the words behind the last command
    who, first, place = "", line, 0
    is_asked = False
    contents, repeated = text.split("\n"), 0

    def flush() -> None:
        nonlocal asked
        said = "\n".join(lines)
        lines.clear()
        if who == "agent":
            replied.extend(said.split("\n"))
            chat.say("agent", said, at, line=first)
        elif who == "program":
            chat.drop("injected")
        elif who == "user" and all(map(_ASKED.fullmatch, said.split("\n"))):
            chat.drop("system-records")
        elif who == "user" and not replied and asked and said.strip() == asked:
            chat.drop("repeated-records")  # what follows "/ask" is written once more as a prompt
        elif who == "user" and said.strip() != _NOTHING:
            command = _COMMAND.fullmatch(said.strip())
            asked = (command["given"] or "") if command is not None else ""
            replied.clear()
            chat.say("user", said, at, kind=COMMAND if command is not None else "", line=first)

    for number, content in enumerate(contents):
        in_code = any(a <= place < b for a, b in fenced)
        place += len(content) + 1
        if _HEADED.match(content) and not (number and _HEADED.match(contents[number - 1])):
            block = [each[5:] for each in takewhile(_HEADED.match, contents[number:])]
            if _is_repeated(block, chain(reversed(lines if who == "agent" else []), reversed(replied))):
                repeated = number + len(block)
        # In a file that an editor has changed in part, what was typed stands behind the program's output.
        if number < repeated:
            # The architect's reply, written as if the person had told it the editor. As a whole, since single
            # lines of it may have been typed elsewhere.
            now, words = "program", content
        elif _TYPED.match(content) or (_HEADED.match(content) and not (has_marks and who == "agent")):
            now, words = "user", content[5:].removesuffix("  ")
            if has_inputs and not (who == "user" and inputs.has(words, "\n".join(lines[-_LINES_BEFORE:]))):
                if inputs.has(words):
                    flush()  # of the prompt before it
                    first = line + number
                else:
                    now, words = (who, content) if who == "agent" else ("program", words)
        elif has_inputs and who == "user" and not content.strip():
            continue  # an editor has put it between two lines of an input, or the next is not of the same
        elif not in_code and (content.startswith("> ") or content.rstrip() == ">"):
            now, words = "", content[2:].strip()
        elif not content.strip():
            # A blank line ends what was typed at one prompt, and belongs to any other speaker above it.
            now, words = "" if who == "user" else who, content
        else:  # before anything was typed, it is the rest of a message on the command line
            now, words = "agent" if is_asked else "program", content
        is_asked = is_asked or now == "user"
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


def _is_repeated(block: list[str], reply: Iterable[str]) -> bool:
    """Whether several lines end a reply, whose lines come last first, but for the program's output."""
    lines = [*_shown(reversed(block))]
    return len(lines) > 1 and lines == [*islice(_shown(reply), len(lines))]


def _shown(lines: Iterable[str]) -> Iterator[str]:
    return (line.rstrip() for line in lines if line.strip() and not line.startswith(">"))


def _program_output(chat: ChatBuilder, words: str) -> None:
    """Handle a line of program output: edits and commits are tool calls, the rest is dropped."""
    model, done = _MODEL.match(words), _APPLIED.match(words)
    if model is not None:
        chat.model = chat.model or model[1]
    elif done is not None:
        chat.call(done[1].split()[0].lower(), one_line(done[2]))
    else:
        chat.drop("system-records")
