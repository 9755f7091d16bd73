"""Turns a rule into an output trigger: when an agent's text or commands break it, the next prompt says so
(spec 4.3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.errors import ChangeRefused
from engine.rules.rulebook import PATH
from engine.rules.seen import what_breaks
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
