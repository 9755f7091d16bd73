"""Names that differ only in how their letters are written mean the same file, which keeps its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.context.sources import WorkspaceSource
from engine.search.sources import named_sources
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.spelling import clash_words, clashes, twins

NFC, NFD = "caf\xe9", "cafe\u0301"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "memory-config.yaml").write_bytes(b"")
    (tmp_path / "knowledge/people").mkdir(parents=True)
    return Files(Workspace.open(tmp_path))


@pytest.mark.parametrize(("written", "asked"), [(NFC, NFD), (NFD, NFC)])
def test_a_file_is_read_and_written_under_the_name_it_has(files: Files, written: str, asked: str) -> None:
    root = files.workspace.root
    (root / "knowledge" / written).mkdir()
    (root / f"knowledge/{written}/{written}.md").write_text("One.")
    asked_path = f"knowledge/{asked}/{asked}.md"
    assert files.read(asked_path) == b"One."
    assert WorkspaceSource(files).read(asked_path) == b"One."
    files.replace(asked_path, b"Two.")
    files.append(asked_path, b" Three.")
    assert sorted(path.relative_to(root).as_posix() for path in root.rglob("*.md")) == [
        f"knowledge/{written}/{written}.md"
    ]
    assert files.read(asked_path) == b"Two.\n Three."
    (root / f"knowledge/people/{written}.md").write_text("One.")
    plain, found = named_sources(files.workspace, f"knowledge/people/{asked}.md")
    assert [plain] == [each.path for each in found] == [f"knowledge/people/{written}.md"]


def test_an_exact_name_comes_first_and_a_new_file_gets_the_name_that_was_given(files: Files) -> None:
    for name in (NFC, NFD):
        files.create(f"knowledge/{name}-{name == NFC}.md", name.encode())
        (files.workspace.root / f"knowledge/people/{name}.md").write_text(name)
    assert [files.read(f"knowledge/people/{name}.md").decode() for name in (NFC, NFD)] == [NFC, NFD]
    assert (files.workspace.root / f"knowledge/{NFD}-False.md").exists()


def test_names_that_other_systems_cannot_hold_side_by_side_are_found(tmp_path: Path) -> None:
    (tmp_path / "Notes").mkdir()
    (tmp_path / "notes").mkdir()
    for path in ("Notes/a.md", "notes/A.md", "notes/b.md"):
        (tmp_path / path).write_text("x")
    assert twins(tmp_path, "notes/A.md") == ("Notes/a.md", "notes/A.md")
    assert twins(tmp_path, "notes/b.md") == ("notes/b.md",)
    found = clashes(["Notes/a.md", "notes/A.md", "notes/b.md", f"{NFC}.md", f"{NFD}.md"])
    assert found == [("Notes/a.md", "notes/A.md"), (f"{NFD}.md", f"{NFC}.md")]
    assert clash_words(found[0])[0].startswith("Notes/a.md and notes/A.md differ only in case: a clone")
    assert r"cafe\u0301.md and caf\xe9.md differ only in how" in clash_words(found[1])[0]
