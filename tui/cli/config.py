"""``config`` and ``trust``: shows and changes the settings of a workspace."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from tui.cli.base import (
    commit_text,
    emit,
    emit_json,
    emitted_json,
    group,
    invocation,
    is_terminal,
    table,
    verb,
)
from tui.render.figures import value_text

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.settings.editing import SettingChange, SettingInfo

_WIDTH = 78
STATES = {
    "nothing": "nothing to trust: the settings send, receive and run nothing",
    "trusted": "trusted: these settings apply",
    "new": "not trusted: these settings are ignored",
    "changed": "changed since you trusted them: these settings are ignored",
    "declined": "declined: these settings are ignored",
}


@group(
    "autopoiesis config show cache.anthropic_ttl",
    "autopoiesis config set cache.anthropic_ttl 1h",
    "autopoiesis config unset cache.anthropic_ttl",
)
def config() -> None:
    """Show the settings in memory-config.yaml, and change one without touching the rest."""


@config.verb("list", "autopoiesis config list", "autopoiesis config list gate")
@click.argument("group", default="")
def config_list(engine: Engine, group: str, as_json: bool) -> None:
    """List all settings, or those of one GROUP, each with its value and the line that sets it."""
    known = engine.configuration.settings()
    found = [each for each in known if not group or f"{each.name}.".startswith(f"{group}.")]
    if not found:
        groups = ", ".join(dict.fromkeys(each.name.partition(".")[0] for each in known))
        raise click.UsageError(f"no setting group {group!r}; groups: {groups}")
    if emitted_json(as_json, found):
        return
    rows = [
        [each.name, value_text(each.value), f"line {each.line}{_ignored_text(each)}" if each.is_set else ""]
        for each in found
    ]
    table(rows, ["setting", "value", "set in"])


@config.verb("show", "autopoiesis config show watchers.policy.high.activate")
@click.argument("name")
def config_show(engine: Engine, name: str, as_json: bool) -> None:
    """Show one setting: its value, default, allowed values and meaning."""
    found = engine.configuration.setting(name)
    if emitted_json(as_json, found):
        return
    table(
        [
            ["setting", found.name],
            ["value", value_text(found.value)],
            ["set in", _place(found)],
            ["default", value_text(found.default)],
            ["allowed", found.allowed],
        ]
    )
    if found.doc:
        emit()
        emit(textwrap.fill(found.doc.replace("``", "`"), _WIDTH))


@config.verb(
    "set",
    "autopoiesis config set cache.anthropic_ttl 1h",
    'autopoiesis config set imports.follow "claude-code, codex"',
    "autopoiesis config set watchers.policy.high.gate none",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("name")
@click.argument("value")
def config_set(engine: Engine, name: str, value: str, as_json: bool) -> None:
    """Change one setting; comments and everything else in the file stay as they are."""
    _print_change(engine.configuration.change(name, value), as_json)


@config.verb("unset", "autopoiesis config unset cache.anthropic_ttl")
@click.argument("name")
def config_unset(engine: Engine, name: str, as_json: bool) -> None:
    """Remove one setting from the file, so that its default applies."""
    _print_change(engine.configuration.change(name, None), as_json)


@config.verb("path", "autopoiesis config path")
def config_path(as_json: bool) -> None:
    """Print the path of the settings file."""
    from engine.store.paths import Workspace  # noqa: PLC0415 — `--help` must not load the engine

    path = str(Workspace.open(invocation().workspace).config)
    emit_json({"path": path}) if as_json else emit(path)


def _place(found: SettingInfo) -> str:
    if not found.is_set:
        return "not in the file"
    return f"memory-config.yaml:{found.line}{_ignored_text(found)}"


def _ignored_text(found: SettingInfo) -> str:
    if found.ignored is None:
        return ""
    return f": {value_text(found.ignored)}, not trusted"


def _print_change(change: SettingChange, as_json: bool) -> None:
    if emitted_json(as_json, change):
        return
    place = f"{change.path}:{change.line}" if change.line else change.path
    before, after = value_text(change.before), value_text(change.after)
    what = f"{after}, unchanged" if before == after else f"{before} → {after}"
    emit(f"{place}: {change.name}: {what} ({commit_text(change.commit, change.why)})")
    if change.ignored:
        emit("ignored until you trust the workspace: autopoiesis trust")


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
