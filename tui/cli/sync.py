"""``sync``, ``share`` and ``private``: a memory on several machines, other people's, and encryption."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from tui.cli.base import (
    Group,
    commit_text,
    emit,
    emit_json,
    emit_problems,
    emitted_json,
    group,
    invocation,
    json_option,
    minute,
    table,
)
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


@group("", "--dry-run", "status", "--take ours topics/travel.md", name="sync", cls=_SyncGroup,
       invoke_without_command=True)  # fmt: skip
@click.option("--remote", default="", metavar="NAME", help="Use this remote instead of git.remote.")
@click.option("--dry-run", is_flag=True, help="Fetch, and show what would be done.")
@click.option("--take", "decisions", multiple=True, nargs=2, type=(click.Choice(["ours", "theirs"]), str),
              metavar="SIDE PATH…",
              help="Resolve the conflicting parts of these files with our or their version.")  # fmt: skip
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


@sync.verb("status", "", "--fetch --json")
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


@group("add https://example.org/team-knowledge.git --name team", "list", "update")
def share() -> None:
    """Manage other people's knowledge, in git submodules below knowledge/shared/."""


@share.verb("list", "", "--json")
def share_list(engine: Engine, as_json: bool) -> int:
    """List shared knowledge: its address, commit and problems."""
    found = engine.sharing.all()
    if as_json:
        emit_json(found)
        return 0
    if found:
        rows = [[each.name, each.recorded[:8] or "–", each.problem or "ok", each.address] for each in found]
        table(rows, ["name", "recorded", "", "from"])
    else:
        emit("no shared knowledge yet: autopoiesis share add ADDRESS")
    emit_problems(f"autopoiesis: {each.path}: {each.problem}; {each.hint}" for each in found if each.problem)
    return 0


@share.verb("add", "https://example.org/team-knowledge.git --name team")
@click.argument("address")
@click.option("--name", default="", help="The folder in knowledge/shared/; by default taken from ADDRESS.")
@click.option("--branch", default="", help="The branch to follow; by default the remote's HEAD.")
def share_add(engine: Engine, address: str, name: str, branch: str, as_json: bool) -> None:
    """Add the knowledge at ADDRESS as knowledge/shared/NAME.

    ADDRESS is an https or ssh address, or a local folder. Its files are searched and quoted in prompts as
    other people's words: they are never treated as instructions and never changed here. git.shared lists the
    addresses that may be fetched from.
    """
    found = engine.sharing.add(address, name, branch)
    if emitted_json(as_json, found):
        return
    emit(f"{found.path} is at {found.recorded[:8]} of {found.address}; recorded and committed")
    emit_problems([f"autopoiesis: {found.problem}; {found.hint}"] if found.problem else [])


@share.verb("update", "", "team", "--recorded")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--recorded", is_flag=True, help="Check out the recorded commit, as after a clone or a sync.")
@click.option("--rewound", is_flag=True, help="Follow the branch even if it lost commits.")
def share_update(engine: Engine, names: tuple[str, ...], recorded: bool, rewound: bool, as_json: bool) -> int:
    """Fetch the latest shared knowledge, all of it or by NAME, check it out, and record it."""
    done = engine.sharing.update(names, recorded=recorded, rewound=rewound)
    if as_json:
        emit_json(done)
    for each in () if as_json else done:
        if not each.why:
            is_new = each.before != each.after
            step = f"{each.before[:8] or 'nothing'} → {each.after[:8]}"
            emit(f"{each.name}: {step if is_new else f'already at {each.after[:8]}'}")
    emit_problems(f"autopoiesis: {each.why}" for each in done if each.why)
    return 1 if any(each.why for each in done) else 0


@share.verb("remove", "team")
@click.argument("name")
def share_remove(engine: Engine, name: str, as_json: bool) -> None:
    """Remove shared knowledge NAME and its folder, unless the folder has local changes."""
    found = engine.sharing.remove(name)
    emit_json(found) if as_json else emit(
        f"removed {found.path}; nothing is fetched from {found.address} any more"
    )


@group("setup", "status")
def private() -> None:
    """Manage knowledge/private/: plain text on this disk, encrypted in every commit (git-crypt)."""


@private.verb("setup")
def private_setup(engine: Engine, as_json: bool) -> int:
    """Create a key, have git-crypt encrypt knowledge/private/, and commit its files.

    The key exists only in .git/git-crypt/: keep a copy (git-crypt export-key FILE), and use it to unlock
    clones on other machines (git-crypt unlock FILE). Needs git-crypt.
    """
    done = engine.private.setup()
    if as_json:
        emit_json(done)
        return 1 if done.left else 0
    created = "created a key; keep a copy of it: git-crypt export-key FILE"
    emit(created if done.made_key else "a key already exists; anyone who has it can read what it encrypts")
    count = plural(len(done.encrypted), "file")
    emit(f"{count} encrypted from now on; {commit_text(done.revision, 'nothing changed')}")
    for path in done.in_history:
        emit(f"{path} is in plain text in earlier commits, and stays readable there")
    emit_problems(f"autopoiesis: {path}: {why}" for path, why in done.left.items())
    return 1 if done.left else 0


@private.verb("status", "", "--json")
def private_status(engine: Engine, as_json: bool) -> int:
    """Show the state of every private file. Exit 1 if something is wrong."""
    found = engine.private.state()
    if as_json:
        emit_json(found)
        return 1 if found.problem else 0
    words = {True: "yes", False: "no"}
    table(
        [
            ["git.private is on", words[found.counts]],
            ["git-crypt is installed", words[found.installed]],
            ["this clone has the key", words[found.unlocked]],
        ]
    )
    states = {
        "locked": "encrypted, locked",
        "waiting": "not committed yet",
        "uncovered": "would not be encrypted",
        "in clear": "in plain text in the latest commit",
    }
    table([[f"  {path}", states.get(state, state)] for path, state in found.files.items()])
    emit_problems([f"autopoiesis: {found.problem}; {found.hint}"] if found.problem else [])
    return 1 if found.problem else 0
