"""Every command has help with an example."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click

from tests.cases import each_case
from tests.cli.conftest import Command
from tui.cli import SECTIONS, cli


def every_command(
    group: click.Group, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        yield (*above, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*above, name))


COMMANDS = list(every_command(cli))


@each_case(("path", "command"), COMMANDS)
def test_help_has_a_description_and_an_example(path: tuple[str, ...], command: click.Command) -> None:
    context = click.Context(command, info_name=" ".join(("autopoiesis", *path)))
    text = command.get_help(context)
    assert command.help and command.help.strip().endswith("."), f"{path} has no sentence of help"
    assert "Example" in text
    examples = [line.strip() for line in text.split("Example", 1)[1].splitlines()]
    calls = [line for line in examples if "autopoiesis" in line]
    assert calls
    for call in calls:
        words = shlex.split(
            call.split(" < ")[0].split(" | ")[0].removeprefix("ID=$(").removesuffix(")"), comments=True
        )
        assert words[0] == "autopoiesis"


@each_case(("path", "command"), COMMANDS)
def test_every_command_accepts_a_workspace(path: tuple[str, ...], command: click.Command) -> None:
    assert any("-C" in parameter.opts for parameter in command.params), path


def test_reading_commands_can_print_json() -> None:
    reading = {
        "doctor", "trace", "compile", "search", "index", "watch", "import", "topics list", "topics show",
        "topics check", "decisions list", "session list",
    }  # fmt: skip
    for path, command in COMMANDS:
        if " ".join(path) in reading:
            assert any("--json" in parameter.opts for parameter in command.params), path


def test_help_lists_each_command_whole(apo: Command) -> None:
    for words in ((), *(path for path, command in COMMANDS if isinstance(command, click.Group))):
        listed = apo(*words, "--help").out
        commands = listed.partition("]...\n")[2]
        assert not re.search(r"\.\.\.$", commands, re.MULTILINE), words
    lines = [line for line in apo("--help").out.splitlines() if line.startswith("  ")]
    for name, (_, summary) in (each for section in SECTIONS.values() for each in section.items()):
        assert [line for line in lines if line.split() == [name, *summary.split()]], name
