"""``topics check``: finds every problem of a workspace's topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from engine.store.documents import parse
from engine.topics.library import TopicLibrary, is_topic_path
from engine.topics.loader import load_topic
from engine.topics.patterncheck import trigger_problems

if TYPE_CHECKING:
    from engine.errors import Problem
    from engine.store.files import Files
    from engine.store.paths import Workspace


def check_topics(workspace: Workspace, files: Files) -> tuple[Problem, ...]:
    """Reads all topics, tries all patterns, and returns the problems by file and line.

    Problems of headers, values, triggers, subscriptions and names; patterns that do not compile, can take
    exponential time, are slow or match nearly everything; invalid schedules.
    """
    library = TopicLibrary(workspace, files, check_patterns=False)
    library.load()
    problems = set(library.problems)
    for topic in library.topics:
        problems.update(trigger_problems(topic, probe=True))
    return _sorted(problems)


def check_versions(versions: Mapping[str, bytes], workspace: Workspace) -> tuple[Problem, ...]:
    """As ``check_topics``, but only for the topics among the given file contents by path."""
    problems: set[Problem] = set()
    for path, data in versions.items():
        if not path.startswith("topics/") or not path.endswith(".md") or not is_topic_path(path):
            continue
        topic, found = load_topic(parse(data, path), workspace)
        problems.update(found)
        if topic is not None:
            problems.update(trigger_problems(topic, probe=True))
    return _sorted(problems)


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(
        sorted(problems, key=lambda problem: (problem.path, problem.line, problem.severity, problem.what))
    )
