"""The topics screen on the sample: the past is played, labelled and judged, and topics are made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engine.engine import Engine
from engine.errors import WriteFailed
from engine.playbooks.draft import drafted, text_of
from engine.playbooks.past import Replay
from engine.playbooks.playbooks import FORM, Playbooks, Quote, Utterances
from engine.store.files import Files
from tests.tui.conftest import SIZES, Driven, Prepare, Watch
from tests.tui.screen_driven import ScreenDriven, WatchingEngine
from tui.render.figures import count
from tui.screens.topics.screen import TopicsScreen
from tui.screens.tune.draw import rate_text

NOW = datetime(2026, 6, 12, 18, 47, 30, tzinfo=UTC)
TOPIC = "release"
TAGGED = drafted("Tagging", "A version is tagged.", "Sign it.", ["tag 0.15"])
WAYS = ("load the 2027 tables", "new constants?")
PROPOSED = drafted("Tide tables", "New tide tables are loaded.", "1. Compare with last year.", WAYS)


class TopicsDriven(ScreenDriven[TopicsScreen]):
    kind, key = TopicsScreen, "P"

    def editing(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Replaces the editor by one that changes nothing; returns the files it is opened with."""
        edited: list[str] = []
        monkeypatch.setattr(self.screen, "edit_file", lambda path: edited.append(path))
        return edited


def make(root: Path) -> None:
    """Keeps three topics, which are played quickly; labels one, and has an agent propose another."""
    for path in root.glob("topics/*.md"):
        if path.stem not in (TOPIC, "german", "change-freeze"):
            path.unlink()
    with Engine.open(root, clock=lambda: NOW) as engine:
        engine.playbooks.propose(PROPOSED, "codex")
        (found,) = engine.playbooks.replay_all(topics=[TOPIC]).values()
        for row in found.rows[-4:]:
            engine.playbooks.label_row(TOPIC, row, row is not found.rows[-1])


@pytest.fixture
def root(prepare: Prepare) -> Path:
    """The sample with few topics, one of them proposed."""
    return prepare("few-topics", make)


@asynccontextmanager
async def open_topics(
    root: Path, size: tuple[int, int] = (120, 40), **more: Any
) -> AsyncIterator[TopicsDriven]:
    """Opens the screen on a topic."""
    async with TopicsDriven.on_files(
        root, size, now=NOW, grace_s=0.0, engine=WatchingEngine, **more
    ) as driven:
        driven.screen.select(TOPIC)
        await driven.settle()
        yield driven


def played(driven: TopicsDriven) -> Replay:
    """What the topic would have done, as shown."""
    assert driven.bench.replays is not None
    return driven.bench.replays[TOPIC]


async def test_each_topic_says_how_it_would_have_done(root: Path) -> None:
    async with open_topics(root) as driven:
        found = played(driven)
        assert found.fired and found.labelled
        figures = [
            count(found.fired),
            count(found.labelled),
            rate_text(found.precision),
            rate_text(found.recall),
        ]
        for size in SIZES.values():
            await driven.resize(*size)
            assert driven.line(f"▌  {TOPIC}").split()[3:7] == figures
            assert "? tide-tables" in driven.text and "proposed by an agent" in driven.text
            assert f"fires on {found.fired} of the newest {found.messages}" in driven.text
            assert " ".join(found.rows[0].message.split())[:20] in driven.text
        driven.bench.replays = {TOPIC: replace(found, rows=())}
        driven.screen.show()
        await driven.settle()
        assert "would not have fired on any past message" in driven.text


async def test_the_past_is_played_in_the_background_and_the_last_figures_stay(
    root: Path, watch: Watch
) -> None:
    replays = watch(Playbooks, "replay_all")
    async with open_topics(root) as driven:
        figures = driven.line(f"▌  {TOPIC}").split()[3:7]
        await driven.press("escape")
        with replays.held():
            await driven.send("P")
            await driven.until(lambda: len(replays) == 2 and "playing your past …" in driven.text)
            await driven.until(lambda: f"  {TOPIC}  " in driven.text)
            assert driven.line(f"  {TOPIC}  ").split("release")[1].split()[:4] == figures
        await driven.settle()
        assert "playing" not in driven.text
        driven.screen._report(100, 200)
        await driven.settle()
        assert "playing your past: 100 of 200 messages" in driven.text


