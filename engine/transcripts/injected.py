"""Removes injected blocks from messages, so that memory never learns from itself (design 3.13)."""

from __future__ import annotations

import re
from typing import Literal

from engine.startup.lazy import expression

BY_PROGRAM = expression(
    r"^[ \t]*(?:<(?:bash-|command-|local-command|(?:task|agent)-notification|ci-monitor-|system|tool|ide_)"
    r"|\[Request interrupted"
    r"|Caveat:|Operation stopped by hook|Base directory for this skill|Stop hook feedback"
    r"|@agent (?:Continue:|Try Again[ \t]*$|[A-Z][a-z]+(?: [A-Za-z][a-z]+)?: \")"
    r"|\[Terminal [0-9a-f]{8}-[0-9a-f-]{27} notification: |Another Claude session sent a message:"
    r"|Implement the plan as specified(?:, it is attached for your reference\. Do NOT edit"
    r"|\. To-do's from the plan have already been created\b)"
    r"|The following is the Codex agent history (?:whose request action you are assessing|added since)"
    r"|You must fully embody this agent's persona and follow all activation instructions"
    r"|IT IS CRITICAL THAT YOU FOLLOW TH(?:IS COMMAND: LOAD|ESE STEPS - while)\b"
    r"|This session is being continued)",
    re.MULTILINE,
)
"""Text that an agent's program wrote in the person's place: a notice, output of a command, a summary.
Programs begin a line with it; a person may mention it anywhere."""

_NOTICE = expression(
    # Claude Code and Codex, after they compacted a conversation
    r"\s*(?:(?P<summary>This session is being continued from a previous conversation"
    r"|Another language model started to solve this problem and produced a summary)"
    # Claude Code: another session, the first versions of hooks, and a command that it does not have
    r"|Another Claude session sent a message:[ \t]*\n|Stop hook feedback:[ \t]*\n"
    r"|Unknown (?:skill|slash command): [\w:./-]+\s*\Z"
    # Cursor, when a task in the background has finished
    r"|(?:<timestamp>[^<\n]*</timestamp>\s*)?<system_notification>\n(?s:.*)</system_notification>\s*<user_query>\s*"
    r"(?:Briefly inform the user about the task result|The beginning of the above subagent result is already"
    r"|Perform any necessary follow-up actions in response to the subagent completion)"
    # Gemini CLI, at the beginning of a saved chat
    r"|This is the Gemini CLI\. We are setting up the context for our chat\.)"
)

# What ``/init`` stands for: how the text begins, and a line within it.
_INITS = (
    # Crush and the first opencode
    ("Please analyze this codebase and create a ", "\n1. Build/lint/test commands"),
    ("`Please analyze this codebase and create a **", "\n- Build/lint/test commands - especially"),
    (
        "Analyze this codebase and create/update **",
        "\n**First**: Check if directory is empty or contains only",
    ),
    # Codex
    (
        "Generate a file named AGENTS.md that serves as a contributor guide",
        '\n- Title the document "Repository',
    ),
)

# What a command stands for that somebody wrote as a prompt, as in Spec Kit: perhaps fields, then what was
# typed behind the command's name. Agents such as Codex record neither its name nor that it is one.
_PROMPT = expression(
    r"\s*(?:---\n(?:[^\n]+\n){1,30}?---\n\s*)?(?:# [^\n]*\n\s*)?(?:"
    r"## User Input\n\s*```\w*\n(?P<given>.*?)\n?```\n\s*You \*\*MUST\*\* consider"
    r"|The user input [^\n]*\*\*MUST\*\* consider it[^\n]*\n\s*User input:\n\n(?P<first>[^\n]*)\n)",
    re.DOTALL,
)
_PROMPT_NAME = "/prompt"
_NONE_GIVEN = "$ARGUMENTS"

_BLANKS = " \t\n"
_CURLY = r"knowledge|rag-context|file-knowledge|my-rules|autopoiesis"
# A marker in backquotes is being discussed, not used.
_MARKER = expression(rf"(?<!`)\{{(?P<end>/?)(?P<name>{_CURLY})(?:[ \t][^{{}}\n]*)?\}}(?!`)")

