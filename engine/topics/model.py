"""What a topic is (spec 2.2 and 4.4): a situational playbook with the triggers that call it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

TriggerType = Literal[
    "pattern", "keywords", "glob", "code", "language", "mention", "url", "sentiment", "webhook", "cron"
]
Scope = Literal["input", "output", "both"]
Activation = Literal["auto", "gated", "manual"]
Priority = Literal["low", "medium", "high", "critical"]

PRIORITY_ORDER: dict[Priority, int] = {"critical": 3, "high": 2, "medium": 1, "low": 0}


@dataclass(frozen=True, slots=True)
class Trigger:
    """One trigger of a topic.

    Attributes:
        type: Which detector reads it.
        scope: Which direction it watches: ``input`` (the default), ``output`` (steering) or ``both``.
        match: The regular expression of a ``pattern``; the glob of a ``glob``; otherwise empty.
        words: Keywords of ``keywords``; programming languages of ``code`` (empty: any code); ISO 639-1
            codes of ``language``; names of ``mention``; hosts or URL globs of ``url`` (empty: any URL).
        source: Webhook source.
        event: Webhook event.
        schedule: Cron expression with five fields, UTC.
        correction_hint: What an output watcher tells the agent.
        line: 1-based line of the trigger in the topic's file.
    """

    type: TriggerType
    scope: Scope = "input"
    match: str = ""
    words: tuple[str, ...] = ()
    source: str = ""
    event: str = ""
    schedule: str = ""
    correction_hint: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Topic:
    """A playbook that becomes part of the prompt when its situation arises.

    Attributes:
        name: The file's stem; unique in the workspace.
        path: Workspace-relative path of its file.
        title: The first heading.
        description: The header's ``description``, else the first sentence of the instructions; one line.
        instructions: The body under ``## Instructions``, else the whole body without the title.
        context_notes: The body under ``## Context Notes``; empty when absent.
        triggers: In file order.
        subscriptions: Workspace-relative paths to inject when the topic is active.
        activation: ``auto``, ``gated`` or ``manual``.
        priority: Decides the policy row and who gets budget first.
        max_context_kb: Cap on instructions plus subscriptions, KiB of UTF-8; ``None`` for no cap.
        similarity_threshold: Tier-2 score from which the topic counts as similar; ``None`` for the
            workspace's setting. It is the lower cut: from here the gate is asked.
        activation_threshold: Tier-2 score from which the topic activates without the gate; ``None`` for what
            its priority's policy row says. It is the upper cut.
        examples: Messages that should activate it (header ``examples:``).
        forced: ``True``/``False`` when a person activated or deactivated it by hand; ``None`` otherwise.
        digest: sha256 of the file's bytes: the identity under which derived data is cached.
    """

    name: str
    path: str
    title: str
    description: str
    instructions: str
    context_notes: str = ""
    triggers: tuple[Trigger, ...] = ()
    subscriptions: tuple[str, ...] = ()
    activation: Activation = "gated"
    priority: Priority = "medium"
    max_context_kb: float | None = None
    similarity_threshold: float | None = None
    activation_threshold: float | None = None
    examples: tuple[str, ...] = ()
    forced: bool | None = None
    digest: str = field(default="", compare=False)
