"""What an agent is told of a project: in all of its repository, and nowhere else."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from pathlib import Path

import pytest

from engine.agents.hooks import Hooks
from engine.agents.switches import Switches
from engine.engine import Engine
from engine.transcripts.places import head_fields, read_head
from engine.transcripts.projects import project_of
from tests.agents.agent import Agent

RULE = "Squash before merging."


class Work:
    """Repositories, and agents that work in them."""

    def __init__(self, root: Path, hooks: Hooks) -> None:
        self.root = root
        self.hooks = hooks

    def repository(self, name: str, remote: str = "") -> Path:
        folder = self.root / name
        folder.mkdir(parents=True)
        self.git(folder, "init", "-q")
        self.git(folder, "commit", "-q", "--allow-empty", "-m", "one")
        if remote:
            self.git(folder, "remote", "add", "origin", remote)
        return folder

    def git(self, folder: Path, *words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=R", "-c", "user.email=r@x.org", *words], cwd=folder, check=True
        )

    def agent(self, cwd: Path, name: str = "claude-code") -> Agent:
        session = str(uuid.uuid4())
        return Agent(self.hooks.answer, self.root / "logs", session_id=session, name=name, cwd=str(cwd))

    def told(self, cwd: Path) -> str:
        """What an agent gets when it starts in a folder and is asked about merging."""
        agent = self.agent(cwd)
        return agent.start() + agent.fire(
            "UserPromptSubmit", prompt="squash the commits before merging, please"
        )


@pytest.fixture
def work(tmp_path: Path, hooks: Hooks) -> Work:
    return Work(tmp_path / "work", hooks)


def test_a_rule_of_a_project_is_told_in_its_whole_repository_only(engine: Engine, work: Work) -> None:
    shop = work.repository("src/shop")
    work.git(shop, "worktree", "add", "-q", str(work.root / "trees/1"))
    (shop / "packages/web").mkdir(parents=True)
    agent = work.agent(shop / "packages/web")
    agent.prompt("Add a till roll")
    agent.end()
    path = engine.workspace.root / engine.conversations.of_session(agent.session_id).path
    assert project_of(path) == "shop"
    engine.rules.add(RULE, "shop")
    for folder in (shop, shop / "packages/web", work.root / "trees/1"):
        assert RULE in work.told(folder), folder
    other = work.repository("other/shop")
    plain = work.root / "elsewhere/shop"
    plain.mkdir(parents=True)
    for folder in (other, plain, work.root / "gone/shop"):
        assert RULE not in work.told(folder), folder
    clone = work.root / "clone"
    work.git(work.root, "clone", "-q", str(shop), str(clone))
    assert RULE in work.told(clone)


def test_notes_of_a_project_reach_no_other_of_its_name(engine: Engine, work: Work) -> None:
    acme = work.repository("acme/shop", "git@github.com:acme/shop.git")
    widgets = work.repository("widgets/shop", "https://github.com/widgets/shop")
    for folder in (acme, widgets):
        agent = work.agent(folder)
        agent.prompt("Add a till roll")
        agent.end()
    notes = {"shop": "Acme pays by invoice.", "shop-widgets": "Widgets pay by card."}
    for name, text in notes.items():
        folder = engine.workspace.root / f"knowledge/projects/{name}"
        folder.mkdir()
        (folder / "context.md").write_text(f"# {name}\n\n{text}\n")
    told = {name: work.agent(folder).start() for name, folder in (("shop", acme), ("shop-widgets", widgets))}
    for name in notes:
        assert [text in told[name] for text in notes.values()] == [name == each for each in notes]
    assert [run.project for run in work.hooks.log.backwards()][:2] == ["shop-widgets", "shop"]


def test_names_used_before_still_reach_the_project_but_no_new_one(engine: Engine, work: Work) -> None:
    shop = work.repository("src/shop")
    engine.rules.add(RULE, "shop")  # as an older version limited it
    day = engine.workspace.root / "raw/conversations/2031/01/05"
    day.mkdir(parents=True)
    (day / "1000-ses_00000001-work.md").write_text(
        f"---\nsession_id: ses_00000001\ncwd: {shop}\n---\n\n# Work\n"
    )
    assert RULE not in work.told(work.repository("other/shop")), "before anything was captured"
    assert RULE in work.told(shop / "packages")
    agent = work.agent(shop)
    agent.prompt("Add a till roll")
    shutil.rmtree(shop)
    assert RULE in work.told(shop / "packages/web")
    assert RULE not in work.told(work.root / "other/shop")


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_captured_session_names_its_repository(engine: Engine, work: Work, name: str) -> None:
    shop = work.repository("src/shop", "https://robin:hunter2hunter2@github.com/Acme/shop.git")
    agent = work.agent(shop / "packages/web", name)
    agent.start()
    agent.prompt("Add a till roll")
    agent.end()
    shutil.rmtree(shop)
    (path,) = engine.workspace.transcripts.rglob("*-add-a-till-roll.md")
    assert head_fields(read_head(path), ("repository",)) == {"repository": "github.com/acme/shop"}
    assert project_of(path) == "shop"
    assert "hunter2" not in path.read_text()


def test_hooks_off_in_a_project_are_off_in_its_work_trees(work: Work) -> None:
    shop = work.repository("src/shop")
    work.git(shop, "worktree", "add", "-q", str(work.root / "trees/1"))
    Switches().turn("projects", str(shop), on=False)
    assert work.agent(work.root / "trees/1").start() == ""
    assert work.agent(work.root / "trees").start() != ""
