"""The sample's month as its pipeline went through it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import date
from importlib import resources
from pathlib import Path

import pytest

from engine.agents.audit import Audit
from engine.agents.sample_days import live_through
from engine.engine import Engine
from tests.conftest import SAMPLE_DAY


@pytest.fixture(scope="module")
def lived(_pristine_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("lived") / "memory"
    shutil.copytree(_pristine_sample, root, symlinks=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOPOIESIS_TRUST", "all")
        live_through(root)
        with Engine.open(root) as engine:
            yield engine


def _days() -> dict[str, dict[str, list[str]]]:
    days: dict[str, dict[str, list[str]]] = json.loads(
        resources.files("engine").joinpath("sample", "days.json").read_bytes()
    )
    return days


def test_every_answer_in_the_package_is_about_a_message_of_the_sample(lived: Engine) -> None:
    answers = _days()["answers"]
    labelled = [each for each in lived.decision_log.read() if each.labelled_by == "person"]
    assert len(labelled) == sum(map(len, answers.values()))
    assert {each.useful for each in labelled} == {True, False}


def test_decisions_have_the_time_of_their_message(lived: Engine) -> None:
    days = {date.fromisoformat(each.at[:10]) for each in lived.decision_log.read()}
    assert max(days) == SAMPLE_DAY
    assert len(days) > 15
    assert {path.stem for path in (lived.files.workspace.root / "logs/decisions").iterdir()} == {
        f"{day:%Y-%m}" for day in days
    }


def test_the_answers_have_moved_the_scores_their_way(lived: Engine) -> None:
    moved = {True: [0.0], False: [0.0]}
    for each in lived.decision_log.read():
        row = lived.trace(each.message).row(each.topic) if each.labelled_by == "person" else None
        if row is not None and each.score is not None:
            moved[bool(each.useful)].append(row.score - each.score)
    assert sum(moved[True]) / len(moved[True]) > 0.05
    assert sum(moved[False]) / len(moved[False]) < -0.05


def test_agents_of_the_last_days_were_told_and_each_injection_is_there_to_be_judged(lived: Engine) -> None:
    entries = list(Audit(lived).entries())
    assert not [each for each in entries if each.failed]
    assert len({each.session_id for each in entries}) == 3
    assert sum(each.injection is not None for each in entries) >= 10
    told = [each.injection for each in entries if each.injection is not None]
    assert any(each.useful for each in told)
    assert sum(each.finished for each in told) >= 8


def test_what_the_agent_asked_to_remember_waits_for_the_person(lived: Engine) -> None:
    waiting = {each.item.text for each in lived.knowledge.review.queue.waiting()}
    asked = {line.split(maxsplit=2)[2] for lines in _days()["proposals"].values() for line in lines}
    assert waiting == asked


def test_nothing_is_left_to_commit(lived: Engine) -> None:
    assert not lived.commits.commit(dry_run=True).commits
