"""The workbench on the sample workspace with the real engine, as a new user sees it."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from tests.tui.conftest import SIZES, Driven
from tests.tui.every_screen import NOW, open_workbench

SESSION = "ses_5a7c91e0"
TURNS = (
    ("user", "Back from lunch. What is still open from this morning?"),
    ("agent", "Two things: the changelog paragraph in German, and the broker log for KVA-02."),
    ("user", "Write me a script that counts the readings per gauge."),
    ("agent", 'Here it is:\n\n```python\nfor gauge in gauges:\n    print "%s" % gauge\n```'),
    ("user", "Can you review the PR that just came in?"),
)


@pytest.fixture
def root(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample workspace in the home folder, with a short conversation from this evening."""
    (sample.parent / ".gitconfig").write_text("[user]\n\tname = Robin Example\n\temail = robin@example.org\n")
    monkeypatch.setenv("HOME", str(sample.parent))
    for path in (sample / "conversations").iterdir():
        os.utime(path, (NOW.timestamp() - 3 * 86400, NOW.timestamp() - 3 * 86400))
    capture = ConversationCapture(Files(Workspace.open(sample)))
    started = datetime(2026, 6, 12, 18, 40, tzinfo=UTC)
    capture.start(SESSION, title="Evening round", started=started)
    for minute, (role, text) in enumerate(TURNS, start=41):
        at = started.replace(minute=minute)
        capture.message(SESSION, "user" if role == "user" else "agent", text, at=at)
    return sample


async def test_the_sample_workspace(root: Path, picture: Callable[[Driven, str], None]) -> None:
    async with open_workbench(root, SIZES["120x40"]) as driven:
        assert "github-pr-review" in driven.text
        picture(driven, "workbench/sample-120x40-dark")


async def test_a_message_typed_in_the_line_changes_trace_and_gauge(root: Path) -> None:
    async with open_workbench(root, SIZES["120x40"]) as driven:
        before = driven.text
        await driven.press("i")
        await driven.type("Der Pegel NSL-04 zeigt seit heute Nacht keine Werte.")
        after = driven.text
        assert "german" in after and "german" not in before
        gauge = next(line for line in before.splitlines() if "P2 topics" in line)
        assert gauge not in after and "P2 topics" in after


async def test_the_workbench_survives_a_deleted_index(root: Path) -> None:
    async with open_workbench(root, SIZES["120x40"]) as driven:
        for path in root.glob("memory.db*"):
            path.unlink()
        await driven.press("i")
        await driven.type("What did Odile ask for last time?")
        assert "people-lookup" in driven.text
        await driven.press("escape")
        assert "1 feed" in driven.text and "github-pr-review" in driven.text
