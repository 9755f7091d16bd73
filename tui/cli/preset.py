"""``preset``: named sets of files that go into every prompt while they are active."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import (
    LateGroup,
    directory_option,
    emit,
    emit_json,
    emit_problems,
    example,
    invocation,
    json_option,
    kept,
    table,
)

if TYPE_CHECKING:
    from engine.context.presets import PresetChange


@click.group(
    cls=LateGroup,
    late={
        "list": "tui.cli.preset:preset_list",
        "show": "tui.cli.preset:preset_show",
        "use": "tui.cli.preset:preset_use",
        "off": "tui.cli.preset:preset_off",
        "add": "tui.cli.preset:preset_add",
        "remove": "tui.cli.preset:preset_remove",
    },
    epilog=example(
        'autopoiesis preset add release knowledge/reference/hosts.md --lines 10-40 --note "Only staging."',
        "autopoiesis preset use release",
        "autopoiesis preset off",
    ),
)
@directory_option
def preset() -> None:
    """Named sets of files in presets/ that go into every prompt while they are active."""


@click.command("list", epilog=example("autopoiesis preset list --json"))
@directory_option
@json_option
def preset_list(as_json: bool) -> None:
    """List every preset, the active ones marked, with its files and its size."""
    with invocation().engine() as engine:
        presets = engine.presets
        found = presets.list()
        if as_json:
            emit_json({"active": presets.active(), "presets": found, "problems": presets.problems()})
            return
        if not found:
            emit("no presets yet; make one with: autopoiesis preset add NAME PATH")
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


@click.command("show", epilog=example("autopoiesis preset show release"))
@directory_option
@click.argument("name")
@json_option
def preset_show(name: str, as_json: bool) -> None:
    """Show what one preset brings into a prompt, and what it lists and cannot bring."""
    with invocation().engine() as engine:
        view = engine.presets.show(name)
        if as_json:
            emit_json(view)
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


@click.command("use", epilog=example("autopoiesis preset use release", "autopoiesis preset use hosts --also"))
@directory_option
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--also", is_flag=True, help="Leave the presets on that are active already.")
@json_option
def preset_use(names: tuple[str, ...], also: bool, as_json: bool) -> None:
    """Make presets the active ones, in this order; those before are switched off."""
    with invocation().engine() as engine:
        _say_active(engine.presets.use(names, also=also), as_json)


@click.command("off", epilog=example("autopoiesis preset off", "autopoiesis preset off release"))
@directory_option
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
def preset_off(names: tuple[str, ...], as_json: bool) -> None:
    """Switch presets off, all of them when none is named."""
    with invocation().engine() as engine:
        _say_active(engine.presets.off(names), as_json)


@click.command(
    "add",
    epilog=example(
        "autopoiesis preset add release knowledge/procedures/release.md",
        'autopoiesis preset add release knowledge/reference/hosts.md --lines "3-9, 20-31"',
    ),
)
@directory_option
@click.argument("name")
@click.argument("path")
@click.option("--lines", default="", metavar="LINES", help="Only these lines, as 10-40 or `3-9, 20-31`.")
@click.option("--note", default="", metavar="TEXT", help="What to know about the file; stands above it.")
@click.option("--title", default="", metavar="TEXT", help="The preset's title.")
@json_option
def preset_add(name: str, path: str, lines: str, note: str, title: str, as_json: bool) -> None:
    """Add a file to a preset, which is made when there is none of that name."""
    with invocation().engine() as engine:
        _say_files(engine.presets.add(name, path, lines, note, title), "+", as_json)


@click.command("remove", epilog=example("autopoiesis preset remove release knowledge/reference/hosts.md"))
@directory_option
@click.argument("name")
@click.argument("path")
@click.option("--lines", default="", metavar="LINES", help="Only the entry with these lines.")
@json_option
def preset_remove(name: str, path: str, lines: str, as_json: bool) -> None:
    """Take a file out of a preset; the file itself stays."""
    with invocation().engine() as engine:
        _say_files(engine.presets.remove(name, path, lines), "-", as_json)


def _say_active(change: PresetChange, as_json: bool) -> None:
    if as_json:
        emit_json(change)
        return
    emit(f"active: {', '.join(change.active) or 'none'} ({kept(change.commit, change.why)})")


def _say_files(change: PresetChange, sign: str, as_json: bool) -> None:
    if as_json:
        emit_json(change)
        return
    for name in change.files:
        emit(f"{change.path}: {sign} {name} ({kept(change.commit, change.why)})")
    if sign == "+" and change.preset not in change.active:
        emit(f"not active; switch it on with: autopoiesis preset use {change.preset}")
