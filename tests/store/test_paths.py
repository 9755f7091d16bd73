from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import PathRefused, WorkspaceError
from engine.store.paths import Workspace, category_of, slugify, split_relative, valid_session_id
from tests.cases import each_case


def test_a_folder_with_a_configuration_is_a_workspace(workspace: Workspace) -> None:
    assert workspace.root.is_absolute()
    assert workspace.config.is_file()
    assert workspace.transcripts == workspace.root / "raw" / "conversations"


@pytest.mark.parametrize("name", ["missing", "empty", "file", "nul\0"])
def test_anything_else_is_not_a_workspace(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WorkspaceError) as caught:
        Workspace.open(tmp_path / name)
    assert caught.value.hint.startswith("run: autopoiesis init ")


def test_a_workspace_behind_a_symlink_has_its_real_path(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(workspace.root)
    assert Workspace.open(tmp_path / "link") == workspace


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "//etc/passwd",
        "..",
        "../outside",
        "knowledge/../../outside",
        "knowledge/..",
        "",
        ".",
        "./",
        "a\0b",
        "x" * 256,
        "é" * 128,
        "a/" * 3000 + "a",
        "\ud800",
        ".git/hooks/pre-commit",
        ".GIT/config",
        "knowledge/.git/config",
        ".git./config",
    ],
)
def test_paths_out_of_the_workspace_are_rejected(workspace: Workspace, path: str) -> None:
    with pytest.raises(PathRefused) as caught:
        workspace.resolve(path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "path", ["a.md", "a/b/c.md", "./a//b.md", "-rf", "a b", "ü/日本", "new\nline", ".gitignore"]
)
def test_other_paths_resolve_below_the_root(workspace: Workspace, path: str) -> None:
    resolved = workspace.resolve(path)
    assert workspace.root in resolved.parents
    assert workspace.relative(resolved) == "/".join(split_relative(path))


def test_symlinks_within_the_workspace_are_followed_and_others_rejected(
    workspace: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace.root / "knowledge").mkdir()
    (workspace.root / "inside").symlink_to("knowledge")
    (workspace.root / "out").symlink_to(outside)
    (workspace.root / "up").symlink_to("..")
    (workspace.root / "file-out").symlink_to(outside / "file")
    (workspace.root / "to-git").symlink_to(".git")
    (workspace.root / "loop").symlink_to("loop")
    (workspace.root / "one").symlink_to("two")
    (workspace.root / "two").symlink_to("one")
    assert workspace.resolve("inside/a.md") == workspace.root / "knowledge" / "a.md"
    for path in (
        "out",
        "out/a.md",
        "up",
        "up/outside",
        "file-out",
        "to-git/config",
        "loop",
        "loop/a",
        "one/b",
    ):
        with pytest.raises(PathRefused):
            workspace.resolve(path)


def test_relative_accepts_only_paths_in_the_workspace(workspace: Workspace, tmp_path: Path) -> None:
    assert workspace.relative(workspace.root / "a" / ".." / "b.md") == "b.md"
    assert workspace.relative(Path("a/b.md")) == "a/b.md"
    (tmp_path / "alias").symlink_to(workspace.root)
    assert workspace.relative(tmp_path / "alias" / "b.md") == "b.md"
    for path in (workspace.root, tmp_path / "x", workspace.root / ".." / "x", tmp_path / "workspace-2" / "x"):
        with pytest.raises(PathRefused):
            workspace.relative(path)


@given(st.text(st.sampled_from("ab./\\~-\0\n é\u202e"), max_size=14))
def test_no_text_resolves_to_a_path_outside(text: str) -> None:
    root = Path(os.path.realpath(os.curdir)) / "no-such-workspace"
    try:
        resolved = Workspace(root).resolve(text)
    except PathRefused:
        return
    assert root in resolved.parents


@each_case(
    ("path", "category"),
    [
        ("knowledge/identity/SOUL.md", "identity"),
        ("knowledge/memory/MEMORY.md", "memory"),
        ("knowledge/journal/2026-02-16.md", "journal"),
        ("knowledge/projects/_active.md", "project"),
        ("knowledge/projects/autopoiesis/context.md", "project"),
        ("knowledge/people/david.md", "person"),
        ("knowledge/procedures/deploy.md", "procedure"),
        ("knowledge/reference/papers/a.md", "reference"),
        ("knowledge/facts.md", "knowledge"),
        ("knowledge/tasks.md", "knowledge"),
        ("knowledge/files/src-main.md", "knowledge"),
        ("knowledge/incidents/KNOWLEDGE.md", "knowledge"),
        ("knowledge/incidents/2026-05-13-cache/KNOWLEDGE.md", "knowledge"),
        ("knowledge/incidents/references/log.md", None),
        ("knowledge/digest.md", None),
        ("knowledge/ledger.json", None),
        ("knowledge/prompts/harvest.md", None),
        ("raw/conversations/2026/02/16/1845-ses-x.md", "conversation"),
        ("conversations/agent.jsonl", "conversation"),
        ("conversations/notes.txt", "conversation"),
        ("topics/email.md", "topic"),
        ("topics/.state.yaml", None),
        ("archive/journal/2025-01-01.md", "archive"),
        ("archive/topics/old.md", "archive"),
        ("archive/knowledge/people/x.md", "archive"),
        ("archive/memory/2026.md", "archive"),
        ("archive/people/photo.png", None),
        ("archive/conversations/x.md", "conversation"),
        ("knowledge/archive/journal/2025-01-01.md", "archive"),
        ("memory-config.yaml", None),
        ("logs/decisions-2026-02.jsonl", None),
        ("scratch/notes.md", None),
        (".library/custom/x/SKILL.md", None),
        ("README.md", None),
        ("knowledge/people/photo.png", None),
        ("", None),
    ],
)
def test_a_path_determines_its_category(path: str, category: str | None) -> None:
    assert category_of(path) == category


@each_case(
    ("text", "slug"),
    [
        ("Autopoiesis Restructuring!", "autopoiesis-restructuring"),
        ("  -rf / ", "rf"),
        ("..", "untitled"),
        ("", "untitled"),
        ("🎉", "untitled"),
        ("a/b\\c\0d", "a-b-c-d"),
        ("Über die Straße", "über-die-straße"),
        ("e\u0301te\u0301", "été"),
        ("日本語 の メモ", "日本語-の-メモ"),
        ("snake_case", "snake-case"),
    ],
)
def test_slugs_resemble_their_text(text: str, slug: str) -> None:
    assert slugify(text) == slug


@given(st.text(max_size=300), st.integers(1, 80))
def test_a_slug_is_always_a_plain_file_name(text: str, limit: int) -> None:
    slug = slugify(text, limit)
    assert slug == "untitled" or 0 < len(slug) <= limit
    assert len(os.fsencode(slug)) <= 200
    assert slug[0] not in ".-"
    assert not set(slug) & set("/\\\0\n :.")
    assert split_relative(slug) == (slug,)


@each_case("text", ["ses_a1b2c3d4", "a", "0b7e3c52-3c54-4f51-9b0a-1b1f6a2f5d11", "v1.2"])
def test_valid_session_ids(text: str) -> None:
    assert valid_session_id(text)


@each_case("text", ["", "../x", "a/b", "-rf", ".hidden", "a b", "a\n", "x" * 129, "é", "a..b", "a\0"])
def test_invalid_session_ids(text: str) -> None:
    assert not valid_session_id(text)
