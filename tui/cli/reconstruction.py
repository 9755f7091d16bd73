"""``reconstruct`` and ``compare``: knowledge made anew on a branch, beside the one there is."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, emit_problems, plain, table, verb
from tui.cli.history import print_diff
from tui.cli.past import laying_out
from tui.cli.search import progress
from tui.render.figures import dollars, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.engine import Engine
    from engine.history.model import FileDiff
    from engine.lifecycle.extraction.run import Result
    from engine.lifecycle.reconstruction.comparison import Comparison, Recall
    from engine.lifecycle.reconstruction.merging import Merge
    from engine.lifecycle.reconstruction.reconstruction import Estimate, Report, Request

_PROVIDERS = ("none", "anthropic", "openai", "gemini", "claude-code")
_SHOWN = 20


@verb(
    "autopoiesis reconstruct --branch v2   # what it would read, and cost",
    "autopoiesis reconstruct --branch v2 --extractor decisions --apply",
    "autopoiesis compare v2 --probes",
    "autopoiesis reconstruct --merge v2 --apply",
    name="reconstruct",
)
@click.option("--branch", metavar="NAME", help="Make knowledge anew on the branch extract/NAME.")
@click.option("--merge", metavar="NAME", help="Take the knowledge of extract/NAME over.")
@click.option("--extractor", "names", metavar="NAME", multiple=True, help="Only this one; may be repeated.")
@click.option("--provider", type=click.Choice(_PROVIDERS), help="In place of extraction.provider.")
@click.option("--model", metavar="MODEL", default="", help="In place of extraction.model.")
@click.option("--batch", is_flag=True, help="Ask the model in batches: half the price, within a day.")
@click.option("--apply", "is_applied", is_flag=True, help="Do it; without, say what would be done.")
@click.option("--partial", is_flag=True, help="Make the branch though sessions could not be read.")
@click.option("--anew", is_flag=True, help="Begin again, whatever an earlier run has done.")
def reconstruct(
    engine: Engine,
    branch: str | None,
    merge: str | None,
    names: tuple[str, ...],
    provider: str | None,
    model: str,
    batch: bool,
    is_applied: bool,
    partial: bool,
    anew: bool,
    as_json: bool,
) -> int:
    """Read all sessions anew, and put what comes of it on a branch of its own.

    Starts from the newest commit without the lines that come from these sessions (with --extractor: only
    those that these extractors wrote), reads every session in order of time, and commits the result as
    extract/NAME. Files, index and branch of the workspace stay as they are. What you wrote yourself, and what
    came from elsewhere, stays on the branch too. A run that was stopped or killed goes on with the same
    command. With --batch (anthropic and openai) all questions go at once and the command waits for the
    replies; ctrl+c leaves it, and the same command takes up the same batch. --merge shows what a branch would
    change here; with --apply it is merged as one commit, and the branch goes.
    """
    if (branch is None) == (merge is None):
        raise click.UsageError("give either --branch or --merge")
    if merge is not None:
        if names or provider or model or batch or partial or anew:
            raise click.UsageError("--merge goes with --apply alone")
        return _merge(engine, merge, is_applied, as_json)
    from engine.lifecycle.reconstruction.reconstruction import Request  # noqa: PLC0415 — `--help` loads no engine

    request = Request(branch or "", names, provider or "", model, batch)
    if is_applied:
        return _apply(engine, request, partial, anew, as_json)
    found = engine.reconstruction.estimate(request)
    if as_json:
        tokens = {"tokens": found.survey.tokens, "questions": found.survey.questions}
        emit_json({**plain(found), **tokens})
    else:
        _print_estimate(engine, found, batch=batch)
    return 0


def _print_estimate(engine: Engine, found: Estimate, *, batch: bool) -> None:
    survey = found.survey
    due = survey.due
    readings = sum(len(each.due) for each in due)
    emit(f"{found.branch}, from {found.base[:8]}: {', '.join(found.extractors)}")
    emit(f"{plural(len(due), 'session')} to read, {plural(readings, 'reading')}")
    for each in [each for each in survey.candidates if each.why][:_SHOWN]:
        emit(f"left alone: {each.path}: {each.why}")
    if not survey.provider:
        emit("no model used, $0")
    else:
        about = "price unknown" if found.usd is None else f"about {dollars(found.usd)} and the replies"
        asked = f"{survey.provider} {survey.model}"
        how = " in a batch, for half the price" if batch else ""
        emit(f"{plural(survey.questions, 'question')}{how}, ~{survey.tokens:,} tokens to {asked}, {about}")
    if found.is_begun:
        emit("an earlier run has done a part of it, and is gone on with")
    dirty = engine.repository.changed("knowledge")
    if dirty:
        emit(f"{plural(len(dirty), 'file')} of knowledge with uncommitted changes, which it will not see")
    emit("dry run; pass --apply to do it")


def _apply(engine: Engine, request: Request, partial: bool, anew: bool, as_json: bool) -> int:
    with ExitStack() as shown:
        bars: dict[str, Callable[[int, int], None]] = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in bars:
                shown.close()
                bars[label] = shown.enter_context(progress(label))
            bars[label](done, total)

        def waited(names: tuple[str, ...], done: int, total: int) -> None:
            emit_problems([f"waiting for {', '.join(names)} of {plural(total, 'question')}, a day at most;"
                           " ctrl+c leaves it, and the same command takes it up"])  # fmt: skip
            report("answered", done, total)

        def told(_result: Result, done: int, total: int) -> None:
            report("reading sessions", done, total)

        done = engine.reconstruction.run(request, told, partial=partial, anew=anew, on_wait=waited)
    if as_json:
        emit_json(done)
    else:
        _print_report(done)
    read = done.read.results if done.read else ()
    failed = [each for each in read if each.error and each.outcome != "extracted"]
    emit_problems(f"autopoiesis: {each.path}: {each.error}" for each in failed)
    if done.commit:
        return 0
    why = done.read.stopped if done.read else ""
    hint = "run the same command again to go on, or add --partial to do without what failed"
    emit_problems([f"autopoiesis: {done.branch} was not made: {why or 'sessions could not be read'}; {hint}"])
    return 1


def _print_report(done: Report) -> None:
    read = [each for each in done.read.results if each.records] if done.read else []
    lines = sum(len(record.items) for each in read for record in each.records)
    if read:
        emit(f"{plural(len(read), 'session')} read, {plural(lines, 'line')} written")
    if done.held:
        emit(f"{plural(done.held, 'item')} would wait for review, and are not on the branch")
    for line in done.left:
        emit(line)
    if done.commit:
        emit(f"{done.branch} is {done.commit[:8]}, {plural(len(done.files), 'file')} changed; tag {done.tag}")
        emit(f"compare: autopoiesis compare {done.branch} --probes")


def _merge(engine: Engine, name: str, is_applied: bool, as_json: bool) -> int:
    hint = "to decide: change the file here to what you want and commit it, then reconstruct anew from that"
    return merge(engine, name, is_applied, as_json, hint)


def merge(engine: Engine, name: str, is_applied: bool, as_json: bool, hint: str) -> int:
    """Merges a branch, or shows what that would change; ``hint`` says what to do about conflicts."""
    merging = engine.reconstruction.merging
    found = merging.apply(name) if is_applied else merging.plan(name)
    if as_json:
        emit_json(found)
    elif found.conflicts:
        from tui.cli.sync import explain  # noqa: PLC0415 — only where there are any

        explain(found.conflicts, hint)
    else:
        _print_merge(found, is_applied)
    return 1 if found.conflicts else 0


def _print_merge(found: Merge, is_applied: bool) -> None:
    _print_diffs(found.diffs)
    for note in found.notes:
        emit(note)
    gone = f"stays: it is checked out in {found.stays}" if found.stays else "is gone"
    if not is_applied:
        what = "is merged already" if found.is_merged else f"would change {plural(len(found.diffs), 'file')}"
        emit(f"{found.branch} {what}; dry run; pass --apply to merge it and remove the branch")
    elif found.commit:
        changed = plural(len(found.diffs), "file")
        emit(f"merged as {found.commit[:8]}, {changed} changed; {found.branch} {gone}")
    else:
        emit(f"{found.branch} was merged already, and {gone}")


@verb(
    "autopoiesis compare extract/v2 --probes",
    "autopoiesis compare extract/v1 extract/v2",
    name="compare",
)
@click.argument("names", metavar="[BRANCH [OTHER]]", nargs=-1)
@click.option("--probes", "is_probed", is_flag=True, help="Run the probes against both sides.")
@click.option("--no-diff", is_flag=True, help="Leave the diff out.")
def compare(engine: Engine, names: tuple[str, ...], is_probed: bool, no_diff: bool, as_json: bool) -> int:
    """Show how the memory on a branch differs from that of the current one, or that of two branches.

    Without BRANCH: the newest extract/ branch. Only what is committed is compared. Exit code 0 whatever
    differs.
    """
    if len(names) > 2:
        raise click.UsageError("give one branch, or two")
    if not names:
        found = [each.name for each in engine.history.branches() if each.name.startswith("extract/")]
        if not found:
            emit_problems(["autopoiesis: there is no branch extract/: autopoiesis reconstruct --branch NAME"])
            return 1
        names = (found[0],)
    show_compared(engine, (names[-2] if len(names) == 2 else "HEAD", names[-1]), is_probed, no_diff, as_json)
    return 0


def show_compared(
    engine: Engine,
    names: tuple[str, str],
    is_probed: bool = False,
    no_diff: bool = False,
    as_json: bool = False,
) -> None:
    """Prints how two states differ, and what the probes find in each."""
    compared = engine.reconstruction.compare(*names)
    recalled = _recalled(engine, compared) if is_probed else None
    if as_json:
        emit_json({**plain(compared), "probes": plain(recalled)})
        return
    _print_comparison(compared, names, no_diff)
    if recalled is not None:
        _print_recall(recalled, names)


def _recalled(engine: Engine, compared: Comparison) -> Recall:
    from engine.lifecycle.reconstruction.comparison import recalled  # noqa: PLC0415 — only with probes

    with laying_out() as report:
        found, told = recalled(engine, compared, report)
    emit_problems(told)
    return found


def _print_comparison(compared: Comparison, names: tuple[str, str], no_diff: bool) -> None:
    for name, commit in zip(names, (compared.left, compared.right), strict=True):
        emit(f"{name}: {commit.revision[:8]} {commit.subject}")
    if not compared.files:
        emit("both are the same")
        return
    changed = [
        [each.letter, each.path, f"+{diff.added} −{diff.removed}"]
        for each, diff in zip(compared.files, compared.diffs, strict=True)
    ]
    table(changed)
    counts = [[each.kind, f"{each.left:,}", f"{each.right:,}"] for each in compared.counts]
    table(counts, ["lines", *names])
    if not no_diff:
        _print_diffs(compared.diffs)


def _print_diffs(found: Sequence[FileDiff]) -> None:
    for diff in found:
        emit(diff.path)
        print_diff(diff)


def _print_recall(found: Recall, names: tuple[str, str]) -> None:
    if not found.left.results:
        emit("no probes to run: autopoiesis probe add")
        return
    for name, run in zip(names, (found.left, found.right), strict=True):
        emit(f"{name}: recall {run.recall:.0%}, {run.found} of {run.expectations} found")
    for sign, turned in (("−", found.lost), ("+", found.gained)):
        for each in turned:
            emit(f"  {sign} {each.id}  {each.expect}")
