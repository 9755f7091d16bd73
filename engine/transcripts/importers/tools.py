"""What a tool call did, in one line: the command or the file, and the gist of the result (spec 2.1)."""

from __future__ import annotations

import json
import re
from typing import Any

from engine.transcripts.brief import LIMIT, count, one_line
from engine.transcripts.importers.session import number_of, text_of
from engine.transcripts.injected import strip_injected

_TELLING = (
    "command",
    "cmd",
    "file_path",
    "notebook_path",
    "path",
    "url",
    "query",
    "pattern",
    "description",
    "skill",
    "name",
    "title",
    "prompt",
    "message",
    "text",
    "input",
)
_COMMANDS = frozenset({"bash", "shell", "exec", "exec_command", "local_shell", "shell_command", "bashoutput"})
_READERS = frozenset({"read", "notebookread", "view_image"})
_WRITERS = frozenset({"edit", "multiedit", "write", "notebookedit"})
_LISTERS = frozenset({"grep", "glob", "ls", "websearch"})
_SILENT = frozenset({"todowrite", "update_plan"})
_REJECTED = re.compile(
    r"\s*+(?:Error: )?+(?:<tool_use_error>)?+\s*+(?:The user doesn['’]t want to (?:proceed with|take) this|"
    r"The agent proposed a plan that was rejected by the user)"
)
_INTERRUPTED = re.compile(r"\s*\[Request interrupted by user")
_ERROR_TAGS = re.compile(r"</?tool_use_error>")
_EXIT = re.compile(r"^Exit code (\d+)\s*", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_PIECE = 80
_RAW_LIMIT = 64 * 1024


def summary_of(name: str, arguments: Any) -> str:
    """What a tool was asked, on one line."""
    if not isinstance(arguments, dict):
        return one_line(strip_injected(_patch(arguments) if isinstance(arguments, str) else _json(arguments)))
    kind = name.lower()
    if kind in _SILENT:
        return one_line(_plan(arguments.get("todos") or arguments.get("plan")))
    if kind in ("task", "agent"):
        who, what = text_of(arguments, "subagent_type"), text_of(arguments, "description")
        return one_line(f"{who}: {what}" if who and what else what or who or text_of(arguments, "prompt"))
    if kind == "askuserquestion":
        asked = arguments.get("questions")
        questions = [text_of(each, "question") for each in asked] if isinstance(asked, list) else []
        return one_line(" ".join(filter(None, questions)))
    if kind == "skill":
        return one_line(f"{text_of(arguments, 'skill')} {text_of(arguments, 'args')}")
    if kind in ("grep", "glob") and text_of(arguments, "path"):
        return one_line(f"{text_of(arguments, 'pattern')} in {text_of(arguments, 'path')}")
    if kind in _READERS and number_of(arguments, "limit"):
        first = max(number_of(arguments, "offset"), 1)
        last = first + number_of(arguments, "limit") - 1
        return one_line(f"{text_of(arguments, 'file_path')}:{first}-{last}")
    for key in _TELLING:
        value = arguments.get(key)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = command_line(value)
        if isinstance(value, str) and value.strip():
            return one_line(strip_injected(_patch(value[:_RAW_LIMIT])))
    return one_line(strip_injected(_json(arguments))) if arguments else ""


def is_shortened(text: str) -> bool:
    """Whether the result of a call is more than one line holds."""
    return len(text) > LIMIT or "\n" in text.strip()


def is_rejection(text: str) -> bool:
    """Whether what came of a call says that the person rejected it."""
    return _REJECTED.match(text) is not None


def result_of(name: str, text: str, *, failed: bool = False) -> str:
    """What came of a tool call, on one line; empty when the call itself says it all.

    ``failed``: the log marks the result as an error.
    """
    kind = name.lower()
    if failed and is_rejection(text):
        return "rejected by the user"
    if _INTERRUPTED.match(text):
        return "interrupted by the user"
    text = _ERROR_TAGS.sub("", strip_injected(text[:_RAW_LIMIT] if failed else text)).strip()
    if failed:
        exit_code = _EXIT.match(text)
        reason = _EXIT.sub("", text, count=1) if exit_code else text
        what = f"exit {exit_code[1]}" if exit_code else "error"
        if not reason.strip():
            return what
        return one_line(f"{what}: {_ends(reason) if kind in _COMMANDS else reason}")
    lines = text.count("\n") + 1
    if not text:
        return "no output" if kind in _COMMANDS else ""
    if kind in _SILENT:
        return ""
    if kind in _READERS:
        return count(lines, "line")
    if kind in _WRITERS:
        return _written(text)
    if lines == 1:
        return one_line(text)
    if kind in _LISTERS:
        found = "file" if kind in ("glob", "ls") else "line"
        return one_line(f"{count(lines, found)}: {_first(text)}")
    return one_line(f"{_ends(text) if kind in _COMMANDS else _first(text)} ({count(lines, 'line')})")


def command_line(parts: list[str]) -> str:
    """A command given as a list; of ``bash -lc …`` only what the shell runs."""
    if len(parts) == 3 and parts[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh") and parts[1] in ("-lc", "-c"):
        return parts[2]
    return " ".join(parts)


def _patch(text: str) -> str:
    """The files of a patch; any other text as it is."""
    files = _PATCHED.findall(text)
    return ", ".join(f"{verb.lower()} {path.strip()}" for verb, path in files) if files else text


def _plan(steps: Any) -> str:
    if not isinstance(steps, list):
        return ""
    done = sum(text_of(step, "status") == "completed" for step in steps)
    now = [step for step in steps if text_of(step, "status") == "in_progress"]
    doing = text_of(now[0], "content") or text_of(now[0], "step") if now else ""
    return f"{done} of {len(steps)} done" + (f", now: {doing}" if doing else "")


def _written(text: str) -> str:
    for sign, word in (("has been updated", "updated"), ("created successfully", "created")):
        if sign in text[:2000]:
            return word
    return one_line(_first(text))


def _first(text: str) -> str:
    return one_line(text.lstrip().partition("\n")[0], _PIECE)


def _ends(text: str) -> str:
    """The first and the last line: what a command says first, and what it came to."""
    first, last = _first(text), one_line(text.rstrip()[-4096:].rpartition("\n")[2], _PIECE)
    return f"{first} … {last}" if "\n" in text.strip() else first


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)[:_RAW_LIMIT]
    except (ValueError, RecursionError):
        return ""
