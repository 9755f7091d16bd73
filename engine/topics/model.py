"""A topic (spec 2.2 and 4.4): a situational playbook with the triggers that activate it."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from engine.startup.records import dataclass

TriggerType = Literal[
    "pattern", "keywords", "glob", "code", "language", "mention", "url", "sentiment", "webhook", "cron"
]
Scope = Literal["input", "output", "both"]
Activation = Literal["auto", "gated", "manual"]
Priority = Literal["low", "medium", "high", "critical"]

PRIORITY_ORDER: dict[Priority, int] = {"critical": 3, "high": 2, "medium": 1, "low": 0}


@dataclass(frozen=True, slots=True)
class Trigger:
    """One trigger of a topic."""

    type: TriggerType
    scope: Scope = "input"
    match: str = ""  # regular expression of a ``pattern``, glob of a ``glob``, otherwise empty
    words: tuple[str, ...] = ()
    """Keywords of ``keywords``; programming languages of ``code`` (empty: any code); ISO 639-1 codes of
    ``language``; names of ``mention``; hosts or URL globs of ``url`` (empty: any URL)."""
    source: str = ""
    event: str = ""
    schedule: str = ""  # cron expression of five fields, UTC
    correction_hint: str = ""  # hint to the agent, for the scopes ``output`` and ``both``
    line: int = 0  # 1-based line in the topic's file


@dataclass(frozen=True, slots=True)
class Topic:
    """A playbook that is injected into the prompt when its situation arises."""

    name: str  # the file's stem; unique in the workspace
    path: str
    title: str  # the first heading
    description: str  # one line: from the header, else the first sentence of the instructions
    instructions: str  # the body under ``## Instructions``, else the whole body without the title
    context_notes: str = ""  # the body under ``## Context Notes``
    triggers: tuple[Trigger, ...] = ()  # in file order
    subscriptions: tuple[str, ...] = ()  # workspace-relative paths to inject when the topic is active
    activation: Activation = "gated"
    priority: Priority = "medium"  # decides the policy row and the order of budgeting
    max_context_kb: float | None = None
    """Cap on instructions plus subscriptions, KiB of UTF-8; ``None`` for no cap."""
    similarity_threshold: float | None = None
    """Tier-2 score from which the gate is asked; ``None`` for the workspace's setting."""
    activation_threshold: float | None = None
    """Tier-2 score from which the topic activates without the gate; ``None`` for its policy row's."""
    examples: tuple[str, ...] = ()  # messages that should activate it
    forced: bool | None = None  # switched on or off by hand
    digest: str = field(default="", compare=False)
    """sha256 of the file; the key of cached data derived from it."""
