"""Of equal texts ``search`` lists one, with the number of the others, so that they hide no other answer."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Command, apo

__all__ = ["apo"]


def test_equal_texts_are_one_result(apo: Command, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    assert apo("init", root).code == 0
    for day in range(1, 21):
        place = root / f"knowledge/journal/2026-01-{day:02}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text("# Day\n\nThe walrus sleeps in the harbour.\n")
    (root / "knowledge/reference").mkdir(exist_ok=True)
    (root / "knowledge/reference/zoo.md").write_text("# Zoo\n\nOnce a walrus was seen in Hull, far away.\n")
    found = apo("-C", root, "search", "walrus", "--json").json
    assert sorted((each["copies"], "Hull" in each["text"]) for each in found) == [(0, True), (19, False)]
    shown = apo("-C", root, "search", "walrus").out
    assert "19 more places with the same text" in shown and shown.count("walrus sleeps") == 1
    assert len(apo("-C", root, "search", "walrus", "--limit", "1", "--json").json) == 1
