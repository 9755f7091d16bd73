"""``doctor`` reports preset problems with file, line and hint, and nothing about valid presets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engine.context.presets import Presets
from engine.workspace.doctor import examine
from engine.workspace.finding import Finding

HOSTS = "---\ntype: reference\n---\n\n# Hosts\n\n" + "".join(f"- host {number}\n" for number in range(10))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in {
        "memory-config.yaml": "",
        "knowledge/hosts.md": HOSTS,
        "knowledge/empty.md": "---\ntype: reference\n---\n",
        "presets/fine.md": "---\ntype: preset\nfiles:\n  - path: knowledge/hosts.md\n    lines: 5-16\n---\n",
        "presets/active": "fine\n",
    }.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path


def found(root: Path) -> list[Finding]:
    findings = (finding for finding in examine(root) if str(root) not in finding.text)
    return [finding for finding in findings if "preset" in finding.text]


def preset(root: Path, items: str) -> None:
    (root / "presets/auth.md").write_text(f"---\ntype: preset\nfiles:\n{items}---\n")


def test_valid_presets_are_counted(root: Path) -> None:
    assert found(root) == [Finding("ok", "1 preset: all listed files and lines exist")]
    (root / "presets/fine.md").unlink()
    (root / "presets/active").unlink()
    assert found(root) == []


@pytest.mark.parametrize(
    ("items", "level", "text", "hint"),
    [
        (
            "  - knowledge/hosts.md\n  - knowledge/gone.md\n",
            "error",
            "presets/auth.md:5: lists knowledge/gone.md, which does not exist",
            "fix the path, or run: autopoiesis preset remove auth knowledge/gone.md",
        ),
        (
            "  - path: knowledge/hosts.md\n    lines: 12-99\n",
            "error",
            "presets/auth.md:4: asks for lines 12-99 of knowledge/hosts.md, but its text ends on line 16",
            "fix the lines",
        ),
        (
            "  - path: knowledge/hosts.md\n    lines: 1-2\n",
            "error",
            "presets/auth.md:4: lines 1-2 of knowledge/hosts.md are in its header",
            "fix the lines",
        ),
        (
            "  - path: knowledge/hosts.md\n    lines: 9-3\n",
            "error",
            "presets/auth.md:5: lines of knowledge/hosts.md: '9-3' ends before it starts",
            'write lines: "10-40" or "3-9, 20-31"',
        ),
        (
            "  - knowledge/empty.md\n",
            "warning",
            "presets/auth.md:4: lists knowledge/empty.md, which has no text",
            "run: autopoiesis preset remove auth knowledge/empty.md",
        ),
        (
            "  - knowledge/hosts.md\n  - knowledge/hosts.md\n",
            "warning",
            "presets/auth.md:5: knowledge/hosts.md is already listed on line 4",
            "remove one of them",
        ),
    ],
)
def test_files_listed_in_a_preset_are_checked(
    root: Path, items: str, level: str, text: str, hint: str
) -> None:
    preset(root, items)
    (finding,) = found(root)
    assert (finding.level, finding.text, finding.hint) == (level, text, hint)


def staged(root: Path, *paths: str) -> list[Finding]:
    for words in (["init", "-q"], ["add", "memory-config.yaml", *paths]):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    return list(examine(root, staged=True))


def test_staged_presets_are_checked_before_the_commit(root: Path) -> None:
    preset(root, "  - knowledge/gone.md\n")
    (root / "presets/other.md").write_text("---\ntype: preset\nfiles: [nowhere.md]\n---\n")
    (root / "presets/active").write_text("fine\nnowhere\n")
    (finding,) = staged(root, "presets/auth.md", "presets/fine.md")
    assert (finding.level, finding.text) == (
        "error",
        "presets/auth.md:4: lists knowledge/gone.md, which does not exist",
    )
    assert finding in found(root), "the full check reports the same"
    more = {each.text for each in staged(root, "presets/active", "presets/other.md")}
    assert "presets/active:2: there is no preset nowhere" in more and len(more) == 3


def test_unstaged_presets_are_not_checked_before_the_commit(root: Path) -> None:
    preset(root, "  - knowledge/gone.md\n")
    assert staged(root, "knowledge/hosts.md", "presets/fine.md") == []


@pytest.mark.parametrize(
    ("text", "level", "said"),
    [
        ("models: [\n", "error", "prices.yaml:2: is not valid YAML"),
        ("models:\n  gpt-6-luna: {inptu: 1}\n", "error", "prices.yaml:2: gpt-6-luna: unknown field inptu"),
        ("models:\n  mine: {input: much, output: 2}\n", "error", "prices.yaml:2: mine: input is 'much'"),
        ("models:\n  gpt-6-luna: {input: 1}\n", "ok", "prices.yaml: your prices, all lines valid"),
    ],
)
def test_user_defined_prices_are_checked(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str, level: str, said: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root / "config"))
    (root / "config/autopoiesis").mkdir(parents=True)
    file = root / "config/autopoiesis/prices.yaml"
    file.write_text(text)
    (finding,) = (each for each in examine(root) if "prices.yaml" in each.text)
    assert finding.level == level and said in finding.text
    assert finding.hint or level == "ok"
    file.unlink()
    assert not [each for each in examine(root) if "prices.yaml" in each.text]


def test_an_invalid_header_is_reported_with_its_line(root: Path) -> None:
    (root / "presets/auth.md").write_text("---\ntype: preset\nfiles:\n  - path: [a\n---\n")
    findings = found(root)
    assert findings and all(finding.text.startswith("presets/auth.md:") for finding in findings)
    assert any(finding.level == "error" and "YAML" in finding.text for finding in findings)


def test_unreadable_files_and_invalid_names_are_reported(root: Path) -> None:
    (root / "knowledge/picture.md").write_bytes(b"\x89PNG\0\0")
    preset(root, "  - knowledge/picture.md\n  - knowledge\n")
    (root / "presets/two words.md").write_text("---\ntype: preset\n---\n")
    (root / "presets/bin.md").write_bytes(b"\0")
    (root / "presets/active").write_text("fine\nnowhere\n")
    texts = [finding.text for finding in found(root)]
    assert "presets/auth.md:4: lists knowledge/picture.md, which cannot be read: is a binary file" in texts
    assert any(text.startswith("presets/auth.md:5: lists knowledge, which cannot be read") for text in texts)
    assert "presets/two words.md: invalid preset name" in texts
    assert "presets/bin.md: is a binary file" in texts
    assert "presets/active:2: there is no preset nowhere" in texts
    assert len(texts) == 5


def test_an_unreadable_preset_does_not_hide_the_others(root: Path) -> None:
    from engine.engine import Engine

    (root / "presets/bin.md").write_bytes(b"\0")
    with Engine.open(root) as engine:
        presets: Presets = engine.presets
        assert [view.name for view in presets.list()] == ["fine"]
        assert [str(problem) for problem in presets.problems()] == ["presets/bin.md: is a binary file"]