async def test_labels_are_shown_at_once_written_and_undone(root: Path, watch: Watch) -> None:
    written = watch(Playbooks, "label_row")
    async with open_topics(root) as driven:
        first, second = played(driven).rows[:2]
        assert first.useful is second.useful is None
        await driven.press("enter", "n", "y")
        assert [row.useful for row in played(driven).rows[:2]] == [False, True]
        assert driven.screen.past.cursor == 2
        await driven.press("z")
        assert [row.useful for row in played(driven).rows[:2]] == [False, None]
        assert driven.screen.past.cursor == 1 and driven.text.count("? y n") == 1
        assert [(topic, row.id, useful) for topic, row, useful in written] == [
            (TOPIC, first.id, False), (TOPIC, second.id, True), (TOPIC, second.id, None),
        ]  # fmt: skip
        written.error = WriteFailed("the disk is full")
        await driven.press("y")
        assert "the disk is full" in driven.toasts and played(driven).rows[1].useful is None
        await driven.press("escape", "escape")
        assert not driven.is_open()
    with Engine.open(root) as engine:
        assert engine.playbooks.replay_all(topics=[TOPIC])[TOPIC].labelled == 5


async def test_a_message_opens_in_full(root: Path) -> None:
    async with open_topics(root) as driven:
        row = played(driven).rows[0]
        await driven.press("enter", "o")
        assert "fires from" in driven.text and row.path[:40] in driven.text and row.id in driven.text


async def test_a_new_topic_is_filled_in_in_the_editor(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_topics(root) as driven:
        edited = driven.editing(monkeypatch)
        await driven.press("a")
        assert edited == [FORM] and f"what you wrote is kept in {FORM}" in driven.toasts
        (root / FORM).write_bytes(text_of(TAGGED))
        await driven.press("a")
        assert "topics/tagging.md: commit " in driven.toasts and not (root / FORM).exists()
        assert "tagging" in driven.line("A version is tagged")


async def test_a_model_is_asked_for_ways_to_ask_only_after_its_price_was_agreed_to(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def written(_playbooks: Playbooks, draft: object) -> Utterances:
        asked.append(str(draft))
        return Utterances(("tag it", "cut the version"), "claude-haiku-4-5", 0.001)

    monkeypatch.setattr(Playbooks, "quote", lambda *_: Quote("anthropic", "claude-haiku-4-5", 0.0021))
    monkeypatch.setattr(Playbooks, "utterances", written)
    async with open_topics(root) as driven:
        edited = driven.editing(monkeypatch)
        (root / FORM).write_bytes(text_of(TAGGED))
        await driven.press("a")
        assert "claude-haiku-4-5" in driven.text and "at most $0.0021" in driven.text
        await driven.press("escape")
        assert not asked and (root / "topics/tagging.md").exists()
        (root / FORM).write_bytes(text_of(replace(TAGGED, title="Signing")))
        await driven.press("a", "right", "enter")
        assert len(asked) == 1 and len(edited) == 3
        assert "cut the version" in (root / "topics/signing.md").read_text()


async def test_what_an_agent_proposed_is_read_and_written_or_turned_down(root: Path) -> None:
    waiting, topic = root / "topics/.proposed/tide-tables.md", root / "topics/tide-tables.md"
    async with open_topics(root) as driven:
        await driven.press("w", "x")
        assert "no agent proposed it" in driven.toasts
        await driven.press("g", "o")
        assert "load the 2027 tables" in driven.text and "Compare with last year" in driven.text
        await driven.press("escape", "w")
        assert waiting.exists()
        await driven.press("right", "enter")
        assert "topics/tide-tables.md: commit " in driven.toasts and topic.exists() and not waiting.exists()
        driven.engine.playbooks.propose(replace(PROPOSED, title="Tides"), "codex")
        await driven.press("ctrl+r", "g", "x")
        assert "topics/.proposed/tides.md: commit " in driven.toasts
        assert not (root / "topics/.proposed/tides.md").exists() and not (root / "topics/tides.md").exists()


async def test_a_read_only_workspace_is_looked_at_only(root: Path, watch: Watch) -> None:
    written = watch(Files, "replace")
    async with open_topics(root, read_only=True) as driven:
        await driven.press("a", "enter", "y")
        assert "the workspace is read-only" in driven.toasts and not written


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_pictures(root: Path, picture: Callable[[Driven, str], None], size: str) -> None:
    async with open_topics(root, SIZES[size]) as driven:
        await driven.press("enter")
        picture(driven, f"topics/{size}")
