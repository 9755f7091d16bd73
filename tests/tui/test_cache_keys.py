"""The keys of the cache screen: each does what help and footer say, or says why it cannot."""

from __future__ import annotations

import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError
from engine.events import GateAsked
from tests.tui.conftest import SIZES, Run
from tests.tui.discussion_data import EXPORT, MAILS, MEMORY, PARSER, REFACTOR, REVIEW, FakeCaches
from tests.tui.fake_engine import NOW
from tests.tui.screen_driven import CacheDriven, open_cache
from tui.kit.overlays import ConfirmScreen, PageScreen

PANELS = ("providers", "discussions", "settings", "misses")


async def test_panels_can_be_opened_and_closed_at_every_size(run: Run) -> None:
    async with run() as driven:
        cache = CacheDriven(driven.app, driven.pilot, driven.engine)
        await cache.press("C")
        assert cache.is_open() and cache.focused_panel() == "discussions" and cache.selected() == REFACTOR

        for size in (*SIZES.values(), (75, 24), (80, 21), (60, 16)):
            await cache.resize(*size)
            for key, name in zip("1234", PANELS, strict=True):
                await cache.press(key)
                assert cache.focused_panel() == name and cache.shows(name)
                if size in SIZES.values():
                    assert all(cache.shows(each) for each in PANELS)
                    assert all(
                        word in cache.text for word in ("in 4:32", "Anthropic TTL", "MEMORY.md", "74 %")
                    )
                else:  # on smaller screens the focused panel takes all the room
                    assert [each for each in PANELS if cache.shows(each)] == [name]
                    assert cache.screen.panel_named(name).region.height == size[1] - 2

        await cache.press("4", "j")
        for size in ((60, 16), (80, 24), (200, 60), (120, 40)):
            await cache.resize(*size)
            assert cache.focused_panel() == "misses" and cache.screen.misses.cursor == 1
            assert cache.screen.focused is cache.screen.misses

        await cache.resize(59, 16)
        assert "60" in cache.text and "discussions" not in cache.text
        await cache.press("j", "i")
        assert cache.is_open() and cache.app.screen is cache.screen


async def test_a_cache_is_invalidated_only_after_confirmation(run: Run) -> None:
    release = threading.Event()
    broken = AutopoiesisError("the workspace is locked", where="logs/caches.json", hint="try again")
    async with open_cache(run, failing={"invalidate": broken}) as driven:
        await driven.press("i")
        assert isinstance(driven.app.screen, ConfirmScreen) and "▸ Cancel ◂" in driven.text
        assert "5,113 tokens cached by Anthropic" in driven.text
        await driven.press("enter")
        assert not driven.engine.calls_of("invalidate")
        await driven.press("i", "right", "enter")
        assert "logs/caches.json: the workspace is locked; try again" in driven.toasts
        assert "giving it up" not in driven.text and "3 of 6 cached" in driven.text

        driven.engine.failing = {}
        driven.engine.blocked = {"invalidate": release}
        await driven.press("i", "right")
        await driven.send("enter")
        await driven.until(lambda: len(driven.engine.calls_of("invalidate")) == 2)
        await driven.pilot.pause()
        assert "invalidating …" in driven.line("Refactor")  # keys still work
        await driven.send("d", "j", "y")
        await driven.until(lambda: driven.app.clipboard == PARSER)
        assert "the cache is already being changed" in driven.toasts and not driven.engine.calls_of("disable")
        release.set()
        await driven.settle()
        assert driven.engine.calls_of("invalidate")[1] == ("invalidate", REFACTOR, "invalidated by hand")
        assert "Refactor the login flow: cache invalidated" in driven.toasts
        assert "invalidating …" not in driven.text and "2 of 6 cached" in driven.text
        await driven.press("g")
        assert "invalidated by hand" in driven.text

        for steps in (0, 2, 4):
            driven.app.clear_notifications()
            await driven.press("g", *"j" * steps, "i")
            assert "has no cache" in driven.toasts
            assert not isinstance(driven.app.screen, ConfirmScreen)


