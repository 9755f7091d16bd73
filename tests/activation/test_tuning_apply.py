"""Thresholds written to a topic's file, committed and undone; labels given while tuning (spec 5.5)."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.activation.policy import Thresholds
from engine.activation.tuning.replay import figures
from engine.engine import Engine
from engine.errors import AutopoiesisError, TopicError, WriteFailed
from engine.store.faults import FAULT_POINTS, fail, trip
from tests.cases import each_case

TOPIC = "github-pr-review"
PATH = f"topics/{TOPIC}.md"
MESSAGE = "Can you review the PR that just came in?"


@pytest.fixture
def engine(sample: Path) -> Iterator[Engine]:
    with Engine.open(sample) as opened:
        yield opened


def subjects(engine: Engine, count: int = 2) -> list[str]:
    return [commit.subject for commit in engine.repository.log(count)]


@each_case(
    ("thresholds", "what"),
    [
        (Thresholds(0.7, 0.6), "the gate threshold is above the activation threshold"),
        (Thresholds(-0.1, 0.6), "thresholds must be between 0 and 1"),
        (Thresholds(0.1, 1.5), "thresholds must be between 0 and 1"),
        (Thresholds(float("nan"), 0.6), "thresholds must be between 0 and 1"),
    ],
)
def test_invalid_or_unchanged_thresholds_and_unknown_topics_are_refused(
    engine: Engine, thresholds: Thresholds, what: str
) -> None:
    before = engine.files.read(PATH)
    with pytest.raises(AutopoiesisError, match=what):
        engine.tuning.apply(TOPIC, thresholds)
    assert engine.files.read(PATH) == before
    with pytest.raises(TopicError, match="already has these thresholds"):
        engine.tuning.apply(TOPIC, engine.tuning.table().today(TOPIC))
    with pytest.raises(TopicError, match="there is no topic nope"):
        engine.tuning.apply("nope", Thresholds(0.1, 0.2))
    with pytest.raises(TopicError, match="there is no topic nope"):
        engine.tuning.propose("nope")


def test_a_concurrently_changed_file_is_refused_once(engine: Engine) -> None:
    file = engine.workspace.root / PATH
    engine.tuning.table()
    changed = file.read_bytes() + b"\nOne more thing.\n"
    file.write_bytes(changed)
    with pytest.raises(TopicError, match="changed since") as caught:
        engine.tuning.apply(TOPIC, Thresholds(0.34, 0.62))
    assert caught.value.where == PATH and caught.value.hint
    assert file.read_bytes() == changed
    engine.tuning.apply(TOPIC, Thresholds(0.34, 0.62))
    assert b"One more thing." in file.read_bytes()
    file.unlink()
    with pytest.raises(TopicError, match="no longer exists"):
        engine.tuning.apply(TOPIC, Thresholds(0.1, 0.2))


def test_undo_restores_one_change_after_the_other_even_after_a_restart(engine: Engine) -> None:
    root = engine.workspace.root
    file = root / PATH
    own = b"similarity_threshold: 0.22  # once\npriority:"
    file.write_bytes(file.read_bytes().replace(b"priority:", own, 1))
    engine.reload_topics()
    before, today = file.read_bytes(), engine.tuning.table().today(TOPIC)
    assert today.gate == 0.22
    engine.tuning.apply(TOPIC, Thresholds(0.34, 0.62))
    engine.tuning.apply(TOPIC, Thresholds(0.5, 0.62))
    file.write_bytes(file.read_bytes() + b"\nOne more thing.\n")
    with Engine.open(root) as again:
        undone = again.tuning.undo()
        assert (undone.before, undone.after) == (Thresholds(0.5, 0.62), Thresholds(0.34, 0.62))
        undone = again.tuning.undo()
        assert (undone.topic, undone.before, undone.after) == (TOPIC, Thresholds(0.34, 0.62), today)
        assert file.read_bytes() == before + b"\nOne more thing.\n"
        assert again.tuning.table().today(TOPIC) == today
        assert undone.commit == again.repository.revision()
        last, second = subjects(again)
        assert last.startswith(f"maintenance: undo tune {TOPIC}: gate .22, active ")
        assert second == f"maintenance: undo tune {TOPIC}: gate .34, active .62"
        with pytest.raises(TopicError, match="no threshold change to undo"):
            again.tuning.undo()


def test_undo_refuses_what_was_changed_since_and_completes_what_was_interrupted(engine: Engine) -> None:
    file = engine.workspace.root / PATH
    before = file.read_bytes()
    expected = engine.tuning.apply(TOPIC, Thresholds(0.34, 0.62))
    applied = file.read_bytes()
    file.write_bytes(applied.replace(b"0.34", b"0.4"))
    with pytest.raises(TopicError, match="changed since its thresholds were read"):
        engine.tuning.undo()
    with pytest.raises(TopicError, match=r"now has other thresholds \(gate .40, active .62\)") as caught:
        engine.tuning.undo()
    assert caught.value.where == PATH and "autopoiesis tune" in caught.value.hint
    file.write_bytes(applied)
    engine.reload_topics()
    engine.tuning.apply("release", Thresholds(0.5, 0.9))
    with pytest.raises(TopicError, match="is not the last threshold change"):
        engine.tuning.undo(expected)
    assert engine.tuning.undo().topic == "release"
    file.write_bytes(before)
    engine.reload_topics()
    assert engine.tuning.undo(expected).commit, "as after an undo that was interrupted before its commit"
    with pytest.raises(TopicError, match="no threshold change to undo"):
        engine.tuning.undo()
    engine.tuning.apply(TOPIC, Thresholds(0.34, 0.62))
    file.unlink()
    for _ in range(2):
        with pytest.raises(TopicError, match="no longer exists"):
            engine.tuning.undo()


def test_without_a_repository_or_auto_commit_thresholds_are_written_uncommitted(sample: Path) -> None:
    settings = sample / "memory-config.yaml"
    given, before = settings.read_text(), (sample / PATH).read_bytes()
    settings.write_text(given.replace("auto_commit: true", "auto_commit: false"))
    with Engine.open(sample) as engine:
        revision = engine.repository.revision()
        applied = engine.tuning.apply(TOPIC, Thresholds(0.34, 0.62))
        assert (applied.commit, applied.why) == ("", "git.auto_commit is off")
        assert engine.repository.revision() == revision
        with pytest.raises(TopicError, match="no threshold change to undo"):
            engine.tuning.undo()
    settings.write_text(given)
    with Engine.open(sample) as engine:
        applied = engine.tuning.apply(TOPIC, Thresholds(0.34, 0.62))
        assert applied.commit, "as after a run that was interrupted before its commit"
        engine.tuning.undo()
        assert engine.files.read(PATH) == before
    shutil.rmtree(sample / ".git")
    with Engine.open(sample) as engine:
        applied = engine.tuning.apply(TOPIC, Thresholds(0.35, 0.62))
        assert applied.commit == "" and "not a git repository" in applied.why


@pytest.mark.parametrize(
    "point", sorted(point for point in FAULT_POINTS if point.startswith(("temp", "replace")))
)
def test_a_full_disk_leaves_file_and_undo_intact(sample: Path, point: str) -> None:
    with Engine.open(sample) as engine:
        engine.tuning.apply("release", Thresholds(0.5, 0.9))
        before = engine.files.read(PATH)
        reached: list[int] = []
        with (
            trip(point, lambda: reached.append(1)),
            trip(point, fail(errno.ENOSPC)),
            pytest.raises(WriteFailed),
        ):
            engine.tuning.apply(TOPIC, Thresholds(0.34, 0.62))
        assert reached
        held = engine.files.read(PATH)
    # After the rename only the folder sync is missing: the change is in effect.
    stands = point == "replace:folder-fsync"
    assert (b"0.34" in held, held == before) == (stands, not stands)
    with Engine.open(sample) as again:
        assert again.tuning.undo().topic == "release"


def logged(engine: Engine, count: int = 3) -> None:
    for number in range(count):
        engine.trace(f"{MESSAGE} It is number {number}.", record=True)


def test_a_topic_that_was_not_logged_for_a_message_can_be_labelled(engine: Engine) -> None:
    logged(engine, 1)
    table = engine.tuning.table()
    unlogged = next(name for name in table.topics if name not in table.messages[0].decisions)
    made = engine.tuning.decision(table, 0, unlogged)
    like = table.messages[0].decisions[TOPIC]
    assert (made.topic, made.message_hash, made.at) == (unlogged, like.message_hash, like.at)
    engine.labels.judge([(made, True)])
    again = engine.tuning.table()
    assert (again.size, figures(again, unlogged).useful) == (1, 1)


def test_labels_are_scored_by_fits_without_them_once_they_are_there(engine: Engine) -> None:
    logged(engine)
    engine.labels.judge([(engine.tuning.decision(engine.tuning.table(), 0, TOPIC), False)])
    taught = engine.tuning.table()
    assert not taught.held_out
    honest = engine.tuning.hold_out()
    assert honest.held_out and engine.tuning.table() is honest
    column = honest.columns[TOPIC]
    assert honest.scores[0, column] > taught.scores[0, column]
    assert np.array_equal(honest.scores[1:], taught.scores[1:]), "of messages that are no labels"


def test_the_table_is_cached_until_something_changes(engine: Engine, sample: Path) -> None:
    logged(engine)
    table = engine.tuning.table()
    assert engine.tuning.table() is table
    texts = [message.text for message in table.messages]
    logged(engine, 5)
    grown = engine.tuning.table()
    assert sorted(message.text for message in grown.messages)[: len(texts)] == sorted(texts)
    assert grown.size > table.size
    engine.library.force(TOPIC, True)
    assert engine.tuning.table() is not grown
