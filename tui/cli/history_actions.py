"""``history undo``, ``snapshot``, ``snapshots`` and ``branches``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, emit_problems, plain, table, verb
from tui.cli.history import entry_tree, print_diff, when_of
from tui.render.figures import plural

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from engine.engine import Engine
    from engine.history.explorations import Branch
    from engine.history.model import UndoPlan


@verb(
    "autopoiesis history undo   # show what it would do",
    "autopoiesis history undo 1a2b3c4d --apply",
    name="undo",
)
@click.argument("revision", metavar="[COMMIT]", default="")
@click.option("--apply", is_flag=True, help="Do it, as a new commit.")
def history_undo(engine: Engine, revision: str, apply: bool, as_json: bool) -> int:
    """Undo one commit and keep later changes; without COMMIT, the latest commit that can be undone.

    Only shows the diff without --apply. The undo is a commit itself, and can be undone. Ledger, review queue,
    logs and conversations stay as they are; transcripts are never changed. Exit code 1 if the commit cannot
    be undone.
    """
    plan = engine.history.undo_plan(revision)
    done = engine.history.undo(plan) if apply and plan.can_apply else None
    if as_json:
        tree = {**plain(plan), "entry": entry_tree(plan.entry), "can_apply": plan.can_apply}
        emit_json({**tree, "commit": done.revision if done is not None else ""})
    else:
        _print_plan(engine, plan)
        if done is not None:
            emit(f"undone, committed as {done.revision[:8]}")
        elif plan.can_apply:
            emit(f"nothing was changed; to do it: autopoiesis history undo {plan.entry.revision[:8]} --apply")
    if plan.can_apply:
        return 0
    problems = [
        f"autopoiesis: {each.path or plan.entry.revision[:8]}: {each.why}"
        + (f"; {each.hint}" if each.hint else "")
        for each in plan.blocked
    ]
    emit_problems(problems or [f"autopoiesis: {plan.entry.revision[:8]}: nothing left to undo"])
    return 1


def _print_plan(engine: Engine, plan: UndoPlan) -> None:
    for each in plan.passed:
        emit(f"skipped, cannot be undone: {each.revision[:8]}  {each.subject}")
    entry = plan.entry
    emit(f"undo {entry.revision[:8]}  {when_of(engine, entry.at)}  {entry.subject}")
    for file in plan.files:
        what = (
            "deleted" if file.after is None else "undone, later changes kept" if file.merged else "restored"
        )
        emit(f"  {file.path}: {what}")
        print_diff(file.diff)
    for blocked in plan.kept:
        emit(f"  {blocked.path}: unchanged; {blocked.why}")


@verb(
    "autopoiesis history snapshot one-year",
    "autopoiesis history snapshot rewrite --kind before",
    "autopoiesis history snapshot 2026-02-16 --kind daily",
    name="snapshot",
)
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(["milestone", "before", "extract", "daily", "weekly"]),
    default="milestone",
    show_default=True,
    help="The kind of snapshot; for daily and weekly, NAME is a day.",
)
@click.option(
    "--at", "revision", default="HEAD", metavar="REV|DATE", help="The state to tag; by default the latest."
)
def history_snapshot(engine: Engine, name: str, kind: str, revision: str, as_json: bool) -> int:
    """Tag the memory's state, as memory/milestone/NAME for example.

    Uncommitted changes are not included.
    """
    repository_history = engine.history
    if kind in ("daily", "weekly"):
        tag_day = repository_history.tag_daily if kind == "daily" else repository_history.tag_weekly
        tag = tag_day(_day(engine, name))
        if not tag:
            emit_problems([f"autopoiesis: no commits on that {'day' if kind == 'daily' else 'week'}"])
            return 1
    else:
        tag = repository_history.snapshot(name, kind, revision)  # type: ignore[arg-type]  # checked by click
    dirty = engine.repository.state().dirty
    if as_json:
        emit_json({"tag": tag, "uncommitted": dirty})
    else:
        emit(f"{tag}" + (f"; uncommitted changes in {plural(dirty, 'file')} not included" if dirty else ""))
    return 0


def _day(engine: Engine, text: str) -> date:
    from engine.store import moments, zone  # noqa: PLC0415 — `--help` must not load the engine

    found = moments.moment(text, engine.clock(), engine.config.days.time_zone)
    if found is None:
        raise click.UsageError(f"{text!r} is not a day; give one such as 2026-02-16 or yesterday")
    return zone.local_day(found, engine.config.days.time_zone)


@verb("autopoiesis history snapshots", name="snapshots")
def history_snapshots(engine: Engine, as_json: bool) -> None:
    """List the snapshots, newest first. They can be passed to recall, changed or --as-of."""
    found = engine.history.snapshots()
    if as_json:
        emit_json(found)
    elif not found:
        emit("no snapshots yet: autopoiesis history snapshot NAME")
    else:
        table([[each.tag, each.revision[:8], when_of(engine, each.at), each.subject] for each in found])


@verb("autopoiesis history branches", "autopoiesis history branches --prune --apply", name="branches")
@click.option(
    "--prune", is_flag=True, help="Show which explore branches would be removed: those unused for a week."
)
@click.option("--apply", is_flag=True, help="With --prune: remove them.")
def history_branches(engine: Engine, prune: bool, apply: bool, as_json: bool) -> None:
    """List the branches explore/* and extract/*: age, commits and changed files."""
    if apply and not prune:
        raise click.UsageError("--apply needs --prune")
    found = engine.history.prune() if apply else engine.history.branches()
    shown = [each for each in found if each.due or not prune]
    if as_json:
        emit_json({"branches": shown, "removed": apply})
        return
    print_branches(shown, engine.clock())
    if not shown:
        emit("no branches to remove" if prune else "no branches explore/* or extract/*")
    elif apply:
        emit("removed; restore one with: git branch NAME REVISION")
    elif prune:
        emit("nothing was removed; to do it: autopoiesis history branches --prune --apply")


def print_branches(shown: Sequence[Branch], now: datetime) -> None:
    """Prints branches with age, commits ahead, changed files and worktree."""
    table([[each.name, each.revision[:8], *_branch(each, now)] for each in shown])


def _branch(each: Branch, now: datetime) -> tuple[str, ...]:
    more = f" and {len(each.files) - 5:,} more" if len(each.files) > 5 else ""
    place = f"in {each.in_use}" if each.in_use else ""
    uncommitted = plural(each.uncommitted, "uncommitted file") if each.uncommitted else ""
    due = "due for removal" if each.due else ""
    return (
        f"{plural((now - each.at).days, 'day')} old",
        f"{plural(each.ahead, 'commit')} ahead",
        ", ".join(f"{file.letter} {file.path}" for file in each.files[:5]) + more,
        "; ".join(filter(None, (due, uncommitted, place))),
    )