# Where an agent's program writes its blocks. A person may write the same tags, so the place tells.
_AROUND = (
    # Claude Code: a part of a message, or on lines of its own above or below what was typed
    r"system-reminder|user-prompt-submit-hook|post-tool-use-hook|new-diagnostics"
    # Gemini CLI and Qwen Code: below the prompt
    r"|hook_context|qwen:user-prompt-submit-context"
)
_ABOVE = (
    # Claude Code in an editor, and with hooks
    r"ide_[a-z_]+|session-start-hook"
    # Conductor: above the first prompt, and above one with files; a person's own block begins otherwise
    r"|system[-_]instruction(?:(?<=</system.instruction)|(?=>\n(?:You are working inside Conductor,"
    r"|The user has attached these files\.|To do immediately, before using any skills"
    r"|Use `git branch -m` to rename the branch\.)))"
    # Claude Code: a command with its output, and in the first versions the text it stands for below it
    r"|command-[a-z-]+|local-command-[a-z-]+"
    # Gemini CLI: above a session's first prompt
    r"|session_context"
    # Codex: a part of a message, in the first versions above the prompt
    r"|environment_context|user_instructions|permissions instructions|collaboration_mode|turn_aborted"
    r"|skills_instructions|subagent_notification|recommended_plugins|goal_context|internal_model_context"
)
_ALONE = (
    # Claude Code: a message of its own; agent-notification and bash-notification from 2.0.64 to 2.1.0, then
    # task-notification
    r"bash-stdout|bash-stderr|bash-notification|agent-notification|task-notification|teammate-message"
    r"|mcp-resource-update|ci-monitor-event"
    r"|mcp-polling-update|system-notification"
    # Codex: a message of its own, which goes on with a goal, passes on a review or what a hook said
    r"|codex_internal_context|user_action|hook_prompt"
)
_EVERY = rf"{_AROUND}|{_ABOVE}|{_ALONE}"
# Holds what somebody wrote or a command printed, perhaps the same tags: it ends with the last of them.
_QUOTING = expression(rf"ide_[a-z_]+|local-command-[a-z-]+|{_ALONE}")
# A tag begins a block at the beginning of a line, and ends it at the end of one, or beside another block's.
_TAG = expression(
    rf"(?P<first>^[ \t]*|(?<=>))?<(?P<end>/?)(?P<name>{_EVERY})(?:[ \t][^<>\n]*)?>"
    rf"(?P<last>(?=[ \t]*(?:$|<(?:{_EVERY})[ >])))?",
    re.MULTILINE,
)
_IS_AROUND, _IS_ALONE = expression(_AROUND), expression(_ALONE)
# Claude Code 2.1 writes this below a notification.
_POINTER = expression(
    r"\s*(?:Read the output file to retrieve the result|Full transcript available at): [^\n]*"
)

# Labels of the marker lines above a prompt's sections; other comments belong to the author.
_LABELS = (
    r"(?:system|identity|memory|journal|projects?|preset|role|tools|knowledge|entries|skills|topic|subscription"
    r"|rules)"
    r":[^\n]*|history:[^\n]*|steering|discussion|message|"
    r"(?:user|agent|system) (?:[0-9-]{10} )?[0-9]{2}:[0-9]{2}[^\n]*"
)
_SECTION = expression(rf"^<!-- (?:{_LABELS}) -->[ \t]*(?:\n|\Z)", re.MULTILINE)

# An editor and Codex's app write headings with a colon above the prompt.
_REQUESTED = expression(r"^## My request for Codex:\s*", re.MULTILINE)
_REQUEST = expression(r"\s*# [^\n]+:[ \t]*\n.*?^## My request for Codex:\s*", re.DOTALL | re.MULTILINE)

# A block with a compound name, on lines of its own.
_ELEMENT = expression(r"\s*<(?P<name>[a-z]+(?:[-_][a-z]+)+)>[ \t]*\n(?s:.*?)\n[ \t]*</(?P=name)>[ \t]*\n")


def notice_in(text: str) -> Literal["", "summary"] | None:
    """The kind of turn that a text is if a program wrote all of it in the person's place; else ``None``.

    Such a text has no tags, and is known by its first words.
    """
    found = _NOTICE.match(text)
    return None if found is None else "summary" if found["summary"] else ""


def is_init(text: str) -> bool:
    """Whether a program wrote a text because the person gave it the command ``/init``."""
    return any(text.startswith(start) and line in text for start, line in _INITS)


def prompt_in(text: str) -> str:
    """A command as the person typed it, of which a text is the expansion; empty if it is none.

    The command is called ``/prompt``, since the text does not tell its name.
    """
    found = _PROMPT.match(text)
    given = (found["given"] or found["first"] or "").strip() if found is not None else ""
    return "" if found is None else f"{_PROMPT_NAME} {given.removeprefix(_NONE_GIVEN)}".strip()


