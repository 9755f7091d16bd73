"""``install``: an agent gets the memory, by its hooks and as an MCP server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, invocation, table, verb

if TYPE_CHECKING:
    from engine.agents.contracts import Contract
    from engine.agents.install import Change, Programs, Standing, Where
    from engine.workspace.finding import Finding

SAID = {
    "installed": "installed",
    "untrusted": "not trusted yet",
    "differs": "installed otherwise",
    "stale": "stale",
    "no": "not installed",
    "unreadable": "not readable",
}


@verb("autopoiesis install", "autopoiesis install claude-code",
      "autopoiesis install codex --project . --dry-run",
      "autopoiesis install claude-code --uninstall")  # fmt: skip
@click.argument("agent", required=False)
@click.option("--project", type=click.Path(path_type=Path, file_okay=False, exists=True), metavar="DIR",
              help="Only for sessions in this folder; else for all of yours.")  # fmt: skip
@click.option("--mcp/--no-mcp", default=True, help="The MCP server too, or only the hooks.")
@click.option("--uninstall", is_flag=True, help="Take out what was installed, and nothing else.")
@click.option("--dry-run", is_flag=True, help="Only show the change.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def install(agent: str | None, project: Path | None, mcp: bool, uninstall: bool, dry_run: bool, yes: bool,
            as_json: bool) -> int:  # fmt: skip
    """Give an agent this memory: hooks and an MCP server in its settings. Without AGENT, list how it stands.

    AGENT is claude-code, codex, gemini or opencode. The change is shown, and made when you say so; all else
    in the file stays as it is, to the byte, and the file as it was is kept beside it. With its hooks (of
    opencode, a plugin) the agent's sessions begin with what you told it before, and come into the memory.
    """
    from engine.agents.contracts import CONTRACTS  # noqa: PLC0415 — not for `--help`
    from engine.agents.install import (  # noqa: PLC0415 — as above
        Where,
        installation,
        is_on_this_machine,
        removal,
        standing,
    )

    folder = None if project is None else project.absolute()
    where = Where(Path.home(), os.environ, folder)
    if agent is None:
        if uninstall or dry_run or yes:
            raise click.UsageError("name the agent")
        return _list(where, as_json)
    if agent not in CONTRACTS:
        raise click.UsageError(f"no agent is called {agent}: {', '.join(CONTRACTS)}")
    contract = CONTRACTS[agent]
    changes = removal(contract, where, mcp=mcp) if uninstall else (
        installation(contract, where, _programs(), mcp=mcp))  # fmt: skip
    changes = [each for each in changes if not each.is_none]
    is_here = is_on_this_machine(contract, where)
    for change in () if as_json else changes:
        emit(change.diff)
    is_done = bool(changes) and not dry_run and (yes or _agreed(as_json))
    for change in changes if is_done else ():
        change.apply()
    if as_json:
        emit_json([{"path": each.file.path, "what": each.what, "diff": each.diff, "is_written": is_done}
                   for each in changes])  # fmt: skip
    elif is_done:
        _tell(changes, uninstall)
        if not uninstall:
            _advise(contract, where, is_here)
    elif not changes:
        emit(f"{contract.title}: {'nothing of ours is there' if uninstall else 'installed already'}")
        _say_why(() if uninstall else standing(contract, where, None))
    elif not dry_run:
        if not sys.stdin.isatty():
            emit("write it with --yes")
        return 1
    return 0


def _programs() -> Programs:
    """What the agent will run, for the workspace of this command.

    Raises:
        WorkspaceError: There is no workspace, so that the hooks would do nothing.
    """
    from engine.agents.install import Programs  # noqa: PLC0415 — not for `--help`
    from engine.store.paths import Workspace  # noqa: PLC0415 — not for `--help`

    root = Workspace.open(invocation().workspace).root
    is_default = root == Path("~/.autopoiesis").expanduser().resolve()
    return Programs.here(None if is_default else root)


def _agreed(as_json: bool) -> bool:
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return click.confirm("Write this?", default=True)


def _tell(changes: list[Change], uninstall: bool) -> None:
    for change in changes:
        what, path = " and ".join(change.what), change.file.path
        if change.data is None:
            emit(f"{what}: {path} is gone again, it held nothing else")
        elif uninstall:
            emit(f"{what}: taken out of {path}{', which is as it was' if change.spent else ''}")
        else:
            emit(f"{what}: written to {path}")
        if change.keep is not None:
            emit(f"    as it was: {change.keep.path}")


def _advise(contract: Contract, where: Where, is_here: bool) -> None:
    if not is_here:
        emit(f"{contract.title} itself was not found on this machine")
    if _programs().are_passing:
        emit("uv empties the cache in which these programs lie; to keep them: uv tool install autopoiesis")
    if where.project is not None:
        emit("the paths in these files are this machine's: keep them out of the project's commits")
    emit(contract.note)


def _list(where: Where, as_json: bool) -> int:
    from engine.agents.contracts import CONTRACTS  # noqa: PLC0415 — not for `--help`
    from engine.agents.install import is_on_this_machine, standing  # noqa: PLC0415 — not for `--help`
    from engine.errors import AutopoiesisError  # noqa: PLC0415 — not for `--help`

    try:
        programs = _programs()
    except AutopoiesisError:
        programs = None
    found = {name: standing(each, where, programs) for name, each in CONTRACTS.items()}
    here = {name: is_on_this_machine(each, where) for name, each in CONTRACTS.items()}
    if as_json:
        emit_json([{"agent": name, "is_here": here[name], "hooks": hooks, "mcp": server}
                   for name, (hooks, server) in found.items()])  # fmt: skip
        return 0
    rows = [
        [name, "yes" if here[name] else "no", SAID[hooks.state], SAID[server.state]]
        for name, (hooks, server) in found.items()
    ]
    table(rows, ["agent", "on this machine", "hooks", "MCP server"])
    _say_why(each for standings in found.values() for each in standings)
    return 0


def _say_why(standings: Iterable[Standing]) -> None:
    for each in dict.fromkeys(each for each in standings if each.why):
        emit(f"{each.why}: {each.hint}" if each.hint else each.why)


def agents_without() -> list[tuple[str, str]]:
    """Name and title of the agents on this machine that could have the memory, and have not."""
    from engine.agents.contracts import CONTRACTS  # noqa: PLC0415 — not for `--help`
    from engine.agents.install import Where, is_on_this_machine, standing  # noqa: PLC0415 — not for `--help`

    where = Where(Path.home(), os.environ)
    return [
        (name, each.title)
        for name, each in CONTRACTS.items()
        if is_on_this_machine(each, where) and standing(each, where, None)[0].state == "no"
    ]


def agents_found() -> list[Finding]:
    """What ``doctor`` says of agents that have our entries in the person's settings."""
    from engine.agents.contracts import CONTRACTS  # noqa: PLC0415 — not for `--help`
    from engine.agents.install import Where, standing  # noqa: PLC0415 — not for `--help`
    from engine.workspace.finding import Finding  # noqa: PLC0415 — not for `--help`

    found = []
    for name, contract in CONTRACTS.items():
        for each in standing(contract, Where(Path.home(), os.environ), None):
            if each.state in ("stale", "unreadable", "untrusted"):
                hint = each.hint or f"run: autopoiesis install {name}"
                found.append(Finding("warning", f"{contract.title}: {each.why}", hint))
            elif each.state == "installed":
                found.append(Finding("ok", f"{contract.title} has this memory by {each.path}"))
    return found
