"""``history undo``, ``snapshot``, ``snapshots``, ``branches``: what can be done with the past."""

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
    from engine.history.branches import Branch
    from engine.history.model import UndoPlan


@verb(
    "autopoiesis history undo   # shows what it would do",
    "autopoiesis history undo 1a2b3c4d --apply",
    name="undo",
)
@click.argument("revision", metavar="[COMMIT]", default="")
@click.option("--apply", is_flag=True, help="Do it, as a commit of its own.")
def history_undo(engine: Engine, revision: str, apply: bool, as_json: bool) -> int:
    """Take back what one commit did, and keep what came after; without COMMIT the newest that can be undone.

    Shows the diff and changes nothing until --apply. The undo is a commit itself, and can be undone. Ledger,
    review queue, logs and conversations stay as they are; transcripts are never changed. Exit code 1 when it
    cannot be undone.
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
            emit(
                f"nothing was changed; do it with: autopoiesis history undo {plan.entry.revision[:8]} --apply"
            )
    if plan.can_apply:
        return 0
    told = [
        f"autopoiesis: {each.path or plan.entry.revision[:8]}: {each.why}"
        + (f"; {each.hint}" if each.hint else "")
        for each in plan.blocked
    ]
    emit_problems(told or [f"autopoiesis: {plan.entry.revision[:8]}: nothing left to undo"])
    return 1


def _print_plan(engine: Engine, plan: UndoPlan) -> None:
    for each in plan.passed:
        emit(f"passed over, cannot be undone: {each.revision[:8]}  {each.subject}")
    entry = plan.entry
    emit(f"undo {entry.revision[:8]}  {when_of(engine, entry.at)}  {entry.subject}")
    for file in plan.files:
        what = "goes" if file.after is None else "keeps what came later" if file.merged else "as before"
        emit(f"  {file.path}: {what}")
        print_diff(file.diff)
    for kept in plan.kept:
        emit(f"  {kept.path}: stays; {kept.why}")


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
    help="What it is; of daily and weekly, NAME is a day.",
)
@click.option(
    "--at", "revision", default="HEAD", metavar="REV|DATE", help="The state that is meant; else the newest."
)
def history_snapshot(engine: Engine, name: str, kind: str, revision: str, as_json: bool) -> int:
    """Give the memory's state a name that lasts: a tag such as memory/milestone/NAME.

    What is in no commit is not in it.
    """
    past = engine.history
    if kind in ("daily", "weekly"):
        tag = (past.tag_daily if kind == "daily" else past.tag_weekly)(_day(engine, name))
        if not tag:
            emit_problems([f"autopoiesis: there is no commit of that {'day' if kind == 'daily' else 'week'}"])
            return 1
    else:
        tag = past.snapshot(name, kind, revision)  # type: ignore[arg-type]  # click has checked it
    dirty = engine.repository.state().dirty
    if as_json:
        emit_json({"tag": tag, "uncommitted": dirty})
    else:
        emit(f"{tag}" + (f"; {plural(dirty, 'file')} with uncommitted changes not in it" if dirty else ""))
    return 0


def _day(engine: Engine, text: str) -> date:
    from engine.store import moments, zone  # noqa: PLC0415 — `--help` must not load the engine

    found = moments.moment(text, engine.clock(), engine.config.days.time_zone)
    if found is None:
        raise click.UsageError(f"{text} is no day; give one such as 2026-02-16 or yesterday")
    return zone.local_day(found, engine.config.days.time_zone)


@verb("autopoiesis history snapshots", name="snapshots")
def history_snapshots(engine: Engine, as_json: bool) -> None:
    """List the snapshots, the newest state first. Any of them can be given to recall, changed or --as-of."""
    found = engine.history.snapshots()
    if as_json:
        emit_json(found)
    elif not found:
        emit("no snapshots yet: autopoiesis history snapshot NAME")
    else:
        table([[each.tag, each.revision[:8], when_of(engine, each.at), each.subject] for each in found])


@verb("autopoiesis history branches", "autopoiesis history branches --prune --apply", name="branches")
@click.option(
    "--prune", is_flag=True, help="Show which explore branches would go: those not used for a week."
)
@click.option("--apply", is_flag=True, help="With --prune: remove them.")
def history_branches(engine: Engine, prune: bool, apply: bool, as_json: bool) -> None:
    """List the branches explore/* and extract/*: age, commits, and files that they change."""
    if apply and not prune:
        raise click.UsageError("--apply goes with --prune")
    found = engine.history.prune() if apply else engine.history.branches()
    shown = [each for each in found if each.due or not prune]
    if as_json:
        emit_json({"branches": shown, "removed": apply})
        return
    print_branches(shown, engine.clock())
    if not shown:
        emit("no branch is due to be removed" if prune else "no branches explore/* or extract/*")
    elif apply:
        emit("removed; one comes back with: git branch NAME REVISION")
    elif prune:
        emit("nothing was removed; do it with: autopoiesis history branches --prune --apply")


def print_branches(shown: Sequence[Branch], now: datetime) -> None:
    """Prints branches, each with its age, what it is ahead by, what it changes, and where it is."""
    table([[each.name, each.revision[:8], *_branch(each, now)] for each in shown])


def _branch(each: Branch, now: datetime) -> tuple[str, ...]:
    more = f" and {len(each.files) - 5:,} more" if len(each.files) > 5 else ""
    place = f"in {each.in_use}" if each.in_use else ""
    left = f"{plural(each.uncommitted, 'file')} not committed" if each.uncommitted else ""
    due = "to be removed" if each.due else ""
    return (
        f"{plural((now - each.at).days, 'day')} old",
        f"{plural(each.ahead, 'commit')} ahead",
        ", ".join(f"{file.letter} {file.path}" for file in each.files[:5]) + more,
        "; ".join(filter(None, (due, left, place))),
    )
