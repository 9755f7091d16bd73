"""``condense``, ``prune``, ``archive`` and ``commit``: keep memory short and current; the first dry runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.errors import AutopoiesisError, ChangeRefused
from tui.cli.base import commit_text, emit, emit_json, emit_problems, emitted_json, group, table, verb
from tui.render.figures import plural, sizes

if TYPE_CHECKING:
    from datetime import date

    from engine.commits.gathering import CommitReport
    from engine.engine import Engine
    from engine.lifecycle.proposals import Outcome, Proposal
    from engine.lifecycle.retention.retention import Move, Plan


_day_option = click.option(
    "--day", metavar="DATE", help="A day in the period, such as 2026-06-12; by default today."
)
_apply_option = click.option("--apply", "applied", is_flag=True, help="Do it; without it, only show it.")
_number_option = click.option(
    "--archive",
    "number",
    type=int,
    metavar="N",
    help="Confirm the number of files to move when there are many.",
)


@group("daily", "weekly --apply")
def condense() -> None:
    """Condense days into journals, weeks into MEMORY.md, months into proposals.

    Without --apply, changes of a week or month are shown and queued for review (`autopoiesis review list
    --group upkeep`).
    """


@condense.verb("daily", "--day 2026-06-12 --apply")
@_day_option
@_apply_option
def condense_daily(engine: Engine, day: str | None, applied: bool, as_json: bool) -> int:
    """Write the recaps that a day's journal lacks; `extract` writes them, too. Your own lines stay."""
    paths = engine.condenser.sessions(_day(engine, day))
    done = engine.recaps.write(paths) if applied else None
    recaps = done.recaps if done else [each for path in paths for each in engine.recaps.of_session(path)]
    if emitted_json(as_json, {"recaps": recaps, "written": applied}):
        return 0
    for each in recaps:
        emit(f"{each.day}  {each.begin}–{each.end}  {each.project}".rstrip())
        for line in each.lines:
            emit(f"  - {line}")
    if not recaps:
        emit("nothing to do")
    elif done is None:
        emit(f"{plural(len(recaps), 'recap')}; dry run; pass --apply to write what the journal lacks")
    else:
        emit(f"{plural(len(recaps), 'recap')} written; {commit_text(done.commit.revision, done.commit.why)}")
    return 0


@condense.verb("weekly", "--day 2026-06-12")
@_day_option
@_apply_option
def condense_weekly(engine: Engine, day: str | None, applied: bool, as_json: bool) -> int:
    """Copy the decisions and lessons of a week's journals to MEMORY.md, as far as there is room."""
    from engine.lifecycle.condensing.weeks import week_of  # noqa: PLC0415 — `--help` must not load the engine

    _recover(engine, applied, as_json)
    found = _day(engine, day)
    return _settle(engine, [engine.condenser.weekly(week_of(found) if found else "")], applied, as_json)


@condense.verb("monthly", "", "--apply --archive 60")
@_day_option
@_apply_option
@_number_option
def condense_monthly(
    engine: Engine, day: str | None, applied: bool, number: int | None, as_json: bool
) -> int:
    """Check all knowledge: MEMORY.md's cap, duplicate lines, inactive projects, old journals."""
    _recover(engine, applied, as_json)
    return _settle(engine, engine.condenser.monthly(_day(engine, day)), applied, as_json, number)


def _day(engine: Engine, text: str | None) -> date | None:
    if text is None:
        return None
    from engine.store.moments import FORMS, moment  # noqa: PLC0415 — only with --day
    from engine.store.zone import local_day  # noqa: PLC0415 — only with --day

    zone = engine.config.days.time_zone
    found: datetime | None = moment(text, engine.clock(), zone or "")
    if found is None:
        raise click.BadParameter(f"not a day; give {FORMS}", param_hint="--day")
    return local_day(found, zone)


def _settle(
    engine: Engine, proposals: Sequence[Proposal], applied: bool, as_json: bool, number: int | None = None
) -> int:
    """Applies proposals or queues them for review; returns 1 if one was refused."""
    if applied:
        done = engine.condenser.apply(proposals, number)
    else:
        done = engine.condenser.submit(proposals) if not engine.files.read_only else []
        done = done or _only_shown(proposals)
    refused = any(each.error or (each.proposal.refused and each.proposal.change is None) for each in done)
    if as_json:
        emit_json(done)
    else:
        for each in done:
            _emit_done(each, shows=not applied)
    return int(refused)


