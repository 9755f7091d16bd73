"""``hook``: runs an agent's hook, lists past runs, and turns hooks off and on."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.agents.contracts import CONTRACTS
from tui.cli.base import emit, emitted_json, group, invocation, minute, table, verb

if TYPE_CHECKING:
    from engine.agents.log import HookRun
    from engine.engine import Engine


@group(
    "autopoiesis hook log",
    "autopoiesis hook off --project .",
    "autopoiesis hook claude-code < event.json",
)
def hook() -> None:
    """Inject memory into agents' sessions and capture them; set up by `autopoiesis install`.

    `hook AGENT` is run by an agent at its events, faster as `autopoiesis-hook AGENT`: it reads one JSON
    object from standard input, prints what to inject, and never fails.
    """


def _run(agent: str) -> click.Command:
    @click.pass_context
    def run(context: click.Context) -> None:
        from engine.agents import client  # noqa: PLC0415 — not for `--help`

        sys.argv = ["autopoiesis-hook", agent, "-C", str(invocation().workspace)]
        client.main()

    run.__doc__ = f"Handle an event of {CONTRACTS[agent].title}, given as JSON on standard input."
    return verb(f"autopoiesis hook {agent} < event.json", name=agent)(run)


for _agent, _contract in CONTRACTS.items():
    if _contract.events:
        hook.add_command(_run(_agent))


@hook.verb("log", "autopoiesis hook log --limit 50", "autopoiesis hook log --session 1f0c… --json")
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


@hook.verb("off", "autopoiesis hook off", "autopoiesis hook off --project ~/src/shop")
@click.option("--project", type=click.Path(path_type=Path), metavar="DIR", help="Only in this project.")
@click.option("--session", default="", metavar="ID", help="Only in this session.")
def hook_off(project: Path | None, session: str) -> None:
    """Turn hooks off, everywhere or in a project or session: nothing is injected or captured."""
    _switch(project, session, on=False)


@hook.verb("on", "autopoiesis hook on", "autopoiesis hook on --project ~/src/shop")
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
