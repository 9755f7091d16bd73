"""The keys of the cache screen: each does what help and footer say, and says why where it cannot."""

from __future__ import annotations

import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError
from engine.events import GateAsked
from tests.tui.cache_driven import Cached, caching
from tests.tui.conftest import SIZES, Run
from tests.tui.discussion_data import EXPORT, MAILS, MEMORY, PARSER, REFACTOR, REVIEW, FakeCaches
from tests.tui.fake_engine import NOW, FakeEngine, status_view
from tui.kit.confirm import ConfirmScreen
from tui.kit.page import PageScreen


async def test_capital_c_opens_it_on_the_discussions_and_esc_goes_back(run: Run) -> None:
    async with run() as driven:
        cached = Cached(driven.app, driven.pilot, driven.engine)
        await cached.press("C")
        assert cached.is_open() and cached.in_use() == "discussions" and cached.selected() == REFACTOR
        await cached.press("escape")
        assert not cached.is_open() and driven.bench.panel_in_use == "feed"


async def test_q_backs_out_and_quits_nothing(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("plus", "q")
        assert driven.is_open() and driven.zoomed() is None
        await driven.press("q")
        assert not driven.is_open() and driven.app.is_running


@pytest.mark.parametrize("size", [*SIZES.values(), (60, 16)])
async def test_numbers_and_tab_reach_every_panel(run: Run, size: tuple[int, int]) -> None:
    async with caching(run, size) as driven:
        panels = ("providers", "discussions", "settings", "misses")
        for number, name in enumerate(panels, 1):
            await driven.press(str(number))
            assert driven.in_use() == name and driven.shows(driven.screen.panel_in_use)
        seen = []
        for _panel in panels:
            await driven.press("tab")
            seen.append(driven.in_use())
            assert driven.shows(driven.screen.panel_in_use)
        assert tuple(seen) == panels
        await driven.press("shift+tab")
        assert driven.in_use() == "settings"


@pytest.mark.parametrize("size", SIZES.values(), ids=list(SIZES))
async def test_every_panel_is_in_view_at_once(run: Run, size: tuple[int, int]) -> None:
    async with caching(run, size) as driven:
        assert all(driven.shows(name) for name in driven.screen.panels)
        assert all(word in driven.text for word in ("in 4:32", "Anthropic TTL", "MEMORY.md", "74 %"))


@pytest.mark.parametrize("size", [(75, 24), (80, 21), (60, 16)])
async def test_where_room_is_short_the_panel_in_use_has_all_of_it(run: Run, size: tuple[int, int]) -> None:
    async with caching(run, size) as driven:
        for key in "1234":
            await driven.press(key)
            assert [name for name in driven.screen.panels if driven.shows(name)] == [driven.in_use()]
            assert driven.screen.panel_named(driven.screen.panel_in_use).region.height == size[1] - 2


async def test_below_the_smallest_size_it_only_says_so(run: Run) -> None:
    async with caching(run, (59, 16)) as driven:
        assert "60" in driven.text and "discussions" not in driven.text
        await driven.press("j", "i")
        assert driven.is_open()


async def test_another_size_keeps_panel_and_selection(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("4", "j")
        for size in ((60, 16), (80, 24), (200, 60), (120, 40)):
            await driven.resize(*size)
            assert driven.in_use() == "misses" and driven.screen.misses.cursor == 1
            assert driven.screen.focused is driven.screen.misses


async def test_an_enlarged_panel_gives_way_to_the_one_gone_to(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("plus")
        assert driven.zoomed() == "discussions" and not driven.shows("misses")
        await driven.press("4")
        assert driven.zoomed() == "misses" and not driven.shows("discussions")
        await driven.press("underscore")
        assert driven.zoomed() is None and driven.in_use() == "misses" and driven.shows("settings")


# Invalidate, disable, enable


async def test_a_cache_is_given_up_only_after_a_yes(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("i")
        assert isinstance(driven.app.screen, ConfirmScreen) and "▸ Cancel ◂" in driven.text
        assert "5,113 tokens that Anthropic keeps" in driven.text
        await driven.press("enter")
        assert not driven.engine.asked("invalidate")
        await driven.press("i", "right", "enter")
        assert driven.engine.asked("invalidate") == [("invalidate", REFACTOR, "given up by hand")]
        assert "Refactor the login flow: its cache is given up" in driven.said
        assert "2 of 6 cached" in driven.text and "given up by hand" in driven.text


async def test_while_a_service_is_asked_the_keys_go_on_and_the_row_says_so(run: Run) -> None:
    still = threading.Event()
    async with caching(run, gates={"invalidate": still}) as driven:
        await driven.press("i", "right")
        await driven.send("enter")
        await driven.until(lambda: bool(driven.engine.asked("invalidate")))
        await driven.pilot.pause()
        assert "giving it up …" in driven.text
        await driven.send("d", "j", "y")
        await driven.until(lambda: driven.app.clipboard == PARSER)
        assert "its cache is being changed already" in driven.said and not driven.engine.asked("disable")
        still.set()
        await driven.settle()
        assert "giving it up …" not in driven.text and "2 of 6 cached" in driven.text


async def test_what_cannot_be_given_up_is_said_and_the_row_is_as_it_was(run: Run) -> None:
    broken = AutopoiesisError("the workspace is locked", where="logs/caches.json", cure="try again")
    async with caching(run, failing={"invalidate": broken}) as driven:
        await driven.press("i", "right", "enter")
        assert "logs/caches.json: the workspace is locked; try again" in driven.said
        assert "giving it up" not in driven.text and "3 of 6 cached" in driven.text


async def test_caching_is_switched_off_and_on_for_a_discussion(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("d")
        assert driven.engine.asked("disable") == [("disable", REFACTOR)]
        assert "no caches are asked for any more" in driven.said and driven.line("Refactor").count("off") == 2
        await driven.press("d")
        assert "switched off for this discussion already" in driven.said
        await driven.press("a")
        assert driven.engine.asked("enable") == [("enable", REFACTOR)]
        assert "no" in driven.line("Refactor the login flow ").split()
        await driven.press("a")
        assert "caching is on for this discussion already" in driven.said


async def test_what_was_asked_for_is_done_although_the_screen_is_left(run: Run) -> None:
    still = threading.Event()
    async with caching(run, gates={"disable": still}) as driven:
        await driven.send("d", "j", "d", "escape")
        await driven.until(lambda: not driven.is_open())
        still.set()
        await driven.until(lambda: len(driven.engine.asked("disable")) == 2)
        await driven.until(lambda: not any(each.enabled for each in driven.caches.states[:2]))


@pytest.mark.parametrize(
    ("steps", "reason"), [(2, "has no cache to give up"), (4, "has no cache to give up")]
)
async def test_where_there_is_no_cache_nothing_is_given_up(run: Run, steps: int, reason: str) -> None:
    async with caching(run) as driven:
        await driven.press(*"j" * steps, "i")
        assert reason in driven.said and not isinstance(driven.app.screen, ConfirmScreen)


async def test_read_only_refuses_and_says_why(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with caching(run) as driven:
        for keys in ("i", "d", "jjjja", ("3", "enter"), ("3", "space")):
            driven.app.clear_notifications()
            await driven.press("2", *keys)
            assert "the workspace is read-only" in driven.said, keys
            changes = ("invalidate", "disable", "enable", "change")
            assert not any(driven.engine.asked(name) for name in changes), keys
            assert not isinstance(driven.app.screen, ConfirmScreen), keys


# Looking


async def test_enter_shows_everything_known_of_a_discussion(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("j", "j", "j", "enter")
        assert isinstance(driven.app.screen, PageScreen)
        text = driven.text
        for words in (
            "cachedContents/9x1k2m",
            "gemini-3-flash",
            EXPORT,
            MEMORY,
            "2026-06-12 19:39:10",
            "sha256",
        ):
            assert words in text
        await driven.press("escape")
        assert driven.in_use() == "discussions" and driven.selected() == EXPORT


async def test_enter_on_the_last_miss_and_on_a_culprit(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("4", "enter")
        assert "Review of the connection pool" in driven.text and f"{MEMORY} changed" in driven.text
        await driven.press("escape", "j", "enter")
        assert "7 of 11 broken prefixes" in driven.text and "6 project context" in driven.text
        assert "35,791" in driven.text and "$0.0966" in driven.text


async def test_y_copies_the_session_id(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("j", "y")
        assert driven.app.clipboard == PARSER and f"copied {PARSER}" in driven.said
        await driven.press("4", "y")
        assert driven.app.clipboard == REVIEW
        await driven.press("j", "y")
        assert driven.app.clipboard == REVIEW and "no discussion is selected" in driven.said


async def test_capital_y_copies_what_the_panel_shows(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("Y")
        assert driven.app.clipboard.startswith(f"{REFACTOR} Refactor the login flow yes (Anthropic) 18:52")
        await driven.press("4", "j", "Y")
        assert driven.app.clipboard == f"layer 6 (project context) {MEMORY} 7 times, 35791 tokens"
        await driven.press("3", "j", "Y")
        assert driven.app.clipboard == "cache.anthropic_ttl: 5 min"
        await driven.press("1", "Y")
        assert "483,840" in driven.app.clipboard


@pytest.fixture
def editor(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor that writes down what it was asked for."""
    seen, script = home / "edited", home / "vim"
    script.write_text(f'#!/bin/sh\necho "$@" >> {seen}\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))
    return seen


async def test_e_names_the_file_of_the_selection(run: Run) -> None:
    async with caching(run) as driven:
        for key, file in (
            ("2", f"1844-{REFACTOR}-talk.md"),
            ("4", f"1844-{REVIEW}-talk.md"),
            ("j", MEMORY),
            ("3", ""),
            ("j", "memory-config.yaml"),
        ):
            await driven.press(key)
            assert driven.screen.situation.file.endswith(file), key


async def test_e_hands_the_terminal_over_or_says_that_it_cannot(run: Run, editor: Path) -> None:
    async with caching(run) as driven:
        looks = len(driven.engine.asked("overview"))
        await driven.press("3", "j", "e")
        assert "this terminal cannot be handed to an editor" in driven.said  # there is none in a test
        assert len(driven.engine.asked("overview")) == looks + 1


async def test_a_file_that_is_gone_cannot_be_edited(run: Run) -> None:
    async with caching(run) as driven:
        (driven.engine.root / MEMORY).unlink()
        await driven.press("4", "j", "e")
        assert "the selection is no file, or it is gone" in driven.said
        await driven.press("1", "e")
        assert driven.screen.situation.file == ""


async def test_p_steps_the_period_of_the_sums(run: Run) -> None:
    async with caching(run) as driven:
        assert "the last 30 days, since 05-14" in driven.text and "483,840" in driven.text
        await driven.press("p")
        assert "today (UTC)" in driven.text and "62,208" in driven.text
        await driven.press("p")
        assert "the last 7 days, since 06-06" in driven.text and "207,360" in driven.text
        await driven.press("p")
        assert [call[1] for call in driven.engine.asked("overview")] == [30, 1, 7, 30]
        await driven.press("plus", "p")
        assert "sums of today" in driven.said


# Settings


async def test_space_and_enter_change_a_setting_and_say_its_line_and_commit(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("3", "enter")
        assert driven.engine.asked("change") == [("change", "cache.anthropic", False)]
        assert "cache.anthropic: on → off · memory-config.yaml:23 · commit a81f2c0" in driven.said
        assert "[ ] Anthropic ephemeral caching" in driven.text
        await driven.press("space")
        assert driven.engine.asked("change")[-1] == ("change", "cache.anthropic", True)
        assert "[x] Anthropic ephemeral caching" in driven.text


async def test_a_ttl_goes_to_its_next_value_and_over_an_hour_only_where_that_is_allowed(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("3", "j", "enter")
        assert driven.engine.asked("change")[-1] == ("change", "cache.anthropic_ttl", "1h")
        assert "◂ 1 h ▸" in driven.text and "memory-config.yaml:22" in driven.text
        await driven.press("j", "j", "enter", "enter", "enter")
        assert [call[2] for call in driven.engine.asked("change")[1:]] == [15, 30, 60]
        await driven.press("j", "enter", "k", "enter", "enter")
        assert [call[1:] for call in driven.engine.asked("change")[4:]] == [
            ("cache.gemini_long", True),
            ("cache.gemini_ttl_minutes", 120),
            ("cache.gemini_ttl_minutes", 240),
        ]
        assert "◂ 4 h ▸" in driven.text
        await driven.press("j", "enter")
        assert "4 h, held to 60 min" in driven.text


async def test_steps_that_come_faster_than_they_are_written_all_count(run: Run) -> None:
    still = threading.Event()
    async with caching(run, gates={"change": still}) as driven:
        await driven.press("3", "j", "j", "j")
        await driven.send("enter", "enter", "enter", "enter")
        await driven.until(lambda: "◂ 15 min ▸ …" in driven.text)
        still.set()
        await driven.settle()
        assert [call[2] for call in driven.engine.asked("change")] == [15, 30, 60, 15]
        assert "◂ 15 min ▸" in driven.text and "▸ …" not in driven.text


async def test_a_setting_that_cannot_be_written_is_as_it_was(run: Run) -> None:
    broken = AutopoiesisError("cannot be changed there", where="memory-config.yaml:21", cure="edit it")
    async with caching(run, failing={"change": broken}) as driven:
        await driven.press("3", "enter")
        assert "memory-config.yaml:21: cannot be changed there; edit it" in driven.said
        assert "[x] Anthropic ephemeral caching" in driven.text


async def test_where_each_setting_stands_is_said(run: Run) -> None:
    async with caching(run) as driven:
        assert "default, not in memory-config.yaml" in driven.text
        await driven.press("3", "j")
        assert "memory-config.yaml:22" in driven.text


async def test_a_provider_whose_caching_is_off_says_so(run: Run) -> None:
    async with caching(run, caches=FakeCaches.none("anthropic")) as driven:
        await driven.press("3", "enter")
        assert driven.line("▸ anthropic").split()[-2] == "off"


# Elsewhere


async def test_the_gate_is_answered_from_here(run: Run) -> None:
    async with caching(run) as driven:
        driven.engine.publish(GateAsked(NOW, "q1", "deploy", "ship it", "about deploying", 30.0))
        await driven.settle()
        await driven.press("ctrl+y")
        assert driven.engine.asked("answer") == [("answer", "q1", True)] and not driven.app.clipboard


async def test_keys_of_an_empty_screen_say_why_they_do_nothing(run: Run) -> None:
    async with caching(run, caches=FakeCaches.none()) as driven:
        for key in ("enter", "i", "d", "a", "y", "Y", "e", "j", "G"):
            await driven.press(key)
        assert "no discussion is selected" in driven.said and "there is nothing here yet" in driven.said
        assert driven.is_open() and not isinstance(driven.app.screen, ConfirmScreen | PageScreen)


async def test_the_selection_stays_with_its_discussion(run: Run) -> None:
    async with caching(run) as driven:
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
