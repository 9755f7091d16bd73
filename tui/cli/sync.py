"""``sync``: synchronises a memory between machines through a git remote."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from tui.cli.base import Group, emit, emit_json, emit_problems, group, invocation, json_option, minute, table
from tui.render.figures import plural
from tui.render.words import explained

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.sync.model import Conflict, Report, Side, Status

_SHOWN = 12
"""Files listed in a report."""

_HINTS = (
    "to resolve: autopoiesis sync --take ours PATH…, or --take theirs PATH…",
    "or edit the file here, then take ours",
)


class _SyncGroup(Group):
    """Accepts several paths after ``--take``, as in ``--take ours PATH PATH``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeats ``--take`` for each path."""
        found: list[str] = []
        side = ""
        for at, word in enumerate(args):
            if at and args[at - 1] == "--take":
                side = word
                continue
            if word == "--take" or word.startswith("-"):
                side = ""
            if word != "--take":
                found += ["--take", side, word] if side else [word]
            elif at + 2 >= len(args) or args[at + 2].startswith("-"):
                raise click.UsageError("--take needs a side, ours or theirs, and at least one PATH", ctx)
        return super().parse_args(ctx, found)


@group(
    "autopoiesis sync",
    "autopoiesis sync --dry-run",
    "autopoiesis sync status",
    "autopoiesis sync --take ours topics/travel.md",
    name="sync",
    cls=_SyncGroup,
    invoke_without_command=True,
)
@click.option("--remote", default="", metavar="NAME", help="Use this remote instead of git.remote.")
@click.option("--dry-run", is_flag=True, help="Fetch, and show what would be done.")
@click.option(
    "--take",
    "decisions",
    multiple=True,
    nargs=2,
    type=(click.Choice(["ours", "theirs"]), str),
    metavar="SIDE PATH…",
    help="Resolve the conflicting parts of these files with our or their version.",
)
@click.option("--rewound", is_flag=True, help="Merge even if the remote lost commits.")
@json_option
@click.pass_context
def sync(
    context: click.Context,
    remote: str,
    dry_run: bool,
    decisions: tuple[tuple[str, str], ...],
    rewound: bool,
    as_json: bool,
) -> int:
    """Fetch and merge what your other machines pushed to git.remote, and push what is new here.

    Lists, logs, journals, rules and the ledger are merged entry by entry, other pages section by section. If
    both sides changed the same entry or text, nothing is changed until you decide: each file's conflict is
    explained, and you resolve it with --take, which drops nothing else, or by editing the file here. Never
    force-pushes. Uncommitted changes in the memory are committed first.
    """
    if context.invoked_subcommand is not None:
        return 0
    if dry_run and decisions:
        raise click.UsageError("--take cannot be used with --dry-run")
    with invocation().engine() as engine:
        take = [(cast("Side", side), path) for side, path in decisions]
        report = engine.sync.run(remote, dry_run=dry_run, take=take, rewound=rewound)
    if as_json:
        emit_json(report)
    else:
        _print_report(report, dry_run=dry_run)
    return 1 if report.conflicts else 0


@sync.verb("status", "autopoiesis sync status", "autopoiesis sync status --fetch --json")
@click.option("--remote", default="", metavar="NAME", help="Use this remote instead of git.remote.")
@click.option("--fetch", is_flag=True, help="Fetch from the remote first; nothing here changes.")
def sync_status(engine: Engine, remote: str, fetch: bool, as_json: bool) -> int:
    """Show how this machine and the remote differ, and the unresolved conflicts."""
    found = engine.sync.status(remote, fetch=fetch)
    if as_json:
        emit_json(found)
    else:
        _print_status(found)
    return 1 if found.conflicts else 0


def _print_report(report: Report, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    if report.committed:
        emit(f"{plural(len(report.committed), 'file')} committed first")
    emit_problems(f"autopoiesis: {each.path}: {each.why}" for each in report.left)
    if report.conflicts:
        explain(report.conflicts, *_HINTS)
        return
    if report.changed:
        files = plural(len(report.changed), "file")
        emit(f"{plural(report.fetched, 'commit')} fetched; {files} {would}changed here:")
        for path in report.changed[:_SHOWN]:
            emit(f"  {path}")
        if len(report.changed) > _SHOWN:
            emit(f"  and {len(report.changed) - _SHOWN} more")
    for note in report.notes:
        emit(note)
    if report.merge:
        emit(f"merged as {report.merge[:8]}")
    if report.sent:
        emit(f"{plural(report.sent, 'commit')} {would}pushed to {report.remote} ({report.address})")
    if report.snapshots_taken:
        emit(f"{plural(report.snapshots_taken, 'snapshot')} taken from {report.remote}")
    if report.snapshots_sent:
        emit(f"{plural(report.snapshots_sent, 'snapshot')} sent to {report.remote}")
    if report.outcome == "equal" or not (report.changed or report.sent):
        emit(f"up to date with {report.remote} ({report.address})")


def _print_status(found: Status) -> None:
    if not found.remote:
        emit(found.why)
        return
    table(
        [
            ["remote", f"{found.remote} ({found.address}), branch {found.branch}"],
            ["ahead", plural(found.ahead, "commit")],
            ["behind", plural(found.behind, "commit")],
            ["uncommitted", plural(found.uncommitted, "file")],
            ["last sync", minute(found.synced) or "never"],
            ["last fetch", minute(found.checked) or "never"],
            *([["problem", found.why]] if found.why else []),
        ]
    )
    if found.conflicts:
        explain(found.conflicts, *_HINTS)


def explain(conflicts: tuple[Conflict, ...], *hints: str) -> None:
    """Explains each file's conflict, and prints how to resolve it."""
    emit(f"conflicts in {plural(len(conflicts), 'file')}; nothing was merged")
    for each in conflicts:
        emit()
        for line in explained(each):
            emit(line)
    emit()
    for hint in hints:
        emit(hint)