def _only_shown(proposals: Iterable[Proposal]) -> list[Outcome]:
    from engine.lifecycle.proposals import Outcome  # noqa: PLC0415 — `--help` must not load the engine

    return [Outcome(each) for each in proposals]


def _emit_done(done: Outcome, *, shows: bool) -> None:
    proposal = done.proposal
    emit(f"{proposal.summary}{f' ({proposal.model})' if proposal.model else ''}")
    if proposal.refused:
        emit(f"  refused: {proposal.refused}")
    if proposal.change is None:
        emit("" if proposal.refused else "  nothing to do")
    else:
        for line in proposal.change.about:
            emit(f"  {line}")
        for line in proposal.diff if shows or not done.applied else ():
            emit(f"    {line}")
    for line in proposal.left:
        emit(f"  {line}")
    if done.error:
        emit(f"  refused: {done.error}")
    if done.known:
        emit(f"  {done.known} before, so it is not queued again; --apply does it anyway")
    if done.waiting:
        emit(f"  queued for review, because {proposal.why}: autopoiesis review accept {done.waiting}")
    if done.applied:
        emit(f"  {_commit_text(done)}")


def _commit_text(done: Outcome) -> str:
    undo = f"; undo: {done.undo}" if done.undo else ""
    return commit_text(done.commit, done.uncommitted) + undo


def _recover(engine: Engine, applied: bool, as_json: bool) -> None:
    """Finishes an interrupted run before anything is written."""
    for change in engine.retention.recover() if applied else ():
        if not as_json:
            emit(f"finished: {', '.join(change.paths)}; {commit_text(change.commit, change.uncommitted)}")


@verb("", "--apply", "--apply --archive 120")
@_apply_option
@_number_option
def prune(engine: Engine, applied: bool, number: int | None, as_json: bool) -> int:
    """Trim MEMORY.md to its cap, and archive old journals and files unused for a long time.

    Nothing is deleted: lines move to archive/memory/, files to archive/.
    """
    _recover(engine, applied, as_json)
    plan = engine.retention.plan()
    memory = plan.memory
    proposals = list(plan.proposals)
    if applied and engine.config.condensing.provider != "none" and (memory.is_over or memory.is_near):
        proposals = [engine.condenser.memory(), *(each for each in proposals if each.subject != "memory-cap")]
    done = engine.condenser.apply(proposals, number) if applied else []
    if as_json:
        emit_json({"plan": plan, "done": done})
        return int(any(each.error for each in done))
    if applied:
        for each in done:
            _emit_done(each, shows=False)
        if not done:
            emit("nothing to prune")
        return int(any(each.error for each in done))
    _emit_plan(plan)
    return 0


def _emit_plan(plan: Plan) -> None:
    memory = plan.memory
    state = "over" if memory.is_over else "near" if memory.is_near else "below"
    emit(f"MEMORY.md: {memory.lines} lines, {sizes(memory.size)}, {state} its cap of {memory.cap} lines")
    for going in memory.going:
        emit(f"  line {going.number}, {going.why}: {going.line}")
    _emit_moves("old journals", plan.journals)
    _emit_moves("unused files", plan.evicted)
    for each in plan.scores:
        about = f"{each.days} days since a change, {plural(each.references, 'reference')}"
        emit(f"  {each.path}: score {each.score:.4f}, {about}")
    for proposal in plan.proposals:
        for line in (*proposal.left, *filter(None, (proposal.refused,))):
            emit(f"  {line}")
    if not plan.proposals:
        emit("nothing to prune")
        return
    typed = f" --archive {plan.number}" if plan.too_many else ""
    reason = f", which are {plan.too_many}" if plan.too_many else ""
    emit(f"{plural(plan.number, 'file')} would move{reason}; to do it: autopoiesis prune --apply{typed}")


def _emit_moves(what: str, moves: Sequence[Move]) -> None:
    if moves:
        emit(f"{what}: {len(moves)}")
    for move in moves:
        emit(f"  {move.path} → {move.target}")


@group("list", "add knowledge/people/jonas-brandt.md --apply")
def archive() -> None:
    """Manage archived files (archive/): searchable and restorable, but not in prompts."""


