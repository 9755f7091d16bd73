"""Small topics, rows and traces for tests of the stages after tier 1."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.activation.decisions import DecisionLog
from engine.activation.gate import Gate, GateProvider, LocalGate
from engine.activation.patterns import PatternMatcher
from engine.activation.pipeline import WatcherPipeline
from engine.activation.similarity import Scorer, TfidfScorer
from engine.activation.trace import Funnel, Message, TopicTrace, Trace, Verdict
from engine.settings.model import GateSettings, WatcherSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.topics.model import Topic, Trigger

FEBRUARY = datetime(2026, 2, 16, 18, 45, tzinfo=UTC)
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


def row(name: str = "t", score: float = 0.28, verdict: Verdict = "active", **fields: Any) -> TopicTrace:
    """A row of a trace."""
    told = {"hits": (), "gate": None, "gate_at": 0.25, "activate_at": 0.6}
    rest = {"priority": "medium", "activation": "gated", "threshold": 0.25, "rule": "medium <.60", "why": ""}
    return TopicTrace(topic=name, score=score, verdict=verdict, **{**told, **rest, **fields})


def trace(*rows: TopicTrace, text: str = "Can you review this?", at: datetime = FEBRUARY, **of: Any) -> Trace:
    """A trace of these rows."""
    message = Message(text, of.get("direction", "input"), of.get("session_id", "s1"), at)
    return Trace(message=message, rows=rows, funnel=Funnel(len(rows), 0, 0, 0, 0))


@dataclass
class Clock:
    """A clock that a test can set."""

    now: datetime = FEBRUARY

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Topics:
    """A source of topics that a test can change."""

    topics: tuple[Topic, ...] = ()


def workspace_files(root: Path, *, read_only: bool = False) -> Files:
    """The files of an empty workspace."""
    (root / "memory-config.yaml").touch()
    return Files(Workspace.open(root), read_only=read_only)


def pipeline_of(
    source: Topics,
    watchers: WatcherSettings | None = None,
    *,
    scorer: Scorer | None = None,
    provider: GateProvider | None = None,
    decisions: DecisionLog | None = None,
    **gate: Any,
) -> WatcherPipeline:
    """A pipeline, by default with the similarity of the specification and the local gate."""
    settings = GateSettings(**gate)
    return WatcherPipeline(
        lambda: source.topics,
        PatternMatcher(),
        scorer or TfidfScorer(),
        Gate(provider or LocalGate(), settings),
        watchers or WatcherSettings(preset="spec"),
        settings,
        decisions,
    )
