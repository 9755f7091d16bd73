"""A rule as an output trigger: what an agent writes or runs shows that it was broken, and the next prompt
says so (spec 4.3).
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
    """The topic that watches for one rule."""

    path: str  # its file, workspace-relative
    text: str  # of that file
    sees: tuple[str, ...]  # what it looks for, in words; empty for an expression of the person's own
    problems: tuple[Problem, ...]  # none of them an error
    is_written: bool = False
    commit: ChangeCommit = field(default_factory=ChangeCommit)


def watcher_path(rule: Rule) -> str:
    """The file of the topic that watches for a rule, workspace-relative."""
    return f"topics/rule-{rule.id}.md"


def watcher_of(rule: Rule, pattern: str, workspace: Workspace) -> Watcher:
    """The topic that watches for a rule.

    Args:
        pattern: What breaking it looks like; what its words tell where that is empty.

    Raises:
        ChangeRefused: Its words do not tell, or the pattern cannot be used.
    """
    found, sees = (pattern, ()) if pattern else what_breaks(rule.text)
    if not found:
        raise ChangeRefused(
            f"nothing in an agent's words or commands would show that {rule.text!r:.80} is broken",
            where=PATH,
            hint="say what does: --pattern REGEX",
        )
    trigger = {"type": "pattern", "match": found, "scope": "output", "correction_hint": rule.text}
    header = {
        "type": "topic",
        "description": f"Watches what the agent writes and runs for: {rule.text}",
        "triggers": [trigger],
        "activation": "auto",
    }
    lines = [line for key, value in header.items() for line in yamlwrite.lines(key, value)]
    body = f"# Rule {rule.id}\n\n## Instructions\n\nOf my rules, keep this one: {rule.text}\n"
    path, text = watcher_path(rule), "\n".join(("---", *lines, "---", "", body))
    problems = check_versions({path: text.encode("utf-8", "replace")}, workspace)
    wrong = next((problem for problem in problems if problem.severity == "error"), None)
    if wrong is not None:
        raise ChangeRefused(wrong.what, where="--pattern" if pattern else path, hint=wrong.hint)
    return Watcher(path, text, sees, problems)
