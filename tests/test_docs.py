"""What the README says is so: every command is named, every file and picture it points at exists."""

from __future__ import annotations

import re
from pathlib import Path

import click

from tests.cases import each_case
from tui.cli import COMMANDS, cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@each_case("name", [name for name in COMMANDS if name != "open"])
def test_every_command_is_in_the_readme(name: str) -> None:
    assert re.search(rf"autopoiesis (-C \S+ )?{name}\b", README)


def test_every_command_in_the_readme_exists() -> None:
    context = click.Context(cli)
    for name in re.findall(r"^\s*autopoiesis ([a-z]+)\b", README, re.MULTILINE):
        assert cli.get_command(context, name), name


def test_what_the_readme_points_at_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).is_file(), target


def test_every_target_of_the_makefile_in_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z]+)", README):
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
