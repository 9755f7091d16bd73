"""Summarizes a tool call and its result, each on one line (spec 2.1)."""

from __future__ import annotations

import json
import re
from typing import Any

from engine.transcripts.brief import LIMIT, count, one_line
from engine.transcripts.importers.session import number_of, text_of
from engine.transcripts.injected import strip_injected

_SUMMARY_KEYS = (
    "command",
    "cmd",
    "file_path",
    "filePath",
    "notebook_path",
    "path",
    "target_file",
    "target_directory",
    "url",
    "query",
    "pattern",
    "glob_pattern",
    "description",
    "skill",
    "name",
    "title",
    "prompt",
    "message",
    "text",
    "input",
)
_SHELL_TOOLS = frozenset(
    {"bash", "shell", "exec", "exec_command", "local_shell", "shell_command", "bashoutput"}
)
_READ_TOOLS = frozenset({"read", "notebookread", "view_image"})
_WRITE_TOOLS = frozenset({"edit", "multiedit", "write", "notebookedit"})
_LIST_TOOLS = frozenset({"grep", "glob", "ls", "websearch"})
_PLAN_TOOLS = frozenset({"todowrite", "update_plan"})
_OWN_OUTPUT = _WRITE_TOOLS | frozenset(
    {"askuserquestion", "enterplanmode", "exitplanmode", "exit_plan_mode", "todowrite"}
)
"""Tools of Claude Code that word their output themselves: no stranger's text can stand for the person's."""
_OWN_ERRORS = _READ_TOOLS | {"glob", "ls", "skill"}
"""The same of their errors."""
_REJECTED = re.compile(
    r"\s*+(?:Error: )?+(?:<tool_use_error>)?+\s*+(?:The user doesn['’]t want to (?:proceed with|take) this|"
    r"The agent proposed a plan that was rejected by the user)"
)
_INTERRUPTED = re.compile(r"\s*\[Request interrupted by user")
_ERROR_TAGS = re.compile(r"</?tool_use_error>")
_EXIT = re.compile(r"^Exit code (\d+)\s*", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_LINE_LIMIT = 80
_RAW_LIMIT = 64 * 1024


def summary_of(name: str, arguments: Any) -> str:
    """Summarize a tool's arguments on one line."""
    if not isinstance(arguments, dict):
        return one_line(
            strip_injected(_patched_files(arguments) if isinstance(arguments, str) else _json(arguments))
        )
    kind = name.lower()
    if kind in _PLAN_TOOLS:
        return one_line(_plan_progress(arguments.get("todos") or arguments.get("plan")))
    if kind in ("task", "agent"):
        who, what = text_of(arguments, "subagent_type"), text_of(arguments, "description")
        return one_line(f"{who}: {what}" if who and what else what or who or text_of(arguments, "prompt"))
    if kind == "askuserquestion":
        listed = arguments.get("questions")
        questions = [text_of(each, "question") for each in listed] if isinstance(listed, list) else []
        return one_line(" ".join(filter(None, questions)))
    if kind == "skill":
        return one_line(f"{text_of(arguments, 'skill')} {text_of(arguments, 'args')}")
    if kind in ("grep", "glob") and text_of(arguments, "path"):
        return one_line(f"{text_of(arguments, 'pattern')} in {text_of(arguments, 'path')}")
    if kind in _READ_TOOLS and number_of(arguments, "limit"):
        first = max(number_of(arguments, "offset"), 1)
        last = first + number_of(arguments, "limit") - 1
        return one_line(f"{text_of(arguments, 'file_path')}:{first}-{last}")
    for key in _SUMMARY_KEYS:
        value = arguments.get(key)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = command_line(value)
        if isinstance(value, str) and value.strip():
            return one_line(strip_injected(_patched_files(value[:_RAW_LIMIT])))
    return one_line(strip_injected(_json(arguments))) if arguments else ""


def is_shortened(text: str) -> bool:
    """Whether a tool result does not fit on one line of a transcript."""
    return len(text) > LIMIT or "\n" in text.strip()


def is_rejection(text: str) -> bool:
    """Whether a tool result says that the user rejected the call; anybody can write these words."""
    return _REJECTED.match(text) is not None


def is_persons_rejection(
    name: str, text: str, *, failed: bool, denial: str = "", says_denials: bool = False
) -> bool:
    """Whether the person rejected a call of Claude Code, and not only a text says so.

    Without a ``denial``, which newer versions record, the words count only where the tool does not put other
    people's there: what a server, a page or a sub-agent fails with is theirs. The error of a shell command
    begins with its exit code.

    Args:
        name: The tool.
        failed: The log marks the result as an error.
        denial: What the log says of why the call did not run.
        says_denials: Whoever wrote the log would say of a shell command that it was rejected.
    """
    if denial or not is_rejection(text):
        return denial == "user-rejected" and is_rejection(text)
    kind = name.casefold()
    is_shell = kind == "bash" and not says_denials and text.startswith("The user ")
    return kind in _OWN_OUTPUT or (failed and (kind in _OWN_ERRORS or is_shell))


def result_of(name: str, text: str, *, failed: bool = False) -> str:
    """Summarize a tool's output on one line; empty if the call already says everything.

    ``failed`` means that the log marks the result as an error.
    """
    kind = name.lower()
    if failed and is_persons_rejection(name, text, failed=True):
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
        return one_line(f"{what}: {_outer_lines(reason) if kind in _SHELL_TOOLS else reason}")
    lines = text.count("\n") + 1
    if not text:
        return "no output" if kind in _SHELL_TOOLS else ""
    if kind in _PLAN_TOOLS:
        return ""
    if kind in _READ_TOOLS:
        return count(lines, "line")
    if kind in _WRITE_TOOLS:
        return _write_outcome(text)
    if lines == 1:
        return one_line(text)
    if kind in _LIST_TOOLS:
        found = "file" if kind in ("glob", "ls") else "line"
        return one_line(f"{count(lines, found)}: {_first_line(text)}")
    return one_line(
        f"{_outer_lines(text) if kind in _SHELL_TOOLS else _first_line(text)} ({count(lines, 'line')})"
    )


def command_line(parts: list[str]) -> str:
    """Join a command given as a list; for ``bash -lc …``, only the command that the shell runs."""
    if len(parts) == 3 and parts[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh") and parts[1] in ("-lc", "-c"):
        return parts[2]
    return " ".join(parts)


def _patched_files(text: str) -> str:
    """The files that a patch changes; any other text is unchanged."""
    files = _PATCHED.findall(text)
    return ", ".join(f"{verb.lower()} {path.strip()}" for verb, path in files) if files else text


def _plan_progress(steps: Any) -> str:
    if not isinstance(steps, list):
        return ""
    done = sum(text_of(step, "status") == "completed" for step in steps)
    now = [step for step in steps if text_of(step, "status") == "in_progress"]
    doing = text_of(now[0], "content") or text_of(now[0], "step") if now else ""
    return f"{done} of {len(steps)} done" + (f", now: {doing}" if doing else "")


def _write_outcome(text: str) -> str:
    for sign, word in (("has been updated", "updated"), ("created successfully", "created")):
        if sign in text[:2000]:
            return word
    return one_line(_first_line(text))


def _first_line(text: str) -> str:
    return one_line(text.lstrip().partition("\n")[0], _LINE_LIMIT)


def _outer_lines(text: str) -> str:
    """The first and the last line of a command's output."""
    text = text.strip()
    start = text.rfind("\n") + 1
    return f"{_first_line(text)} … {_first_line(text[start:])}" if start else _first_line(text)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)[:_RAW_LIMIT]
    except (ValueError, RecursionError):
        return ""
