"""``topics check``: everything wrong with the topics of a workspace, before a message finds out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.topics.library import TopicLibrary
from engine.topics.patterncheck import trigger_problems

if TYPE_CHECKING:
    from engine.errors import Problem
    from engine.store.files import Files
    from engine.store.paths import Workspace


def check_topics(workspace: Workspace, files: Files) -> tuple[Problem, ...]:
    """Reads all topics and tries all patterns.

    Returns:
        Problems by file and line: headers, values, triggers, subscriptions, names; patterns that do not
        compile, can take exponential time, are slow or match nearly everything; schedules that are not cron
        expressions.
    """
    library = TopicLibrary(workspace, files, check_patterns=False)
    library.load()
    problems = set(library.problems)
    for topic in library.topics:
        problems.update(trigger_problems(topic, probe=True))
    return tuple(
        sorted(problems, key=lambda problem: (problem.path, problem.line, problem.severity, problem.what))
    )
