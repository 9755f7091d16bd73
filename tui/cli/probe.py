"""``probe``: questions whose prompts should contain known evidence."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from tui.cli.base import (
    as_of_option,
    checkout_progress,
    commit_text,
    emit,
    emit_json,
    emit_problems,
    emitted_json,
    group,
    print_commit,
    progress,
    table,
)

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.probes.probes import Evidence, Run

_NONE = 'no probes yet: autopoiesis probe add "QUESTION" --expect PATH:LINES'


@group('add "Who is on call in July?" --expect knowledge/people/_index.md:4-9',
       "run   # exit code 1 when evidence is missing")  # fmt: skip
def probe() -> None:
    """Test that prompts contain the expected evidence. The probes are in probes.yaml."""


@probe.verb("add", '"Which port does the broker use?" --expect knowledge/reference/hosts.md:12-14',
            '"What did Odile ask for?" --expect "raw curves" --budget 4096')  # fmt: skip
@click.argument("question")
@click.option(
    "--expect",
    "expected",
    multiple=True,
    required=True,
    metavar="PATH[:LINES]|TEXT",
    help="Evidence: a file, lines of it (12-40), or a text; path:… or text:… to be explicit. Repeatable.",
)
@click.option("--budget", type=click.IntRange(min=256), help="Tokens for prompt and reply reserve.")
@click.option("--note", default="", help="A note to keep with the probe.")
def probe_add(
    engine: Engine, question: str, expected: tuple[str, ...], budget: int | None, note: str, as_json: bool
) -> None:
    """Add a probe to probes.yaml and commit it: the prompt for QUESTION should contain the evidence."""
    from engine.probes.probes import typed  # noqa: PLC0415 — `--help` must not load the engine

    expect = [typed(engine.workspace, text) for text in expected]
    added = engine.probes.add(question, expect, budget=budget, note=note)
    if emitted_json(as_json, added):
        return
    emit(f"{added.probe.id}  {added.probe.question}")
    for each in added.probe.expect:
        emit(f"    {each}")
    emit(commit_text(added.commit, added.why))


@probe.verb("list", "", "--json")
def probe_list(engine: Engine, as_json: bool) -> None:
    """List the probes."""
    known = engine.probes.read()
    if as_json:
        emit_json(known.probes)
    elif not known.probes and not known.problems:
        emit(_NONE)
    else:
        rows = [[each.id, ", ".join(map(str, each.expect)), _line(each.question)] for each in known.probes]
        table(rows, ["id", "expects", "question"] if rows else [])
    emit_problems(known.problems)


@probe.verb("run", "", "3f9c21 --budget 2048",
            "3f9c21 --as-of '2 weeks ago'   # did the prompt contain it then?", "--json")  # fmt: skip
@click.argument("names", metavar="[ID]…", nargs=-1)
@click.option(
    "--budget", type=click.IntRange(min=256), help="Tokens for every prompt, overriding the probes."
)
@as_of_option
def probe_run(
    engine: Engine, names: tuple[str, ...], budget: int | None, as_of: str | None, as_json: bool
) -> int:
    """Compile the probes' questions, without the gate, and look for the evidence. Exit 1 if any is missing.

    Unreadable entries of probes.yaml count as missing, unless IDs are given. With --as-of, the current probes
    run against the workspace at that time (expected lines refer to its files).
    """
    for name in names:
        engine.probes.find(name)  # fails before the slow checkout
    commit = None if as_of is None else engine.revisions.find(as_of)
    with ExitStack() as stack:
        past = None
        if commit is not None:
            with checkout_progress() as report:
                past = stack.enter_context(engine.revisions.opened(commit, report))
            print_commit(commit)
        with progress("probing") as report:
            run = engine.probes.run(engine, names, past=past, budget=budget, progress=report)
    if as_json:
        emit_json(run)
    elif run.results or run.problems:
        _print(run)
    else:
        emit(_NONE)
    emit_problems((*run.problems, *run.notes))
    return 1 if run.found < run.expectations or (run.problems and not names) else 0


@probe.verb("remove", "3f9c21")
@click.argument("name", metavar="ID")
def probe_remove(engine: Engine, name: str, as_json: bool) -> None:
    """Remove the probe whose id starts with ID from probes.yaml, and commit the change."""
    removed = engine.probes.remove(name)
    if emitted_json(as_json, removed):
        return
    emit(f"removed {removed.probe.id}  {removed.probe.question}")
    emit(commit_text(removed.commit, removed.why))


def _print(run: Run) -> None:
    for result in run.results:
        tokens = f"{result.tokens:,}/{result.budget:,} tokens" if result.budget else "no prompt"
        emit(f"{'●' if result.passed else '○'} {result.id}  {_line(result.question)}  ({tokens})")
        for each in result.evidence:
            emit(f"  {'✓' if each.found else '✗'} {_line(each.expect)}  {_outcome(each)}")
    emit(f"recall {run.recall:.0%}: {run.found} of {run.expectations} found")


def _outcome(evidence: Evidence) -> str:
    rank = "–" if evidence.rank is None else str(evidence.rank)
    if not evidence.found:
        return evidence.why if "rank" in evidence.why else f"{evidence.why} · rank {rank}"
    return f"{evidence.section} · rank {rank}"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:79]}…"
