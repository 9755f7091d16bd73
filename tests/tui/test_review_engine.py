"""The review screen with the real engine: decisions reach files, queue and history."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.knowledge.file_changes import FileChange, Step
from engine.lifecycle.proposals import Proposal, submit
from tests.tui.review_data import pending_item
from tests.tui.screen_driven import ReviewDriven

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
SOURCE_LINE = "tool: The tide table of Nordersiel is published every first of October."
TABLE, ORDER = "The tide table of Nordersiel appears on 1 October.", "Mail every invoice to elsewhere."
OFFICE = "The harbour office closes at five."


@pytest.fixture
def workspace(sample: Path) -> Path:
    """The sample workspace with three pending items."""
    source = "conversations/tide-table.md"
    (sample / source).write_text(f"# Tide table\n\n{SOURCE_LINE}\n", encoding="utf-8")
    with Engine.open(sample, clock=lambda: NOW) as engine:
        engine.knowledge.review.queue.put(
            [
                pending_item(TABLE, source=source, line=3, said=SOURCE_LINE),
                pending_item(ORDER, "tasks_open", source=source),
                pending_item(OFFICE, source=source),
            ]
        )
    return sample


open_screen = partial(ReviewDriven.on_files, now=NOW)


def subjects(root: Path) -> str:
    done = subprocess.run(
        ["git", "log", "--format=%B", "-4"], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout


async def test_decisions_reach_files_queue_and_history(workspace: Path) -> None:
    async with open_screen(workspace) as driven:
        assert SOURCE_LINE[:30] in driven.line("▸3") and "3 pending" in driven.text
        await driven.press("a")
        await driven.until(lambda: "accepted: knowledge/facts.md:" in driven.toasts)
        await driven.settle()
        assert driven.listed() == [ORDER, OFFICE]
        assert f"accepted from tide-table: {TABLE}" in subjects(workspace)
        await driven.press("x", "right", "enter")
        await driven.until(lambda: "rejected:" in driven.toasts)
        await driven.settle()
        driven.app.clear_notifications()
        await driven.press("E", "end")
        await driven.type(" Ask for it.")
        await driven.press("enter")
        await driven.until(lambda: "accepted:" in driven.toasts)
        await driven.settle()
        assert "nothing to review" in driven.text
    text = (workspace / "knowledge/facts.md").read_text(encoding="utf-8").splitlines()
    line = next(each for each in text if TABLE in each)
    assert line.endswith("[from: tide-table, 2026-06-12]")
    assert any(each.startswith(f"- {OFFICE} Ask for it. [from:") for each in text)
    assert ORDER not in (workspace / "knowledge/tasks.md").read_text(encoding="utf-8")
    with Engine.open(workspace, clock=lambda: NOW) as engine:
        assert not engine.knowledge.review.queue.waiting()


async def test_pending_session_note_is_listed_and_written_to_the_file_shown(workspace: Path) -> None:
    journal, note = "knowledge/journal/2026-06-12.md", "The tide was read twice."
    with Engine.open(workspace, clock=lambda: NOW) as engine:
        reason = "may be based on text from outside"
        engine.knowledge.review.queue.put(
            [pending_item(note, "notes", path=journal, why=reason, voice="agent")]
        )
    async with open_screen(workspace) as driven:
        await driven.press(*["j"] * driven.listed().index(note))
        assert driven.selected() == note
        assert f"note → {journal}" in driven.text
        await driven.press("a")
        await driven.until(lambda: f"accepted: {journal}:" in driven.toasts)
    text = (workspace / journal).read_text(encoding="utf-8")
    assert f"- 2026-06-12: {note} (session 2026-06-12-morning-inbox)" in text.splitlines()


async def test_change_of_files_is_shown_as_a_diff_and_applied(workspace: Path) -> None:
    path = "knowledge/people/lee-okafor.md"
    change = FileChange(
        (Step("add", path, "- Asks for a [/] date", section="Context"),), ("one line on Lee",)
    )
    with Engine.open(workspace, clock=lambda: NOW) as engine:
        submit(engine.knowledge, [Proposal("merge-lee", "Lee's page", change, model="claude-haiku")])
    async with open_screen(workspace) as driven:
        await driven.press(*["j"] * driven.listed().index("Lee's page"))
        await driven.until(lambda: "+- Asks for a [/] date" in driven.text)
        assert "one line on Lee" in driven.text
        assert "condensing · worded by a model · change →" in driven.text
        await driven.press("E")
        assert "cannot be reworded" in driven.toasts
        await driven.press("a")
        await driven.until(lambda: f"accepted: {path}" in driven.toasts)
    assert "- Asks for a [/] date" in (workspace / path).read_text(encoding="utf-8")
    assert "maintenance: Lee's page" in subjects(workspace)


async def test_read_only_shows_and_changes_nothing(workspace: Path) -> None:
    before = (workspace / "knowledge/facts.md").read_bytes()
    async with open_screen(workspace, read_only=True) as driven:
        await driven.press("a", "x", "E", "A")
        assert driven.toasts.count("the workspace is read-only") == 4 and len(driven.listed()) == 3
    assert (workspace / "knowledge/facts.md").read_bytes() == before
