"""The cache screen with the real engine: recorded calls are shown, and keys change files."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from engine.engine import Engine
from engine.events import CacheGivenUp
from engine.providers.chat import Usage
from engine.transcripts.capture import ConversationCapture
from tests.tui.screen_driven import CacheDriven

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
MEMORY = "knowledge/memory/MEMORY.md"
USED, OTHER = "ses_used0001", "ses_other001"


open_screen = partial(CacheDriven.on_files, now=NOW)


@pytest.fixture
def workspace(sample: Path) -> Path:
    """A workspace with two discussions; a file of the prefix was edited between turns of one."""
    sources = (MEMORY, "knowledge/identity/SOUL.md")
    with Engine.open(sample, clock=lambda: NOW - timedelta(minutes=1)) as engine:
        agent = ConversationCapture(engine.files, clock=engine.clock)
        for session, title in ((OTHER, "Another talk"), (USED, "What Odile asked for")):
            agent.start(session, title=title)
            engine.compile("What did Odile ask for?", session_id=session, ask=False, record=True)
        engine.caches.note(
            OTHER,
            provider="openai",
            model="gpt-5.6",
            usage=Usage(7000, 4096, 0, 0, 90),
            prefix="b" * 64,
            sources=sources,
            ttl_s=None,
        )
        engine.costs.log.record("chat", "openai", "gpt-5.6", Usage(7000, 4096, 0, 0, 90), discussion=OTHER)
    with Engine.open(sample, clock=lambda: NOW) as engine:
        file = sample / MEMORY
        file.write_text(file.read_text().replace("Vestrand", "VESTRAND", 1))
        engine.compile("And when?", session_id=USED, ask=False, record=True)
        usage = Usage(6912, 5113, 1799, 0, 212)
        engine.caches.note(
            USED,
            provider="anthropic",
            model="claude-sonnet-5-5",
            usage=usage,
            prefix="a" * 64,
            sources=sources,
            ttl_s=300,
        )
        for _call in range(3):
            engine.costs.log.record("chat", "anthropic", "claude-sonnet-5-5", usage, discussion=USED)
    return sample


def log(root: Path) -> list[str]:
    done = subprocess.run(
        ["git", "log", "--format=%h %s", "-3"], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


async def test_recorded_calls_are_shown_and_keys_change_states_files_and_history(workspace: Path) -> None:
    with Engine.open(workspace, clock=lambda: NOW) as engine:
        expected = engine.discussions.overview(30)
    async with open_screen(workspace) as driven:
        figures = driven.line("anthropic  ").split()
        assert "20,736" in figures and "15,339" in figures and "74" in figures and "5:00" in figures
        assert "set by provider" in driven.line("openai  ")
        assert "yes (Anthropic)  18:52  in 5:00" in driven.line("What Odile asked for")
        assert "yes (OpenAI)" in driven.line("Another talk")
        assert "1 of 1 avoidable" in driven.text and MEMORY in driven.line("L6")
        shown = driven.state.overview  # the same as on the command line
        assert shown is not None
        assert (shown.providers, shown.discussions, shown.misses) == (
            expected.providers,
            expected.discussions,
            expected.misses,
        )

        await driven.press("i", "right", "enter")
        await driven.until(lambda: "cache invalidated" in driven.toasts)
        await driven.press("j", "d")
        await driven.until(lambda: "caching disabled" in driven.toasts)
        await driven.settle()
        assert "0 of 2 cached" in driven.text

        await driven.press("3", "j", "enter")
        await driven.until(lambda: "5 min → 1 h" in driven.toasts)
        await driven.settle()
        commit = next(line for line in log(workspace) if "cache.anthropic_ttl" in line).split()[0]
        text = (workspace / "memory-config.yaml").read_text(encoding="utf-8").splitlines()
        line = next(number for number, each in enumerate(text, 1) if "anthropic_ttl: 1h" in each)
        assert f"memory-config.yaml:{line} · commit {commit[:7]}" in driven.toasts
        assert "◂ 1 h ▸" in driven.text and f"memory-config.yaml:{line}" in driven.lines[-2]
    with Engine.open(workspace, clock=lambda: NOW) as engine:
        invalidated, disabled = (engine.caches.get(each) for each in (USED, OTHER))
        assert (
            invalidated.why == "invalidated by hand"
            and invalidated.generation == 1
            and not invalidated.tokens_cached
        )
        assert not disabled.enabled


async def test_read_only_shows_and_changes_nothing(workspace: Path) -> None:
    before = (workspace / "memory-config.yaml").read_bytes(), (workspace / "logs/caches.json").read_bytes()
    async with open_screen(workspace, read_only=True) as driven:
        assert "2 of 2 cached" in driven.text
        await driven.press("i", "d", "3", "enter")
        assert "the workspace is read-only" in driven.toasts
    assert before == (
        (workspace / "memory-config.yaml").read_bytes(),
        (workspace / "logs/caches.json").read_bytes(),
    )


async def test_editing_a_source_invalidates_the_cache_on_the_screen(workspace: Path) -> None:
    async with open_screen(workspace) as driven:
        engine = cast("Engine", driven.engine)
        for state in engine.caches.files_changed([MEMORY]):
            engine.publish(CacheGivenUp(NOW, state.discussion_id, state.why))
        await driven.settle()
        assert "0 of 2 cached" in driven.text and not driven.ticking()
        assert "stale 18:47" in driven.text and "MEMORY.md changed" in driven.text


async def test_a_new_workspace_says_how_caches_are_created(sample: Path) -> None:
    async with open_screen(sample) as driven:
        assert "No discussion has been sent to a provider yet" in driven.text
        assert "The local provider sends nothing" in driven.text and not driven.ticking()