@archive.verb("list", "--json")
def archive_list(engine: Engine, as_json: bool) -> None:
    """List archived files with their sizes, and archived knowledge entries."""
    files, entries = engine.retention.listed(), engine.knowledge_entries.archived()
    if as_json:
        emit_json({"files": [{"path": path, "bytes": size} for path, size in files], "entries": entries})
    elif not files and not entries:
        emit("no archived files")
    else:
        table([[path, sizes(size)] for path, size in files] + [[f"{path}/", "entry"] for path in entries])


@archive.verb("add", "knowledge/people/jonas-brandt.md", "knowledge/mail-context --apply")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True)
@_apply_option
@_number_option
def archive_add(
    engine: Engine, paths: tuple[str, ...], applied: bool, number: int | None, as_json: bool
) -> None:
    """Move files, or all files in folders, to the archive, and say which links lead to them.

    A knowledge entry is archived as a whole: name its folder. No catalog lists it then.
    """
    _recover(engine, applied, as_json)
    proposal, moves = engine.retention.archive(paths)
    _moved(engine, proposal, moves, applied, as_json, number)


@archive.verb("restore", "archive/people/jonas-brandt.md --apply")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True)
@_apply_option
def archive_restore(engine: Engine, paths: tuple[str, ...], applied: bool, as_json: bool) -> None:
    """Move archived files back, byte for byte; links to where they were lead there again."""
    _recover(engine, applied, as_json)
    proposal, moves = engine.retention.restore(paths)
    _moved(engine, proposal, moves, applied, as_json, len(moves))


def _moved(
    engine: Engine,
    proposal: Proposal,
    moves: Sequence[Move],
    applied: bool,
    as_json: bool,
    number: int | None,
) -> None:
    if proposal.refused:
        raise ChangeRefused(proposal.refused)
    done = engine.condenser.apply([proposal], number) if applied else _only_shown([proposal])
    if applied and not done[0].error:
        engine.retention.note_entries(moves)
    if emitted_json(as_json, {"moves": moves, "done": done[0]}):
        return
    for move in moves:
        emit(f"{move.path} → {move.target} ({sizes(move.size)})")
        for place in move.broken:
            emit(f"  {place} will be a broken link")
    if done[0].error:
        raise ChangeRefused(done[0].error)
    if applied:
        emit(_commit_text(done[0]))
    else:
        emit("nothing was moved; pass --apply to do it")


@verb("--dry-run", "knowledge/people -m 'Ada moved to Ghent'")
@click.argument("paths", nargs=-1, metavar="[PATH…]", type=click.Path(path_type=Path))
@click.option("-m", "--message", default="", help="The message; by default derived from the change.")
@click.option("--dry-run", is_flag=True, help="Show what would be committed, without asking a model.")
def commit(engine: Engine, paths: tuple[Path, ...], message: str, dry_run: bool, as_json: bool) -> int:
    """Commit files and folders of the workspace, or everything that has changed.

    Without PATH, commits knowledge, topics, presets, archive, attachments, skills, probes and settings in one
    commit, knowledge/identity/ and the transcripts of ended sessions in others. Files that must not be
    committed, such as those with a possible secret, are listed and left out; the exit code is then 1.
    """
    named = [engine.workspace.relative(path) if path.is_absolute() else path.as_posix() for path in paths]
    report = engine.commits.commit(named, message, dry_run=dry_run)
    gone = [path for path in named if not (engine.workspace.root / path).exists()]
    if gone and not (report.commits or report.left_out):
        raise AutopoiesisError(
            "no such file or folder, in the workspace or in the latest commit", where=gone[0]
        )
    if as_json:
        emit_json(report)
    else:
        _print_commits(report, dry_run=dry_run)
    left = (f"left out: {each.path}: {each.why}" for each in report.left_out)
    emit_problems([*report.warnings, *left])
    return 1 if report.refused else 0


def _print_commits(report: CommitReport, *, dry_run: bool) -> None:
    if not report.commits:
        emit("nothing to commit")
    for number, each in enumerate(report.commits):
        if number:
            emit()
        files = plural(len(each.paths), "file") + (f", message by {each.model}" if each.model else "")
        emit(f"{'would commit' if dry_run else f'committed as {each.revision[:8]}'}: {files}")
        for line in each.message.split("\n"):
            emit(f"    {line}".rstrip())
