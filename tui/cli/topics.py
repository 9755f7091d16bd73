"""``topics``: lists, shows, checks and makes topics, and forces them on or off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.errors import TopicError
from tui.cli.base import emit, emit_json, emit_problems, emitted_json, group, invocation, table
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine


@group(
    "autopoiesis topics new",
    "autopoiesis topics replay github-pr-review",
    "autopoiesis topics check",
    late={
        "new": "tui.cli.topics_new:topics_new",
        "replay": "tui.cli.topics_new:topics_replay",
        "suggest": "tui.cli.topics_new:topics_suggest",
        "import": "tui.cli.topics_new:topics_import",
    },
)
def topics() -> None:
    """Manage the playbooks in topics/."""


@topics.verb("list", "autopoiesis topics list --json")
def topics_list(engine: Engine, as_json: bool) -> None:
    """List all topics with their triggers."""
    known = engine.library.topics
    if emitted_json(as_json, known):
        return
    table(
        [
            [
                topic.name,
                topic.priority,
                topic.activation + ("" if topic.forced is None else " (on)" if topic.forced else " (off)"),
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
    """Show one topic as the engine reads it."""
    topic = engine.topic(name)
    if emitted_json(as_json, topic):
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
        emit(f"  includes {path}")
    emit()
    emit(topic.instructions)


@topics.verb("check", "autopoiesis topics check")
def topics_check(engine: Engine, as_json: bool) -> int:
    """Check all topics, and list problems by file and line. Exit 1 if there is an error."""
    from engine.topics.check import check_topics  # noqa: PLC0415 — probes patterns; only needed here

    problems = check_topics(engine.workspace, engine.files)
    if as_json:
        emit_json(problems)
    elif problems:
        for problem in problems:
            emit(f"{problem.severity}: {problem}")
    else:
        emit(f"{plural(len(engine.library.topics), 'topic')}, no problems")
    return 1 if any(problem.severity == "error" for problem in problems) else 0


def _force(name: str, state: bool | None, outcome: str) -> None:
    with invocation().engine() as engine:
        topic = engine.topic(name)
        if topic is None:
            raise TopicError(f"no topic named {name}", hint="see: autopoiesis topics list")
        engine.library.force(topic.name, state)
        emit(f"{topic.name} {outcome}")


@topics.verb("activate", "autopoiesis topics activate release")
@click.argument("name")
def topics_activate(name: str) -> None:
    """Keep a topic active for every message until `topics reset`."""
    _force(name, True, "is active for every message until `autopoiesis topics reset`")


@topics.verb("deactivate", "autopoiesis topics deactivate release")
@click.argument("name")
def topics_deactivate(name: str) -> None:
    """Keep a topic out of every prompt until `topics reset`."""
    _force(name, False, "stays out of every prompt until `autopoiesis topics reset`")


@topics.verb("reset", "autopoiesis topics reset release")
@click.argument("name")
def topics_reset(name: str) -> None:
    """Let a topic's triggers decide again."""
    _force(name, None, "follows its triggers again")
