"""``config``, ``trust``, ``secrets`` and ``preset``: settings, keys in files, and files for prompts."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.base import (
    commit_text,
    emit,
    emit_json,
    emit_problems,
    emitted_json,
    group,
    invocation,
    is_terminal,
    plain,
    table,
    verb,
)
from tui.render.figures import plural, value_text

if TYPE_CHECKING:
    from engine.context.presets import PresetChange
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


@group("show cache.anthropic_ttl", "set cache.anthropic_ttl 1h", "unset cache.anthropic_ttl")
def config() -> None:
    """Show the settings in memory-config.yaml, and change one without touching the rest."""


@config.verb("list", "", "gate")
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


@config.verb("show", "watchers.policy")
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


@config.verb("set", "cache.anthropic_ttl 1h", 'imports.follow "claude-code, codex"',
             "watchers.policy '{high: {activate: 0.3}}'",
             context_settings={"ignore_unknown_options": True})  # fmt: skip
@click.argument("name")
@click.argument("value")
def config_set(engine: Engine, name: str, value: str, as_json: bool) -> None:
    """Change one setting; comments and everything else in the file stay as they are."""
    _print_change(engine.configuration.change(name, value), as_json)


@config.verb("unset", "cache.anthropic_ttl")
@click.argument("name")
def config_unset(engine: Engine, name: str, as_json: bool) -> None:
    """Remove one setting from the file, so that its default applies."""
    _print_change(engine.configuration.change(name, None), as_json)


@config.verb("path")
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


@verb("--show", "", "--yes", "--revoke")
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


_IN_FILES = """\
in files; what was committed stays in the history (--history):
  replace them by [secret]: autopoiesis secrets redact FILE
  if one is no secret: autopoiesis secrets allow FILE:LINE"""
_IN_HISTORY = """\
in the history, which every clone and push contains:
  1. revoke each key and change each password: consider them leaked
  2. if you can rewrite the history: git filter-repo --replace-text FILE, with one secret per line in FILE
  3. force-push, have others clone again, and delete FILE"""


@group("scan", "allow knowledge/facts.md:12")
def secrets() -> None:
    """Find keys and passwords where they should not be, and decide on each."""


@secrets.verb("scan", "--history")
@click.option("--history", is_flag=True, help="Also scan every version of every file in git.")
def scan(engine: Engine, history: bool, as_json: bool) -> int:
    """List possible secrets by file, line and kind, without their values. Exit 1 if there are any."""
    from engine.workspace.secret_scan import FoundSecret, Skipped, scan_files, scan_history  # noqa: PLC0415 — imports git support

    found = [*scan_files(engine.files), *(scan_history(engine.files, engine.repository) if history else ())]
    standing = [each for each in found if isinstance(each, FoundSecret)]
    passed = [each for each in found if isinstance(each, Skipped)]
    if as_json:
        emit_json({"found": [plain(each) for each in standing], "passed": [plain(each) for each in passed]})
    else:
        for each in passed:
            emit(f"not scanned: {each.path} ({each.why})")
        if not standing:
            emit(f"no secrets in the workspace's {'files and history' if history else 'files'}")
        else:
            table([[f"{each.path}:{each.line}", each.kind, each.revision] for each in standing])
            emit("")
            emit(f"{plural(len(standing), 'secret')}; what to do:")
            if any(not each.revision for each in standing):
                emit(_IN_FILES)
            if any(each.revision for each in standing):
                emit(_IN_HISTORY)
    return 1 if standing else 0


@secrets.verb("allow", "knowledge/facts.md:12")
@click.argument("place", metavar="FILE[:LINE]")
def allow(engine: Engine, place: str, as_json: bool) -> int:
    """Record that what was found in a file, or in one line, is no secret, so that it can be committed.

    The hash of the finding is kept in logs/secrets_allowed.jsonl, and so applies to every file and, once
    synced, on every machine. Exit 1 if nothing was found there.
    """
    from engine.redaction.commits import ALLOWED  # noqa: PLC0415 — imports the patterns
    from engine.store.change import commit_change, commit_message  # noqa: PLC0415 — imports git support
    from engine.workspace import secret_scan  # noqa: PLC0415 — imports git support

    path, line = _file_and_line(engine, place)
    found = secret_scan.allow(engine.files, path, line, engine.clock())
    if found:
        message = commit_message("maintenance", f"{plural(len(found), 'finding')} allowed")
        wanted = engine.config.git.auto_commit
        commit_change(lambda: engine.repository, [ALLOWED], message, wanted=wanted)
    return _emit_decided(place, len(found), "allowed", as_json)


@secrets.verb("redact", "knowledge/facts.md")
@click.argument("place", metavar="FILE[:LINE]")
def redact(engine: Engine, place: str, as_json: bool) -> int:
    """Replace what looks like a secret in a file, or in one line, by [secret]. Exit 1 if there is nothing."""
    from engine.workspace import secret_scan  # noqa: PLC0415 — imports git support

    path, line = _file_and_line(engine, place)
    return _emit_decided(place, secret_scan.redact_file(engine.files, path, line), "replaced", as_json)


def _file_and_line(engine: Engine, place: str) -> tuple[str, int | None]:
    """The workspace-relative path and the line of ``FILE[:LINE]``; refused if there is no such file."""
    from engine.errors import DocumentError  # noqa: PLC0415 — `--help` must not load the engine

    path, _, line = place.rpartition(":")
    has_line = path and line.isdecimal() and not (engine.workspace.root / place).exists()
    found = engine.workspace.relative(Path(path if has_line else place))
    if not (engine.workspace.root / found).is_file():
        raise DocumentError("no such file", where=found, hint="autopoiesis secrets scan")
    return found, int(line) if has_line else None


def _emit_decided(place: str, count: int, done: str, as_json: bool) -> int:
    if as_json:
        emit_json({done: count})
    elif count:
        emit(f"{plural(count, 'finding')} {done}; commit the file: autopoiesis commit")
    else:
        emit(f"nothing in {place} looks like a secret")
    return 0 if count else 1


@group('add release knowledge/reference/hosts.md --lines 10-40 --note "Only staging."', "use release", "off")
def preset() -> None:
    """Manage presets: named sets of files (presets/) that are part of every prompt while active."""


@preset.verb("list", "--json")
def preset_list(engine: Engine, as_json: bool) -> None:
    """List the presets with their files and sizes; the active ones are marked."""
    presets = engine.presets
    found = presets.list()
    if emitted_json(as_json, {"active": presets.active(), "presets": found, "problems": presets.problems()}):
        return
    if not found:
        emit("no presets yet; create one with: autopoiesis preset add NAME PATH")
    table(
        [
            [
                "●" if view.active else "○",
                view.name,
                f"{len(view.files):,}",
                f"{view.tokens:,}",
                view.title if view.title != view.name else "",
            ]
            for view in found
        ],
        ["", "preset", "files", "tokens", "title"] if found else (),
    )
    emit_problems((*presets.problems(), *(problem for view in found for problem in view.problems)))


@preset.verb("show", "release")
@click.argument("name")
def preset_show(engine: Engine, name: str, as_json: bool) -> None:
    """Show what a preset adds to a prompt, and which listed files it cannot add."""
    view = engine.presets.show(name)
    if emitted_json(as_json, view):
        return
    state = "active" if view.active else "not active"
    emit(f"{view.name} — {view.title}")
    emit(f"{view.path}   {state}, {view.tokens:,} tokens before its cap")
    notes = {listed.path: listed.note for listed in view.files if listed.note}
    for section in view.sections:
        lines = f":{section.lines}" if section.lines else ""
        note = f"   {notes.pop(section.source)}" if section.source in notes else ""
        emit(f"{section.tokens:>8,}  {section.source}{lines}{note}")
    for missing in view.left_out:
        lines = f":{missing.lines}" if missing.lines else ""
        emit(f"       –  {missing.source}{lines}   {missing.reason}")
    emit_problems(view.problems)


@preset.verb("use", "release", "hosts --also")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--also", is_flag=True, help="Keep the presets that are already active.")
def preset_use(engine: Engine, names: tuple[str, ...], also: bool, as_json: bool) -> None:
    """Activate presets, in this order, and deactivate all others."""
    _print_active(engine.presets.use(names, also=also), as_json)


@preset.verb("off", "", "release")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def preset_off(engine: Engine, names: tuple[str, ...], as_json: bool) -> None:
    """Deactivate presets; all of them if none is named."""
    _print_active(engine.presets.off(names), as_json)


@preset.verb("add", "release knowledge/procedures/release.md",
             'release knowledge/reference/hosts.md --lines "3-9, 20-31"')  # fmt: skip
@click.argument("name")
@click.argument("path")
@click.option("--lines", default="", metavar="LINES", help="Only these lines, such as 10-40 or `3-9, 20-31`.")
@click.option("--note", default="", metavar="TEXT", help="A note about the file, shown above it.")
@click.option("--title", default="", metavar="TEXT", help="The preset's title.")
def preset_add(
    engine: Engine, name: str, path: str, lines: str, note: str, title: str, as_json: bool
) -> None:
    """Add a file to a preset, creating the preset if needed."""
    _print_files(engine.presets.add(name, path, lines, note, title), "+", as_json)


@preset.verb("remove", "release knowledge/reference/hosts.md")
@click.argument("name")
@click.argument("path")
@click.option("--lines", default="", metavar="LINES", help="Only the entry with these lines.")
def preset_remove(engine: Engine, name: str, path: str, lines: str, as_json: bool) -> None:
    """Remove a file from a preset; the file itself is not touched."""
    _print_files(engine.presets.remove(name, path, lines), "-", as_json)


def _print_active(change: PresetChange, as_json: bool) -> None:
    if emitted_json(as_json, change):
        return
    emit(f"active: {', '.join(change.active) or 'none'} ({commit_text(change.commit, change.why)})")


def _print_files(change: PresetChange, sign: str, as_json: bool) -> None:
    if emitted_json(as_json, change):
        return
    for name in change.files:
        emit(f"{change.path}: {sign} {name} ({commit_text(change.commit, change.why)})")
    if sign == "+" and change.preset not in change.active:
        emit(f"not active; activate it with: autopoiesis preset use {change.preset}")
