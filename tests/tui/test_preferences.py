"""Preferences, the choice of editor, and the files it may open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.store.user_folder import settings_folder
from tests.cases import each_case
from tui.kit.editor import editor_command, file_of
from tui.kit.preferences import Preferences


def test_choice_is_saved_and_other_settings_kept(tmp_path: Path) -> None:
    path = tmp_path / "settings" / "tui.yaml"
    path.parent.mkdir()
    path.write_text("theme: light\nmine: 3\n", encoding="utf-8")
    preferences = Preferences(path)
    assert preferences.theme == "light"
    preferences.choose_theme("dark")
    assert Preferences(path).theme == "dark"
    assert "mine: 3" in path.read_text(encoding="utf-8")
    assert [entry.name for entry in path.parent.iterdir()] == ["tui.yaml"]


def test_folder_is_created_when_needed(tmp_path: Path) -> None:
    preferences = Preferences(tmp_path / "a" / "b" / "tui.yaml")
    assert preferences.theme == "" and preferences.problem == ""
    preferences.choose_theme("light")
    assert Preferences(preferences.path).theme == "light"


@pytest.mark.parametrize("content", [b"theme: [", b"\xff\xfe", b"- a\n- b\n", b"theme: 3\n", b"[" * 600, b""])
def test_broken_file_is_treated_as_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tui.yaml"
    path.write_bytes(content)
    assert Preferences(path).theme == ""


def test_a_broken_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "tui.yaml"
    path.write_text("theme: [", encoding="utf-8")
    assert str(path) in Preferences(path).problem
    path.write_bytes(b"#" * 70_000)
    assert "too large" in Preferences(path).problem


def test_file_is_in_the_user_settings(home: Path) -> None:
    assert settings_folder().is_relative_to(home)
    assert Preferences().path.name == "tui.yaml"


@each_case(
    ("environment", "words"),
    [
        ({"VISUAL": "code --wait", "EDITOR": "vi"}, ["code", "--wait"]),
        ({"EDITOR": "vi"}, ["vi"]),
        ({"VISUAL": "", "EDITOR": "'a b' -x"}, ["a b", "-x"]),
        ({"VISUAL": "'unclosed", "EDITOR": "vi"}, ["vi"]),
    ],
)
def test_editor_command(environment: dict[str, str], words: list[str]) -> None:
    assert editor_command(Path("/w/a.md"), environment) == [*words, "/w/a.md"]


def test_no_command_without_an_editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert editor_command(Path("/w/a.md"), {}) == []


def test_only_regular_files_inside_the_workspace_can_be_opened(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    (root / "topics").mkdir(parents=True)
    (root / "topics" / "a.md").write_text("a", encoding="utf-8")
    (tmp_path / "outside.md").write_text("o", encoding="utf-8")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe")
    for bad in (
        "",
        "..",
        "../outside.md",
        "/etc/passwd",
        "link.md",
        "loop",
        "pipe",
        "topics",
        "a\0b",
        "x" * 5000,
    ):
        assert file_of(root, bad) == ""
    assert file_of(root, "missing", "topics/a.md#12") == "topics/a.md"
