"""``trace`` and ``decisions``: what fires for a message, why, and whether that was right."""

from __future__ import annotations

import click

from engine.activation.trace import Trace
from tui.cli.asking import answering
from tui.cli.base import (
    LateGroup,
    directory_option,
    emit,
    emit_json,
    emit_problems,
    example,
    invocation,
    json_option,
    read_text,
    table,
)


def number(value: float | None) -> str:
    """A score as people write it: ``.31``, ``1.0``, ``–`` for none."""
    if value is None:
        return "–"
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1.0"


def trace_lines(trace: Trace, *, rows: int = 12) -> list[list[str]]:
    """The rows of a trace as table cells: mark, topic, tier 1, tier 2, rule, gate, why."""
    lines = []
    for row in trace.rows[:rows]:
        words = ", ".join(dict.fromkeys(hit.matched for hit in row.hits)) or "–"
        gate = "–" if row.gate is None else row.gate.answer.upper()
        lines.append(
            ["●" if row.active else "○", row.topic, words[:28], number(row.score), row.rule, gate, row.why]
        )
    return lines


def print_trace(trace: Trace, *, rows: int = 12) -> None:
    """Prints a trace for a person: the funnel, the table, and why."""
    funnel = trace.funnel
    emit(
        f"{funnel.topics} topics → {funnel.tier1} by trigger → {funnel.tier2} similar or triggered → "
        f"{funnel.asked} asked → {funnel.active} active"
    )
    local_ms = trace.tier1_ms + trace.tier2_ms
    emit(f"tiers 1+2 {local_ms:.1f} ms, gate {trace.gate_ms:.1f} ms, ${trace.cost_usd:.4f}")
    table(trace_lines(trace, rows=rows), ["", "topic", "tier 1", "tier 2", "rule", "gate", "why"])
    if len(trace.rows) > rows:
        emit(f"   {len(trace.rows) - rows} more below")
    for correction in trace.corrections:
        emit(f"steer {correction.topic}: {correction.hint} (wrote “{correction.matched}”)")
    emit(trace.why)


@click.command(epilog=example('autopoiesis trace "Can you review the PR that just came in?"'))
@directory_option
@click.argument("text")
@click.option(
    "--direction",
    type=click.Choice(["input", "output"]),
    default="input",
    show_default=True,
    help="Whether the message reaches the agent or was written by it.",
)
@click.option(
    "--path", "paths", multiple=True, metavar="PATH", help="A file a tool call names (glob triggers)."
)
@click.option("--event", metavar="SOURCE:EVENT", help="Trace a webhook or cron event instead of a message.")
@click.option(
    "--log", "record", is_flag=True, help="Write the decisions to the decision log, to be labelled."
)
@click.option("--all", "every", is_flag=True, help="Show every topic, not only the nearest twelve.")
@json_option
def trace(
    text: str,
    direction: str,
    paths: tuple[str, ...],
    event: str | None,
    record: bool,
    every: bool,
    as_json: bool,
) -> None:
    """Show which topics TEXT activates, through which tiers, and why; `-` reads standard input."""
    with invocation().engine() as engine, answering(engine):
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
            print_trace(result, rows=len(result.rows) if every else 12)
            emit_problems(engine.problems())


@click.group(
    cls=LateGroup,
    late={
        "list": "tui.cli.activation:decisions_list",
        "label": "tui.cli.activation:decisions_label",
    },
    epilog=example(
        "autopoiesis decisions list --topic release", "autopoiesis decisions label 3f9c21ab --noise"
    ),
)
@directory_option
def decisions() -> None:
    """The log of what was activated and what was not, and labels for it."""


@click.command("list", epilog=example("autopoiesis decisions list --limit 20 --json"))
@directory_option
@click.option("--limit", type=click.IntRange(1, 100_000), default=30, show_default=True)
@click.option("--topic", help="Only this topic.")
@click.option("--unlabelled", is_flag=True, help="Only decisions without a label.")
@json_option
def decisions_list(limit: int, topic: str | None, unlabelled: bool, as_json: bool) -> None:
    """List the latest decisions, newest first."""
    with invocation().engine() as engine:
        found = engine.decision_log.last(100_000 if unlabelled else limit, topic=topic)
        if unlabelled:
            found = tuple(decision for decision in found if decision.useful is None)[:limit]
        if as_json:
            emit_json([decision._asdict() for decision in found])
            return
        if not found:
            emit(
                "no decisions yet: they are logged as transcripts grow, or by `autopoiesis trace --log TEXT`"
            )
            return
        table(
            [
                [
                    decision.id[:10],
                    decision.at[:16].replace("T", " "),
                    decision.topic,
                    decision.verdict,
                    number(decision.score),
                    {True: "useful", False: "noise", None: "–"}[decision.useful],
                    " ".join(decision.message.split())[:60],
                ]
                for decision in found
            ],
            ["id", "when", "topic", "verdict", "tier 2", "label", "message"],
        )


@click.command("label", epilog=example("autopoiesis decisions label 3f9c21ab --useful"))
@directory_option
@click.argument("decision")
@click.option("--useful/--noise", "useful", required=True, help="Was it right that the topic applied?")
def decisions_label(decision: str, useful: bool) -> None:
    """Label the decision whose id begins with DECISION."""
    with invocation().engine() as engine:
        labelled = engine.label_decision(decision, useful)
        emit(f"{labelled.id[:10]} {labelled.topic}: {'useful' if useful else 'noise'}")
