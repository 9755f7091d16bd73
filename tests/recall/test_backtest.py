"""The past is played to the memory as it stood then: nothing later is known, and the figures add up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from engine.engine import Engine
from engine.errors import AutopoiesisError
from engine.recall.backtest import Backtest
from engine.recall.features import numbers
from tests.recall.conftest import DAY, OTHERS, SUBJECTS, Say, asked, found
from tui.cli import cli

if TYPE_CHECKING:
    from engine.search.past import Words

FERRY = SUBJECTS[0]
AGAIN = "The timetable shows the wrong pontoon again, although nobody touched the ferry module since."
USED = (
    "Found: ferry/captain_berth.py computed captain_first after `berth_cache`, so I compute captain_order"
    " first now, and keep the berth out of the cache."
)


def played(engine: Engine, last: int = 0) -> Backtest:
    engine.refresh_index()
    return engine.backtest(last)


def test_what_came_up_later_is_counted(engine: Engine, past: list[str], say: Say) -> None:
    path = say(DAY.format(20), AGAIN, USED)
    report = played(engine)
    assert (report.sessions, report.prompts) == (28, 28), "the first three have too little before them"
    (told,) = [each for each in report.told if each.path == path]
    assert (told.message, told.day, told.line) == (AGAIN, DAY.format(20), 10)
    assert {each.path for each in told.passages} == {past[0]}
    assert told.came_up >= 2 and report.hits >= 1 and told in report.best and told not in report.worst
    assert report.lines >= report.lines_used >= 1
    assert report.known >= report.known_told >= 1
    assert report.tokens > 0


def test_nothing_of_what_came_later_is_known(engine: Engine, say: Say) -> None:
    first = say(DAY.format(1), AGAIN, USED)
    for number, words in enumerate(SUBJECTS):
        say(DAY.format(number + 2), asked(words), found(words))
    assert first not in [each.path for each in played(engine).told]


def test_only_the_last_sessions(engine: Engine, past: list[str], say: Say) -> None:
    say(DAY.format(20), AGAIN, USED)
    assert (played(engine, 1).sessions, played(engine, 1).prompts) == (1, 1)


def test_repeated_rules_are_counted_and_whether_they_were_in_force(engine: Engine, say: Say) -> None:
    for day in (1, 2, 3):
        say(DAY.format(day), f"From now on, always use tabs in this code. ({day})", "Done.")
    for day in (4, 5):
        say(DAY.format(day), f"please push and create a draft PR {day}", "Done.")
    engine.rules.learn()
    report = played(engine)
    assert report.repeats >= 2
    assert 2 <= report.repeats_held <= report.repeats


def test_the_command_prints_the_figures_and_the_prompts(workspace: Path, past: list[str], say: Say) -> None:
    say(DAY.format(20), AGAIN, USED)
    run = CliRunner().invoke(cli, ["-C", str(workspace), "backtest"])
    assert run.exit_code == 0, run.output
    assert "28 sessions with 28 prompts" in run.output and AGAIN[:40] in run.output
    assert "it cannot know" in run.output
    tree = json.loads(CliRunner().invoke(cli, ["-C", str(workspace), "backtest", "--json"]).output)
    assert (tree["prompts"], tree["sessions"]) == (28, 28)
    assert tree["best"][0]["message"] == AGAIN


def test_too_few_sessions_are_an_error_with_a_cure(workspace: Path) -> None:
    run = CliRunner().invoke(cli, ["-C", str(workspace), "backtest"])
    assert run.exit_code == 1
    assert isinstance(run.exception, AutopoiesisError)
    assert "too few sessions" in str(run.exception) and "autopoiesis import" in str(run.exception)


def test_each_turn_is_read_once_however_many_prompts_follow_it(
    engine: Engine, past: list[str], say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [text for words in OTHERS for text in (asked(words), found(words))]
    say(DAY.format(20), *turns)
    read = 0

    def counted(text: str) -> Words:
        nonlocal read
        read += len(text)
        return numbers(text)

    monkeypatch.setattr("engine.recall.replay.numbers", counted)
    assert played(engine, 1).prompts == len(OTHERS)
    assert 0 < read <= 2.1 * sum(map(len, turns)), "once with what tools printed, and once without"
