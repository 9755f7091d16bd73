"""What the agent had done just before the person stated a rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.rules.reading import done_before
from engine.store.files import Files
from engine.store.paths import Workspace

TALK = """---
session_id: ses_1
---

# Talk

## 10:00 — user
Never push to main.

## 10:01 — agent
I look at it.

> [tool:exec] git log -3 → three commits
> [tool:exec] git push origin main → rejected

It cannot be pushed.

## 10:02 — user
Use a branch.

## 10:03 — user
And open a draft.

## 10:04 — agent
Here is the branch.
It has two commits.

## 10:05 — agent [memory]
> [knowledge:appended] knowledge/facts.md — a fact

## 10:06 — user
Keep commits small.
"""


@pytest.mark.parametrize(
    ("heading", "did"),
    [
        ("10:00 — user", ""),
        ("10:02 — user", "exec git push origin main → rejected"),
        ("10:03 — user", "exec git push origin main → rejected"),
        ("10:06 — user", "Here is the branch."),
    ],
)
def test_done_before_is_the_last_tool_call_or_the_start_of_the_answer(
    tmp_path: Path, heading: str, did: str
) -> None:
    path = "raw/conversations/2031/01/05/1000-ses_1-talk.md"
    (tmp_path / "memory-config.yaml").write_text("")
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(TALK)
    line = TALK.split("\n").index(f"## {heading}") + 1
    assert done_before(Files(Workspace.open(tmp_path)), path, line) == did
