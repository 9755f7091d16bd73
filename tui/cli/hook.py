"""``hook``: what an agent's hooks run, what they did, and their switch."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.agents.contracts import CONTRACTS
from tui.cli.base import emit, emit_json, group, invocation, minute, table, verb

if TYPE_CHECKING:
    from engine.agents.log import HookRun
    from engine.engine import Engine


@group(
    "autopoiesis hook log",
    "autopoiesis hook off --project .",
    "autopoiesis hook claude-code < event.json",
)
def hook() -> None:
    """What agents are told and what is captured of their sessions; `autopoiesis install` sets it up.

    `hook AGENT` is what an agent's settings run at its events, faster as `autopoiesis-hook AGENT`: it reads
    one JSON object on standard input, prints what the agent is to be told, and never fails.
    """


def _run(agent: str) -> click.Command:
    @click.pass_context
    def run(context: click.Context) -> None:
        import sys  # noqa: PLC0415 — for this alone

        from engine.agents import client  # noqa: PLC0415 — not for `--help`

        sys.argv = ["autopoiesis-hook", agent, "-C", str(invocation().workspace)]
        client.main()

    run.__doc__ = f"Answer an event of {CONTRACTS[agent].title}, given as JSON on standard input."
    return verb(f"autopoiesis hook {agent} < event.json", name=agent)(run)


for _agent, _contract in CONTRACTS.items():
    if _contract.events:
        hook.add_command(_run(_agent))


@hook.verb("log", "autopoiesis hook log --limit 50", "autopoiesis hook log --session 1f0c… --json")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
@click.option("--session", default="", metavar="ID", help="Of one session.")
@click.option("--failed", is_flag=True, help="Only what failed.")
def hook_log(engine: Engine, limit: int, session: str, failed: bool, as_json: bool) -> None:
    """Show what agents were told at which event, why nothing was, and what failed, newest first."""
    from engine.agents.log import HookLog  # noqa: PLC0415 — not for `--help`
    from tui.cli.install import agents_found  # noqa: PLC0415 — not for `--help`

    runs: Iterable[HookRun] = HookLog(engine.files, engine.clock).backwards()
    found = list(
        islice(
            (each for each in runs if session in ("", each.session_id) and (each.failed or not failed)), limit
        )
    )
    if as_json:
        emit_json(found)
        return
    standing = agents_found()
    if not found and (failed or session):
        emit("no such run of a hook")
    elif not found and standing:
        emit("no hook has run yet; agents take up new ones when they are started again")
    elif not found:
        emit("no hook has run yet: `autopoiesis install` sets them up")
    else:
        rows = [
            [
                minute(run.at),
                run.agent,
                run.moment,
                run.project or run.session_id[:8] or "–",
                f"{run.tokens:,}" if run.tokens else "–",
                f"{run.ms:,} ms",
                ("failed: " if run.failed else "") + (run.said or ", ".join(run.labels)),
            ]
            for run in found
        ]
        table(rows, ["when", "agent", "event", "project", "tokens", "took", "what"])
    for each in standing:
        if each.level == "warning":
            emit(f"{each.text}: {each.hint}")


@hook.verb("off", "autopoiesis hook off", "autopoiesis hook off --project ~/src/shop")
@click.option("--project", type=click.Path(path_type=Path), metavar="DIR", help="In a project alone.")
@click.option("--session", default="", metavar="ID", help="In one session alone.")
def hook_off(project: Path | None, session: str) -> None:
    """Tell agents nothing and capture nothing: everywhere, in a project, or in a session."""
    _turn(project, session, on=False)


@hook.verb("on", "autopoiesis hook on", "autopoiesis hook on --project ~/src/shop")
@click.option("--project", type=click.Path(path_type=Path), metavar="DIR", help="In a project again.")
@click.option("--session", default="", metavar="ID", help="In a session again.")
def hook_on(project: Path | None, session: str) -> None:
    """Take back what `hook off` did, with the same options; says what else is off."""
    _turn(project, session, on=True)


def _turn(project: Path | None, session: str, *, on: bool) -> None:
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
