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
from tests.tui.cache_driven import caching
from tests.tui.conftest import FASTER, Driven, Run
from tests.tui.discussion_data import MEMORY, REFACTOR, FakeCaches, given_up
from tests.tui.fake_engine import NOW
from tui.kit.bridge import EventBridge, condense
from tui.screens.cache.settings import SettingLines
from tui.screens.cache.state import CacheState


async def written(driven: Driven) -> list[str]:
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
    async with caching(run) as driven:
        assert "in 4:32" in driven.text and driven.line("▸ anthropic").split()[-2] == "4:32"
        assert driven.ticking() and "3 of 6 cached" in driven.text
        texts = await written(driven)
        driven.later(0)
        await driven.pilot.pause()
        assert texts == []  # a stopped clock draws nothing

        with monkeypatch.context() as patch:  # a second draws only the lines in which a time runs
            drawn: list[tuple[str, int]] = []
            for panel in (driven.screen.providers, driven.screen.discussions, driven.screen.settings):
                real, name = panel.render_line, str(panel.id)

                def render(y: int, real: object = real, name: str = name) -> object:
                    drawn.append((name, y))
                    return real(y)  # type: ignore[operator]

                patch.setattr(panel, "render_line", render)
            driven.later(1)
            await driven.pilot.pause()
            assert sorted(set(drawn)) == [
                ("discussions", 0),
                ("discussions", 3),
                ("providers", 1),
                ("providers", 2),
            ]
        assert "in 4:31" in driven.text and driven.line("▸ anthropic").split()[-2] == "4:31"
        assert "in 51:39" in driven.text

        driven.later(4 * 60 + 33)
        await driven.pilot.pause()
        assert "2 of 6 cached" in driven.text and "expired 18:52" in driven.line("Refactor")
        assert driven.line("▸ anthropic").split()[-2] == "–" and driven.ticking()

        before = driven.line("A long export").index("yes (Gemini)")
        driven.later(51 * 60)
        await driven.pilot.pause()
        line = driven.line("A long export")
        assert line.index("yes (Gemini)") == before and " in 0:40" in line  # shorter, but in its column
        assert driven.line("Fix the parser").index("4,096 tok") == line.index("6,206 tok")

        driven.later(52 * 60)
        await driven.pilot.pause()
        assert "1 of 6 cached" in driven.text and not driven.ticking()
        await driven.press("g", "i")
        assert "has no cache" in driven.said


async def test_without_a_countdown_nothing_is_drawn_until_a_reply_arrives(run: Run) -> None:
    async with caching(run, caches=FakeCaches.none("openai")) as driven:
        assert not driven.ticking()
        driven.engine.caches = FakeCaches.none("anthropic")
        driven.engine.publish(CacheGivenUp(NOW, "ses_other", "x changed"))
        await driven.settle()
        texts = await written(driven)
        assert not driven.ticking()
        looks = len(driven.engine.asked("overview"))
        await asyncio.sleep(2 / FASTER)  # longer than a tick
        await driven.pilot.pause()
        assert texts == [] and len(driven.engine.asked("overview")) == looks

        full = FakeCaches()
        driven.caches.states, driven.caches.titles = full.states[:1], full.titles
        driven.engine.publish(TurnArrived(NOW, "t#1", "t", "ses", Turn("agent", "18:47", (Text("Done."),))))
        await driven.settle()
        assert "Refactor the login flow" in driven.text and driven.ticking() and driven.selected() == REFACTOR

        screen, handlers = driven.screen, len(driven.engine.handlers)
        looks = len(driven.engine.asked("overview"))
        await driven.press("escape")  # ends the ticking and the listening
        assert screen._countdown is None and len(driven.engine.handlers) == handlers - 1
        driven.engine.publish(CacheGivenUp(NOW, REFACTOR, "x changed"))
        await driven.settle()
        assert len(driven.engine.asked("overview")) == looks


