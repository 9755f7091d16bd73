"""The headings of subscribed files, parsed once."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.activation.fusion import headings
from engine.activation.fusion.headings import (
    HEADINGS_LIMIT,
    HEADINGS_PATH,
    SUBSCRIPTION_BYTES,
    SUBSCRIPTIONS_READ,
    Headings,
    headings_in,
)
from tests.activation.support import topic, workspace_files


def found_in(root: Path, *paths: str) -> Sequence[str]:
    return Headings(workspace_files(root))([topic("t", subscriptions=paths)])["t"]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files that are parsed."""
    paths: list[str] = []

    def counting(data: bytes, path: str) -> tuple[str, ...]:
        paths.append(path)
        return headings_in(data, path)

    monkeypatch.setattr(headings, "headings_in", counting)
    return paths


def test_headings_of_subscriptions(tmp_path: Path) -> None:
    (tmp_path / "knowledge").mkdir()
    (tmp_path / "knowledge/a.md").write_text(
        "---\ntitle: x\n---\nintro\n# One\n```\n# no\n```\n## Two\n# One\n"
    )
    (tmp_path / "knowledge/b.md").write_bytes(b"# caf\xff\n#\n")
    (tmp_path / "knowledge/data.json").write_text("# no heading")
    (tmp_path / "knowledge/huge.md").write_text("# huge\n" + "x" * SUBSCRIPTION_BYTES)
    paths = ("a.md", "missing.md", "b.md", "data.json", "huge.md", "../../secret.md", "")
    expected = ("One", "Two", "caf\ufffd")
    assert found_in(tmp_path, *(f"knowledge/{path}" for path in paths)) == expected
    assert found_in(tmp_path, *(f"knowledge/{path}" for path in paths)) == expected


def test_headings_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "many.md").write_text("".join(f"# heading {number}\n" for number in range(500)))
    for number in range(SUBSCRIPTIONS_READ + 1):
        (tmp_path / f"{number}.md").write_text(f"# file {number}\n")
    assert len(found_in(tmp_path, "many.md")) == HEADINGS_LIMIT
    each = tuple(f"{number}.md" for number in range(SUBSCRIPTIONS_READ + 1))
    assert found_in(tmp_path, *each)[-1] == f"file {SUBSCRIPTIONS_READ - 1}"


def test_a_file_is_parsed_once_across_processes(tmp_path: Path, parsed: list[str]) -> None:
    (tmp_path / "a.md").write_text("# One\n")
    (tmp_path / "b.md").write_text("# Two\n")
    topics = [topic("t", subscriptions=("a.md", "b.md")), topic("u", subscriptions=("a.md",))]
    for _ in range(2):
        first = Headings(workspace_files(tmp_path))
        for _ in range(2):
            assert first(topics) == {"t": ("One", "Two"), "u": ("One",)}
    assert parsed == ["a.md", "b.md"]


def test_a_changed_file_is_noticed_regardless_of_its_modification_time(
    tmp_path: Path, parsed: list[str]
) -> None:
    path = tmp_path / "a.md"
    path.write_text("# One\n")
    stamp = path.stat()
    asked, topics = Headings(workspace_files(tmp_path)), [topic("t", subscriptions=("a.md",))]
    assert asked(topics) == {"t": ("One",)}
    path.write_text("# Two\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert asked(topics) == {"t": ("Two",)}
    assert found_in(tmp_path, "a.md") == ("Two",)
    assert len(parsed) == 2


def test_headings_without_a_subscriber_are_not_kept(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One\n")
    found_in(tmp_path, "a.md")
    (tmp_path / "b.md").write_text("# Two\n")
    found_in(tmp_path, "b.md")
    assert list(json.loads((tmp_path / HEADINGS_PATH).read_bytes())["headings"].values()) == [["Two"]]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        b"[" * 100_000,
        b'{"form": 0, "headings": {}}',
        b'{"form": 1, "headings": []}',
        b'{"form": 1, "headings": {"a": "b"}}',
        b'{"form": 1, "headings": {"a": [1]}}',
    ],
    ids=lambda content: repr(content[:40]),
)
def test_a_damaged_headings_cache_is_rebuilt(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One\n")
    (tmp_path / "scratch").mkdir()
    (tmp_path / HEADINGS_PATH).write_bytes(content)
    assert found_in(tmp_path, "a.md") == ("One",)
    assert json.loads((tmp_path / HEADINGS_PATH).read_bytes())["form"] == 1


def test_nothing_is_written_to_a_read_only_workspace(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One\n")
    asked = Headings(workspace_files(tmp_path, read_only=True))
    assert asked([topic("t", subscriptions=("a.md",))]) == {"t": ("One",)}
    assert not (tmp_path / "scratch").exists()
