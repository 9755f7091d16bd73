"""Changing presets keeps comments, commits the change, and refuses invalid ones with a hint."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engine.context.presets import Presets
from engine.engine import Engine
from engine.errors import AutopoiesisError, DocumentError, PathRefused, ReadOnly

HAND_MADE = """\
---
type: preset
title: Release   # the one for staging
files:
  # read this first
  - path: knowledge/reference/hosts.md
    lines: "8-14"    # the staging host
  - knowledge/procedures/release.md
  - {path: knowledge/reference/datums.md, note: 'for the tide'}
---

Ask before you deploy.
"""


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def presets(engine: Engine) -> Presets:
    folder = engine.workspace.root / "presets"
    for path in folder.iterdir():
        path.unlink()
    (folder / "release.md").write_text(HAND_MADE)
    return engine.presets


def test_a_preset_is_created_activated_and_compiled(engine: Engine) -> None:
    presets, root = engine.presets, engine.workspace.root
    before = engine.compile("Hello", ask=False)
    made = presets.add("hosts", "./knowledge//reference/hosts.md", "8-14", "Only  staging:\nask first.")
    assert (root / made.path).read_text() == (
        "---\ntype: preset\ntitle: hosts\nfiles:\n  - path: knowledge/reference/hosts.md\n    lines: 8-14\n"
        "    note: 'Only staging: ask first.'\n---\n"
    )
    assert made.files == ("knowledge/reference/hosts.md:8-14",) and made.active == ()
    assert git(root, "log", "-1", "--format=%H %s").strip() == (
        f"{made.commit} maintenance: preset add hosts knowledge/reference/hosts.md"
    )
    used = presets.use(["hosts"])
    assert (root / "presets/active").read_text() == "hosts\n"
    assert git(root, "show", "--name-only", "--format=", "HEAD").split() == ["presets/active"]
    assert used.active == presets.active() == ("hosts",)

    after = engine.compile("Hello", ask=False)
    [section] = [each for each in after.sections if each.slot == "preset"]
    assert (section.source, section.lines) == ("knowledge/reference/hosts.md", "9-14")
    assert "Note: Only staging: ask first." in section.text
    length = before.stable_prefix_length
    assert after.stable_prefix_length == length and after.text[:length] == before.text[:length]

    presets.off()
    assert not (root / "presets/active").exists()
    assert engine.compile("Hello", ask=False).text == before.text


def test_the_sections_of_a_preset_are_shown_with_their_size(presets: Presets) -> None:
    view = presets.show("release")
    assert (view.title, view.notes, view.active) == ("Release", "Ask before you deploy.", False)
    assert [each.label for each in view.sections] == [
        "preset:release",
        "preset:release:knowledge/reference/hosts.md:9-14",
        "preset:release:knowledge/procedures/release.md",
        "preset:release:knowledge/reference/datums.md",
    ]
    assert view.tokens > sum(each.tokens for each in view.sections) > 100
    assert not view.problems and not view.left_out
    assert presets.list() == (view,)


def test_a_hand_written_header_keeps_its_comments(engine: Engine, presets: Presets) -> None:
    file = engine.workspace.root / "presets/release.md"
    presets.add("release", "knowledge/reference/api.md", note="v2")
    added = "  - path: knowledge/reference/api.md\n    note: v2\n---\n"
    assert file.read_text() == HAND_MADE.replace("---\n\nAsk", f"{added}\nAsk")
    gone = presets.remove("release", "knowledge/reference/api.md")
    assert gone.files == ("knowledge/reference/api.md",)
    assert file.read_text() == HAND_MADE
    presets.remove("release", "knowledge/procedures/release.md")
    assert file.read_text() == HAND_MADE.replace("  - knowledge/procedures/release.md\n", "")


def test_one_of_two_slices_is_removed_by_its_lines(presets: Presets) -> None:
    presets.add("release", "knowledge/reference/hosts.md", "20-22")
    assert presets.remove("release", "knowledge/reference/hosts.md", "20-22").files == (
        "knowledge/reference/hosts.md:20-22",
    )
    presets.add("release", "knowledge/reference/hosts.md", "20-22")
    assert len(presets.remove("release", "knowledge/reference/hosts.md").files) == 2
    presets.remove("release", "knowledge/procedures/release.md")
    presets.remove("release", "knowledge/reference/datums.md")
    assert presets.show("release").files == ()
    assert [each.label for each in presets.show("release").sections] == ["preset:release"]
    presets.add("release", "knowledge/reference/api.md")
    assert [each.path for each in presets.show("release").files] == ["knowledge/reference/api.md"]


def test_several_presets_are_active_in_order_and_comments_are_kept(engine: Engine, presets: Presets) -> None:
    file = engine.workspace.root / "presets/active"
    file.write_text("# what I work on\nrelease\n")
    presets.add("hosts", "knowledge/reference/hosts.md")
    assert presets.use(["hosts"], also=True).active == ("release", "hosts")
    assert file.read_text() == "# what I work on\nrelease\nhosts\n"
    assert presets.off(["release"]).active == ("hosts",)
    assert presets.off().active == ()
    assert file.read_text() == "# what I work on\n"


def test_an_active_preset_that_was_deleted_is_reported_and_can_be_switched_off(
    engine: Engine, presets: Presets
) -> None:
    presets.use(["release"])
    (engine.workspace.root / "presets/release.md").unlink()
    (engine.workspace.root / "presets/no name.md").write_text("---\ntype: preset\n---\n")
    assert [str(problem) for problem in presets.problems()] == [
        "presets/active:1: there is no preset release; run: autopoiesis preset off release",
        "presets/no name.md: invalid preset name; use letters, digits, '.', '_' and '-'",
    ]
    assert presets.off(["release"]).active == () and presets.list() == ()


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (("../x", "knowledge/reference/hosts.md"), AutopoiesisError, "not a valid preset name"),
        (("hosts", "../../etc/passwd"), PathRefused, "contains '..'"),
        (("hosts", "none.md"), DocumentError, "none.md: no such file"),
        (("hosts", "knowledge/reference/hosts.md", "x"), AutopoiesisError, "'x' is not a range of lines"),
        (("hosts", "knowledge/reference/hosts.md", "90-95"), DocumentError, "has no lines 90-95"),
        (("hosts", "knowledge/reference/hosts.md", "1-3"), DocumentError, "its text is on lines"),
        (("hosts", "knowledge/reference/hosts.md", "", "x" * 500), AutopoiesisError, "500 characters"),
        (("release", "knowledge/procedures/release.md"), DocumentError, "already lists .*"),
        (("release", "knowledge/procedures/release.md", "10-12"), DocumentError, "already lists .*"),
        (("release", "knowledge/reference/hosts.md", "8-14"), DocumentError, "release.md:6: already lists"),
    ],
)
def test_invalid_additions_change_nothing(
    engine: Engine, presets: Presets, arguments: tuple[str, ...], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        presets.add(*arguments)
    assert [path.name for path in (engine.workspace.root / "presets").iterdir()] == ["release.md"]
    assert (engine.workspace.root / "presets/release.md").read_text() == HAND_MADE


def test_other_errors_have_a_hint(engine: Engine, presets: Presets) -> None:
    with pytest.raises(AutopoiesisError, match="there is no preset relaese; did you mean release"):
        presets.use(["relaese"])
    with pytest.raises(AutopoiesisError, match="there is no preset zzz; see: autopoiesis preset list"):
        presets.show("zzz")
    with pytest.raises(AutopoiesisError, match=r"there is no preset \.\./topics/release"):
        presets.show("../topics/release")
    with pytest.raises(AutopoiesisError, match="is not active; active: none"):
        presets.off(["release"])
    with pytest.raises(
        DocumentError, match=r"does not list x\.md; it lists knowledge/reference/hosts\.md:8-14, "
    ):
        presets.remove("release", "x.md")
    with pytest.raises(AutopoiesisError, match="there is no preset zzz"):
        presets.remove("zzz", "x.md")
    root = engine.workspace.root
    (root / "presets/topic.md").write_text("---\ntype: topic\n---\n")
    with pytest.raises(DocumentError, match="is not a preset"):
        presets.add("topic", "knowledge/reference/hosts.md")
    (root / "presets/broken.md").write_text("---\nfiles: [\n---\n")
    with pytest.raises(DocumentError, match=r"presets/broken\.md:"):
        presets.add("broken", "knowledge/reference/hosts.md")


def test_without_auto_commit_the_change_is_made_but_not_committed(sample: Path) -> None:
    settings = sample / "memory-config.yaml"
    settings.write_text(settings.read_text().replace("auto_commit: true", "auto_commit: false"))
    head = git(sample, "rev-parse", "HEAD")
    with Engine.open(sample) as engine:
        made = engine.presets.add("hosts", "knowledge/reference/hosts.md")
    assert (made.commit, made.why) == ("", "git.auto_commit is off")
    assert git(sample, "rev-parse", "HEAD") == head and (sample / made.path).exists()


def test_a_read_only_workspace_is_not_changed(sample: Path) -> None:
    (sample / "presets/release.md").write_text(HAND_MADE)
    with Engine.open(sample, read_only=True) as engine:
        assert engine.presets.show("release").title == "Release"
        with pytest.raises(ReadOnly):
            engine.presets.use(["release"])
        with pytest.raises(ReadOnly):
            engine.presets.add("release", "knowledge/reference/api.md")
    assert not (sample / "presets/active").exists()