def test_the_bridge_reports_invalidated_caches() -> None:
    burst = condense([CacheGivenUp(NOW, "ses_a", "x changed"), CacheGivenUp(NOW, "ses_b", "y changed")])
    assert burst.given_up == {"ses_a", "ses_b"} and not burst.parts
    rung: list[None] = []
    bridge = EventBridge(lambda: rung.append(None))
    bridge.handle(CacheGivenUp(NOW, "ses_a", "x changed"))
    assert len(rung) == 1 and bridge.take().given_up == {"ses_a"} and not bridge.take().given_up


async def test_changes_are_read_once_and_only_changed_lines_are_drawn(run: Run) -> None:
    async with caching(run) as driven:
        engine = driven.engine
        texts = await written(driven)
        engine.publish(CacheGivenUp(NOW, "ses_other", "x changed"))
        await driven.settle()
        assert len(engine.asked("overview")) == 2 and texts == []

        for event, looks in (
            (FileChanged(NOW, "memory-config.yaml", "changed"), 1),
            (Committed(NOW, "a81f2c0", "config set cache.openai"), 1),
            (IndexProgress(1, 2), 0),
        ):
            before = len(engine.asked("overview"))
            engine.publish(*[event] * 20)
            await driven.settle()
            assert len(engine.asked("overview")) == before + looks, event

        driven.caches.states[0] = given_up(REFACTOR, f"{MEMORY} changed", 0, hits=3, calls=4)
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
        await driven.press("ctrl+r")  # what is shown stays
        assert "logs/costs-2026-06.jsonl: cannot be read" in driven.said and "2 of 6 cached" in driven.text

        state = driven.state
        assert state.where is not None
        state.where = replace(state.where, problem="is not UTF-8 text")
        driven.screen.show()
        await driven.pilot.pause()
        assert "is not UTF-8 text" in driven.text


def test_a_pending_setting_shows_its_new_value_until_the_settings_are_read_again() -> None:
    state, full = CacheState(), FakeCaches()
    looked = full.overview(30, CacheSettings()), SettingLines()
    state.take(30, looked)
    state.change("cache.openai", False)
    state.change("cache.gemini", False)

    def value(name: str) -> tuple[object, bool]:
        return next((item.value, item.changing) for item in state.settings() if item.name == name)

    state.take(30, looked)  # was looked up before it was written
    assert value("cache.openai") == (False, True)
    state.changed("cache.openai", False, done=True)
    assert value("cache.openai") == (False, False) and value("cache.gemini") == (False, True)
    state.changed("cache.gemini", False, done=False)
    assert value("cache.gemini") == (True, False)
    state.take(30, (full.overview(30, CacheSettings(openai=False)), SettingLines()))
    assert value("cache.openai") == (False, False)
    state.take(30, looked)  # the file was changed by hand
    assert value("cache.openai") == (True, False)


async def test_while_reading_the_screen_says_so_and_refuses_commands(run: Run) -> None:
    still = threading.Event()
    async with caching(run, (80, 24), settle=False, gates={"overview": still}) as driven:
        await driven.until(lambda: bool(driven.engine.asked("overview")))
        assert driven.text.count("reading …") == 4
        for key in ("j", "enter", "i", "d", "y", "e", "3", "enter", "space", "p", "2"):
            await driven.send(key)
        await driven.pilot.pause()
        assert not driven.engine.asked("change") and not driven.engine.asked("disable")
        still.set()
        await driven.settle()
        assert "3 of 6 cached" in driven.text and "today (UTC)" in driven.text
        assert driven.screen.focused is driven.screen.discussions

        await driven.press("escape")
        still.clear()
        looks = len(driven.engine.asked("overview"))
        await driven.send("C")
        await driven.until(lambda: len(driven.engine.asked("overview")) > looks)
        await driven.send("escape")
        await driven.until(lambda: not driven.is_open())  # leaving waits for nothing
        still.set()
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
