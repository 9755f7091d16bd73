"""Small topics and a simple matcher for tests of the stages after tier 1."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.topics.model import Topic, Trigger

PR_INSTRUCTIONS = """
When a pull request arrives:
1. Read the description and the linked issue before the diff.
2. Check that tests cover the change, and that the suite is green.
3. Look for secrets, migrations and changes of public interfaces.
4. Comment per file, most important first; approve or request changes.
Never merge on behalf of the author.
"""


def topic(name: str = "t", instructions: str = "", **fields: Any) -> Topic:
    """A topic with defaults for all fields irrelevant to a test."""
    return Topic(
        name=name,
        path=f"topics/{name}.md",
        title=fields.pop("title", ""),
        description=fields.pop("description", ""),
        instructions=instructions,
        **fields,
    )


def pattern(match: str, **fields: Any) -> Trigger:
    """A pattern trigger."""
    return Trigger(type="pattern", match=match, **fields)


def pr_topic(**fields: Any) -> Topic:
    """An ordinary playbook for reviewing pull requests."""
    return topic(
        "github-pr-review",
        PR_INSTRUCTIONS,
        title="GitHub PR review",
        description="How pull requests are reviewed here.",
        triggers=(pattern("PR|pull request|review"),),
        **{"priority": "high", **fields},
    )


@dataclass
class Topics:
    """A source of topics that a test can change."""

    topics: tuple[Topic, ...] = ()


def workspace_files(root: Path, *, read_only: bool = False) -> Files:
    """The files of an empty workspace."""
    (root / "memory-config.yaml").touch()
    return Files(Workspace.open(root), read_only=read_only)
