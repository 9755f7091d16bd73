"""What agents are switched off for stays with the test that does it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.agents.switches.settings_folder", lambda: tmp_path / "settings")
