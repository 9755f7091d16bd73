"""``trust``: whether a workspace may send, take in or run what its settings say."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, invocation, table, verb
from tui.render.figures import value_text

if TYPE_CHECKING:
    from engine.settings.trust import Standing

SAID = {
    "nothing": "its settings send nothing, take nothing in and run nothing; there is nothing to trust",
    "trusted": "trusted: these settings count",
    "new": "not trusted: these settings are ignored",
    "changed": "changed since you trusted it: these settings are ignored",
    "declined": "you declined: these settings are ignored",
}


@verb(
    "autopoiesis trust --show", "autopoiesis trust", "autopoiesis trust --yes", "autopoiesis trust --revoke"
)
@click.option("--show", is_flag=True, help="Only show what the settings ask for.")
@click.option("--revoke", is_flag=True, help="Take trust back.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def trust(show: bool, revoke: bool, yes: bool, as_json: bool) -> int:
    """Let the settings of this workspace send, take in or run what they name, until they change.

    A workspace can come from somebody else. Until you trust it, everything that stays on this machine works,
    and the rest is ignored. What you trust is kept outside the workspace.
    """
    from engine.settings import trust as kept  # noqa: PLC0415 — `--help` must not load the engine
    from engine.settings.file import read  # noqa: PLC0415 — not for `--help`
    from engine.store.files import Files  # noqa: PLC0415 — not for `--help`
    from engine.store.paths import Workspace  # noqa: PLC0415 — not for `--help`

    if sum((show, revoke, yes)) > 1:
        raise click.UsageError("use one of --show, --revoke and --yes")
    workspace = Workspace.open(invocation().workspace)
    config, _ = read(Files(workspace, read_only=True))
    if revoke:
        kept.revoke(workspace.root)
    standing = kept.standing(workspace.root, config)
    if yes and not standing.counts:
        kept.trust(workspace.root, config)
        standing = kept.standing(workspace.root, config)
    if as_json:
        emit_json(standing)
        return 0
    _say(standing)
    if standing.counts or show or revoke:
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        emit("to trust it: autopoiesis trust --yes")
        return 1
    if not click.confirm("Trust it?", default=False):
        kept.decline(workspace.root, config)
        return 1
    kept.trust(workspace.root, config)
    emit("trusted until one of these settings changes")
    return 0


def _say(standing: Standing) -> None:
    emit(f"{standing.root}: {SAID[standing.state]}")
    table([[f"  {act.name}", value_text(act.value), act.does] for act in standing.acts])
