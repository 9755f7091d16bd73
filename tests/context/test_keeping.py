"""Saving a prompt to a file: verbatim, only below scratch/, and never overwriting unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.context.keeping import keep_prompt
from engine.errors import PathRefused, ReadOnly
from engine.store.files import Files
from engine.store.paths import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory-config.yaml").write_text("")
    return tmp_path


def test_a_prompt_is_saved_verbatim(root: Path) -> None:
    text = "# Prompt\r\n\n\x1b[31m ü 𝛑\n"
    assert keep_prompt(Files(Workspace.open(root)), "scratch/deep/prompt.md", text)
    assert (root / "scratch/deep/prompt.md").read_bytes() == text.encode()


def test_an_existing_file_is_kept_unless_replace_is_set(root: Path) -> None:
    files = Files(Workspace.open(root))
    assert keep_prompt(files, "scratch/prompt.md", "one")
    assert not keep_prompt(files, "scratch/prompt.md", "two")
    assert (root / "scratch/prompt.md").read_text() == "one"
    assert keep_prompt(files, "scratch/prompt.md", "two", replace=True)
    assert (root / "scratch/prompt.md").read_text() == "two"


@pytest.mark.parametrize(
    "path",
    [
        "knowledge/prompt.md", "topics/x.md", "raw/conversations/x.md", "conversations/x.md", "prompt.md",
        "memory-config.yaml", "scratch", "scratch/.lock", "scratch/.hidden/x.md", "scratch/../knowledge/x.md",
        "/tmp/x.md", "", "scratch/\0.md", "./knowledge/x.md", "scratch/settings.json", "scratch/prompt",
    ],
)  # fmt: skip
def test_paths_outside_scratch_are_refused(root: Path, path: str) -> None:
    before = sorted(root.rglob("*"))
    with pytest.raises(PathRefused):
        keep_prompt(Files(Workspace.open(root)), path, "x", replace=True)
    assert sorted(root.rglob("*")) == before


def test_a_symlink_out_of_the_workspace_is_refused(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (root / "scratch").symlink_to(outside)
    with pytest.raises(PathRefused):
        keep_prompt(Files(Workspace.open(root)), "scratch/prompt.md", "x", replace=True)
    assert not list(outside.iterdir())


def test_a_read_only_workspace_refuses(root: Path) -> None:
    with pytest.raises(ReadOnly):
        keep_prompt(Files(Workspace.open(root), read_only=True), "scratch/prompt.md", "x")
