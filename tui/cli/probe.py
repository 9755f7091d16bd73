"""``probe``: questions whose prompts should contain known evidence."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

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
    minute,
    plain,
    print_commit,
    progress,
    table,
)

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.probes.model import Evidence, Probe
    from engine.probes.probes import Earlier, Report
    from engine.store.repository import Commit

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
@click.option("--force", is_flag=True, help="Accept files and lines that do not exist.")
def probe_add(
    engine: Engine,
    question: str,
    expected: tuple[str, ...],
    budget: int | None,
    note: str,
    force: bool,
    as_json: bool,
) -> None:
    """Add a probe to probes.yaml and commit it: the prompt for QUESTION should contain the evidence."""
    from engine.probes.places import typed  # noqa: PLC0415 — `--help` must not load the engine

    expect = [typed(engine.workspace, text) for text in expected]
    added = engine.probes.add(question, expect, budget=budget, note=note, force=force)
    emit_problems(f"warning: {why}" for why in added.odd)
    if as_json:
        emit_json(added)
    else:
        emit(f"{added.probe.id}  {added.probe.question}")
        for each in added.probe.expect:
            emit(f"    {each}")
        emit(commit_text(added.commit, added.why))


@probe.verb("list", "", "--json")
def probe_list(engine: Engine, as_json: bool) -> None:
    """List the probes and their last results."""
    known = engine.probes.read()
    latest = engine.probes.latest(known.probes)
    if as_json:
        emit_json([_tree(each, latest.get(each.id)) for each in known.probes])
    elif not known.probes and not known.problems:
        emit(_NONE)
    else:
        rows = [
            [each.id, _last(latest.get(each.id)), ", ".join(map(str, each.expect)), _line(each.question)]
            for each in known.probes
        ]
        table(rows, ["id", "last run", "expects", "question"] if rows else [])
    emit_problems(known.problems)


@probe.verb("show", "3f9c21")
@click.argument("name", metavar="ID")
def probe_show(engine: Engine, name: str, as_json: bool) -> None:
    """Show the probe whose id starts with ID, and its last result."""
    found = engine.probes.find(name)
    earlier = engine.probes.latest([found]).get(found.id)
    if emitted_json(as_json, _tree(found, earlier)):
        return
    emit(f"{found.id}  {found.question}")
    emit(f"    probes.yaml:{found.line}" + (f", budget {found.budget:,}" if found.budget else ""))
    if found.note:
        emit(f"    {found.note}")
    outcomes = {} if earlier is None else earlier.found
    for each in found.expect:
        emit(f"  {_mark(outcomes.get(str(each)))} {each}")
    if earlier is None:
        emit("never run")
    else:
        commit = f" at {earlier.commit[:8]}" if earlier.commit else ""
        tokens = f"{earlier.tokens:,} of {earlier.budget:,} tokens"
        emit(f"last run {minute(earlier.at)}{commit}: {tokens}")


@probe.verb("run", "", "3f9c21 --budget 2048",
            "3f9c21 --as-of '2 weeks ago'   # did the prompt contain it then?", "--json")  # fmt: skip
@click.argument("names", metavar="[ID]…", nargs=-1)
@click.option(
    "--budget", type=click.IntRange(min=256), help="Tokens for every prompt, overriding the probes."
)
@as_of_option
@click.option("--no-record", is_flag=True, help="Do not write to logs/probes-YYYY-MM.jsonl.")
def probe_run(
    engine: Engine,
    names: tuple[str, ...],
    budget: int | None,
    as_of: str | None,
    no_record: bool,
    as_json: bool,
) -> int:
    """Compile the probes' questions, without the gate, and look for the evidence. Exit 1 if any is missing.

    Unreadable entries of probes.yaml count as missing, unless IDs are given. With --as-of, the current probes
    run against the workspace at that time (expected lines refer to its files), and nothing is recorded.
    """
    commit = None if as_of is None else engine.revisions.find(as_of)
    if commit is None:
        with progress("probing") as report:
            done = engine.probes.run(engine, names, budget=budget, record=not no_record, progress=report)
    else:
        done = _recalled(engine, commit, names, budget)
        print_commit(commit)
    if as_json:
        tree = {**plain(done.run), "comparison": done.comparison, "problems": done.problems}
        emit_json(tree if as_of is None else {**tree, "notes": done.notes, "revision": commit})
    elif done.run.results or done.problems:
        _print(done)
    else:
        emit(_NONE)
    emit_problems((*done.problems, *done.notes))
    is_broken = not names and any(problem.severity == "error" for problem in done.problems)
    return 1 if done.run.found < done.run.expectations or is_broken else 0


@probe.verb("remove", "3f9c21")
@click.argument("name", metavar="ID")
def probe_remove(engine: Engine, name: str, as_json: bool) -> None:
    """Remove the probe whose id starts with ID from probes.yaml, and commit the change."""
    removed = engine.probes.remove(name)
    if as_json:
        emit_json({**plain(removed.probe), "commit": removed.commit, "why": removed.why})
    else:
        emit(f"removed {removed.probe.id}  {removed.probe.question}")
        emit(commit_text(removed.commit, removed.why))


def _recalled(engine: Engine, commit: Commit, names: tuple[str, ...], budget: int | None) -> Report:
    for name in names:
        engine.probes.find(name)  # fails before the slow checkout
    with ExitStack() as stack:
        with checkout_progress() as report:
            past = stack.enter_context(engine.revisions.opened(commit, report))
        with progress("probing") as report:
            return engine.probes.recall(past, names, budget=budget, progress=report)


def _print(done: Report) -> None:
    run, comparison = done.run, done.comparison
    for result in run.results:
        tokens = f"{result.tokens:,}/{result.budget:,} tokens" if result.budget else "no prompt"
        emit(f"{'●' if result.passed else '○'} {result.id}  {_line(result.question)}  ({tokens})")
        for each in result.evidence:
            emit(f"  {_mark(each.found)} {_line(each.expect)}  {_outcome(each)}")
    rank = "–" if run.mean_rank is None else f"{run.mean_rank:.1f}"
    emit(
        f"recall {run.recall:.0%}: {run.found} of {run.expectations} found · mean rank {rank} "
        f"({run.ranked} ranked) · {run.tokens:,} tokens per prompt, {run.budget_used:.0%} of the budget"
    )
    if comparison.at:
        commit = f" at {comparison.commit[:8]}" if comparison.commit else ""
        lost, gained = len(comparison.lost), len(comparison.gained)
        emit(f"since {minute(comparison.at)}{commit}: {lost} lost, {gained} gained")
        for sign, turned in (("−", comparison.lost), ("+", comparison.gained)):
            for expectation in turned:
                emit(f"  {sign} {expectation.id}  {_line(expectation.expect)}")


def _outcome(evidence: Evidence) -> str:
    rank = "–" if evidence.rank is None else str(evidence.rank)
    if not evidence.found:
        return evidence.why if "rank" in evidence.why else f"{evidence.why} · rank {rank}"
    share = "" if evidence.share is None else f" · {evidence.share:.0%} of the wording"
    return f"{evidence.section} · {evidence.tokens:,} tokens · rank {rank}{share}"


def _tree(probe: Probe, earlier: Earlier | None) -> dict[str, Any]:
    """A probe with its last result, as JSON."""
    tree: dict[str, Any] = plain(probe)
    return {**tree, "last": None if earlier is None else earlier._asdict()}


def _last(earlier: Earlier | None) -> str:
    if earlier is None:
        return "never"
    return f"{sum(earlier.found.values())}/{len(earlier.found)} {minute(earlier.at)}"


def _mark(found: bool | None) -> str:
    return "·" if found is None else "✓" if found else "✗"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:79]}…"
