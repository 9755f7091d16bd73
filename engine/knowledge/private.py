"""Finds references to private data in skills, which are shared: knowledge, logs, conversations, mail ids."""

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
    """Line and reason of every reference to private data in a skill.

    ``first_line`` is the line on which ``text`` starts. Fenced code counts as an example unless it names one
    of ``known``, the workspace's files.
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
            found[line, f"a skill refers to private knowledge: {path}"] = None
    for match in _MAIL_ID.finditer(prose):
        line = first_line + bisect_right(breaks, match.start())
        found[line, f"a skill contains a mail id: {match[0]}"] = None
    return sorted(found)


def is_layout(path: str) -> bool:
    """True if every workspace has this path, so that it reveals nothing about this one."""
    return _LAYOUT.fullmatch(path) is not None


def _is_file_path(path: str) -> bool:
    """True if a path is meant as a file, such as ``logs/x.jsonl`` but not ``logs/x``."""
    return path.endswith((".jsonl", ".log") if path.startswith("logs/") else (".jsonl", ".md"))
