"""Reads Claude Code's ``/export``: the terminal text with ``> ``, ``❯ ``, ``⏺`` and ``●`` markers."""

from __future__ import annotations

import re
from itertools import takewhile

from engine.transcripts.brief import one_line
from engine.transcripts.chats.chat import Chat, ChatBuilder
from engine.transcripts.importers.tools import result_of
from engine.transcripts.turn import ANSWER, COMMAND, CORRECTION, PLAN

NAME = "claude-code-export"

_PERSON = re.compile(r"^(?:>|❯|!)(?:[ \u00a0]|$)")
_AGENT = re.compile(r"^[⏺●](?:[ \u00a0]|$)")
_OTHER = re.compile(r"^(?:[✻✽✶✢✳∴※]|· |\* [A-Z]\w+ for |[╭╰│╮╯▐▝▘]|\s*[▐▝▘]+[▛▜█▝▘ ]|[─━═]{20,})")
_RESULT = re.compile(r"^\s*⎿[ \u00a0]*")
_CALL = re.compile(r"^(?P<name>[A-Za-z_][\w.:-]*(?: - [\w -]+)?(?: \(MCP\))?)\((?P<what>.*)\Z", re.DOTALL)
_FOLDED = re.compile(r"^\s*(?:…|\.{3})?.*\((?:ctrl\+[a-z]) to (?:expand|see[^)]*)\)\s*$")
_PLAN = re.compile(r"User (?P<what>approved|rejected) Claude['’]s plan")
_ANSWERS = re.compile(r"User answered Claude['’]s questions?")
_SAVED = re.compile(r"\APlan saved to:.*\n+")
_EDITORS = frozenset({"Create", "Edit", "MultiEdit", "NotebookEdit", "Update", "Write"})
_REJECTED = re.compile(
    r"(?:Tool use |User )?rejected with (?:user message|reason)[ \t]*:[ \t]*", re.IGNORECASE
)
_BANNER = re.compile(r"Claude Code|^[^\S\n]*⎿|^⏺", re.MULTILINE)


def looks_like(text: str) -> bool:
    """Whether a text is a Claude Code export."""
    lines = text.split("\n")
    return (
        _BANNER.search(text) is not None
        and any(_PERSON.match(line) for line in lines)
        and any(_AGENT.match(line) for line in lines)
    )


def read(text: str) -> Chat:
    """The conversation in an export. Wrapped lines stay wrapped: the original lines cannot be recovered."""
    chat = ChatBuilder()
    lines = text.split("\n")
    starts = [
        number
        for number, line in enumerate(lines)
        if _PERSON.match(line) or _AGENT.match(line) or _OTHER.match(line)
    ]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        part = lines[start:end]
        if _PERSON.match(part[0]):
            _person(chat, part, start + 1)
        elif _AGENT.match(part[0]):
            _agent(chat, part, start + 1)
        elif part[0][:1] in "✻∴" and "hinking" in part[0]:
            chat.drop("thinking")
    return chat.chat(NAME)


def _person(chat: ChatBuilder, part: list[str], line: int) -> None:
    """Add user input. Newer versions pad its lines with blanks, so it ends with the last padded line."""
    is_padded = len(part[0]) > 60 and part[0].endswith("  ") and len(part) > 1
    typed = [*takewhile(lambda each: not _RESULT.match(each), [part[0][2:], *part[1:]])]
    if is_padded:
        while len(typed) > 1 and not typed[-1].endswith(" "):
            typed.pop()
    typed = [each for each in typed if not _FOLDED.match(each)]
    if len(typed) < len(part):
        chat.drop("system-records", sum(1 for each in part[len(typed) :] if each.strip()))
    text = _unpadded(typed)
    text = f"! {text}" if part[0][0] == "!" else text
    chat.say("user", text, line=line, kind=COMMAND if _is_command(typed[0]) else "")


def _is_command(first: str) -> bool:
    return re.match(r"/[a-z][\w:-]*(?:\s|$)", first) is not None


def _agent(chat: ChatBuilder, part: list[str], line: int) -> None:
    results = [number for number, each in enumerate(part) if _RESULT.match(each)]
    if not results:
        kept = [each for each in part if not _FOLDED.match(each)]
        chat.drop("tool-output", len(part) - len(kept))
        chat.say("agent", _unpadded([part[0][2:], *kept[1:]] if kept else []), line=line)
        return
    head = _unpadded([part[0][2:], *part[1 : results[0]]])
    below = [re.sub(r"^ {1,5}", "", each) for each in part[results[0] + 1 :]]
    output = "\n".join(each.rstrip() for each in (_RESULT.sub("", part[results[0]]), *below)).strip("\n")
    plan = _PLAN.match(head)
    if plan is not None:
        chat.say("agent", _SAVED.sub("", output), line=line, kind=PLAN)
        chat.call("ExitPlanMode", "", f"{plan['what']} by the user", line=line)
        return
    if _ANSWERS.match(head):
        chat.say("user", output, line=line, kind=ANSWER)
        return
    rejected = _REJECTED.match(output)
    call = _CALL.match(head)
    name = call["name"] if call is not None else "tool"
    what = call["what"].strip().removesuffix(")") if call is not None else head
    # The output of other tools may be anybody's text, with these words.
    if rejected is not None and name in _EDITORS:
        chat.call(name, one_line(what), "rejected by the user", line=line)
        chat.say("user", output[rejected.end() :], line=line, kind=CORRECTION)
        return
    if "\n" in output:
        chat.drop("tool-output")
    chat.call(name, one_line(what), result_of(name, output), line=line)


def _unpadded(lines: list[str]) -> str:
    """The lines without trailing blanks and indentation, joined."""
    bare = [
        line.rstrip().removeprefix("  ") if number else line.rstrip() for number, line in enumerate(lines)
    ]
    return "\n".join(bare).strip("\n")
