"""A prompt gets the notes on the files of its conversation, and never those on other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.knowledge.bindings import MAX_FILES, in_scope
from engine.store.paths import Workspace


def notes(*paths: str) -> dict[str, str]:
    return {path: f"knowledge/files/{number}.md" for number, path in enumerate(paths)}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "memory"
    root.mkdir()
    (root / "memory-config.yaml").touch()
    return Workspace.open(root)


def test_a_path_on_another_machine_is_matched_by_its_last_parts(workspace: Workspace) -> None:
    known = notes("tidemark/ingest/sftp_pull.py", "tidemark/ingest/clock.py")
    for path in (
        "tidemark/ingest/sftp_pull.py",
        "/home/wren/src/tidemark/ingest/sftp_pull.py",
        "ingest/sftp_pull.py",
    ):
        assert in_scope([path], known, workspace) == ("knowledge/files/0.md",), path
    for path in ("sftp_pull.py", "other/sftp_pull.py", "ingest/sftp_pull", "/", "", "\0", "x" * 5000):
        assert in_scope([path], known, workspace) == (), path


def test_an_ambiguous_path_matches_nothing(workspace: Workspace) -> None:
    known = notes("one/src/utils.py", "two/src/utils.py")
    assert in_scope(["src/utils.py"], known, workspace) == ()
    assert in_scope(["/code/two/src/utils.py"], known, workspace) == ("knowledge/files/1.md",)


def test_an_existing_file_gets_only_its_own_notes(workspace: Workspace, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "src").mkdir()
        (tmp_path / name / "src/utils.py").touch()
    known = notes("one/src/utils.py")
    assert in_scope([str(tmp_path / "one/src/utils.py")], known, workspace) == ("knowledge/files/0.md",)
    assert in_scope([str(tmp_path / "two/src/utils.py")], known, workspace) == ()


def test_a_file_of_the_workspace_is_matched_by_its_path(workspace: Workspace) -> None:
    (workspace.root / "topics").mkdir()
    (workspace.root / "topics/x.md").touch()
    assert in_scope(["topics/x.md"], notes("topics/x.md"), workspace) == ("knowledge/files/0.md",)


def test_only_the_first_files_are_in_scope_in_a_fixed_order(workspace: Workspace) -> None:
    names = [f"code/src/{number}.py" for number in range(20)]
    found = in_scope(names, notes(*names), workspace)
    assert len(found) == MAX_FILES
    assert list(found) == sorted(found)
    assert set(found) == {f"knowledge/files/{number}.md" for number in range(MAX_FILES)}
    assert in_scope(reversed(names[:5]), notes(*names), workspace) == in_scope(
        names[:5], notes(*names), workspace
    )
