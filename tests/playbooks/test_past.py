"""A playbook is played to one's whole past; labels given there count everywhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.playbooks.past import Replay
from tests.playbooks.conftest import Write

FOOD = "---\ntype: topic\ndescription: Lunch is ordered.\ntriggers:\n  - type: keywords\n    words: [lunch]\n"
FOOD += "---\n\n# Lunch\n\n## Instructions\n\nAsk who is in.\n"


@pytest.fixture
def sample(sample: Path) -> Path:
    """The sample with the sessions of its last eight days: each test replays them again and again."""
    for day in sorted((sample / "raw/conversations/2026").glob("*/*"))[:-8]:
        shutil.rmtree(day)
    return sample


@pytest.fixture
def lunch(engine: Engine) -> Engine:
    (engine.workspace.root / "topics/lunch.md").write_text(FOOD)
    engine.reload_topics()
    return engine


def replayed(engine: Engine, topic: str) -> Replay:
    return engine.playbooks.replay_all(topics=[topic])[topic]


def test_the_replay_lists_what_would_have_fired_and_nothing_is_logged_or_asked(
    lunch: Engine, session: Write
) -> None:
    path = session("2026-01-05", 1, ["order lunch for six", "thanks a lot"])
    before = lunch.decision_log.months.stamp()
    found = replayed(lunch, "lunch")
    assert found.messages > 20 and found.fired == 1 and found.labelled == 0
    row = found.rows[0]
    assert (row.path, row.message, row.hits, row.day) == (
        path,
        "order lunch for six",
        ("lunch",),
        "2026-01-05",
    )
    assert row.line and lunch.decision_log.months.stamp() == before
    assert found.precision is None and found.recall is None


def test_only_what_the_person_typed_is_played_and_each_text_once(lunch: Engine, session: Write) -> None:
    session("2026-01-05", 1, ["order lunch for six"])
    session("2026-01-06", 2, ["Order  lunch for six", "<system-reminder>lunch</system-reminder>"])
    session("2026-01-07", 3, ["order lunch for nine"], header="author: somebody else\n")
    session("2026-01-08", 4, ["```\nlunch = 3\n```"])
    found = replayed(lunch, "lunch")
    assert [row.day for row in found.rows if row.fired] == ["2026-01-06"]


def test_labels_move_precision_and_recall_and_count_in_the_decision_log(
    lunch: Engine, session: Write
) -> None:
    session("2026-01-05", 1, ["order lunch for six", "the lunch break was long", "hungry, get us some food"])
    found = replayed(lunch, "lunch")
    right, wrong = (next(row for row in found.rows if start in row.message) for start in ("order", "break"))
    found = lunch.playbooks.label(found, right, True)
    assert (found.precision, found.recall) == (1.0, 1.0)
    found = lunch.playbooks.label(found, wrong, False)
    assert (found.precision, found.recall, found.labelled) == (0.5, 1.0, 2)
    again = replayed(lunch, "lunch")
    assert {row.id: row.useful for row in again.rows if row.useful is not None} == {
        right.id: True,
        wrong.id: False,
    }
    assert lunch.decision_log.find(right.id).label == (True, "person")
    assert lunch.playbooks.label(again, wrong, None).labelled == 1


def test_the_most_uncertain_come_first_and_the_labelled_last(engine: Engine) -> None:
    found = replayed(engine, "release")
    found = engine.playbooks.label(found, found.rows[0], True)
    rows = replayed(engine, "release").rows
    assert [row.useful for row in rows] == [None] * (len(rows) - 1) + [True]
    assert {row.fired for row in rows[:-1]} == {True, False}
    assert [row.doubt for row in rows[:-1]] == sorted(row.doubt for row in rows[:-1])
    assert min(rows[:-1], key=lambda row: abs(row.score - (row.fires_at or 0))) in rows[:3]


def test_labels_are_judged_by_fits_that_do_not_know_them(engine: Engine) -> None:
    """One label puts its own message right, which says nothing about others."""
    missed = next(row for row in replayed(engine, "release").rows if not row.fired)
    engine.playbooks.label_row("release", missed, True)
    engine.labels.learn()
    again = replayed(engine, "release")
    row = next(row for row in again.rows if row.id == missed.id)
    assert row.score > missed.score and row.fired_unlearnt is False and again.recall == 0.0


def test_older_messages_beyond_the_limit_are_counted_not_hidden(engine: Engine) -> None:
    whole = replayed(engine, "release")
    part = engine.playbooks.replay_all(topics=["release"], most=10)["release"]
    assert (part.messages, part.left_out) == (10, whole.messages - 10) and whole.left_out == 0


ASKS = (
    "rename the exported podcast episodes by date",
    "please rename the podcast episodes by date again",
    "podcast episodes need their date as a name, rename them",
)


def test_what_is_asked_for_again_and_again_is_suggested_until_a_playbook_covers_it(
    engine: Engine, session: Write
) -> None:
    for number, text in enumerate(ASKS):
        session(f"2026-01-0{5 + number}", number, [text, "continue", "commit and push"])
    (found,) = engine.playbooks.suggest()
    assert (
        found.sessions == 3
        and set(found.messages) == set(ASKS)
        and found.days == ("2026-01-05", "2026-01-07")
    )
    assert "podcast" in found.draft.title.lower() and set(found.draft.examples) == set(ASKS)
    assert engine.playbooks.suggest(sessions=4) == []
    engine.playbooks.create(found.draft)
    (engine.workspace.root / f"topics/{found.draft.name}.md").write_text(
        FOOD.replace("words: [lunch]", "words: [podcast]")
    )
    engine.reload_topics()
    assert engine.playbooks.suggest() == []


def test_the_same_words_in_several_sessions_are_a_habit_but_the_copies_of_a_fork_are_not(
    engine: Engine, session: Write
) -> None:
    for number in range(3):
        session("2026-01-05", number, ["rename the podcast episodes"])
    assert engine.playbooks.suggest() == [], "one message at one time, in a session and its forks"
    for number in range(3):
        session(f"2026-01-0{6 + number}", number, ["rename the podcast episodes"])
        session(f"2026-01-1{number}", number, ["/podcast-rename every episode"])
    (found,) = engine.playbooks.suggest()
    assert found.sessions == 4 and found.messages == ("rename the podcast episodes",)


def test_one_long_session_about_a_thing_is_no_habit(engine: Engine, session: Write) -> None:
    session("2026-01-05", 1, ASKS)
    assert engine.playbooks.suggest() == []