async def test_caching_is_disabled_and_enabled_for_a_discussion(run: Run) -> None:
    release = threading.Event()
    async with open_cache(run) as driven:
        await driven.press("d")
        assert driven.engine.calls_of("disable") == [("disable", REFACTOR)]
        assert "caching disabled" in driven.toasts and driven.line("Refactor").count("off") == 2
        await driven.press("d")
        assert "already disabled for this discussion" in driven.toasts
        await driven.press("a")
        assert driven.engine.calls_of("enable") == [("enable", REFACTOR)]
        assert "no" in driven.line("Refactor the login flow ").split()
        await driven.press("a")
        assert "caching is already enabled for this discussion" in driven.toasts

        driven.engine.blocked = {"disable": release}
        await driven.send("d", "j", "d", "escape")
        await driven.until(lambda: not driven.is_open())  # pending changes are still made
        release.set()
        await driven.until(lambda: len(driven.engine.calls_of("disable")) == 3)
        await driven.until(lambda: not any(each.enabled for each in driven.caches.states[:2]))


@pytest.fixture
def editor(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor that records what it is asked to open."""
    opened, script = home / "edited", home / "vim"
    script.write_text(f'#!/bin/sh\necho "$@" >> {opened}\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))
    return opened


async def test_details_are_shown_copied_and_opened(run: Run, editor: Path) -> None:
    async with open_cache(run) as driven:
        await driven.press("j", "j", "j", "enter")
        assert isinstance(driven.app.screen, PageScreen)
        text = driven.text
        for words in (
            "cachedContents/9x1k2m", "gemini-3-flash", EXPORT, MEMORY, "2026-06-12 19:39:10", "sha256",
        ):  # fmt: skip
            assert words in text
        await driven.press("escape")
        assert driven.focused_panel() == "discussions" and driven.selected() == EXPORT
        await driven.press("4", "enter")
        assert "Review of the connection pool" in driven.text and f"{MEMORY} changed" in driven.text
        await driven.press("escape", "j", "enter")
        assert "7 of 11 broken prefixes" in driven.text and "6 project context" in driven.text
        assert "35,791" in driven.text and "$0.0966" in driven.text
        await driven.press("escape", "k")

        await driven.press("2", "g", "j", "y")
        assert driven.app.clipboard == PARSER and f"copied {PARSER}" in driven.toasts
        await driven.press("4", "y")
        assert driven.app.clipboard == REVIEW
        await driven.press("j", "y")
        assert driven.app.clipboard == REVIEW and "no discussion is selected" in driven.toasts
        await driven.press("Y")
        assert driven.app.clipboard == f"layer 6 (project context) {MEMORY} 7 times, 35791 tokens"
        await driven.press("2", "g", "Y")
        assert driven.app.clipboard.startswith(f"{REFACTOR} Refactor the login flow yes (Anthropic) 18:52")
        await driven.press("3", "j", "Y")
        assert driven.app.clipboard == "cache.anthropic_ttl: 5 min"
        await driven.press("1", "Y")
        assert "483,840" in driven.app.clipboard

        await driven.press("4", "g")
        for key, file in (
            ("2", f"1844-{REFACTOR}-talk.md"),
            ("4", f"1844-{REVIEW}-talk.md"),
            ("j", MEMORY),
            ("3", "memory-config.yaml"),
        ):
            await driven.press(key)
            assert driven.screen.file.endswith(file) and driven.screen.file, key
        reads = len(driven.engine.calls_of("overview"))
        await driven.press("e")
        assert "this terminal cannot run an editor" in driven.toasts  # tests have none
        assert len(driven.engine.calls_of("overview")) == reads + 1
        (driven.engine.root / MEMORY).unlink()
        await driven.press("4", "e")
        assert "the selection has no file, or it no longer exists" in driven.toasts
        await driven.press("1")
        assert driven.screen.file == ""

        assert "last 30 days, since 05-14" in driven.text and "483,840" in driven.text
        reads = len(driven.engine.calls_of("overview"))
        await driven.press("p")
        assert "today (UTC)" in driven.text and "62,208" in driven.text
        await driven.press("p")
        assert "last 7 days, since 06-06" in driven.text and "207,360" in driven.text
        await driven.press("p")
        assert [call[1] for call in driven.engine.calls_of("overview")][reads:] == [1, 7, 30]
        await driven.press("2", "plus", "p")
        assert "totals for today" in driven.toasts


async def test_settings_are_cycled_written_and_committed(run: Run) -> None:
    release = threading.Event()
    broken = AutopoiesisError("cannot be changed there", where="memory-config.yaml:21", hint="edit it")
    async with open_cache(run) as driven:
        engine = driven.engine
        assert "default, not in memory-config.yaml" in driven.text
        await driven.press("3", "enter")
        assert engine.calls_of("change") == [("change", "cache.anthropic", False)]
        assert "cache.anthropic: on → off · memory-config.yaml:23 · commit a81f2c0" in driven.toasts
        assert "[ ] Anthropic ephemeral caching" in driven.text
        assert driven.line("▸ anthropic").split()[-2] != "off"  # the provider still has a cache
        await driven.press("space")
        assert engine.calls_of("change")[-1] == ("change", "cache.anthropic", True)
        assert "[x] Anthropic ephemeral caching" in driven.text

        await driven.press("j")
        assert "memory-config.yaml:22" in driven.text
        await driven.press("enter")
        assert engine.calls_of("change")[-1] == ("change", "cache.anthropic_ttl", "1h")
        assert "◂ 1 h ▸" in driven.text and "memory-config.yaml:22" in driven.text
        before = len(engine.calls_of("change"))
        await driven.press("j", "j", "enter", "enter", "enter")
        await driven.press("j", "enter", "k", "enter", "enter")  # over an hour is offered once allowed
        assert [call[1:] for call in engine.calls_of("change")[before:]] == [
            ("cache.gemini_ttl_minutes", 15),
            ("cache.gemini_ttl_minutes", 30),
            ("cache.gemini_ttl_minutes", 60),
            ("cache.gemini_long", True),
            ("cache.gemini_ttl_minutes", 120),
            ("cache.gemini_ttl_minutes", 240),
        ]
        assert "◂ 4 h ▸" in driven.text
        await driven.press("j", "enter")
        assert "4 h, capped at 60 min" in driven.text

        engine.blocked = {"change": release}
        before = len(engine.calls_of("change"))
        await driven.press("k")
        await driven.send("enter", "enter", "enter", "enter")  # faster than they can be written
        await driven.until(lambda: "◂ 15 min ▸ …" in driven.text)
        release.set()
        await driven.settle()
        assert [call[2] for call in engine.calls_of("change")[before:]] == [15, 30, 60, 15]
        assert "◂ 15 min ▸" in driven.text and "▸ …" not in driven.text

        engine.failing = {"change": broken}
        await driven.press("g", "enter")
        assert "memory-config.yaml:21: cannot be changed there; edit it" in driven.toasts
        assert "[x] Anthropic ephemeral caching" in driven.text
        engine.failing, engine.caches = {}, FakeCaches.none("anthropic")
        await driven.press("ctrl+r", "enter")
        assert driven.line("▸ anthropic").split()[-2] == "off"


async def test_gate_questions_come_first_and_selections_are_kept(run: Run) -> None:
    async with open_cache(run) as driven:
        driven.engine.publish(GateAsked(NOW, "q1", "deploy", "ship it", "about deploying", 30.0))
        await driven.settle()
        await driven.press("ctrl+y")
        assert driven.engine.calls_of("answer") == [("answer", "q1", True)] and not driven.app.clipboard

        await driven.press("j", "j")
        moved = replace(driven.caches.states[4], invalidated_at=NOW)
        driven.caches.states.remove(driven.caches.states[4])
        driven.caches.states.insert(0, moved)
        await driven.press("ctrl+r")
        assert driven.selected() == REVIEW and driven.screen.discussions.cursor == 3
        driven.caches.states = [each for each in driven.caches.states if each.discussion_id != REVIEW]
        await driven.press("ctrl+r")
        assert driven.selected() and driven.selected() != REVIEW
        await driven.press("g")
        assert driven.selected() == MAILS

        driven.engine.caches = FakeCaches.none()
        await driven.press("ctrl+r")
        driven.app.clear_notifications()
        for key in ("enter", "i", "d", "a", "y", "Y", "e", "j", "G"):
            await driven.press(key)
        assert "no discussion is selected" in driven.toasts and "there is nothing here yet" in driven.toasts
        assert driven.is_open() and not isinstance(driven.app.screen, ConfirmScreen | PageScreen)
