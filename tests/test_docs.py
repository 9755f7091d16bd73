"""README and docs/ are accurate: every command is documented, every linked file and picture exists."""

from __future__ import annotations

import re
from pathlib import Path

import click

from engine.transcripts.chats import databases, layouts
from tests.cases import each_case
from tui.cli import COMMANDS, cli

ROOT = Path(__file__).parents[1]
PAGES = {
    page: page.read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
TEXT = "\n".join(PAGES.values())


@each_case("name", [name for name in COMMANDS if name != "open"])
def test_every_command_is_documented(name: str) -> None:
    commands = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert re.search(rf"^autopoiesis {name}\b", commands, re.MULTILINE)


def test_every_documented_command_exists() -> None:
    context = click.Context(cli)
    for line in re.findall(r"^(autopoiesis [a-z].*)$|`(autopoiesis [a-z][^`]*)`", TEXT, re.MULTILINE):
        words = "".join(line).split()
        group = cli.get_command(context, words[1])
        assert group is not None, line
        if len(words) > 2 and words[2].isalpha() and words[2].islower() and isinstance(group, click.Group):
            assert group.get_command(context, words[2]) or group.invoke_without_command, line


def test_every_linked_file_exists() -> None:
    for page, text in PAGES.items():
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert target.startswith("http") or (page.parent / target).is_file(), (page.name, target)


def test_every_format_that_is_read_is_documented() -> None:
    table = PAGES[ROOT / "docs/import.md"].partition("|---|---|---|")[2].partition("\n\n")[0]
    programs = {row.split("|")[1] for row in table.splitlines() if row}
    words = "-".join(re.sub(r"\W+", "-", program.lower()) for program in programs)
    readers = {name for name, *_ in layouts.LAYOUTS} | {name for name, *_ in databases.LAYOUTS}
    missing = {name for name in readers if f"-{name.removesuffix('-cli')}-" not in words}
    assert not missing


def test_every_documented_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z]+)", TEXT):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_changelog_names_the_version() -> None:
    from engine import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_dependency_has_a_reason() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.findall(
        r'^  "[^"]+",?(.*)$', project.split("dependencies = [", 1)[1].split("]\n", 1)[0], re.MULTILINE
    )
    assert listed and all(reason.strip().startswith("# ") for reason in listed)


def test_no_page_holds_a_conflict() -> None:
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if line.startswith(("<<<<<<< ", ">>>>>>> "))], page.name
