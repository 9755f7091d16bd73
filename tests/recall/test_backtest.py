"""The past is played to the memory as it stood then: nothing later is known, and the figures add up."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import pytest
from click.testing import CliRunner

from engine.engine import Engine
from engine.errors import AutopoiesisError, ConfigError
from engine.recall.backtest import Backtest, ToldPrompt
from engine.recall.features import numbers
from engine.recall.own import LABEL_WEIGHT, _played
from engine.recall.passages import passage_of, place_of
from engine.recall.replay import Played
from tests.recall.conftest import DAY, OTHERS, SUBJECTS, Say, asked, did, found
from tui.cli import cli
from tui.render.words import figures, summary

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
    return engine.what_if({}, last)[0]


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


def test_what_the_person_ran_in_a_shell_is_no_prompt(engine: Engine, past: list[str], say: Say) -> None:
    path = say(DAY.format(20), f"! git status\n{AGAIN}", USED)
    say(DAY.format(21), "! pytest ferry_timetable.py --pontoon\n!git diff", USED)
    report = played(engine)
    assert [(each.path, each.message) for each in report.told] == [(path, AGAIN)]
    assert report.prompts == 28


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
        say(DAY.format(day), asked(SUBJECTS[day]), found(SUBJECTS[day]))
    for day in (4, 5):
        say(DAY.format(day), f"please push and create a draft PR {day}", "Done.")
    for day in (6, 7, 8):
        say(DAY.format(day), f"From now on, always use tabs in this code. ({day})", "Done.")
    engine.rules.learn()
    report = played(engine)
    assert report.rules >= 2
    assert report.repeats >= 2
    assert 2 <= report.repeats_held <= report.repeats
    assert played(engine, 1).repeats == 1, "of the session played"
    assert "you said something again" in summary(report)


def test_without_rules_it_says_that_none_were_learned(engine: Engine, past: list[str]) -> None:
    report = played(engine)
    assert report.rules == 0
    assert figures(report)[0].value == "none were learned yet"
    assert summary(report).startswith("In 27 sessions, ") and "would have been told" in summary(report)
    assert "of these, two words of a line came up later." in summary(report)


def test_the_command_prints_the_figures_and_the_prompts(workspace: Path, past: list[str], say: Say) -> None:
    say(DAY.format(20), AGAIN, USED)
    run = CliRunner().invoke(cli, ["-C", str(workspace), "backtest"])
    assert run.exit_code == 0, run.output
    assert "28 sessions with 28 prompts" in run.output and AGAIN[:40] in run.output
    assert "it cannot know" in run.output
    tree = json.loads(CliRunner().invoke(cli, ["-C", str(workspace), "backtest", "--json"]).output)
    assert (tree["prompts"], tree["sessions"]) == (28, 28)
    assert tree["best"][0]["message"] == AGAIN
    assert "captain_order" in [word for each in tree["best"][0]["passages"] for word in each["words"]]


QUESTION = "Which berth does the captain use first, then?"
LOOKED = "I see.\n\n" + did(FERRY).replace("captain", "").replace("berth", "")


def ask(say: Say, day: int) -> str:
    """A session on the ferry; what it asks last needs the session to be understood."""
    return say(DAY.format(day), "Hello.", LOOKED, QUESTION, "Done.")


def asking(report: Backtest, path: str) -> ToldPrompt | None:
    return next((each for each in report.told if each.path == path and each.message == QUESTION), None)


@pytest.mark.usefixtures("eager")
def test_noise_is_not_told_again_but_stays_listed_where_it_was_said(
    engine: Engine, past: list[str], say: Say
) -> None:
    first, second = ask(say, 20), ask(say, 21)
    before = asking(played(engine), first)
    assert before is not None and asking(played(engine), second) is not None
    labelled = engine.label_told(before.place, useful=False)
    assert [each.useful for each in labelled.passages] == [False] * len(before.passages)
    report = played(engine)
    assert asking(report, first) == labelled
    assert asking(report, second) is None
    engine.label_told(before.place, useful=True)
    assert asking(played(engine), second) is not None, "the last label counts"


@pytest.mark.usefixtures("eager")
def test_labels_are_examples_that_count_more(engine: Engine, past: list[str], say: Say) -> None:
    path = ask(say, 20)
    told = asking(played(engine), path)
    assert told is not None
    engine.label_told(told.place, useful=False, numbers=[1])

    def example() -> Played:
        found = list(_played(engine.index, engine.recall.labels.read(), lambda _done, _of: None))
        return next(each for each in found if each.message == QUESTION)

    (row,) = numpy.flatnonzero(example().weights == LABEL_WEIGHT)
    assert not example().useful[row]
    passage = passage_of(engine.index, engine.index.past(), int(example().candidates.places[row]))
    assert passage is not None and place_of(passage) == told.passages[0].place
    engine.label_told(told.place, useful=True, numbers=[1])
    assert example().useful[row]


def test_a_setting_is_tried_and_the_file_stays(
    workspace: Path, engine: Engine, past: list[str], say: Say
) -> None:
    say(DAY.format(20), AGAIN, USED)
    engine.refresh_index()
    for changes in ({"hooks.past_sessions": "off"}, {"hooks.prompt_tokens": "0"}):
        now, then = engine.what_if(changes)
        assert now.told and not then.told and now.known == then.known > 0
        assert next(iter(changes)) in then.model, "why nothing is told"
    now, then = engine.what_if({"hooks.prompt_tokens": "60"})
    assert then.tokens < now.tokens
    assert (workspace / "memory-config.yaml").read_text() == ""
    for name, value in (("hooks.past_session", "off"), ("hooks.past_sessions", "sometimes")):
        with pytest.raises(ConfigError):
            engine.what_if({name: value})


def test_the_command_shows_both_columns(workspace: Path, past: list[str], say: Say) -> None:
    say(DAY.format(20), AGAIN, USED)
    base = ["-C", str(workspace), "backtest"]
    both = CliRunner().invoke(cli, [*base, "--with", "hooks.past_sessions=off"]).output
    assert re.search(r"as is +hooks.past_sessions=off\n", both)
    assert re.search(r"prompts told +1 of 28 \(4 %\) +0 of 28 \(0 %\)\n", both)
    same = CliRunner().invoke(cli, [*base, "--with", "git.auto_commit=false"]).output
    assert "nothing that is told depends on git.auto_commit" in same
    tree = json.loads(CliRunner().invoke(cli, [*base, "--with", "hooks.past_sessions=off", "--json"]).output)
    assert tree["told"] and not tree["then"]["told"]
    assert CliRunner().invoke(cli, [*base, "--with", "off"]).exit_code == 2


def test_the_command_labels_a_prompt(workspace: Path, past: list[str], say: Say) -> None:
    path = say(DAY.format(20), AGAIN, USED)
    base = ["-C", str(workspace), "backtest"]
    run = CliRunner().invoke(cli, [*base, "--noise", f"{path}:10", "--passage", "1"])
    assert run.exit_code == 0 and "labelled as noise" in run.output
    assert CliRunner().invoke(cli, base).output.count("labelled noise") == 1
    gone = CliRunner().invoke(cli, [*base, "--useful", f"{path}:11"])
    assert isinstance(gone.exception, AutopoiesisError) and "nothing would have been told" in str(
        gone.exception
    )
    assert CliRunner().invoke(cli, [*base, "--useful", "x:1", "--noise", "x:1"]).exit_code == 2


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
