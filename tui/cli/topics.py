"""``topics``: list, show, check, and switch them by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.errors import TopicError
from tui.cli.base import emit, emit_json, emit_problems, group, invocation, table

if TYPE_CHECKING:
    from engine.engine import Engine


@group("autopoiesis topics check", "autopoiesis topics show github-pr-review")
def topics() -> None:
    """The situational playbooks in topics/."""


@topics.verb("list", "autopoiesis topics list --json")
def topics_list(engine: Engine, as_json: bool) -> None:
    """List every topic with its triggers."""
    known = engine.library.topics
    if as_json:
        emit_json(known)
        return
    table(
        [
            [
                topic.name,
                topic.priority,
                topic.activation
                + (
                    {True: " (on)", False: " (off)"}.get(topic.forced, "") if topic.forced is not None else ""
                ),
                ", ".join(dict.fromkeys(trigger.type for trigger in topic.triggers)) or "–",
                topic.description,
            ]
            for topic in known
        ],
        ["topic", "priority", "activation", "triggers", "description"],
    )
    emit_problems(engine.library.problems)


@topics.verb("show", "autopoiesis topics show email-triage")
@click.argument("name")
def topics_show(engine: Engine, name: str, as_json: bool) -> None:
    """Show one topic as the engine understands it."""
    topic = engine.topic(name)
    if as_json:
        emit_json(topic)
        return
    emit(f"{topic.name} — {topic.title}")
    emit(f"{topic.path}   priority {topic.priority}, {topic.activation}")
    if topic.description:
        emit(topic.description)
    for trigger in topic.triggers:
        what = (
            trigger.match
            or ", ".join(trigger.words)
            or trigger.schedule
            or f"{trigger.source} {trigger.event}"
        )
        hint = f"   hint: {trigger.correction_hint}" if trigger.correction_hint else ""
        emit(f"  {trigger.type} ({trigger.scope}): {what.strip()}{hint}")
    for path in topic.subscriptions:
        emit(f"  brings {path}")
    emit()
    emit(topic.instructions)


@topics.verb("check", "autopoiesis topics check")
def topics_check(engine: Engine, as_json: bool) -> int:
    """Check every topic: file, line, what is wrong, and the hint. Exit 1 when there is an error."""
    from engine.topics.check import check_topics  # noqa: PLC0415 — probes patterns; only needed here

    problems = check_topics(engine.workspace, engine.files)
    if as_json:
        emit_json(problems)
    elif problems:
        for problem in problems:
            emit(f"{problem.severity}: {problem}")
    else:
        emit(f"{len(engine.library.topics)} topics, nothing wrong")
    return 1 if any(problem.severity == "error" for problem in problems) else 0


def _force(name: str, state: bool | None, said: str) -> None:
    with invocation().engine() as engine:
        topic = engine.topic(name)
        if topic is None:
            raise TopicError(f"there is no topic {name}", hint="see `autopoiesis topics list`")
        engine.library.force(topic.name, state)
        emit(f"{topic.name} {said}")


@topics.verb("activate", "autopoiesis topics activate release")
@click.argument("name")
def topics_activate(name: str) -> None:
    """Keep a topic active for every message until `topics reset`."""
    _force(name, True, "is active for every message, until `autopoiesis topics reset`")


@topics.verb("deactivate", "autopoiesis topics deactivate release")
@click.argument("name")
def topics_deactivate(name: str) -> None:
    """Keep a topic out of every prompt until `topics reset`."""
    _force(name, False, "stays out of every prompt, until `autopoiesis topics reset`")


@topics.verb("reset", "autopoiesis topics reset release")
@click.argument("name")
def topics_reset(name: str) -> None:
    """Give a topic back to its triggers."""
    _force(name, None, "follows its triggers again")
