"""Sparse work trees: hidden files are neither deleted, nor missing, nor overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import AutopoiesisError, ReadOnly
from engine.history.explorations import work_trees
from engine.knowledge.harvest.report import HarvestRequest
from engine.store.crypt import is_encrypted
from engine.store.sparse import hidden, outside
from engine.topics.check import check_topics
from engine.workspace.doctor import examine
from tests.cases import each_case
from tests.sync.machines import Machine, git


@pytest.fixture
def agent(sample: Path) -> Iterator[Machine]:
    """A sub-agent's sparse work tree of the sample, with topics and people."""
    with Engine.open(sample) as engine:
        made = engine.history.explore("agent", only=["topics", "knowledge/people/"])
        assert made.shows == ("knowledge/people", "topics") and made.branch == "explore/agent"
        assert engine.history.explore("agent").shows == made.shows
    yield Machine(made.folder, lambda: engine.clock())  # type: ignore[arg-type]  # the real clock


def findings(root: Path) -> set[str]:
    """Returns the doctor's findings about a work tree, without those any new one has."""
    new = ("search index", "sparse checkout")
    return {each.text for each in examine(root) if each.level != "ok" and not each.text.startswith(new)}


def test_hidden_files_still_exist(agent: Machine, sample: Path) -> None:
    engine, root = agent.engine, agent.root
    assert {each.name for each in root.iterdir() if each.is_dir()} <= {"knowledge", "topics", "scratch"}
    assert not (root / "knowledge/memory").exists() and (root / "knowledge/facts.md").is_file()
    assert agent.status() == "" and engine.repository.state().dirty == 0
    assert findings(root) <= findings(sample)
    assert check_topics(engine.workspace, engine.files) == ()
    assert engine.knowledge_entries.problems() == ()
    assert all(each.state == "there" for entry in engine.knowledge.verify() for each in entry.lines)
    assert engine.compile("Can you review the PR?").text and engine.commits.commit().left_out == ()

    memory = "knowledge/memory/MEMORY.md"
    for write in (engine.files.replace, engine.files.append):
        with pytest.raises(ReadOnly, match="not checked out here"):
            write(memory, b"mine\n")
    agent.add("topics/release.md", "\nOne more.\n")
    # Naming a missing file usually means a deletion; a hidden file is not deleted.
    assert engine.repository.commit(["topics/release.md", memory], "memory: of the agent")
    changed = git(root, "diff", "--name-status", "HEAD~1", "HEAD").split()
    assert changed == ["M", "topics/release.md"] and agent.status() == ""
    with Engine.open(sample) as above:
        assert above.reconstruction.merging.apply("explore/agent").is_merged
    assert (sample / "topics/release.md").read_text().endswith("One more.\n") and (sample / memory).is_file()


def test_a_harvest_does_not_overwrite_hidden_files(sample: Path) -> None:
    with Engine.open(sample) as engine:
        narrow = engine.history.explore("narrow", only=["topics"]).folder
    (narrow / "conversations").mkdir()
    (narrow / "conversations/talk.md").write_text("## 10:00 — user\nFact: The gate opens at noon.\n")
    with Engine.open(narrow) as engine:
        assert engine.knowledge.ledger.entries()
        with pytest.raises(ReadOnly, match=r"ledger\.json: is not checked out here"):
            engine.knowledge.harvest.run(HarvestRequest(("conversations/talk.md",)))
    assert not (narrow / "knowledge").exists() and (narrow / "conversations/talk.md").exists()


def test_a_sync_checks_out_only_visible_files(machines: tuple[Machine, Machine, Path]) -> None:
    desk, laptop, _ = machines
    for machine in (desk, laptop):
        machine.engine.configuration.change("git.auto_commit", False)
    desk.write("raw/old.md", "# Old\n")
    desk.write("topics/[odd] name/x.md", "# X\n")
    desk.sync()
    laptop.sync()
    git(laptop.root, "sparse-checkout", "set", "--cone", "topics")
    assert {*hidden(laptop.root)} == {"knowledge/facts.md", "knowledge/tasks.md", "raw/old.md"}
    assert outside(laptop.root, ["a.md", "topics/x/y.md", "raw/new.md", "topics.md/x"]) == {
        "raw/new.md", "topics.md/x"
    }  # fmt: skip
    desk.add("knowledge/facts.md", "- Of the desk.\n")
    desk.write("knowledge/people/ada.md", "# Ada\n")
    desk.write("topics/new.md", "# New\n")
    (desk.root / "raw/old.md").unlink()
    desk.sync()
    laptop.add("topics/travel.md", "\nFour.\n")
    assert not laptop.sync().conflicts
    assert sorted(each.name for each in laptop.root.iterdir() if each.name[0] != "." and each.is_dir()) == [
        "scratch", "topics"
    ]  # fmt: skip
    assert laptop.text("topics/new.md") and laptop.status() == ""
    assert "knowledge/people/ada.md" in hidden(laptop.root) and "raw/old.md" not in hidden(laptop.root)
    desk.sync()
    assert "Of the desk." in desk.text("knowledge/facts.md") and "Four." in desk.text("topics/travel.md")
    tree = git(desk.root, "ls-tree", "-r", "HEAD")
    assert tree == git(laptop.root, "ls-tree", "-r", "HEAD") and "raw/old.md" not in tree
    assert laptop.engine.commits.commit(dry_run=True).commits == () and desk.sync().outcome == "equal"
    git(laptop.root, "sparse-checkout", "disable")
    assert laptop.files() == desk.files() and laptop.status() == ""


@each_case("folder", ["nowhere", "../out", "/etc", "knowledge/facts.md", ".git", "--all"])
def test_a_folder_that_cannot_be_shown_is_refused(
    machines: tuple[Machine, Machine, Path], folder: str
) -> None:
    desk, _, _ = machines
    with pytest.raises(AutopoiesisError):
        desk.engine.history.explore("agent", only=["topics", folder])
    assert list(work_trees(desk.repository.git)) == ["refs/heads/main"]
    assert git(desk.root, "branch", "--list", "explore/*") == ""


def test_private_files_stay_encrypted_in_a_sparse_work_tree(
    machines: tuple[Machine, Machine, Path], git_crypt: Path
) -> None:
    desk, _, _ = machines
    desk.write("knowledge/private/money.md", "# Money\n")
    desk.engine.private.setup()
    folder = desk.engine.history.explore("agent", only=["knowledge/private"]).folder
    assert is_encrypted((folder / "knowledge/private/money.md").read_bytes())
    (folder / "knowledge/private/more.md").write_text("# More\n")
    (folder / "knowledge/facts.md").write_text("# Facts\n\n- Of the agent.\n")
    with Engine.open(folder) as engine:
        (left,) = engine.commits.commit().left_out
        assert left.path == "knowledge/private/more.md" and "encrypt" in left.why
