"""What a skill may not name, because it travels: private knowledge, logs, conversations, ids of mails."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection

from engine.knowledge.references import is_path, without_examples

_PRIVATE = re.compile(
    r"(?<![\w/.@<>-])(?:\./|(?:\.\./)+)?((?:knowledge|raw|conversations|logs)/[\w@%+./-]+)(?![\w<{*$])"
)
_MAIL_ID = re.compile(
    r"\bmid:[^\s<>@]{1,200}@[^\s<>]{1,200}"
    r"|\b(?:message-id|in-reply-to)\s?:\s?<?[^\s<>@]{1,200}@[^\s<>]{1,200}>?"
    r"|<(?=[^\s<>@]{0,60}\d)[^\s<>@:/]{12,200}@[^\s<>@]{1,200}>",
    re.IGNORECASE,
)
_LAYOUT = re.compile(
    r"knowledge/(?:(?:facts|decisions|questions|playbooks|tasks|digest)\.md|ledger\.json|memory/MEMORY\.md"
    r"|projects/_active\.md|people/_index\.md|prompts/system\.md|identity/[A-Z]+\.md"
    r"|(?:archive|identity|memory|journal|projects|people|procedures|reference|files|prompts)/?)"
    r"|raw/conversations/?|logs/cleanup\.jsonl"
)


def private_points(text: str, first_line: int, known: Collection[str]) -> list[tuple[int, str]]:
    """Line and reason of everything in a skill that points at what stays behind.

    ``first_line`` is the line of the file on which ``text`` starts. Fenced code is an example
    unless it names one of ``known``, the workspace's files.
    """
    breaks = [match.start() for match in re.finditer("\n", text)]
    prose = without_examples(text)
    found: dict[tuple[int, str], None] = {}
    for match in _PRIVATE.finditer(text):
        path = match[1].rstrip(".")
        is_example = prose[match.start() : match.end()] != match[0]
        if is_layout(path) or (is_example and path not in known) or not is_path(path):
            continue
        if path in known or _is_file_path(path):
            line = first_line + bisect_right(breaks, match.start())
            found[line, f"a skill points at private knowledge: {path}"] = None
    for match in _MAIL_ID.finditer(prose):
        line = first_line + bisect_right(breaks, match.start())
        found[line, f"a skill names a mail: {match[0]}"] = None
    return sorted(found)


def is_layout(path: str) -> bool:
    """Whether every workspace has a path, so that naming it reveals nothing about this one."""
    return _LAYOUT.fullmatch(path) is not None


def _is_file_path(path: str) -> bool:
    """Whether a path is meant as a file: ``logs/x`` in prose is not, ``logs/x.jsonl`` is."""
    return path.endswith((".jsonl", ".log") if path.startswith("logs/") else (".jsonl", ".md"))
