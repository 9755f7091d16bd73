"""Ledger and harvest screens with the real engine: keys change the files, and the command line agrees."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from engine.engine import Engine
from tests.tui.screen_driven import HarvestDriven, LedgerDriven

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
CALL = "conversations/2026-06-11-vestrand-gateway-call.md"


open_screen = partial(LedgerDriven.on_files, now=NOW)


@pytest.fixture
def workspace(sample: Path) -> Path:
    """The sample workspace, with conversations last written hours ago."""
    hours_ago = NOW.timestamp() - 3 * 3600
    for path in (sample / "conversations").iterdir():
        os.utime(path, (hours_ago, hours_ago))
    return sample


def content(workspace: Path) -> dict[Path, bytes]:
    """All files outside the repository, without those that SQLite needs to read the index."""
    return {
        path: path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_file() and ".git" not in path.parts and not path.name.startswith("memory.db-")
    }


def harvest_of(driven: LedgerDriven) -> HarvestDriven:
    """The harvest screen on top of the ledger screen."""
    return HarvestDriven(driven.app, driven.pilot, driven.engine)


async def test_entries_are_read_and_a_truncated_ledger_is_rebuilt(workspace: Path) -> None:
    with Engine.open(workspace, clock=lambda: NOW) as engine:
        known = engine.knowledge.ledger.entries()
        checked = {each.sha256: each for each in engine.knowledge.verify()}
    async with open_screen(workspace) as driven:
        assert {each.sha256 for each in driven.screen.entries.items} == set(known)
        await driven.press("s", "2")
        view = driven.screen.record.view
        assert view is not None and view.check.entry is not None
        assert view.check.entry == checked[driven.selected()]
        place = next(each for each in view.check.entry.lines if each.number)
        assert f"{place.path}:{place.number}" in driven.text

        file = workspace / "knowledge/ledger.json"
        file.write_bytes(file.read_bytes()[:300])
        await driven.press("escape", "ctrl+r")
        assert "cannot be read as a ledger" in " ".join(driven.text.replace("│", " ").split())
        await driven.press("R", "right", "enter")
        await driven.until(lambda: driven.screen.entries.row_count == len(known))
    with Engine.open(workspace, clock=lambda: NOW) as engine:
        assert engine.knowledge.ledger.entries() == known


async def test_guided_harvest_commits_and_reclaims_and_restore_undoes_it(workspace: Path) -> None:
    data = (workspace / CALL).read_bytes()
    sha256 = hashlib.sha256(data).hexdigest()
    async with open_screen(workspace) as driven:
        await driven.press("H")
        harvest = harvest_of(driven)
        await harvest.settle()
        assert "no model used, $0" in harvest.text
        await harvest.press("a", "a", "a")
        while "vestrand" not in harvest.screen.pick.selected_text():
            await harvest.press("j")
        await harvest.press("space", "2", "j", "space", "j", "space", "enter", "enter")
        await harvest.until(lambda: harvest.step == "result")
        assert "harvested   1 conversation" in harvest.text and "in 1 conversation" in harvest.text
        assert not (workspace / CALL).exists()
        await harvest.press("escape")
        await driven.settle()
        assert driven.selected() and sha256 in [each.sha256 for each in driven.screen.entries.items]
        driven.screen.entries.select_key(sha256)
        await driven.settle()
        assert "in the trash" in driven.text
        await driven.press("r", "right", "enter")
        await driven.until(lambda: (workspace / CALL).exists())
        await driven.settle()
        assert (workspace / CALL).read_bytes() == data
        assert "restored by a person" in driven.text
    with Engine.open(workspace, clock=lambda: NOW) as engine:
        entry = engine.knowledge.ledger.entries()[sha256]
        assert entry.restored and entry.status == "harvested"
        assert engine.knowledge.check(sha256).source == "there"


async def test_large_move_waits_for_the_number(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.knowledge.harvest.reclaim.FEW", 2)
    before = sorted(path.name for path in (workspace / "conversations").iterdir())
    async with open_screen(workspace) as driven:
        await driven.press("H")
        harvest = harvest_of(driven)
        await harvest.settle()
        await harvest.press("2", "j", "space", "j", "space", "enter", "enter")
        await harvest.until(lambda: harvest.step == "result")
        await harvest.settle()
        progress = harvest.screen.state.progress
        assert progress is not None and progress.brake == 3 and harvest.focused_panel() == "number"
        assert sorted(path.name for path in (workspace / "conversations").iterdir()) == before
        await harvest.type("3")
        await harvest.press("enter")
        await harvest.until(lambda: harvest.step == "result" and not harvest.screen.state.running)
        assert "in 3 conversations" in harvest.text
    assert not [
        path for path in (workspace / "conversations").iterdir() if path.suffix in (".md", ".txt", ".jsonl")
    ]


async def test_read_only_shows_and_changes_nothing(workspace: Path) -> None:
    before = content(workspace)
    async with open_screen(workspace, read_only=True) as driven:
        await driven.press("v")
        await driven.until(lambda: "verified" in driven.text)
        await driven.press("H")
        harvest = harvest_of(driven)
        await harvest.settle()
        await harvest.press("enter", "enter")
        assert "the workspace is read-only" in harvest.toasts
    assert content(workspace) == before
