"""The decision log: append-only, labelled later, and readable despite damage (spec 5.5)."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.activation import decisions
from engine.activation.decisions import (
    Decision,
    DecisionLog,
    DecisionReading,
    Labeller,
    decision_id,
    entry_of,
    hash_of,
    worth_logging,
)
from engine.activation.trace import GateOutcome, Message, TopicTrace, TriggerHit
from engine.errors import AutopoiesisError, PathRefused, ReadOnly
from engine.store import monthly
from engine.store.faults import fail, trip
from tests.activation.support import FEBRUARY, Clock, row, trace, workspace_files
from tests.cases import each_case

MONTH = "logs/decisions/2026-02.jsonl"


def hit(topic: str, **fields: Any) -> TopicTrace:
    """A row of a topic with a hit."""
    told = {"priority": "high", "threshold": 0.15, "activate_at": 0.3, "gate_at": 0.0, "rule": "high <.30"}
    return row(topic, **{"hits": (TriggerHit(0, "pattern", "review", 8, 14),), **told, **fields})


def log_of(root: Path, clock: Clock | None = None, problems: list[str] | None = None) -> DecisionLog:
    return DecisionLog(
        workspace_files(root),
        clock=clock or Clock(),
        on_problem=None if problems is None else problems.append,
    )


def labelled(log: DecisionLog, name: str, useful: bool | None, by: Labeller = "person") -> Decision:
    return log.label(log.find(name), useful, by)


def topics(found: Sequence[Decision]) -> list[str]:
    return [decision.topic for decision in found]


@contextlib.contextmanager
def broken_disk() -> Iterator[None]:
    """Make all writes fail, to new and existing files."""
    with trip("append:write", fail(errno.ENOSPC)), trip("temp:write", fail(errno.ENOSPC)):
        yield


def test_a_decision_is_read_back_with_all_its_fields(tmp_path: Path) -> None:
    gate = GateOutcome("yes", "openai", "m", True, 0.8, "said yes", 210.26, 0.0002)
    log = log_of(tmp_path)
    log.record(trace(hit("pr", gate=gate)))
    (decision,) = log.read()
    text = "Can you review this?"
    assert decision == Decision(
        id=decision_id(Message(text, "input", "s1", FEBRUARY), hash_of(text), "pr"),
        at="2026-02-16T18:45:00+00:00",
        session_id="s1",
        direction="input",
        message_hash=hash_of(text),
        message=text,
        topic="pr",
        priority="high",
        activation="gated",
        hits=((0, "pattern", "review", 8, 14),),
        score=0.28,
        threshold=0.15,
        activate_at=0.3,
        gate_at=0.0,
        rule="high <.30",
        verdict="active",
        gate_answer="yes",
        gate_provider="openai",
        gate_model="m",
        gate_probability=0.8,
        gate_reason="said yes",
        cached=True,
        latency_ms=210.3,
        cost_usd=0.0002,
    )
    assert decision.time == FEBRUARY and decision.hits and decision.asked


def test_only_informative_rows_are_logged() -> None:
    rows = (
        hit("hit", score=0.0),
        hit("near", score=0.075, hits=()),
        hit("far", score=0.0749, hits=()),
        hit("asked", score=0.01, hits=(), gate=GateOutcome("no", "local")),
        hit("nothing", score=0.0, hits=()),
    )
    assert [kept.topic for kept in worth_logging(trace(*rows))] == ["hit", "near", "asked"]
    assert [kept.topic for kept in worth_logging(trace(*rows, direction="output"))] == ["hit", "asked"]


def test_the_message_is_logged_up_to_five_hundred_characters(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    text = "ü" * 800 + "\ud800\n"
    log.record(trace(hit("a"), text=text))
    log.record(trace(hit("a"), text="\ud800\x00\u2028", at=FEBRUARY + timedelta(1)))
    first, second = log.read()
    assert first.message == "ü" * 500 and first.message_hash == hash_of(text)
    assert second.message == "?\x00\u2028"


def test_the_id_of_a_decision_is_deterministic(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    for _ in range(2):
        log.record(trace(hit("a"), hit("b")))
    log.record(trace(hit("a", score=0.1)))
    for found in (log.read(), log.last(9)):
        assert [(decision.topic, decision.score) for decision in found] == [("a", 0.1), ("b", 0.28)]
    ids = {
        decision_id(message, hash_of(text), topic)
        for message, text, topic in (
            (Message("m", "input", "s", FEBRUARY), "m", "t"),
            (Message("m", "output", "s", FEBRUARY), "m", "t"),
            (Message("m", "input", "s2", FEBRUARY), "m", "t"),
            (Message("m", "input", "s", FEBRUARY + timedelta(microseconds=1)), "m", "t"),
            (Message("m", "input", "s", FEBRUARY), "m2", "t"),
            (Message("m", "input", "s", FEBRUARY), "m", "t2"),
        )
    }
    assert len(ids) == 6


def test_a_label_is_joined_to_its_decision(tmp_path: Path) -> None:
    clock = Clock()
    log = log_of(tmp_path, clock)
    log.record(trace(hit("a"), hit("b")))
    name = log.last(9)[0].id
    clock.now += timedelta(days=40)
    assert labelled(log, name, False)[-2:] == (False, "person")
    for read in (log.read(), log.last(9)):
        assert [d.useful for d in read if d.id == name] == [False]
        assert [d.useful for d in read if d.id != name] == [None]
    record = json.loads((tmp_path / "logs/decisions/2026-03.jsonl").read_bytes())
    assert record == {"label": False, "decision": name, "by": "person", "at": clock.now.isoformat()}


def test_a_persons_label_wins_the_latest_of_a_kind_counts_and_one_can_be_withdrawn(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    log.record(trace(hit("a")))
    name = log.last(1)[0].id
    given: list[tuple[bool | None, Labeller, tuple[bool | None, str]]] = [
        (False, "gate", (False, "gate")),
        (True, "use", (True, "use")),
        (False, "gate", (True, "use")),
        (False, "person", (False, "person")),
        (True, "person", (True, "person")),
        (False, "use", (True, "person")),
        (None, "person", (False, "use")),
        (None, "gate", (False, "use")),
        (None, "use", (None, "")),
    ]
    for useful, by, counts in given:
        assert labelled(log, name, useful, by)[-2:] == counts
        assert {each[-2:] for each in (*log.read(), *log.last(1), log.find(name))} == {counts}
    lines = (tmp_path / MONTH).read_bytes().splitlines()
    assert len(lines) == 1 + len(given), "nothing was removed from the log"


def test_a_decision_is_found_by_a_unique_prefix_of_its_id(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    log.record(trace(*(hit(f"t{n}") for n in range(20))))
    first = log.last(1)[0]
    assert log.find(first.id[:12]) == first
    refusals = {
        "0" * 16: "no decision matches",
        "abc": "is not a decision id",
        "../..": "is not a decision id",
    }
    for wrong, what in refusals.items():
        with pytest.raises(AutopoiesisError, match=what) as caught:
            log.find(wrong)
        assert caught.value.hint == "see: autopoiesis decisions list"


def test_a_topic_too_dissimilar_to_be_logged_can_still_be_labelled(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    considered = trace(hit("near"), hit("far", score=0.01, hits=()))
    log.record(considered)
    found = log.ensure(considered, "far")
    assert log.ensure(considered, "far") == found
    assert log.label(found, True).topic == "far"
    assert topics(log.read()) == ["near", "far"]
    log.ensure(considered, "near")
    assert len(log.read()) == 2
    with pytest.raises(AutopoiesisError, match="unheard-of was not considered"):
        log.ensure(considered, "unheard-of")


def test_the_latest_decisions_of_a_topic_are_found(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    for minute in range(9):
        log.record(trace(hit("a"), hit("b"), at=FEBRUARY + timedelta(minutes=minute)))
    last = log.last(3, topic="a")
    assert [(decision.topic, decision.time.minute) for decision in last] == [("a", 53), ("a", 52), ("a", 51)]
    assert log.last(0) == () and len(log.last(1000)) == 18
    log.label(last[2], True)
    assert [decision.useful for decision in log.last(3, topic="a")] == [None, None, True]
    found = log.last(3, topic="a", unlabelled=True)
    assert [decision.time.minute for decision in found] == [53, 52, 50]
    log.label(log.label(found[0], True), None)
    assert log.last(3, topic="a", unlabelled=True) == found
    for name in ("grüße", 'quo"ted', "back\\slash", "label", "a b", "日本"):
        log.record(trace(hit(name), hit(f"{name}x"), text=f'about "{name}"'))
        assert topics(log.last(9, topic=name)) == [name]


def test_the_latest_decisions_are_read_from_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(tmp_path)
    for minute in range(40):
        log.record(trace(hit("ä" * 30), at=FEBRUARY + timedelta(minutes=minute)))
    everything = log.read()
    for block in (7, 100, 701, 10_000):
        monkeypatch.setattr(monthly, "_BLOCK", block)
        assert log.last(100) == everything[::-1]


@pytest.mark.parametrize(
    "damage",
    [
        b"{\n",
        b"\x00\xff\xfe\n",
        b"[]\n",
        b"null\n",
        b'{"id": "x"}\n',
        b'{"label": "yes", "decision": "x", "by": "person"}\n',
        b'{"label": true, "decision": "x", "by": ["person"]}\n',
        b"[" * 100_000 + b"\n",
        b'{"id": "cut", "at": "2026-',
        b"1" * 100_000 + b"\n",
    ],
)
def test_only_the_broken_line_is_skipped(tmp_path: Path, damage: bytes) -> None:
    log = log_of(tmp_path)
    log.record(trace(hit("a")))
    path = tmp_path / MONTH
    path.write_bytes(path.read_bytes() + damage)
    log.record(trace(hit("b")))
    assert topics(log.read()) == ["a", "b"] and topics(log.last(9)) == ["b", "a"]


@each_case("field", ["id", "at", "message", "topic", "hits", "score", "rule", "gate_at"])
@each_case("value", [None, 7, "x", [], {}, [1], 10**400])
def test_values_of_the_wrong_type_are_skipped_or_harmless(tmp_path: Path, field: str, value: object) -> None:
    log = log_of(tmp_path)
    path = tmp_path / MONTH
    path.unlink(missing_ok=True)
    log.record(trace(hit("a")))
    record = json.loads(path.read_bytes())
    record[field] = value
    path.write_text(json.dumps(record) + "\n")
    for decision in log.read():
        assert decision.score + decision.threshold >= 0 and decision.time.tzinfo is not None
        assert isinstance(decision.topic, str)


def test_a_write_error_is_reported_once_and_pending_decisions_are_written_later(tmp_path: Path) -> None:
    problems: list[str] = []
    log = log_of(tmp_path, problems=problems)
    with broken_disk():
        log.record(trace(hit("a")))
        log.record(trace(hit("b")))
    assert len(problems) == 1 and problems[0].startswith("decisions are not being logged: ")
    assert log.read() == ()
    log.record(trace(hit("c")))
    assert topics(log.read()) == ["a", "b", "c"]
    with broken_disk():
        log.record(trace(hit("d")))
    assert len(problems) == 2, "reported again after it had worked in between"
    log.flush()
    assert topics(log.read()) == ["a", "b", "c", "d"]


def test_a_read_only_log_can_be_read_and_does_not_stop_decisions(tmp_path: Path) -> None:
    log_of(tmp_path).record(trace(hit("a")))
    problems: list[str] = []
    log = DecisionLog(workspace_files(tmp_path, read_only=True), on_problem=problems.append)
    log.record(trace(hit("b")))
    assert topics(log.last(9)) == ["a"] and len(problems) == 1
    with pytest.raises(ReadOnly):
        log.label(log.last(1)[0], True)


def test_other_files_in_the_folder_are_not_the_log(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    log.record(trace(hit("a")))
    (tmp_path / "logs/decisions" / "notes.jsonl").write_text("{}\n")
    (tmp_path / "logs/decisions" / "2026-02.jsonl.bak").write_text("{}\n")
    assert topics(log.read()) == ["a"]
    os.mkfifo(tmp_path / "logs/decisions" / "2026-01.jsonl")
    with pytest.raises(PathRefused, match="not a regular file"):
        log.read()


def test_rereading_reads_only_new_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    log = log_of(tmp_path, clock)
    reading = DecisionReading(log.months)
    assert reading.update() == ()
    read: list[object] = []

    def counted(record: dict[str, Any]) -> object:
        read.append(record)
        return entry_of(record)

    monkeypatch.setattr(decisions, "entry_of", counted)
    for minute in range(5):
        log.record(trace(hit("a"), at=FEBRUARY + timedelta(minutes=minute)))
        assert len(reading.update()) == minute + 1
    log.label(log.last(1)[0], True)
    clock.now += timedelta(days=40)
    log.record(trace(hit("a", score=0.9), at=FEBRUARY))
    log.label(log.last(1)[0], False)
    read.clear()
    history = reading.update()
    assert len(read) == 3
    assert history == log.read()
    found = [(d.score, d.useful) for d in history]
    assert (found[0], found[-1]) == ((0.9, False), (0.28, True))
    read.clear()
    assert reading.update() == history and not read


def test_a_label_may_precede_its_decision(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    log.record(trace(hit("a")))
    log.label(log.last(1)[0], True)
    path = tmp_path / MONTH
    decision, label = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(label)
    reading = DecisionReading(log.months)
    assert reading.update() == ()
    with path.open("ab") as file:
        file.write(decision)
    (found,) = reading.update()
    assert found.useful is True and log.read() == (found,)


def test_a_replaced_log_is_read_from_the_start(tmp_path: Path) -> None:
    clock = Clock()
    log = log_of(tmp_path, clock)
    reading = DecisionReading(log.months)
    for minute in range(4):
        log.record(trace(hit("a"), at=FEBRUARY + timedelta(minutes=minute)))
    assert len(reading.update()) == 4
    path = tmp_path / MONTH
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[1:]))
    assert reading.update() == log.read() and len(log.read()) == 3
    changed = lines[1].replace(b'"topic":"a"', b'"topic":"z"')
    path.write_bytes(b"".join((changed, *lines[2:])))
    os.utime(path, ns=(1, 1))
    assert reading.update() == log.read() and log.read()[0].topic == "z"
    (tmp_path / "logs/decisions" / "2025-12.jsonl").write_bytes(lines[0])
    assert reading.update() == log.read() and len(log.read()) == 4
    path.unlink()
    assert [d.topic for d in reading.update()] == ["a"]
    path.write_bytes(lines[2] + lines[3][:-9])
    assert len(reading.update()) == 2, "a line is read once it is complete"
    path.write_bytes(lines[2] + lines[3])
    assert reading.update() == log.read()
