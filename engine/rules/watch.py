"""Turns a rule into an output trigger: when an agent's text or commands break it, the next prompt says so
(spec 4.3).

A pattern of violations can be derived from rules that forbid words in back quotes, an identifier or an
option, and for the commands in the tables below. Everything taken from the rule is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.errors import ChangeRefused
from engine.rules.rulebook import LONGEST, PATH
from engine.startup.lazy import expression
from engine.store import yamlwrite
from engine.store.change import ChangeCommit
from engine.topics.check import check_versions

if TYPE_CHECKING:
    from engine.errors import Problem
    from engine.rules.rulebook import Rule
    from engine.store.paths import Workspace


@dataclass(frozen=True, slots=True)
class Watcher:
    """The topic that watches for violations of a rule."""

    path: str  # its file, workspace-relative
    text: str  # its content
    sees: tuple[str, ...]  # descriptions of what it matches; empty for the user's own pattern
    problems: tuple[Problem, ...]  # warnings only
    is_written: bool = False
    commit: ChangeCommit = field(default_factory=ChangeCommit)


def watcher_path(rule: Rule) -> str:
    """The path of the topic that watches for a rule, workspace-relative."""
    return f"topics/rule-{rule.id}.md"


def watcher_of(rule: Rule, pattern: str, workspace: Workspace) -> Watcher:
    """The topic that watches for violations of a rule.

    Args:
        pattern: Matches a violation; derived from the rule's text if empty.

    Raises:
        ChangeRefused: No pattern can be derived, or the given one is unusable.
    """
    found, sees = (pattern, ()) if pattern else what_breaks(rule.text)
    if not found:
        raise ChangeRefused(
            f"cannot derive a pattern for violations of {rule.text!r:.80}",
            where=PATH,
            hint="give one: --pattern REGEX",
        )
    trigger = {"type": "pattern", "match": found, "scope": "output", "correction_hint": rule.text}
    header = {
        "type": "topic",
        "description": f"Watches the agent's text and commands for violations of: {rule.text}",
        "triggers": [trigger],
        "activation": "auto",
    }
    lines = [line for key, value in header.items() for line in yamlwrite.lines(key, value)]
    body = f"# Rule {rule.id}\n\n## Instructions\n\nFollow this rule of mine: {rule.text}\n"
    path, text = watcher_path(rule), "\n".join(("---", *lines, "---", "", body))
    problems = check_versions({path: text.encode("utf-8", "replace")}, workspace)
    wrong = next((problem for problem in problems if problem.severity == "error"), None)
    if wrong is not None:
        raise ChangeRefused(wrong.what, where="--pattern" if pattern else path, hint=wrong.hint)
    return Watcher(path, text, sees, problems)


_MARK = expression(
    r"(?P<off>\b(?:do(?:n['’]?t| not)(?! forget)|never|no longer|no more|no|not|stop|without|avoid"
    r"|shouldn['’]t|instead of|rather than|over|niemals|nie|nicht|kein\w*|jamais|nunca|nooit)\b"
    r"(?:\s+(?:ever\s+)?us(?:e|ing)\b)?)"
    r"|\b(?:us(?:e|ing)|prefer|always|must|only|but|instead|with|as)\b",
    re.IGNORECASE,
)
"""Words that forbid what follows, or ask for it."""
_OFF_BEHIND = expression(r"\b(?:isn['’]t|aren['’]t|not|never) (?:ok\w*|allowed|wanted|used)\b", re.IGNORECASE)
_LITERAL = expression(
    r"`(?P<quoted>[^`\n]{1,80})`|(?<![\w./-])(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\b(?!/)|--[a-z][\w-]+)"
)
_FILE = expression(
    r".*\.(?:go|py|ts|js|jsx|tsx|rs|md|json|sh|ya?ml|toml|txt|com|org|net|io|dev)", re.IGNORECASE
)

_GAP = r"[^\n;&|]"
"""A character within the same command."""
_GIT = rf"\bgit\b{_GAP}{{0,60}} "
_ALONE = r"\b(?=[ .!;]*(?:$|any|directly))"
"""No condition follows: whether it was met could not be seen."""

_NEVER = {
    r"amend": ("git commit --amend", rf"{_GIT}commit\b{_GAP}{{0,160}} --amend\b"),
    r"force[- ]?push|push --force": ("git push --force", rf"{_GIT}push\b{_GAP}{{0,160}} (?:--force|-f)\b"),
    r"push\w*\b.*\b(?:main|master)\b": ("git push … main", rf"{_GIT}push\b{_GAP}{{0,80}}\b(?:main|master)\b"),
    rf"(?<!force[- ])push{_ALONE}": ("git push", rf"{_GIT}push\b"),
    rf"commit{_ALONE}": ("git commit", rf"{_GIT}commit\b"),
    r"squash": ("merging with --squash", rf"\b(?:gh pr|git) merge\b{_GAP}{{0,160}} --squash\b"),
    r"rebas": ("git rebase", rf"{_GIT}(?:rebase\b|pull\b{_GAP}{{0,80}} --rebase\b)"),
    r"stash": ("git stash", rf"{_GIT}stash\b"),
    r"(?:skip|bypass|disabl)\w*\b.*\bhooks?\b": ("--no-verify", r" --no-verify\b"),
    r"(?:hard )?reset": ("git reset --hard", rf"{_GIT}reset\b{_GAP}{{0,80}} --hard\b"),
    r"co-?author\w*|generated (?:with|by)": (
        "Co-Authored-By",
        r"\bCo-Authored-By:|\bGenerated with \[?Claude",
    ),
    r"emojis?": ("emojis", r"[\U0001f300-\U0001faff\u2705\u274c\u26a0\u2728\u2b50]"),
}
"""For rules that forbid: keyword → description and pattern of the violation."""
_ALWAYS = {
    r"drafts?": ("gh pr create without --draft", r"\bgh pr create\b(?![^\n]{0,200}(?: (?:--draft|-d)\b|…))"),
    r"squash": ("gh pr merge without --squash", r"\bgh pr merge\b(?![^\n]{0,200}(?: (?:--squash|-s)\b|…))"),
    r"(?:us|american)[ -](?:english|spelling)": (
        "British spellings",
        r"\b(?:(?:behav|col|fav)our\w*|centred?|\w{3,}[ai][lr]is(?:e[ds]?|ing|ation))\b",
    ),
}
"""The same for rules that demand. A truncated command (…) proves nothing."""


def what_breaks(rule: str) -> tuple[str, tuple[str, ...]]:
    """A pattern of violations and its descriptions; empty if none can be derived."""
    rule = rule[:LONGEST]
    found = dict(_commands(rule))
    for literal in _forbidden(rule):
        pattern = r"\s+".join(re.escape(word).replace(r"\-", "-") for word in literal.split())
        pattern = rf"{_edge(literal[0])}{pattern}{_edge(literal[-1])}"
        if not any(re.search(known, literal, re.IGNORECASE) for known in found):
            found[pattern] = literal
    return "|".join(found), tuple(found.values())


def _commands(rule: str) -> Iterator[tuple[str, str]]:
    for table, is_off in ((_NEVER, True), (_ALWAYS, False)):
        for named, (words, pattern) in table.items():
            match = re.search(rf"\b(?:{named})", rule, re.IGNORECASE)
            if match is not None and _is_forbidden(rule, match.start()) == is_off:
                yield pattern, words


def _forbidden(rule: str) -> Iterator[str]:
    """The literals a rule forbids."""
    for match in _LITERAL.finditer(rule):
        literal = (match["quoted"] or match["name"]).strip()
        if len(literal) > 1 and not _FILE.fullmatch(literal) and _is_forbidden(rule, match.start()):
            yield literal


def _is_forbidden(rule: str, at: int) -> bool:
    """Whether the word at an offset of a rule is forbidden by it."""
    marks = [mark for mark in _MARK.finditer(rule) if mark.start() < at and mark.end() <= at + 1]
    return bool(marks[-1]["off"]) if marks else _OFF_BEHIND.search(rule, at) is not None


def _edge(character: str) -> str:
    return r"\b" if character.isalnum() or character == "_" else ""
