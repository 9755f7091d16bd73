"""Rows of the feed: what they say at 80 columns, what enter opens, and how far back they reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.live import feed as engine_feed
from tests.store.history import commit
from tests.tui.every_screen import open_workbench
from tui.kit.commands import Commanded
from tui.screens.history.screen import HistoryScreen
from tui.screens.workbench.panels import session_letters


async def test_enter_opens_the_whole_message_a_commits_diff_or_a_file(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, int]] = []
    monkeypatch.setattr(Commanded, "edit_file", lambda _screen, path, line=0: opened.append((path, line)))
    async with open_workbench(sample, (80, 24)) as driven:
        feed = driven.bench.feed
        message = next(at for at, item in enumerate(feed.items) if item.kind == "agent" and "\n" in item.text)
        feed.select(message)
        await driven.press("enter")
        text = " ".join(driven.text.replace("│", " ").split())
        item = feed.items[message]
        assert item.text.split()[-1] in text or "↓" in text
        path, _, ordinal = item.key.rpartition("#")
        session = path.rpartition("/")[2].split("-", 1)[1][:12]
        assert f"session {session}" in text and "agent terminal · " in text and "time 2026-" in text
        await driven.press("escape", "e")
        ((name, line),) = opened
        heading = (sample / name).read_text().splitlines()[line - 1]
        assert name == path and heading.startswith("## ") and heading.endswith("agent") and int(ordinal)

        at = next(at for at, item in enumerate(feed.items) if item.kind == "commit")
        feed.select(at)
        await driven.press("enter")
        history = driven.app.screen
        assert isinstance(history, HistoryScreen)
        await driven.until(lambda: history.commits.selected is not None)
        assert history.commits.selected.revision.startswith(feed.items[at].note)  # type: ignore[union-attr]


async def test_the_last_row_is_reached_and_following_ends_only_with_a_move(sample: Path) -> None:
    (sample / "note.txt").write_text("later")
    commit(sample, "memory: a commit after the last message", "2026-06-12T18:40:00Z")
    async with open_workbench(sample, (80, 24)) as driven:
        feed = driven.bench.feed
        last = feed.row_count - 1
        assert feed.following and feed.cursor < last
        await driven.press("G")
        assert feed.cursor == last and feed.following
        await driven.press("j", "ctrl+d")
        assert feed.cursor == last and feed.following, "nothing moved"
        await driven.press("k")
        assert not feed.following


async def test_rows_name_sessions_if_several_are_in_view_and_mark_what_fired(sample: Path) -> None:
    async with open_workbench(sample, (80, 24)) as driven:
        feed = driven.bench.feed
        for at in range(feed.row_count):
            feed.select(at)
            rows = feed._in_view()[1]
            sessions = {item.key.partition("#")[0] for item in rows if item.key}
            if len(sessions) > 1:
                break
        await driven.settle()
        assert feed.several
        shown = [line[1 : feed.size.width + 2] for line in driven.lines[2:]]
        for item, line in zip(feed._in_view()[1], shown, strict=False):
            if item.key:
                assert session_letters(item.key.partition("#")[0]) in line[7:13], (line, item.key)
            assert ("●" in line) == bool(item.note and item.kind in ("user", "agent")), (line, item)


async def test_going_to_the_first_row_reads_older_conversations_above_it(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_feed, "_PAGE", 3)
    async with open_workbench(sample, (120, 40)) as driven:
        feed = driven.bench.feed
        total = len(driven.bench.engine.conversations.sizes())
        for pages in range(1, total):
            if feed.items[0].kind != "past":
                break
            words = f"newest {3 * pages} of {total} conversations"
            assert feed.items[0].text == words
            await driven.press("slash")
            assert f"filter feed · {words}" in driven.text
            oldest = feed.items[1]
            await driven.press("escape", "g")
            assert feed.selected == oldest and feed.cursor > 0 and not feed.following
            assert driven.bench.shown.entry == oldest and oldest.text[:20] in driven.text
        assert pages == -(-total // 3)
        await driven.press("g", "k")
        assert feed.cursor == 0
