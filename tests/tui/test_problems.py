"""Problems of files: found while the workbench is open, told once, and opened at their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine import Engine
from tests.tui.every_screen import NOW, open_workbench
from tests.tui.screen_driven import open_workbench as open_live
from tui.kit.commands import Commanded


async def test_settings_broken_meanwhile_are_told_once_listed_and_opened_at_the_line(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, int]] = []
    monkeypatch.setattr(Commanded, "edit_file", lambda _screen, path, line=0: opened.append((path, line)))
    async with open_live(sample, (80, 24), now=NOW, engine=Engine) as driven:
        await driven.until(lambda: "● live" in driven.text or "polling" in driven.text)
        await driven.press("exclamation_mark")
        assert "there are no problems" in driven.text
        (sample / "memory-config.yaml").write_text("gate:\n  provider: crystal-ball\n")
        await driven.until(lambda: "! 1  " in driven.lines[0])
        said = [str(each.message) for each in driven.app._notifications]
        assert sum("memory-config.yaml:2" in each for each in said) == 1, said
        rows = [entry.text for entry in driven.bench.feed.items if entry.kind == "error"]
        assert sum("memory-config.yaml:2" in row for row in rows) == 1 == len(rows), rows
        await driven.press("exclamation_mark")
        assert "memory-config.yaml:2" in driven.text
        await driven.press("enter")
        assert opened == [("memory-config.yaml", 2)]


async def test_one_of_several_problems_is_chosen(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, int]] = []
    monkeypatch.setattr(Commanded, "edit_file", lambda _screen, path, line=0: opened.append((path, line)))
    for name in ("deploy", "release"):
        (sample / f"topics/{name}.md").write_text("---\ntriggers: 3\n---\n")
    async with open_workbench(sample, (80, 24)) as driven:
        problems = driven.bench.found_problems
        await driven.press("exclamation_mark", "G", "k", "e")
        assert opened == [(problems[-2].path, problems[-2].line)]
        await driven.press("exclamation_mark", "escape")
        assert len(opened) == 1 and driven.app.screen is driven.bench
