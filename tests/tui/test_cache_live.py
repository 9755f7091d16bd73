"""The cache screen while times count down, caches are invalidated, files change and the engine fails."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from engine.errors import AutopoiesisError
from engine.events import CacheGivenUp, Committed, FileChanged, IndexProgress, TurnArrived
from engine.settings.model import CacheSettings
from engine.transcripts.turn import Text, Turn
from tests.tui.conftest import FASTER, Driven, Run
from tests.tui.discussion_data import MEMORY, REFACTOR, FakeCaches, invalidated
from tests.tui.fake_engine import NOW
from tests.tui.screen_driven import open_cache
from tui.kit.messages import EventBridge, condense
from tui.screens.cache.figures import SettingLines
from tui.screens.cache.screen import CacheState


async def record_output(driven: Driven) -> list[str]:
    """Records the terminal output from now on."""
    driver, texts = driven.app._driver, list[str]()
    assert driver is not None
    real = driver.write

    def write(data: str) -> None:
        texts.append(data)
        real(data)

    driver.write = write  # type: ignore[method-assign]
    driven.watch()
    await driven.pilot.pause()
    texts.clear()
    return texts


async def test_times_count_down_until_the_last_cache_expires(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_cache(run) as driven:
        assert "in 4:32" in driven.text and driven.line("▸ anthropic").split()[-2] == "4:32"
        assert driven.ticking() and "3 of 6 cached" in driven.text
        texts = await record_output(driven)
        driven.advance_clock(0)
        await driven.pilot.pause()
        assert texts == []  # a stopped clock draws nothing

        with monkeypatch.context() as patch:  # a tick redraws only lines with a running time
            drawn: list[tuple[str, int]] = []
            for panel in (driven.screen.providers, driven.screen.discussions, driven.screen.settings):
                real, name = panel.render_line, str(panel.id)

                def render(y: int, real: object = real, name: str = name) -> object:
                    drawn.append((name, y))
                    return real(y)  # type: ignore[operator]

                patch.setattr(panel, "render_line", render)
            driven.advance_clock(1)
            await driven.pilot.pause()
            assert sorted(set(drawn)) == [
                ("discussions", 0),
                ("discussions", 3),
                ("providers", 1),
                ("providers", 2),
            ]
        assert "in 4:31" in driven.text and driven.line("▸ anthropic").split()[-2] == "4:31"
        assert "in 51:39" in driven.text

        driven.advance_clock(4 * 60 + 33)
        await driven.pilot.pause()
        assert "2 of 6 cached" in driven.text and "expired 18:52" in driven.line("Refactor")
        assert driven.line("▸ anthropic").split()[-2] == "–" and driven.ticking()

        before = driven.line("A long export").index("yes (Gemini)")
        driven.advance_clock(51 * 60)
        await driven.pilot.pause()
        line = driven.line("A long export")
        assert line.index("yes (Gemini)") == before and " in 0:40" in line  # shorter, but in the same column
        assert driven.line("Fix the parser").index("4,096 tok") == line.index("6,206 tok")

        driven.advance_clock(52 * 60)
        await driven.pilot.pause()
        assert "1 of 6 cached" in driven.text and not driven.ticking()
        await driven.press("g", "i")
        assert "has no cache" in driven.toasts


async def test_without_a_countdown_nothing_is_drawn_until_a_reply_arrives(run: Run) -> None:
    async with open_cache(run, caches=FakeCaches.none("openai")) as driven:
        assert not driven.ticking()
        driven.engine.caches = FakeCaches.none("anthropic")
        driven.engine.publish(CacheGivenUp(NOW, "ses_other", "x changed"))
        await driven.settle()
        texts = await record_output(driven)
        assert not driven.ticking()
        reads = len(driven.engine.calls_of("overview"))
        await asyncio.sleep(2 / FASTER)  # longer than a tick
        await driven.pilot.pause()
        assert texts == [] and len(driven.engine.calls_of("overview")) == reads

        full = FakeCaches()
        driven.caches.states, driven.caches.titles = full.states[:1], full.titles
        driven.engine.publish(TurnArrived(NOW, "t#1", "t", "ses", Turn("agent", "18:47", (Text("Done."),))))
        await driven.settle()
        assert "Refactor the login flow" in driven.text and driven.ticking() and driven.selected() == REFACTOR

        screen, handlers = driven.screen, len(driven.engine.handlers)
        reads = len(driven.engine.calls_of("overview"))
        await driven.press("escape")  # stops the timer and unsubscribes
        assert screen._countdown is None and len(driven.engine.handlers) == handlers - 1
        driven.engine.publish(CacheGivenUp(NOW, REFACTOR, "x changed"))
        await driven.settle()
        assert len(driven.engine.calls_of("overview")) == reads


def test_the_bridge_reports_invalidated_caches() -> None:
    burst = condense([CacheGivenUp(NOW, "ses_a", "x changed"), CacheGivenUp(NOW, "ses_b", "y changed")])
    assert burst.given_up == {"ses_a", "ses_b"} and not burst.parts
    rings: list[None] = []
    bridge = EventBridge(lambda: rings.append(None))
    bridge.handle(CacheGivenUp(NOW, "ses_a", "x changed"))
    assert len(rings) == 1 and bridge.take().given_up == {"ses_a"} and not bridge.take().given_up


async def test_changes_are_read_once_and_only_changed_lines_are_drawn(run: Run) -> None:
    async with open_cache(run) as driven:
        engine = driven.engine
        texts = await record_output(driven)
        engine.publish(CacheGivenUp(NOW, "ses_other", "x changed"))
        await driven.settle()
        assert len(engine.calls_of("overview")) == 2 and texts == []

        for event, reads in (
            (FileChanged(NOW, "memory-config.yaml", "changed"), 1),
            (Committed(NOW, "a81f2c0", "config set cache.openai"), 1),
            (IndexProgress(1, 2), 0),
        ):
            before = len(engine.calls_of("overview"))
            engine.publish(*[event] * 20)
            await driven.settle()
            assert len(engine.calls_of("overview")) == before + reads, event

        driven.caches.states[0] = invalidated(REFACTOR, f"{MEMORY} changed", 0, hits=3, calls=4)
        engine.publish(CacheGivenUp(NOW, REFACTOR, f"{MEMORY} changed"))
        await driven.settle()
        assert "2 of 6 cached" in driven.text and "knowledge/memory/MEMORY.m" in driven.line("Refactor")
        assert driven.line("stale 18:47")

        engine.config = replace(
            engine.config, cache=replace(engine.config.cache, openai=False, anthropic_ttl="1h")
        )
        engine.publish(FileChanged(NOW, "memory-config.yaml", "changed"))
        await driven.settle()
        assert "[ ] OpenAI cache key" in driven.text and "◂ 1 h ▸" in driven.text

        engine.failing = {"overview": AutopoiesisError("cannot be read", where="logs/costs-2026-06.jsonl")}
        await driven.press("ctrl+r")  # the last state stays on screen
        assert "logs/costs-2026-06.jsonl: cannot be read" in driven.toasts and "2 of 6 cached" in driven.text

        state = driven.state
        assert state.where is not None
        state.where = replace(state.where, problem="is not UTF-8 text")
        driven.screen.show()
        await driven.pilot.pause()
        assert "is not UTF-8 text" in driven.text


def test_a_pending_setting_shows_its_new_value_until_the_settings_are_read_again() -> None:
    state, full = CacheState(), FakeCaches()
    fetched = full.overview(30, CacheSettings()), SettingLines()
    state.take(30, fetched)
    state.change("cache.openai", False)
    state.change("cache.gemini", False)

    def value(name: str) -> tuple[object, bool]:
        return next((item.value, item.changing) for item in state.settings() if item.name == name)

    state.take(30, fetched)  # read before the change was written
    assert value("cache.openai") == (False, True)
    state.changed("cache.openai", False, done=True)
    assert value("cache.openai") == (False, False) and value("cache.gemini") == (False, True)
    state.changed("cache.gemini", False, done=False)
    assert value("cache.gemini") == (True, False)
    state.take(30, (full.overview(30, CacheSettings(openai=False)), SettingLines()))
    assert value("cache.openai") == (False, False)
    state.take(30, fetched)  # the file was changed by hand
    assert value("cache.openai") == (True, False)


async def test_while_reading_the_screen_says_so_and_refuses_commands(run: Run) -> None:
    release = threading.Event()
    async with open_cache(run, (80, 24), settle=False, blocked={"overview": release}) as driven:
        await driven.until(lambda: bool(driven.engine.calls_of("overview")))
        assert driven.text.count("reading …") == 4
        for key in ("j", "enter", "i", "d", "y", "e", "3", "enter", "space", "p", "2"):
            await driven.send(key)
        await driven.pilot.pause()
        assert not driven.engine.calls_of("change") and not driven.engine.calls_of("disable")
        release.set()
        await driven.settle()
        assert "3 of 6 cached" in driven.text and "today (UTC)" in driven.text
        assert driven.screen.focused is driven.screen.discussions

        await driven.press("escape")
        release.clear()
        reads = len(driven.engine.calls_of("overview"))
        await driven.send("C")
        await driven.until(lambda: len(driven.engine.calls_of("overview")) > reads)
        await driven.send("escape")
        await driven.until(lambda: not driven.is_open())  # closing does not wait
        release.set()
        await driven.settle()
        assert driven.panel() == "feed"

        driven.engine.failing = {
            "overview": AutopoiesisError(
                "cannot be read", where="logs/costs-2026-06.jsonl", hint="check the disk"
            )
        }
        driven.app.clear_notifications()
        await driven.resize(120, 40)
        await driven.press("C")
        assert "logs/costs-2026-06.jsonl: cannot be read; check the disk" in driven.text
        assert driven.text.count("unknown") == 3 and "reading …" not in driven.text
        driven.engine.failing.clear()
        await driven.press("ctrl+r")
        assert "3 of 6 cached" in driven.text and "unknown" not in driven.text


def test_a_cache_has_only_one_change_at_a_time() -> None:
    state = CacheState()
    assert state.begin("ses_a", "invalidate") and not state.begin("ses_a", "disable")
    assert state.begin("ses_b", "disable")
    state.ended("ses_a")
    assert state.begin("ses_a", "invalidate")


def test_nothing_counts_down_without_a_known_time() -> None:
    state, full = CacheState(), FakeCaches()
    assert not state.running(NOW)
    state.take(30, (full.overview(30, CacheSettings()), SettingLines()))
    assert state.running(NOW) and not state.running(NOW + timedelta(hours=2))
