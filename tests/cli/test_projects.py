"""``projects``: what each name stands for, and what ``doctor`` asks about it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def shops(sample: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two repositories called shop with a session each, in a workspace with a rule of a project shop."""
    found = []
    for number, owner in enumerate(("acme", "widgets"), 1):
        folder = tmp_path / owner / "shop"
        folder.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        address = f"git@github.com:{owner}/shop.git"
        subprocess.run(["git", "remote", "add", "origin", address], cwd=folder, check=True)
        day = sample / f"raw/conversations/2031/01/0{number}"
        day.mkdir(parents=True)
        (day / f"1000-ses_0000000{number}-work.md").write_text(
            f"---\nsession_id: ses_0000000{number}\ncwd: {folder}\n---\n\n# Work\n\n## 10:00 — user\n\nHi\n"
        )
        found.append(folder)
    return found[0], found[1]


def test_a_name_of_two_projects_is_asked_about_once(
    apo: Command, sample: Path, shops: tuple[Path, Path]
) -> None:
    apo("-C", sample, "rules", "add", "Squash before merging.", "--project", "shop")
    asked = "the project name shop stands for github.com/acme/shop and github.com/widgets/shop"
    assert asked in apo("-C", sample, "doctor").out
    listed = apo("-C", sample, "projects").out
    assert "shop-acme" in listed and "shop-widgets" in listed
    assert "decide which: autopoiesis projects assign shop github.com/acme/shop" in listed
    done = apo("-C", sample, "projects", "assign", "shop", shops[1])
    assert done.code == 0, done.err
    assert done.out.startswith("shop: github.com/widgets/shop\ncommitted as ")
    assert "the project name shop" not in apo("-C", sample, "doctor").out
    found = apo("-C", sample, "projects", "--json").json
    assert {json.dumps(each["names"]) for each in found["projects"]} >= {
        '["shop", "shop-widgets"]',
        '["shop-acme"]',
    }
    assert found["disputed"] == {}


def test_an_unknown_repository_is_refused(apo: Command, sample: Path, shops: tuple[Path, Path]) -> None:
    wrong = apo("-C", sample, "projects", "assign", "shop", "github.com/nobody/shop")
    assert wrong.code == 1 and "list them: autopoiesis projects" in wrong.err


def test_a_workspace_without_sessions_has_no_projects(apo: Command, tmp_path: Path) -> None:
    apo("init", tmp_path / "new")
    assert apo("-C", tmp_path / "new", "projects").out.startswith("no projects yet")


def test_folders_that_look_like_work_trees_are_asked_about_once_and_together(
    apo: Command, sample: Path, shops: tuple[Path, Path]
) -> None:
    trees = shops[0].parents[1] / "trees/shop"
    day = sample / "raw/conversations/2031/01/03"
    day.mkdir(parents=True)
    for number, name in enumerate(("one", "two"), 1):
        session = f"ses_0000001{number}"
        header = f"---\nsession_id: {session}\ncwd: {trees / name}\n---\n"
        (day / f"100{number}-{session}-work.md").write_text(f"{header}\n# Work\n\n## 10:00 — user\n\nHi\n")
    log = sample.parent / "chat.md"
    log.write_text("**User:** Hi\n\n**Assistant:** Hello\n")
    apo("-C", sample, "rules", "add", "Squash before merging.", "--project", "one")
    asked = f"2 folders that are gone, {trees}/*, look like shop or shop-widgets, going by the name"
    hint = f"if so: autopoiesis projects assign shop '{trees}/*'; if not, with a name of their own"
    assert apo("-C", sample, "import", log).code == 0
    doctor, listed = apo("-C", sample, "doctor").out, apo("-C", sample, "projects").out
    assert asked in doctor and hint in doctor and asked in listed and hint in listed
    assert apo("-C", sample, "projects", "assign", "shop", f"{trees}/*").code == 0
    assert "look like" not in apo("-C", sample, "doctor").out
    assert apo("-C", sample, "projects", "--json").json["offers"] == []
