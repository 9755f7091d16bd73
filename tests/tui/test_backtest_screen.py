"""The backtest screen: the past is played in the background, rated, and played with other settings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from engine.recall.backtest import Backtest, ToldPassage, ToldPrompt
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import FakeEngine, status_view
from tests.tui.screen_driven import ScreenDriven
from tests.tui.test_hostile_text import COMBINED, assert_harmless
from tui.screens.backtest.screen import BacktestScreen

SUBJECTS = (
    ("the tide gauge at the north quay reads a metre too high again", ("datum.py", "quay_offset", "chart")),
    ("can we cache the harbour map for offline use?", ("tile_store", "mbtiles")),
    ("why is the release workflow skipping the signing step", ("sign.yml",)),
    ("rename the berth model, the captains call it a mooring", ()),
    ("please look at the flaky test of the ferry timetable", ()),
)


def past(hostile: str = "") -> Backtest:
    """A backtest of 273 sessions with five prompts that were told something."""
    told = []
    for number, (message, words) in enumerate(SUBJECTS):
        path = f"raw/conversations/2026/06/0{number + 2}/0912-work.md"
        text = (
            f"The offset lived in datum.py: quay_offset was added twice.{hostile}\n- kept {' '.join(words)}"
        )
        earlier = f"raw/conversations/2026/05/1{number}/1040-earlier.md"
        passages = [ToldPassage(earlier, 18 + number, f"2026-05-1{number}", text, 0.81 - number / 10, words)]
        if number == 0:
            passages.append(replace(passages[0], line=40, text=f"Left open: the chart.{hostile}", words=()))
        told.append(ToldPrompt(path, 24, f"2026-06-0{number + 2}", message + hostile, tuple(passages)))
    return Backtest(
        sessions=273, prompts=2_014, told=tuple(told), tokens=826, hits=2, lines=31, lines_used=12, known=640,
        known_told=71, rules=14, repeats=155, repeats_held=98,
        model="fitted on 1,284 prompts of other people",
    )  # fmt: skip


class PastEngine:
    """Gives an engine a past, and the settings that can be tried on it."""

    def __init__(self, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine = engine
        self.found = past()
        self.go_on = threading.Event()
        self.go_on.set()
        monkeypatch.setattr(engine, "catch_up_index", lambda: "")
        monkeypatch.setattr(engine, "what_if", self.what_if)

    def what_if(
        self, changes: Mapping[str, str], last: int, progress: Callable[[int, int], object]
    ) -> tuple[Backtest, Backtest]:
        self.engine.record("what_if", dict(changes), last)
        progress(34, 273)
        self.go_on.wait(60)
        progress(273, 273)
        none = replace(
            self.found, told=(), tokens=0, hits=0, lines=0, lines_used=0, known_told=0, model="off"
        )
        labels = self.engine.recall.labels.read()
        told = tuple(each.labelled(labels) for each in self.found.told)
        found = replace(self.found, told=told)
        return found, none if "hooks.past_sessions" in changes else found


@pytest.fixture
def history(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> PastEngine:
    return PastEngine(engine, monkeypatch)


class BacktestDriven(ScreenDriven[BacktestScreen]):
    kind, key = BacktestScreen, "b"


open_backtest = BacktestDriven.on_fakes


async def test_the_sentence_comes_first_then_the_figures_and_the_prompts(
    run: Run, history: PastEngine, picture: Callable[[Driven, str], None]
) -> None:
    async with open_backtest(run, SIZES["80x24"]) as driven:
        assert "In 273 sessions you said something again 155 times; this memory would have" in driven.text
        assert "98 of 155 (63 %) were in force by then" in driven.line("rules said again")
        assert "5 of 2,014 (0 %)" in driven.line("prompts told")
        picture(driven, "backtest/80x24")
        await driven.press("2", "G")
        assert "it cannot know" in driven.text.replace("│\n│ ", "")
        await driven.press("escape", "j")
        assert "●   2026-06-02    3 words  the tide gauge" in driven.text
        assert "○   2026-06-05" in driven.line("rename the berth")
        assert "came up later: datum.py, quay_offset, chart" in driven.text
        assert "nothing came up" in driven.text
        picture(driven, "backtest/prompt")
    async with open_backtest(run, SIZES["120x40"]) as driven:
        await driven.press("j")
        picture(driven, "backtest/120x40")


async def test_it_plays_in_the_background_and_stops_when_closed(run: Run, history: PastEngine) -> None:
    history.go_on.clear()
    async with run((80, 24)) as workbench:
        driven = BacktestDriven(workbench.app, workbench.pilot, workbench.engine)
        await driven.send("b")
        await driven.until(lambda: "playing 34 of 273 sessions …" in driven.text)
        await driven.send("w")
        await driven.until(lambda: "the past is being played" in driven.toasts)
        await driven.send("escape")
        await driven.until(lambda: not driven.is_open())
        history.go_on.set()
        await driven.settle()
        assert driven.bench.backtest is None
        await driven.press("b")
        assert "98 of 155" in driven.text
        await driven.press("escape", "b")
        assert "98 of 155" in driven.text, "the result is kept"
        assert len(driven.engine.calls_of("what_if")) == 2
        await driven.press("r")
        assert len(driven.engine.calls_of("what_if")) == 3


async def test_a_setting_is_tried_and_both_results_are_shown(
    run: Run, engine: FakeEngine, history: PastEngine, picture: Callable[[Driven, str], None]
) -> None:
    async with open_backtest(run, SIZES["80x24"]) as driven:
        await driven.press("w")
        await driven.type("hooks.past_sessions=off")
        await driven.press("enter")
        assert engine.calls_of("what_if")[-1] == ("what_if", {"hooks.past_sessions": "off"}, 0)
        assert "5 of 2,014 (0 %)" in driven.line("prompts told")
        assert "0 of 2,014 (0 %)" in driven.line("prompts told")
        assert driven.screen.prompts.row_count == 6, "the prompts are those told as it is"
        picture(driven, "backtest/what-if")
        await driven.press("w", "ctrl+u")
        await driven.type("hooks.past_session=off")
        await driven.press("enter")
        assert "no setting named hooks.past_session" in driven.toasts
        assert "0 of 2,014 (0 %)" in driven.line("prompts told"), "the last result stays"
        await driven.press("w", "ctrl+u")
        await driven.type("off")
        await driven.press("enter")
        assert "expected SETTING=VALUE; nothing was played" in driven.toasts
        await driven.press("w", "ctrl+u")
        await driven.type("git.auto_commit=false")
        await driven.press("enter", "2", "G")
        assert "nothing that is told depends on it" in driven.text
        await driven.press("w", "ctrl+u", "enter")
        assert "as is" not in driven.text and len(engine.calls_of("what_if")) == 3


async def test_prompts_and_passages_are_rated(run: Run, engine: FakeEngine, history: PastEngine) -> None:
    async with open_backtest(run) as driven:
        await driven.press("y")
        assert "no prompt is selected" in driven.toasts
        await driven.press("j", "n")
        assert "labelled noise: 2 passages" in driven.toasts
        assert "● ✗ 2026-06-02" in driven.text and driven.text.count("labelled noise ·") == 2
        await driven.press("enter", "y")
        assert driven.text.count("labelled noise ·") == 1 and "labelled useful · came up later" in driven.text
        assert "● ✓ 2026-06-02" in driven.text
        prompt = history.found.told[0]
        first, second = prompt.passages
        labels = engine.recall.labels.read()
        assert labels.of_prompt(prompt.place) == {first.place: True, second.place: False}
        await driven.press("escape", "r", "j")
        assert "● ✓ 2026-06-02" in driven.text, "they are kept in a file"
    async with open_backtest(run, status_value=status_view(read_only=True)) as driven:
        await driven.press("j", "y")
        assert "the workspace is read-only" in driven.toasts


async def test_all_prompts_filter_and_transcript(
    run: Run, engine: FakeEngine, history: PastEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = history.found.told[1]
    for path in (prompt.path, prompt.passages[0].path):
        (engine.root / path).parent.mkdir(parents=True, exist_ok=True)
        (engine.root / path).write_text("# Work\n")
    async with open_backtest(run) as driven:
        await driven.press("s")
        assert "all 5 told something" in driven.text
        await driven.press("slash")
        await driven.type("HARBOUR MAP")
        await driven.press("enter")
        assert driven.screen.prompts.row_count == 1
        edited: list[tuple[str, int]] = []
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line: edited.append((path, line)))
        await driven.press("enter", "e", "g", "e")
        assert edited == [(prompt.passages[0].path, 19), (prompt.path, 24)]
        await driven.press("escape", "escape")
        assert driven.screen.prompts.row_count == 6
        await driven.press("escape")
        assert not driven.is_open()


async def test_without_rules_or_sessions_it_says_so(run: Run, history: PastEngine) -> None:
    history.found = replace(history.found, rules=0, repeats=0, repeats_held=0)
    async with open_backtest(run) as driven:
        assert "none were learned yet" in driven.line("rules said again")
        assert "In 273 sessions, 5 of 2,014 prompts would have been told something" in driven.text
        history.found = replace(history.found, sessions=0, told=())
        await driven.press("r")
        assert "there are too few sessions to play" in driven.text


async def test_hostile_text_is_harmless(run: Run, history: PastEngine) -> None:
    history.found = past(COMBINED)
    async with open_backtest(run) as driven:
        await driven.press("j")
        assert_harmless(driven)
        await driven.press("2", "G")
        assert_harmless(driven)
