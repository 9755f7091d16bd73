"""``trust``: whether a workspace's settings may send, receive or run anything."""

from __future__ import annotations

import click

from tui.cli.base import emit, emit_json, invocation, is_terminal, table, verb
from tui.render.figures import value_text

STATES = {
    "nothing": "nothing to trust: the settings send, receive and run nothing",
    "trusted": "trusted: these settings apply",
    "new": "not trusted: these settings are ignored",
    "changed": "changed since you trusted them: these settings are ignored",
    "declined": "declined: these settings are ignored",
}


@verb(
    "autopoiesis trust --show", "autopoiesis trust", "autopoiesis trust --yes", "autopoiesis trust --revoke"
)
@click.option("--show", is_flag=True, help="Only show what the settings ask for.")
@click.option("--revoke", is_flag=True, help="Revoke trust.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def trust(show: bool, revoke: bool, yes: bool, as_json: bool) -> int:
    """Allow this workspace's settings to send, receive or run what they name, until they change.

    A workspace may come from someone else. Until you trust it, only what stays on this machine works, and the
    other settings are ignored. Your decision is stored outside the workspace.
    """
    from engine.settings import trust as trusting  # noqa: PLC0415 — `--help` must not load the engine
    from engine.settings.file import read  # noqa: PLC0415 — not for `--help`
    from engine.store.files import Files  # noqa: PLC0415 — not for `--help`
    from engine.store.paths import Workspace  # noqa: PLC0415 — not for `--help`

    if sum((show, revoke, yes)) > 1:
        raise click.UsageError("use one of --show, --revoke and --yes")
    workspace = Workspace.open(invocation().workspace)
    config, _ = read(Files(workspace, read_only=True))
    if revoke:
        trusting.revoke(workspace.root)
    status = trusting.status(workspace.root, config)
    if yes and not status.applies:
        trusting.trust(workspace.root, config)
        status = trusting.status(workspace.root, config)
    if as_json:
        emit_json(status)
        return 0
    emit(f"{status.root}: {STATES[status.state]}")
    table([[f"  {act.name}", value_text(act.value), act.does] for act in status.acts])
    if status.applies or show or revoke:
        return 0
    if not is_terminal():
        emit("to trust it: autopoiesis trust --yes")
        return 1
    if not click.confirm("Trust it?", default=False):
        trusting.decline(workspace.root, config)
        return 1
    trusting.trust(workspace.root, config)
    emit("trusted, until one of these settings changes")
    return 0