def strip_injected(text: str) -> str:
    """Remove injected blocks: retrieved knowledge, blocks of the agent's program, and the markers between the
    sections of a compiled prompt.

    Our own ``{knowledge}…{/knowledge}``, ``{rag-context}``, ``{file-knowledge}``, ``{my-rules}`` and
    ``{autopoiesis}`` are removed anywhere. A program's ``<system-reminder>…</system-reminder>`` and the like
    are removed only where programs write them: as the whole text, or on lines of their own at its beginning
    or end. An unclosed block stays, because cutting to the end of the message could remove the user's own
    text. A text without blocks is returned unchanged.
    """
    if "{/" in text:
        text = _without_blocks(text)
    if "<!-- " in text:
        text = _SECTION.sub("", text)
    return _without_program(text) if "</" in text else text


def without_context(text: str) -> str:
    """A prompt of Codex without the context that it or an editor added; whole if several headings may be the
    one above the prompt, such as one in the text that was selected.
    """
    text = strip_injected(text)
    request = _REQUEST.match(text)
    if request is None or _REQUESTED.search(text, request.end()) is not None:
        return text
    return text[request.end() :]


def below_elements(text: str) -> str:
    """What stands below the blocks at the head of a text, as programs write them above a prompt; the whole
    text if nothing does.

    A person may write such a block too, so it is passed over where a request is looked for, and kept.
    """
    place = 0
    while (element := _ELEMENT.match(text, place)) is not None and text[element.end() :].strip(_BLANKS):
        place = element.end()
    return text[place:].lstrip(_BLANKS) if place else text


def _without_blocks(text: str) -> str:
    spans: list[tuple[int, int]] = []
    open_at: dict[str, list[int]] = {}
    for match in _MARKER.finditer(text):
        starts = open_at.setdefault(match["name"], [])
        if not match["end"]:
            starts.append(match.start())
        elif starts:
            _add_outer(spans, starts.pop(), match.end())
    return _without(text, spans) if spans else text


def _without_program(text: str) -> str:
    """A text without the blocks that an agent's program wrote above and below it, or instead of it."""
    blocks = _program_blocks(text)
    start = place = 0
    is_above = True
    for first, last in blocks:
        if text[place:first].strip(_BLANKS):
            break
        place = last
        if _IS_ALONE.fullmatch(_name_at(text, first)):
            is_above = False
            pointer = _POINTER.match(text, place)
            place = pointer.end() if pointer is not None else place
        start = place if is_above else start
    if not text[place:].strip(_BLANKS):
        return "" if place else text
    end = len(text)
    for first, last in reversed(blocks):
        if text[last:end].strip(_BLANKS) or not _IS_AROUND.fullmatch(_name_at(text, first)):
            break
        end = first
    text = text[:end].rstrip(_BLANKS) if end < len(text) else text
    return text[start:].lstrip(_BLANKS) if start else text


def _program_blocks(text: str) -> list[tuple[int, int]]:
    """Start and end of each block on lines of its own, in order."""
    spans: list[tuple[int, int]] = []
    open_at: dict[str, list[int]] = {}
    for tag in _TAG.finditer(text):
        starts = open_at.setdefault(tag["name"], [])
        if _QUOTING.fullmatch(tag["name"]):
            starts += [tag.start()] if not starts and not tag["end"] and tag["first"] is not None else []
            if starts and tag["end"] and tag["last"] is not None:
                _add_outer(spans, starts[0], tag.end())
        elif not tag["end"]:
            if tag["first"] is not None:
                starts.append(tag.start())
        elif starts and tag["last"] is not None:
            _add_outer(spans, starts.pop(), tag.end())
        elif starts and text.find("\n", starts[-1], tag.start()) < 0:
            starts.pop()  # a line that goes on mentions a block
    return spans


def _add_outer(spans: list[tuple[int, int]], start: int, end: int) -> None:
    """Add a span instead of those inside it, or that begin with it."""
    while spans and spans[-1][0] >= start:
        spans.pop()
    spans.append((start, end))


def _name_at(text: str, start: int) -> str:
    tag = _TAG.match(text, start)
    return tag["name"] if tag is not None else ""


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, place = [], 0
    for start, end in spans:
        if start >= place:
            pieces.append(text[place:start])
        place = max(place, end)
    pieces.append(text[place:])
    return _closed_up(pieces)


def _closed_up(pieces: list[str]) -> str:
    """Join the pieces around gaps; blanks at a gap become one blank, one line end or one empty line."""
    kept: list[str] = []
    gap = ""
    for number, piece in enumerate(pieces):
        content = piece.strip(_BLANKS)
        if not content:
            gap += piece
            continue
        start = piece.index(content)
        if kept:
            gap += piece[:start]
            lines = gap.count("\n")
            kept.append("\n" * min(lines, 2) if lines else gap[:1])
        elif not number:
            kept.append(piece[:start])
        kept.append(content)
        gap = piece[start + len(content) :]
    return "".join(kept) + (gap if pieces[-1].strip(_BLANKS) else "")
