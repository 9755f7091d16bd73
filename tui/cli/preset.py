"""``preset``: named sets of files that are part of every prompt while active."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import commit_text, emit, emit_problems, emitted_json, group, table

if TYPE_CHECKING:
    from engine.context.presets import PresetChange
    from engine.engine import Engine


@group(
    'autopoiesis preset add release knowledge/reference/hosts.md --lines 10-40 --note "Only staging."',
    "autopoiesis preset use release",
    "autopoiesis preset off",
)
def preset() -> None:
    """Manage presets: named sets of files (presets/) that are part of every prompt while active."""


@preset.verb("list", "autopoiesis preset list --json")
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


@preset.verb("show", "autopoiesis preset show release")
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


@preset.verb("use", "autopoiesis preset use release", "autopoiesis preset use hosts --also")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--also", is_flag=True, help="Keep the presets that are already active.")
def preset_use(engine: Engine, names: tuple[str, ...], also: bool, as_json: bool) -> None:
    """Activate presets, in this order, and deactivate all others."""
    _print_active(engine.presets.use(names, also=also), as_json)


@preset.verb("off", "autopoiesis preset off", "autopoiesis preset off release")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def preset_off(engine: Engine, names: tuple[str, ...], as_json: bool) -> None:
    """Deactivate presets; all of them if none is named."""
    _print_active(engine.presets.off(names), as_json)


@preset.verb(
    "add",
    "autopoiesis preset add release knowledge/procedures/release.md",
    'autopoiesis preset add release knowledge/reference/hosts.md --lines "3-9, 20-31"',
)
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


@preset.verb("remove", "autopoiesis preset remove release knowledge/reference/hosts.md")
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
