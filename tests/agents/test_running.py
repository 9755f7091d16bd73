"""Which session of an agent is at work, as far as the hook log tells."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.agents.log import HookLog, HookRun
from engine.store.files import Files
from engine.store.paths import Workspace

NOW = datetime(2031, 2, 1, 12, tzinfo=UTC)
Event = tuple[int, str, str, str]
"""Minutes ago, session, project and moment."""


@pytest.mark.parametrize(
    ("events", "running"),
    [
        ([], ""),
        ([(5, "a", "shop", "prompt")], "a"),
        ([(50, "a", "shop", "session_start"), (5, "a", "shop", "stop")], "a"),
        ([(70, "b", "shop", "prompt"), (5, "a", "shop", "prompt")], "a"),
        ([(9, "b", "shop", "prompt"), (5, "a", "shop", "prompt")], ""),
        ([(9, "b", "shop", "prompt"), (8, "b", "shop", "session_end"), (5, "a", "shop", "prompt")], "a"),
        ([(9, "b", "shop", "session_end"), (5, "b", "shop", "prompt")], "b"),
        ([(9, "b", "mill", "prompt"), (5, "a", "shop", "prompt")], "a"),
        ([(5, "b", "mill", "prompt")], ""),
    ],
)
def test_the_session_at_work_is_the_only_one_of_its_project(
    tmp_path: Path, events: list[Event], running: str
) -> None:
    (tmp_path / "memory-config.yaml").write_text("")
    log = HookLog(Files(Workspace.open(tmp_path)), lambda: NOW)
    for minutes, session, project, moment in events:
        at = (NOW - timedelta(minutes=minutes)).isoformat()
        log.append(HookRun(at, "claude-code", moment, session, project))
    assert log.running(("shop", "old-shop")) == running
