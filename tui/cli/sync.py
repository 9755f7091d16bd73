"""``sync``: two machines of one person, kept equal by way of a git remote."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from tui.cli.base import Group, emit, emit_json, emit_problems, group, invocation, minute, table
from tui.render.conflict_words import explained
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.sync.model import Conflict, Report, Side, Status

_SHOWN = 12
"""Files that a report lists."""

_CURES = (
    "to decide: autopoiesis sync --take ours PATH…, or --take theirs PATH…",
    "or edit a file here until it says what you want, and take ours",
)


class _SyncGroup(Group):
    """Takes several paths behind ``--take``, as in ``--take ours PATH PATH``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Gives each path its own ``--take``."""
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
@click.option("--remote", default="", metavar="NAME", help="Another remote than git.remote.")
@click.option("--dry-run", is_flag=True, help="Fetch, and say what would be done.")
@click.option(
    "--take",
    "decisions",
    multiple=True,
    nargs=2,
    type=(click.Choice(["ours", "theirs"]), str),
    metavar="SIDE PATH…",
    help="In a conflict, ours or theirs counts for these files.",
)
@click.option("--rewound", is_flag=True, help="Merge though the remote lost commits that it held.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def sync(
    context: click.Context,
    remote: str,
    dry_run: bool,
    decisions: tuple[tuple[str, str], ...],
    rewound: bool,
    as_json: bool,
) -> int:
    """Fetch what your other machine sent, merge it, and send what is new here (git.remote).

    Lists, logs, journals and the ledger of both machines are made one. Where both changed the same entry or
    the same lines, nothing at all is changed until you decide: the files are explained one by one, and --take
    settles them, or you edit them here first. Nothing is ever forced. What lies uncommitted in the memory is
    committed before.
    """
    if context.invoked_subcommand is not None:
        return 0
    if dry_run and decisions:
        raise click.UsageError("a decision (--take) is no dry run")
    with invocation().engine() as engine:
        take = [(cast("Side", side), path) for side, path in decisions]
        report = engine.sync.run(remote, dry_run=dry_run, take=take, rewound=rewound)
    if as_json:
        emit_json(report)
    else:
        _say(report, dry_run=dry_run)
    return 1 if report.conflicts else 0


@sync.verb("status", "autopoiesis sync status", "autopoiesis sync status --fetch --json")
@click.option("--remote", default="", metavar="NAME", help="Another remote than git.remote.")
@click.option("--fetch", is_flag=True, help="Ask the remote first; nothing here changes.")
def sync_status(engine: Engine, remote: str, fetch: bool, as_json: bool) -> int:
    """Show how this machine and the remote stand, and which conflicts wait."""
    found = engine.sync.status(remote, fetch=fetch)
    if as_json:
        emit_json(found)
    else:
        _stand(found)
    return 1 if found.conflicts else 0


def _say(report: Report, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    if report.committed:
        emit(f"{plural(len(report.committed), 'file')} committed before")
    emit_problems(f"autopoiesis: {each.path}: {each.why}" for each in report.left)
    if report.conflicts:
        explain(report.conflicts, *_CURES)
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
        emit(f"{plural(report.sent, 'commit')} {would}sent to {report.remote} ({report.address})")
    if report.outcome == "equal" or not (report.changed or report.sent):
        emit(f"{report.remote} ({report.address}) and this machine are equal")


def _stand(found: Status) -> None:
    if not found.remote:
        emit(found.why)
        return
    table(
        [
            ["remote", f"{found.remote} ({found.address}), branch {found.branch}"],
            ["here only", plural(found.ahead, "commit")],
            ["there only", plural(found.behind, "commit")],
            ["uncommitted", plural(found.uncommitted, "file")],
            ["last sync", minute(found.synced) or "never"],
            ["last asked", minute(found.checked) or "never"],
            *([["not possible", found.why]] if found.why else []),
        ]
    )
    if found.conflicts:
        explain(found.conflicts, *_CURES)


def explain(conflicts: tuple[Conflict, ...], *hints: str) -> None:
    """Explains file by file what both sides did, and says what can be done."""
    emit(f"{plural(len(conflicts), 'file')} for you to decide; nothing was merged, here or there")
    for each in conflicts:
        emit()
        for line in explained(each):
            emit(line)
    emit()
    for hint in hints:
        emit(hint)
