"""``install`` and ``hook``: gives an agent the memory through hooks and an MCP server, and runs its hooks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.agents.contracts import CONTRACTS
from tui.cli.base import emit, emit_json, emitted_json, group, invocation, is_terminal, minute, table, verb

if TYPE_CHECKING:
    from engine.agents.contracts import Contract
    from engine.agents.install import Change, InstallState, Programs, Where
    from engine.agents.log import HookRun
    from engine.engine import Engine
    from engine.workspace.finding import Finding


_STATES = {
    "installed": "installed",
    "off": "turned off",
    "untrusted": "not trusted yet",
    "differs": "installed differently",
    "stale": "stale",
    "no": "not installed",
    "unreadable": "unreadable",
}


@verb("", "claude-code", "codex --project . --dry-run", "claude-code --uninstall")
@click.argument("agent", required=False)
@click.option("--project", type=click.Path(path_type=Path, file_okay=False, exists=True), metavar="DIR",
              help="Only for sessions in this folder; by default for all.")  # fmt: skip
@click.option("--mcp/--no-mcp", default=True, help="With or without the MCP server.")
@click.option("--uninstall", is_flag=True, help="Remove what was installed, and nothing else.")
@click.option("--dry-run", is_flag=True, help="Only show the change.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def install(agent: str | None, project: Path | None, mcp: bool, uninstall: bool, dry_run: bool, yes: bool,
            as_json: bool) -> int:  # fmt: skip
    """Add hooks and an MCP server to an agent's settings. Without AGENT, show the status of all agents.

    AGENT is claude-code, codex, gemini or opencode. The change is shown first and made after confirmation;
    the rest of the file stays byte for byte the same, and a backup is kept next to it. With the hooks (a
    plugin in opencode), the agent's sessions start with your memory and are captured in it.
    """
    from engine.agents.install import (  # noqa: PLC0415 — as above
        Where,
        install_state,
        installation,
        is_on_this_machine,
        removal,
    )

    folder = None if project is None else project.absolute()
    where = Where(Path.home(), os.environ, folder)
    if agent is None:
        if uninstall or dry_run or yes:
            raise click.UsageError("name an agent")
        return _list(where, as_json)
    if agent not in CONTRACTS:
        raise click.UsageError(f"unknown agent {agent!r}; known agents: {', '.join(CONTRACTS)}")
    contract = CONTRACTS[agent]
    changes = removal(contract, where, mcp=mcp) if uninstall else (
        installation(contract, where, _programs(), mcp=mcp))  # fmt: skip
    changes = [each for each in changes if not each.is_noop]
    is_here = is_on_this_machine(contract, where)
    for change in () if as_json else changes:
        emit(change.diff)
    is_done = bool(changes) and not dry_run and (yes or _confirm(as_json))
    for change in changes if is_done else ():
        change.apply()
    if as_json:
        emit_json([{"path": each.file.path, "what": each.what, "diff": each.diff, "is_written": is_done}
                   for each in changes])  # fmt: skip
    elif is_done:
        _print_changes(changes, uninstall)
        if not uninstall:
            _print_advice(contract, where, is_here)
            if agent == "claude-code" and is_here and not yes:
                _offer_notes()
    elif not changes:
        emit(f"{contract.title}: {'nothing to uninstall' if uninstall else 'already installed'}")
        _print_reasons(
            state
            for one in (() if uninstall else where.each(contract))
            for state in install_state(contract, one, None)
        )
    elif not dry_run:
        if not sys.stdin.isatty():
            emit("nothing was written; pass --yes to do it")
        return 1
    return 0


def _programs() -> Programs:
    """The programs that the agent will run for this workspace, which must exist."""
    from engine.agents.install import Programs  # noqa: PLC0415 — not for `--help`
    from engine.store.paths import Workspace  # noqa: PLC0415 — not for `--help`

    root = Workspace.open(invocation().workspace).root
    is_default = root == Path("~/.autopoiesis").expanduser().resolve()
    return Programs.here(None if is_default else root)


def _confirm(as_json: bool) -> bool:
    if as_json or not is_terminal():
        return False
    return click.confirm("Write these changes?", default=True)


def _print_changes(changes: list[Change], uninstall: bool) -> None:
    for change in changes:
        what, path = " and ".join(change.what), change.file.path
        if change.data is None:
            emit(f"{what}: deleted {path}, which contained nothing else")
        elif uninstall:
            emit(f"{what}: removed from {path}{', which is as it was before' if change.old_backup else ''}")
        else:
            emit(f"{what}: written to {path}")
        if change.backup is not None:
            emit(f"    backup: {change.backup.path}")


def _print_advice(contract: Contract, where: Where, is_here: bool) -> None:
    if not is_here:
        emit(f"{contract.title} itself was not found on this machine")
    if _programs().are_temporary:
        emit(
            "these programs are in uv's cache, which uv may clear; to keep them: uv tool install autopoiesis"
        )
    if where.project is not None:
        emit("the paths in these files are specific to this machine: do not commit them to the project")
    emit(contract.note)
    from engine.agents.install import install_state  # noqa: PLC0415 — not for `--help`

    _print_reasons(each for each in install_state(contract, where, None) if each.state == "off")


def _offer_notes() -> None:
    """Offers to have Claude Code itself take notes before it forgets, unless notes are taken already."""
    from engine.engine import Engine  # noqa: PLC0415 — not for `--help`

    with Engine.open(invocation().workspace) as engine:
        if engine.files.read_only or engine.config.flush.provider != "none":
            return
        question = (
            "Before Claude Code compacts a session, let `claude -p` note what to keep, on your own plan"
            " (flush.provider)?"
        )
        if click.confirm(question, default=False):
            done = engine.configuration.change("flush.provider", "claude-code")
            more = ", once you trust this workspace: autopoiesis trust" if done.ignored else ""
            emit(f"flush.provider: claude-code{more}")


def _list(where: Where, as_json: bool) -> int:
    from engine.agents.install import install_state, is_on_this_machine  # noqa: PLC0415 — not for `--help`
    from engine.errors import AutopoiesisError  # noqa: PLC0415 — not for `--help`
    from engine.store.paths import shown  # noqa: PLC0415 — not for `--help`

    try:
        programs = _programs()
    except AutopoiesisError:
        programs = None
    found = [
        (name, install_state(each, one, programs))
        for name, each in CONTRACTS.items()
        for one in where.each(each)
    ]
    here = {name: is_on_this_machine(each, where) for name, each in CONTRACTS.items()}
    if as_json:
        emit_json([{"agent": name, "is_here": here[name], "hooks": hooks, "mcp": server}
                   for name, (hooks, server) in found])  # fmt: skip
        return 0
    names = [name for name, _ in found]
    rows = [
        [
            name if names.count(name) == 1 else f"{name} ({shown(str(Path(hooks.path).parent))})",
            "yes" if here[name] else "no", _STATES[hooks.state], _STATES[server.state],
        ]
        for name, (hooks, server) in found
    ]  # fmt: skip
    table(rows, ["agent", "on this machine", "hooks", "MCP server"])
    _print_reasons(each for _, standings in found for each in standings)
    return 0


def _print_reasons(standings: Iterable[InstallState]) -> None:
    for each in dict.fromkeys(each for each in standings if each.why):
        emit(f"{each.why}: {each.hint}" if each.hint else each.why)


def agents_without() -> list[tuple[str, str]]:
    """Name and title of the agents on this machine without our hooks."""
    from engine.agents.install import Where, install_state, is_on_this_machine  # noqa: PLC0415 — not for `--help`

    where = Where(Path.home(), os.environ)
    return [
        (name, each.title)
        for name, each in CONTRACTS.items()
        if is_on_this_machine(each, where)
        and any(install_state(each, one, None)[0].state == "no" for one in where.each(each))
    ]


def agents_found() -> list[Finding]:
    """Findings for ``doctor`` about agents with our entries in the user's settings.

    The settings of the project in the current folder may turn them off.
    """
    from engine.agents.install import Where, install_state  # noqa: PLC0415 — not for `--help`
    from engine.workspace.finding import Finding  # noqa: PLC0415 — not for `--help`

    found = []
    where = Where(Path.home(), os.environ, at_work=_project_here())
    for name, contract in CONTRACTS.items():
        states = (state for one in where.each(contract) for state in install_state(contract, one, None))
        for each in dict.fromkeys(states):
            if each.state in ("stale", "unreadable", "untrusted", "off"):
                hint = each.hint or f"run: autopoiesis install {name}"
                found.append(Finding("warning", f"{contract.title}: {each.why}", hint))
            elif each.state == "installed":
                found.append(Finding("ok", f"{contract.title} is connected through {each.path}"))
    return found


def _project_here() -> Path | None:
    """The repository that contains the current folder, or else that folder; ``None`` if it is gone."""
    try:
        here = Path.cwd()
    except OSError:
        return None
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


@group("log", "off --project .", "claude-code < event.json")
def hook() -> None:
    """Inject memory into agents' sessions and capture them; set up by `autopoiesis install`.

    `hook AGENT` is run by an agent at its events, faster as `autopoiesis-hook AGENT`: it reads one JSON
    object from standard input, prints what to inject, and never fails.
    """


def _hook_of(agent: str) -> click.Command:
    @click.pass_context
    def run(context: click.Context) -> None:
        from engine.agents import client  # noqa: PLC0415 — not for `--help`

        sys.argv = ["autopoiesis-hook", agent, "-C", str(invocation().workspace)]
        client.main()

    run.__doc__ = f"Handle an event of {CONTRACTS[agent].title}, given as JSON on standard input."
    return verb(f"autopoiesis hook {agent} < event.json", name=agent)(run)


for _agent, _contract in CONTRACTS.items():
    if _contract.events:
        hook.add_command(_hook_of(_agent))


@hook.verb("log", "--limit 50", "--session 1f0c… --json")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many.")
@click.option("--session", default="", metavar="ID", help="Only this session.")
@click.option("--failed", is_flag=True, help="Only failed runs.")
def hook_log(engine: Engine, limit: int, session: str, failed: bool, as_json: bool) -> None:
    """List hook runs, newest first: what was injected, why nothing was, and what failed."""
    from engine.agents.log import HookLog  # noqa: PLC0415 — not for `--help`
    from tui.cli.install import agents_found  # noqa: PLC0415 — not for `--help`

    runs: Iterable[HookRun] = HookLog(engine.files, engine.clock).backwards()
    found = list(
        islice(
            (each for each in runs if session in ("", each.session_id) and (each.failed or not failed)), limit
        )
    )
    if emitted_json(as_json, found):
        return
    findings = agents_found()
    if not found and (failed or session):
        emit("no matching hook runs")
    elif not found and findings:
        emit("no hook has run yet; restart the agent to load new hooks")
    elif not found:
        emit("no hook has run yet; set hooks up with: autopoiesis install")
    else:
        rows = [
            [
                minute(run.at),
                run.agent,
                run.moment,
                run.project or run.session_id[:8] or "–",
                f"{run.tokens:,}" if run.tokens else "–",
                f"{run.ms:,} ms",
                ("failed: " if run.failed else "") + run.outcome,
            ]
            for run in found
        ]
        table(rows, ["when", "agent", "event", "project", "tokens", "took", "what"])
    for each in findings:
        if each.level == "warning":
            emit(f"{each.text}: {each.hint}")


@hook.verb("off", "", "--project ~/src/shop")
@click.option("--project", type=click.Path(path_type=Path), metavar="DIR", help="Only in this project.")
@click.option("--session", default="", metavar="ID", help="Only in this session.")
def hook_off(project: Path | None, session: str) -> None:
    """Turn hooks off, everywhere or in a project or session: nothing is injected or captured."""
    _switch(project, session, on=False)


@hook.verb("on", "", "--project ~/src/shop")
@click.option("--project", type=click.Path(path_type=Path), metavar="DIR", help="In this project.")
@click.option("--session", default="", metavar="ID", help="In this session.")
def hook_on(project: Path | None, session: str) -> None:
    """Undo `hook off` with the same options, and show what else is off."""
    _switch(project, session, on=True)


def _switch(project: Path | None, session: str, *, on: bool) -> None:
    from engine.agents.switches import Switches  # noqa: PLC0415 — not for `--help`

    switches = Switches()
    if project is not None:
        switches.turn("projects", str(project.expanduser().resolve()), on=on)
    elif session:
        switches.turn("sessions", session.lower(), on=on)
    else:
        switches.turn("everywhere", "", on=on)
    off = switches.off()
    if off["everywhere"]:
        emit("off everywhere")
    for kind in ("projects", "sessions"):
        for name in off[kind]:
            emit(f"off in {kind.removesuffix('s')} {name}")
    if not any(off.values()):
        emit("on everywhere")
