"""``trace``, ``decisions`` and ``topics``: which topics fire for a message, why, and if that was right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.activation.trace import Trace
from engine.errors import TopicError
from tui.cli.base import (
    emit,
    emit_json,
    emit_problems,
    emitted_json,
    group,
    invocation,
    minute,
    prompt_for_gate,
    read_text,
    table,
    verb,
)
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.activation.decisions import Decision
    from engine.engine import Engine


def number(value: float | None) -> str:
    """Formats a score: ``.31``, ``1.0``, ``–`` for none."""
    if value is None:
        return "–"
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1.0"


def trace_lines(trace: Trace, *, rows: int = 12) -> list[list[str]]:
    """The rows of a trace as table cells: mark, topic, tier 1, score, rule, gate, reason."""
    lines = []
    for row in trace.rows[:rows]:
        words = ", ".join(dict.fromkeys(hit.matched for hit in row.hits)) or "–"
        gate = "–" if row.gate is None else row.gate.answer.upper()
        sign = "●" if row.active else "◐" if row.offered else "○"
        lines.append([sign, row.topic, words[:28], number(row.score), row.rule, gate, row.why])
    return lines


def print_trace(trace: Trace, *, rows: int = 12, explained: bool = False) -> None:
    """Prints a trace: the funnel, a table of at most ``rows`` rows, the reason, and if asked the evidence."""
    funnel = trace.funnel
    calibrated = trace.deciding == "probability"
    near = "likely" if calibrated else "similar"
    offered = f", {len(trace.offered)} offered" if trace.offered else ""
    emit(
        f"{plural(funnel.topics, 'topic')} → {funnel.tier1} by trigger → "
        f"{funnel.tier2} {near} or triggered → {funnel.asked} asked → {funnel.active} active{offered}"
    )
    local_ms = trace.tier1_ms + trace.tier2_ms
    emit(f"tiers 1+2 {local_ms:.1f} ms, gate {trace.gate_ms:.1f} ms, ${trace.cost_usd:.4f}")
    heads = ["", "topic", "tier 1", "p" if calibrated else "cos", "rule", "gate", "why"]
    columns = len(heads) - 1 if explained else len(heads)
    table([line[:columns] for line in trace_lines(trace, rows=rows)], heads[:columns])
    if len(trace.rows) > rows:
        emit(f"   {len(trace.rows) - rows} more below")
    if explained:
        from tui.cli.trace_explain import print_evidence  # noqa: PLC0415 — importing rich takes a quarter second

        print_evidence(trace, rows)
    for correction in trace.corrections:
        emit(f"steer {correction.topic}: {correction.hint} (wrote “{correction.matched}”)")
    emit(trace.why)


@verb('"Can you review the PR that just came in?"', '--explain "Can you review the PR that just came in?"')
@click.argument("text")
@click.option("--direction", type=click.Choice(["input", "output"]), default="input", show_default=True,
              help="Whether the message was sent to the agent or written by it.")  # fmt: skip
@click.option(
    "--path", "paths", multiple=True, metavar="PATH", help="A file named by a tool call (for glob triggers)."
)
@click.option("--event", metavar="SOURCE:EVENT", help="Trace a webhook or cron event instead of a message.")
@click.option("--log", "record", is_flag=True, help="Write the decisions to the decision log, for labelling.")
@click.option("--all", "every", is_flag=True, help="Show all topics, not just the nearest twelve.")
@click.option(
    "--explain",
    "explained",
    is_flag=True,
    help="Explain the scores of the nearest topics, with the matching words marked in the message.",
)
def trace(
    text: str,
    direction: str,
    paths: tuple[str, ...],
    event: str | None,
    record: bool,
    every: bool,
    explained: bool,
    as_json: bool,
) -> None:
    """Show which topics TEXT activates, by which tier, and why; `-` reads standard input."""
    with invocation().engine() as engine, prompt_for_gate(engine):
        result = engine.trace(
            read_text(text),
            direction="output" if direction == "output" else "input",
            paths=paths,
            event=event,
            record=record,
        )
        if as_json:
            emit_json(result)
        else:
            print_trace(result, rows=len(result.rows) if every else 12, explained=explained)
            emit_problems(engine.problems())


@group("list --topic release", "label 3f9c21ab --noise")
def decisions() -> None:
    """Show and label the decision log: which topics were activated, and which were not."""


@decisions.verb("list", "--limit 20 --json")
@click.option("--limit", type=click.IntRange(1, 100_000), default=30, show_default=True, help="How many.")
@click.option("--topic", help="Only this topic.")
@click.option("--unlabelled", is_flag=True, help="Only decisions without a label.")
def decisions_list(engine: Engine, limit: int, topic: str | None, unlabelled: bool, as_json: bool) -> None:
    """List the latest decisions, newest first."""
    found = engine.decision_log.last(limit, topic=topic, unlabelled=unlabelled)
    if emitted_json(as_json, [decision._asdict() for decision in found]):
        return
    if not found and (topic or unlabelled) and engine.decision_log.last(1):
        emit("no matching decisions")
        return
    if not found:
        emit("no decisions yet: they are logged as transcripts grow, or with `autopoiesis trace --log TEXT`")
        return
    table(
        [
            [
                decision.id[:10],
                minute(decision.at),
                decision.topic,
                decision.verdict,
                number(decision.score),
                label_text(decision),
                " ".join(decision.message.split())[:60],
            ]
            for decision in found
        ],
        ["id", "when", "topic", "verdict", "tier 2", "label", "message"],
    )


@decisions.verb("label", "3f9c21ab --useful", "3f9c21ab --clear")
@click.argument("decisions", metavar="DECISION…", nargs=-1, required=True)
@click.option("--useful", "label", flag_value="useful", help="The topic applied.")
@click.option("--noise", "label", flag_value="noise", help="The topic did not apply.")
@click.option("--clear", "label", flag_value="clear", help="Remove a label set by hand.")
def decisions_label(decisions: tuple[str, ...], label: str | None, as_json: bool) -> None:
    """Label the decisions whose ids start with DECISION, and show how their scores move."""
    if label is None:
        raise click.UsageError("give --useful, --noise or --clear")
    useful = {"useful": True, "noise": False, "clear": None}[label]
    with invocation().engine() as engine:
        log = engine.decision_log
        found = [log.find(decision) for decision in decisions]  # all of them, before any is labelled
        judged = engine.labels.judge([(decision, useful) for decision in found])
        if as_json:
            scores = [
                {"before": each.before and each.before.score, "after": each.after and each.after.score}
                for each in judged
            ]
            emit_json([{**each.decision._asdict(), **of} for each, of in zip(judged, scores, strict=True)])
            return
        for each in judged:
            moved = f" · {each.moved}" if each.moved else ""
            emit(f"{each.decision.id[:10]} {each.decision.topic}: {label_text(each.decision)}{moved}")


def label_text(decision: Decision) -> str:
    """Formats a label: ``useful``, ``noise (use)``, ``opened by the agent``, ``–`` for none."""
    if decision.useful is None:
        return "–"
    if decision.opened:
        return "opened by the agent"
    label = "useful" if decision.useful else "noise"
    return label if decision.labelled_by in ("", "person") else f"{label} ({decision.labelled_by})"


@group(
    "new",
    "replay github-pr-review",
    "check",
    late={
        "new": "tui.cli.topics_new:topics_new",
        "replay": "tui.cli.topics_new:topics_replay",
        "suggest": "tui.cli.topics_new:topics_suggest",
        "import": "tui.cli.topics_new:topics_import",
    },
)
def topics() -> None:
    """Manage the playbooks in topics/."""


@topics.verb("list", "--json")
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


@topics.verb("show", "email-triage")
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


@topics.verb("check")
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


@topics.verb("activate", "release")
@click.argument("name")
def topics_activate(name: str) -> None:
    """Keep a topic active for every message until `topics reset`."""
    _force(name, True, "is active for every message until `autopoiesis topics reset`")


@topics.verb("deactivate", "release")
@click.argument("name")
def topics_deactivate(name: str) -> None:
    """Keep a topic out of every prompt until `topics reset`."""
    _force(name, False, "stays out of every prompt until `autopoiesis topics reset`")


@topics.verb("reset", "release")
@click.argument("name")
def topics_reset(name: str) -> None:
    """Let a topic's triggers decide again."""
    _force(name, None, "follows its triggers again")
