"""The cache screen on the sample with a month of calls: keys, countdown, changes elsewhere and failures."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs.model import Totals
from engine.discussions.caches import PATH, DiscussionCacheState
from engine.discussions.discussions import Discussions
from engine.discussions.named import Ending
from engine.discussions.overview import CacheOverview, DiscussionCache
from engine.engine import Engine
from engine.errors import AutopoiesisError
from engine.events import CacheGivenUp, Committed, FileChanged, GateAsked, IndexProgress, TurnArrived
from engine.providers.chat import Usage
from engine.settings.editing import Configuration
from engine.settings.model import CacheSettings
from engine.stability.record import Culprit, Misses
from engine.transcripts.capture import ConversationCapture
from engine.transcripts.turn import Text, Turn
from tests.store.history import commit, git
from tests.tui.conftest import FASTER, SIZES, Driven, Prepare, Watch
from tests.tui.screen_driven import ScreenDriven, WatchingEngine
from tui.kit.messages import EventBridge, condense
from tui.kit.overlays import ConfirmScreen, PageScreen
from tui.kit.questions import Clock
from tui.render.draw import Row
from tui.render.roles import PLAIN
from tui.render.words import last_miss, stays
from tui.screens.cache.figures import (
    SettingLines,
    cost,
    draw_providers,
    next_minutes,
    percent,
    place_of,
    saved,
    setting_items,
    setting_text,
    time_left,
)
from tui.screens.cache.lists import (
    Columns,
    draw_culprit,
    draw_details,
    draw_discussion,
    draw_empty,
    draw_miss,
    draw_none,
    item_of,
    span_of,
    tally,
    time_of,
)
from tui.screens.cache.screen import CacheScreen, CacheState

NOW = datetime(2026, 6, 12, 18, 47, 30, tzinfo=UTC)
MEMORY, USER = "knowledge/memory/MEMORY.md", "knowledge/identity/USER.md"
SOURCES = ("knowledge/digest.md", "knowledge/identity/SOUL.md", USER, MEMORY, "knowledge/projects/_active.md")
REFACTOR, PARSER, REVIEW, EXPORT, MAILS, UNTITLED = (
    "ses_a1b2c3d4", "ses_5e22aa10", "ses_90fe12aa", "ses_7c41d0aa", "ses_33d0b7e1", "ses_0d5511fe",
)  # fmt: skip
PANELS = ("providers", "discussions", "settings", "misses")
SONNET = ("anthropic", "claude-sonnet-5-5")
HIT, WRITTEN = Usage(6912, 5113, 1799, 0, 212), Usage(6912, 0, 5113, 0, 212)
Picture = Callable[[Driven, str], None]


class CacheDriven(ScreenDriven[CacheScreen]):
    kind, key = CacheScreen, "C"

    def selected(self) -> str:
        """The selected discussion."""
        item = self.screen.discussions.selected
        return item.state.discussion_id if item is not None else ""

    def ticking(self) -> bool:
        """Whether the screen is redrawn every second."""
        return self.screen._countdown is not None

    async def advance_clock(self, seconds: float) -> None:
        """Sets the clock to ``seconds`` after the start and runs one tick."""
        now = NOW + timedelta(seconds=seconds)
        self.bench.clock = Clock(now=lambda: now, monotonic=lambda: 1000.0 + seconds, grace_s=0.0)
        if self.ticking():
            self.screen._tick()
        await self.pilot.pause()

    def states(self) -> dict[str, DiscussionCacheState]:
        """The states in the file."""
        return {each.discussion_id: each for each in self.engine.caches.all()}


open_screen = partial(CacheDriven.on_files, now=NOW, grace_s=0.0, engine=WatchingEngine)


def make(root: Path) -> None:
    """Caches of each kind (with expiry or a name, invalidated, expired, disabled), and a month of calls."""
    settings = root / "memory-config.yaml"
    settings.write_text(f"{settings.read_text()}\nchat:\n  provider: anthropic\n  model: {SONNET[1]}\n")
    commit(root, "settings: chat with Anthropic", "2026-06-12T09:00:00Z")
    at = [NOW]
    with Engine.open(root, clock=lambda: at[0]) as engine:

        def calls(
            session: str, provider: str, model: str, *usages: Usage, ttl_s: float | None = 300, **more: Any
        ) -> None:
            for usage in usages:
                engine.caches.note(
                    session, provider=provider, model=model, usage=usage, prefix="5f0c3d1e" * 8,
                    sources=SOURCES, ttl_s=ttl_s, **more,
                )  # fmt: skip

        def paid(provider: str, model: str, usage: Usage, times: int, **ago: float) -> None:
            at[0] = NOW - timedelta(**ago)
            for _time in range(times):
                engine.costs.log.record("chat", provider, model, usage)

        capture = ConversationCapture(engine.files, clock=engine.clock)
        for session, title in (
            (REFACTOR, "Refactor the login flow"),
            (PARSER, "Fix the parser of quoted fields"),
            (REVIEW, "Review of the connection pool"),
            (EXPORT, "A long export that keeps a transaction open"),
            (MAILS, "Triage of the mails of Thursday"),
        ):
            capture.start(session, title=title)
        for file, word, ago, times in (
            (USER, "Tidemark", timedelta(days=2), 1),
            (MEMORY, "KVA-02", timedelta(minutes=20), 3),
        ):
            for number in range(times + 1):
                at[0] = NOW - ago + timedelta(minutes=number)
                text = (root / file).read_text()
                (root / file).write_text(text.replace(word, f"{word} {number}", 1) if number else text)
                engine.compile("What is open?", session_id=REVIEW, ask=False, record=True)
        paid(*SONNET, HIT, 40, days=23)
        paid("openai", "gpt-5.6", Usage(6800, 4096, 0, 0, 240), 9, days=2)
        paid("gemini", "gemini-3-flash", Usage(7080, 6206, 0, 0, 201), 1, days=1)
        paid(*SONNET, HIT, 21, days=3)
        paid(*SONNET, HIT, 9, hours=8)
        at[0] = NOW - timedelta(hours=3)
        calls(UNTITLED, *SONNET, WRITTEN, HIT)
        at[0] = NOW - timedelta(minutes=90)
        calls(MAILS, *SONNET, WRITTEN)
        engine.caches.set_enabled(MAILS, False)
        at[0] = NOW - timedelta(minutes=8)
        calls(
            EXPORT, "gemini", "gemini-3-flash", Usage(7100, 0, 6206, 0, 180), ttl_s=3580,
            cached_content="cachedContents/9x1k2m", why="the first call of the discussion",
        )  # fmt: skip
        at[0] = NOW - timedelta(minutes=6)
        calls(REVIEW, *SONNET, *[WRITTEN] * 3, *[HIT] * 2)
        engine.caches.invalidate(REVIEW, f"{MEMORY} changed")
        at[0] = NOW - timedelta(minutes=2)
        read = Usage(6800, 4096, 0, 0, 240)
        calls(PARSER, "openai", "gpt-5.6", *[replace(read, cached_tokens=0)] * 2, *[read] * 7, ttl_s=None)
        at[0] = NOW - timedelta(seconds=28)
        calls(REFACTOR, *SONNET, WRITTEN, *[replace(HIT, cache_write_tokens=0)] * 3)
    commit(root, "memory: what was talked about", "2026-06-12T10:00:00Z")


@pytest.fixture
def root(prepare: Prepare) -> Path:
    """The sample with the caches of six discussions, at three providers."""
    return prepare("cached", make)


def setting(root: Path, name: str) -> tuple[int, str]:
    """The line of a cache setting in the file, and its value."""
    lines = (root / "memory-config.yaml").read_text(encoding="utf-8").splitlines()
    at = next(at for at, line in enumerate(lines, 1) if line.strip().startswith(f"{name}:"))
    return at, lines[at - 1].partition(":")[2].strip()


async def test_panels_sizes_pages_and_pictures(root: Path, picture: Picture) -> None:
    async with open_screen(root, SIZES["80x24"]) as driven:
        assert driven.focused_panel() == "discussions" and driven.selected() == REFACTOR
        picture(driven, "cache/full-80x24-dark")
        await driven.press("j", "j", "j", "enter")
        picture(driven, "cache/details-80x24")
        shown = driven.text
        await driven.press("G")
        for words in (
            "cachedContents/9x1k2m",
            "gemini-3-flash",
            EXPORT,
            MEMORY,
            "2026-06-12 19:39:10",
            "sha256",
        ):
            assert words in shown + driven.text
        await driven.press("escape", "g", "i")
        picture(driven, "cache/invalidate-80x24")
        await driven.press("escape", "1", "p", "plus")
        picture(driven, "cache/providers-today-80x24")
        await driven.press("underscore", "p", "p", "3", "j")
        picture(driven, "cache/settings-80x24")
        for size in (*SIZES.values(), (75, 24), (80, 21), (60, 16)):
            await driven.resize(*size)
            for key, name in zip("1234", PANELS, strict=True):
                await driven.press(key)
                if size in SIZES.values():
                    assert all(driven.shows(each) for each in PANELS), size
                else:  # on smaller screens the focused panel takes all the room
                    assert [each for each in PANELS if driven.shows(each)] == [name]
                    assert driven.screen.panel_named(name).region.height == size[1] - 2
        await driven.press("2", "g")
        picture(driven, "cache/discussions-60x16")
        await driven.press("4", "j")
        for name in ("80x24", "200x60", "120x40"):
            await driven.resize(*SIZES[name])
            assert driven.focused_panel() == "misses" and driven.screen.misses.cursor == 1
            assert driven.screen.focused is driven.screen.misses
            if name != "80x24":
                picture(driven, f"cache/full-{name}-dark")
        await driven.press("plus")
        picture(driven, "cache/misses-enlarged-120x40")
        await driven.press("enter")
        picture(driven, "cache/culprit-120x40")
        await driven.press("escape", "k", "enter")
        assert "Review of the connection pool" in driven.text and f"{MEMORY} changed" in driven.text
        await driven.press("escape", "escape")
        assert driven.zoomed() is None and driven.is_open()


async def test_a_cache_is_invalidated_only_after_confirmation(root: Path, watch: Watch) -> None:
    calls = watch(Ending, "invalidate")
    async with open_screen(root) as driven:
        calls.error = AutopoiesisError("the workspace is locked", where="logs/caches.json", hint="try again")
        await driven.press("i")
        assert isinstance(driven.app.screen, ConfirmScreen) and "▸ Cancel ◂" in driven.text
        assert "5,113 tokens cached by Anthropic" in driven.text
        await driven.press("enter")
        assert not calls
        await driven.press("i", "right", "enter")
        assert "logs/caches.json: the workspace is locked; try again" in driven.toasts
        assert "invalidating" not in driven.text and "3 of 6 cached" in driven.text

        calls.error = None
        with calls.held():
            await driven.press("i", "right")
            await driven.send("enter")
            await driven.until(lambda: len(calls) == 2)
            await driven.pilot.pause()
            assert "invalidating …" in driven.line("Refactor")  # keys still work
            await driven.send("d", "j", "y")
            await driven.until(lambda: driven.app.clipboard == PARSER)
            assert "the cache is already being changed" in driven.toasts
        await driven.settle()
        assert "Refactor the login flow: cache invalidated" in driven.toasts
        after = driven.states()[REFACTOR]
        assert (after.why, after.generation, after.tokens_cached) == ("invalidated by hand", 1, 0)
        assert after.enabled and "invalidating …" not in driven.text and "2 of 6 cached" in driven.text
        await driven.press("g")
        assert "invalidated by hand" in driven.text
        for steps in (0, 2, 4):
            driven.app.clear_notifications()
            await driven.press("g", *"j" * steps, "i")
            assert "has no cache" in driven.toasts
            assert not isinstance(driven.app.screen, ConfirmScreen)


async def test_caching_is_disabled_and_enabled_for_a_discussion(root: Path, watch: Watch) -> None:
    disabled = watch(Ending, "disable")
    async with open_screen(root) as driven:
        await driven.press("d")
        assert not driven.states()[REFACTOR].enabled and not driven.states()[REFACTOR].tokens_cached
        assert "caching disabled" in driven.toasts and driven.line("Refactor").count("off") == 2
        await driven.press("d")
        assert "already disabled for this discussion" in driven.toasts and len(disabled) == 1
        await driven.press("a")
        assert driven.states()[REFACTOR].enabled and "caching enabled" in driven.toasts
        assert "no" in driven.line("Refactor the login flow ").split()
        await driven.press("a")
        assert "caching is already enabled for this discussion" in driven.toasts
        with disabled.held():
            await driven.send("d", "j", "d", "escape")
            await driven.until(lambda: not driven.is_open())  # pending changes are still made
        await driven.until(lambda: len(disabled) == 3)
        states = driven.states
        await driven.until(lambda: not (states()[REFACTOR].enabled or states()[PARSER].enabled))


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor."""
    script = tmp_path / "vim"
    script.write_text("#!/bin/sh\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(script))


@pytest.mark.usefixtures("editor")
async def test_what_is_selected_is_copied_and_edited_and_totals_are_for_a_period(
    root: Path, watch: Watch
) -> None:
    reads = watch(Discussions, "overview")
    async with open_screen(root) as driven:
        await driven.press("j", "y")
        assert driven.app.clipboard == PARSER and f"copied {PARSER}" in driven.toasts
        await driven.press("4", "y")
        assert driven.app.clipboard == REVIEW
        await driven.press("j", "y")
        assert driven.app.clipboard == REVIEW and "no discussion is selected" in driven.toasts
        await driven.press("Y")
        assert driven.app.clipboard.startswith(f"layer 6 (project context) {MEMORY} 3 times, ")
        await driven.press("2", "g", "Y")
        assert driven.app.clipboard.startswith(f"{REFACTOR} Refactor the login flow yes (Anthropic) 18:52")
        await driven.press("3", "j", "Y")
        assert driven.app.clipboard == "cache.anthropic_ttl: 5 min"
        await driven.press("1", "Y")
        assert "483,840" in driven.app.clipboard

        await driven.press("4", "g")
        for key, file in (
            ("2", f"{REFACTOR}-refactor-the-login-flow.md"),
            ("4", f"{REVIEW}-review-of-the-connection-pool.md"),
            ("j", MEMORY),
            ("3", "memory-config.yaml"),
        ):
            await driven.press(key)
            assert driven.screen.file.endswith(file), key
        before = len(reads)
        await driven.press("e")
        assert "this terminal cannot run an editor" in driven.toasts and len(reads) == before + 1
        (root / MEMORY).unlink()
        await driven.press("4", "e")
        assert "the selection has no file, or it no longer exists" in driven.toasts
        await driven.press("1")
        assert driven.screen.file == ""

        assert "last 30 days, since 05-14" in driven.text and "483,840" in driven.text
        reads.clear()
        for words, sent in (("today (UTC)", "62,208"), ("last 7 days, since 06-06", "207,360")):
            await driven.press("p")
            assert words in driven.text and sent in driven.text
        await driven.press("p", "2", "plus", "p")
        assert [days for (days,) in reads] == [1, 7, 30, 1] and "totals for today" in driven.toasts


async def test_settings_are_cycled_written_and_committed(root: Path, watch: Watch) -> None:
    changes = watch(Configuration, "change")
    async with open_screen(root) as driven:
        await driven.press("3")
        assert "default, not in memory-config.yaml" in driven.text
        await driven.press("enter")
        line, value = setting(root, "anthropic")
        assert (value, git(root, "log", "-1", "--format=%s")) == (
            "false",
            "maintenance: config set cache.anthropic",
        )
        assert f"cache.anthropic: on → off · memory-config.yaml:{line} · commit" in driven.toasts
        assert "[ ] Anthropic ephemeral caching" in driven.text
        assert driven.line("▸ anthropic").split()[-2] != "off"  # the provider still has a cache
        await driven.press("space")
        assert setting(root, "anthropic")[1] == "true" and "[x] Anthropic ephemeral caching" in driven.text

        await driven.press("j", "enter")
        assert "◂ 1 h ▸" in driven.text
        assert f"memory-config.yaml:{setting(root, 'anthropic_ttl')[0]}" in driven.text
        changes.clear()
        await driven.press("j", "j", "enter", "enter", "enter")
        await driven.press("j", "enter", "k", "enter", "enter")  # over an hour is offered once allowed
        assert changes == [
            ("cache.gemini_ttl_minutes", 15),
            ("cache.gemini_ttl_minutes", 30),
            ("cache.gemini_ttl_minutes", 60),
            ("cache.gemini_long", True),
            ("cache.gemini_ttl_minutes", 120),
            ("cache.gemini_ttl_minutes", 240),
        ]
        assert "◂ 4 h ▸" in driven.text and setting(root, "gemini_ttl_minutes")[1] == "240"
        await driven.press("j", "enter")
        assert "4 h, capped at 60 min" in driven.text

        changes.clear()
        await driven.press("k")
        with changes.held():
            await driven.send("enter", "enter", "enter", "enter")  # faster than they can be written
            await driven.until(lambda: "◂ 15 min ▸ …" in driven.text)
        await driven.settle()
        assert [value for _name, value in changes] == [15, 30, 60, 15]
        assert "◂ 15 min ▸" in driven.text and "▸ …" not in driven.text

        changes.error = AutopoiesisError(
            "cannot be changed there", where="memory-config.yaml:21", hint="edit it"
        )
        await driven.press("g", "enter")
        assert "memory-config.yaml:21: cannot be changed there; edit it" in driven.toasts
        assert "[x] Anthropic ephemeral caching" in driven.text
        changes.error = None
        (root / PATH).unlink()
        await driven.press("ctrl+r", "enter")
        assert driven.line("▸ anthropic").split()[-2] == "off"
    async with open_screen(root, read_only=True) as driven:
        commits = git(root, "rev-list", "--count", "HEAD")
        await driven.press("i", "d", "a", "3", "enter")
        assert "the workspace is read-only" in driven.toasts and not isinstance(
            driven.app.screen, ConfirmScreen
        )
        assert git(root, "rev-list", "--count", "HEAD") == commits and not (root / PATH).exists()


async def test_gate_questions_come_first_and_selections_are_kept(root: Path, watch: Watch) -> None:
    answers = watch(Engine, "answer")
    async with open_screen(root) as driven:
        driven.engine.publish(GateAsked(NOW, "q1", "deploy", "ship it", "about deploying", 30.0))
        await driven.settle()
        await driven.press("ctrl+y")
        assert answers == [("q1", True)] and not driven.app.clipboard

        await driven.press("j", "j")
        assert driven.selected() == REVIEW
        driven.engine.caches.set_enabled(MAILS, True)
        driven.engine.caches.invalidate(MAILS, "by hand")
        await driven.press("ctrl+r")
        assert driven.selected() == REVIEW and driven.screen.discussions.cursor == 3
        states = json.loads((root / PATH).read_text())
        states["discussions"] = [each for each in states["discussions"] if each["discussion_id"] != REVIEW]
        (root / PATH).write_text(json.dumps(states))
        await driven.press("ctrl+r")
        assert driven.selected() and driven.selected() != REVIEW
        await driven.press("g")
        assert driven.selected() == MAILS

        (root / PATH).unlink()
        await driven.press("ctrl+r")
        driven.app.clear_notifications()
        for key in ("e", "enter", "i", "d", "a", "y", "Y", "j", "G"):
            await driven.press(key)
        assert "no discussion is selected" in driven.toasts and "there is nothing here yet" in driven.toasts
        assert driven.is_open() and not isinstance(driven.app.screen, ConfirmScreen | PageScreen)


async def test_times_count_down_until_the_last_cache_expires(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_screen(root) as driven:
        assert "in 4:32" in driven.text and driven.line("▸ anthropic").split()[-2] == "4:32"
        assert "set by provider" in driven.line("openai  ")
        assert driven.ticking() and "3 of 6 cached" in driven.text
        texts = await driven.record_output()
        await driven.advance_clock(0)
        assert texts == []  # a stopped clock draws nothing

        with monkeypatch.context() as patch:  # a tick redraws only lines with a running time
            drawn: set[tuple[str, int]] = set()
            for panel in (driven.screen.providers, driven.screen.discussions, driven.screen.settings):

                def render(y: int, real: Any = panel.render_line, name: str = str(panel.id)) -> object:
                    drawn.add((name, y))
                    return real(y)

                patch.setattr(panel, "render_line", render)
            await driven.advance_clock(1)
            assert drawn == {("discussions", 0), ("discussions", 3), ("providers", 1), ("providers", 2)}
        assert "in 4:31" in driven.text and driven.line("▸ anthropic").split()[-2] == "4:31"
        assert "in 51:39" in driven.text

        await driven.advance_clock(4 * 60 + 33)
        assert "2 of 6 cached" in driven.text and "expired 18:52" in driven.line("Refactor")
        assert driven.line("▸ anthropic").split()[-2] == "–" and driven.ticking()
        before = driven.line("A long export").index("yes (Gemini)")
        await driven.advance_clock(51 * 60)
        line = driven.line("A long export")
        assert line.index("yes (Gemini)") == before and " in 0:40" in line  # shorter, but in the same column
        assert driven.line("Fix the parser").index("4,096 tok") == line.index("6,206 tok")
        await driven.advance_clock(52 * 60)
        assert "1 of 6 cached" in driven.text and not driven.ticking()
        await driven.press("g", "i")
        assert "has no cache" in driven.toasts


@pytest.mark.usefixtures("prepare")
async def test_a_new_workspace_draws_nothing_until_a_reply_arrives(
    sample: Path, watch: Watch, picture: Picture
) -> None:
    reads = watch(Discussions, "overview")
    async with open_screen(sample, SIZES["80x24"]) as driven:
        assert "No discussion has been sent to a provider yet" in driven.text
        picture(driven, "cache/empty-local-80x24")
        driven.engine.configuration.change("chat.provider", "anthropic")
        await driven.press("ctrl+r")
        driven.app.clear_notifications()
        await driven.settle()
        assert "▸ anthropic" in driven.text and "Anthropic then caches the stable prefix" in driven.text
        texts = await driven.record_output()
        before = len(reads)
        await asyncio.sleep(2 / FASTER)  # longer than a tick
        await driven.pilot.pause()
        assert texts == [] and len(reads) == before and not driven.ticking()

        ConversationCapture(driven.engine.files).start(REFACTOR, title="Refactor the login flow")
        driven.engine.caches.note(
            REFACTOR, provider=SONNET[0], model=SONNET[1], usage=HIT, prefix="", sources=(), ttl_s=300
        )
        driven.engine.publish(TurnArrived(NOW, "t#1", "t", "ses", Turn("agent", "18:47", (Text("Done."),))))
        await driven.settle()
        assert "Refactor" in driven.text and driven.ticking() and driven.selected() == REFACTOR

        screen, before = driven.screen, len(reads)
        await driven.press("escape")  # stops the timer and unsubscribes
        driven.engine.publish(CacheGivenUp(NOW, REFACTOR, "x changed"))
        await driven.settle()
        assert screen._countdown is None and len(reads) == before


async def test_changes_are_read_once_and_only_changed_lines_are_drawn(root: Path, watch: Watch) -> None:
    reads = watch(Discussions, "overview")
    async with open_screen(root) as driven:
        engine, texts = driven.engine, await driven.record_output()
        for event, number in (
            (CacheGivenUp(NOW, "ses_other", "x changed"), 1),
            (FileChanged(NOW, "memory-config.yaml", "changed"), 1),
            (Committed(NOW, "a81f2c0", "config set cache.openai"), 1),
            (IndexProgress(1, 2), 0),
        ):
            before = len(reads)
            for _time in range(20):
                engine.publish(event)
            await driven.settle()
            assert len(reads) == before + number, event
            assert texts == [] or not isinstance(event, CacheGivenUp)

        (root / MEMORY).write_text("changed\n")
        given_up = engine.caches.files_changed([MEMORY])
        assert {each.discussion_id for each in given_up} == {REFACTOR, PARSER, EXPORT, UNTITLED}
        for state in given_up:
            engine.publish(CacheGivenUp(NOW, state.discussion_id, state.why))
        await driven.settle()
        assert "0 of 6 cached" in driven.text and not driven.ticking()
        assert "MEMORY.md" in driven.line("Refactor") and driven.line("stale 18:47")

        engine.costs.log.record("chat", "elsewhere", "some-model", HIT)
        height = driven.screen.providers.region.height
        engine.configuration.change("cache.openai", False)
        engine.publish(FileChanged(NOW, "memory-config.yaml", "changed"))
        await driven.settle()
        assert "[ ] OpenAI cache key" in driven.text
        assert driven.line("elsewhere") and driven.screen.providers.region.height == height + 1

        reads.error = AutopoiesisError("cannot be read", where="logs/costs-2026-06.jsonl")
        await driven.press("ctrl+r")  # the last state stays on screen
        assert "logs/costs-2026-06.jsonl: cannot be read" in driven.toasts and "0 of 6 cached" in driven.text
        reads.error = None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Configuration, "settings", broken_settings)
            await driven.press("3", "ctrl+r")
        assert "is not UTF-8 text" in driven.lines[-2]


def broken_settings(_configuration: Configuration) -> None:
    raise AutopoiesisError("is not UTF-8 text", where="memory-config.yaml")


async def test_while_reading_the_screen_says_so_and_a_failure_is_tried_again(
    root: Path, watch: Watch
) -> None:
    reads, changes = watch(Discussions, "overview"), watch(Configuration, "change")
    with reads.held() as release:
        async with open_screen(root, SIZES["80x24"], settle=False) as driven:
            await driven.until(lambda: bool(reads))
            assert driven.text.count("reading …") == 4
            for key in ("j", "enter", "i", "d", "y", "e", "3", "enter", "space", "p", "2"):
                await driven.send(key)
            await driven.pilot.pause()
            assert not changes and driven.states()[REFACTOR].enabled
            release()
            await driven.settle()
            assert "3 of 6 cached" in driven.text and "today (UTC)" in driven.text
            assert driven.screen.focused is driven.screen.discussions

            await driven.press("escape")
            before = len(reads)
            with reads.held():
                await driven.send("C")
                await driven.until(lambda: len(reads) > before)
                await driven.send("escape")
                await driven.until(lambda: not driven.is_open())  # closing does not wait
            await driven.settle()
            assert driven.panel() == "feed"

            reads.error = AutopoiesisError(
                "cannot be read", where="logs/costs-2026-06.jsonl", hint="check the disk"
            )
            driven.app.clear_notifications()
            await driven.resize(120, 40)
            await driven.press("C")
            assert "Cannot read the caches." in driven.text and "ctrl+r tries again" in driven.text
            assert "logs/costs-2026-06.jsonl: cannot be read; check the disk" in driven.text
            assert driven.text.count("unknown") == 3 and "reading …" not in driven.text
            reads.error = None
            await driven.press("ctrl+r")
            assert "3 of 6 cached" in driven.text and "unknown" not in driven.text


def overview(root: Path, **settings: object) -> CacheOverview:
    with Engine.open(root, clock=lambda: NOW) as engine:
        return replace(engine.discussions.overview(30), settings=replace(CacheSettings(), **settings))  # type: ignore[arg-type]


def test_a_pending_setting_shows_its_new_value_until_the_settings_are_read_again(root: Path) -> None:
    state, full, where = CacheState(), overview(root), SettingLines()
    assert not state.running(NOW)
    state.take(30, (full, where))
    assert state.running(NOW) and not state.running(NOW + timedelta(hours=2))
    state.change("cache.openai", False)
    state.change("cache.gemini", False)

    def value(name: str) -> tuple[object, bool]:
        return next((item.value, item.changing) for item in state.settings() if item.name == name)

    state.take(30, (full, where))  # read before the change was written
    assert value("cache.openai") == (False, True)
    state.changed("cache.openai", False, done=True)
    assert value("cache.openai") == (False, False) and value("cache.gemini") == (False, True)
    state.changed("cache.gemini", False, done=False)
    assert value("cache.gemini") == (True, False)
    state.take(30, (replace(full, settings=replace(full.settings, openai=False)), where))
    assert value("cache.openai") == (False, False)
    state.take(30, (full, where))  # the file was changed by hand
    assert value("cache.openai") == (True, False)


def test_the_last_miss_is_that_of_the_last_used_discussion(root: Path) -> None:
    full = overview(root)
    last = last_miss(full)
    assert last is not None and last.given_up and last.entry.state.discussion_id == REVIEW
    first = full.discussions[0]
    missed = replace(first, state=replace(first.state, why="the cache had expired"))
    last = last_miss(replace(full, discussions=(missed, *full.discussions[1:])))
    assert last is not None and not last.given_up and last.at == first.state.cached_at
    off = replace(first, state=state(enabled=False, why="switched off", cached_at=None))
    new = replace(first, state=state(calls=0, why="x"))
    assert last_miss(replace(full, discussions=(off, new))) is None


def test_the_bridge_reports_invalidated_caches() -> None:
    burst = condense([CacheGivenUp(NOW, "ses_a", "x changed"), CacheGivenUp(NOW, "ses_b", "y changed")])
    assert burst.given_up == {"ses_a", "ses_b"} and not burst.parts
    rings: list[None] = []
    bridge = EventBridge(lambda: rings.append(None))
    bridge.handle(CacheGivenUp(NOW, "ses_a", "x changed"))
    assert len(rings) == 1 and bridge.take().given_up == {"ses_a"} and not bridge.take().given_up


def test_a_heading_is_dropped_and_reasons_get_room_where_there_is_little(root: Path) -> None:
    full = overview(root)
    assert [len(draw_providers(full, NOW, 76, height, PLAIN)) for height in (3, 4)] == [3, 4]
    reason = state(cached_at=None, tokens_cached=0, invalidated_at=NOW, why=f"{MEMORY} changed")
    items = [item_of(DiscussionCache(reason, "", ""), NOW)] * 3
    for width in (56, 76, 116):
        text = draw_discussion(items[0], Columns.of(items), width, PLAIN, chosen=False).text
        assert text.startswith("○ ses_x") and "MEMORY.md changed" in text and "…" not in text
    for width in (36, 76, 196):
        for provider in ("local", "gemini"):
            rows = draw_empty(replace(full, provider=provider), width, PLAIN)
            assert all(row.cells <= width for row in rows) and "ctrl+s" in text_of(rows)


# What is drawn.

MISSES = Misses(300, turns=81, followed=58, kept=47, lost=48_210, dollars=0.1302, culprits=())


def state(**changes: Any) -> DiscussionCacheState:
    base = DiscussionCacheState(
        "ses_x", provider="anthropic", cached_at=NOW, tokens_cached=5113, hits=3, calls=4
    )
    return replace(base, **changes)


def text_of(rows: Sequence[Row]) -> str:
    return "\n".join(row.text.rstrip() for row in rows)


def test_figures_are_formatted() -> None:
    assert [time_left(each) for each in (None, 0.0, 272.0, 3840.0)] == ["n/a", "–", "4:32", "1:04:00"]
    assert percent(None) == "–" and percent(0.7398) == "74 %"
    assert cost(Totals()) == "–" and cost(Totals(calls=2, unpriced=2)) == "?"
    assert cost(Totals(calls=2, cost_usd=0.5)) == "$0.50" == cost(Totals(cost_usd=0.5))  # storage alone
    assert cost(Totals(calls=2, cost_usd=0.5, unpriced=1)) == "$0.50 +?"
    assert saved(Totals()) == "–" and saved(Totals(calls=1, saved_usd=-0.25)) == "−$0.25"
    assert time_of(NOW + timedelta(hours=8), NOW) == "06-13 02:47"
    assert tally(MISSES) == ("11 of 58 avoidable", "48,210 tok lost", "$0.13")
    assert tally(replace(MISSES, dollars=None, lost=0)) == ("11 of 58 avoidable", "0 tok lost")
    assert tally(replace(MISSES, kept=58)) == ("0 of 58 avoidable",)
    assert span_of(MISSES) == ("5 min caches", "this month and last month")
    assert tally(replace(MISSES, turns=0, followed=0)) == () == span_of(replace(MISSES, turns=0))
    assert "sent in time" in text_of(draw_none(MISSES, 76, PLAIN))
    assert stays(3600) == "1 h" and stays(5400) == "1.5 h"


def test_details_without_transcript_or_provider_and_a_culprit_without_layer_file_or_price() -> None:
    why = state(why="invalidated by hand", cached_at=None, invalidated_at=NOW, tokens_cached=0, generation=2)
    text = text_of(draw_details(DiscussionCache(why, "Pool", ""), NOW, 80, PLAIN))
    for words in ("○ no", "invalidated by hand", "2 times by hand", "transcript   deleted"):
        assert words in text
    nothing = text_of(draw_details(DiscussionCache(state(provider=""), "", ""), NOW, 80, PLAIN))
    assert nothing.startswith("ses_x") and "provider " not in nothing
    assert "not reported by the provider" in nothing
    unknown = Culprit(0, "", "", 1, 1_200_000, None, NOW)
    assert draw_miss(unknown, [unknown], 36, PLAIN, chosen=True).text.split() == [
        "?",
        "unknown",
        "1×",
        "1.2M",
    ]
    text = text_of(draw_culprit(unknown, MISSES, 76, PLAIN))
    assert "unknown" in text and "unknown price" in text


def test_every_setting_is_listed_with_its_next_value_and_place() -> None:
    assert [next_minutes(each, False) for each in (1, 15, 30, 45, 60, 240)] == [15, 30, 60, 60, 15, 15]
    assert [next_minutes(each, True) for each in (60, 90, 720, 1440, 10_080)] == [120, 120, 1440, 15, 15]
    items = {each.name: each for each in setting_items(CacheSettings(), {})}
    assert set(items) == {f"cache.{each.name}" for each in fields(CacheSettings)}
    assert items["cache.anthropic_ttl"].next == "1h" and items["cache.gemini_ttl_minutes"].next == 15
    changing = {each.name: each for each in setting_items(CacheSettings(), {"cache.anthropic_ttl": "1h"})}
    assert changing["cache.anthropic_ttl"].next == "5m" and changing["cache.anthropic_ttl"].changing
    assert place_of(items["cache.openai"], None) == "memory-config.yaml"
    assert setting_text("cache.gemini_ttl_minutes", 720) == "12 h"


@given(st.text(max_size=60), st.integers(36, 200))
def test_rows_fit_their_width_for_any_title_model_and_reason(text: str, width: int) -> None:
    known = state(cached_at=None, tokens_cached=0, why=text, provider=text, model=text, sources=(text,))
    entries = (DiscussionCache(known, text, text), DiscussionCache(state(provider=text), text, ""))
    items = [item_of(each, NOW) for each in entries]
    columns = Columns.of(items)
    for item in items:
        assert draw_discussion(item, columns, width, PLAIN, chosen=True).cells <= width
        assert all(row.cells <= width for row in draw_details(item.entry, NOW, width, PLAIN))
    culprit = Culprit(6, text[:16], text, 3, 900, 0.1, NOW)
    assert draw_miss(culprit, [culprit], width, PLAIN, chosen=True).cells <= width
    assert all(row.cells <= width for row in draw_culprit(culprit, MISSES, width, PLAIN))
