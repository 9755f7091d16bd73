"""Schedules and webhooks reach an agent: each event is handed out exactly once, and none is lost."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import BudgetError, JobError, WriteFailed
from engine.events import PromptCompiled, Signal, TurnTraced
from engine.store.faults import fail, trip
from engine.store.files import Files
from tests.gateways.conftest import workspace

LEASE = timedelta(minutes=15)
NOON = datetime(2026, 6, 12, 12, tzinfo=UTC)


@pytest.fixture
def now() -> list[datetime]:
    return [NOON]


@pytest.fixture
def engine(tmp_path: Path, now: list[datetime]) -> Iterator[Engine]:
    with Engine.open(workspace(tmp_path / "memory"), clock=lambda: now[0]) as opened:
        opened.refresh_index()
        yield opened


def test_a_due_schedule_is_traced_compiled_reported_and_handed_out_until_ended(
    engine: Engine, now: list[datetime]
) -> None:
    events: list[object] = []
    engine.subscribe(events.append)
    engine.schedule.look()
    now[0] += timedelta(hours=10)
    engine.schedule.look()
    (signal,) = [each for each in events if isinstance(each, Signal)]
    (traced,) = [each for each in events if isinstance(each, TurnTraced)]
    (made,) = [each for each in events if isinstance(each, PromptCompiled)]
    assert signal.key == traced.key == made.key and traced.trace.active == ("evening",)
    (arrival,) = engine.signals.log.all()
    assert (arrival.state, arrival.topics, arrival.tokens) == ("waiting", ("evening",), made.compiled.tokens)

    with Engine.open(engine.workspace.root, clock=lambda: now[0]) as other:
        handed = other.signals.take("other", LEASE)
        assert handed is not None and "The steps for evening." in handed.prompt.text
        assert "0 22 * * * came due: it is 2026-06-12 22:00 UTC" in handed.prompt.text
        assert engine.signals.take("me", LEASE) is None
        now[0] += LEASE  # as if the other process had been killed
        again = engine.signals.take("me", LEASE)
        assert again is not None and (again.arrival.id, again.arrival.taken) == (arrival.id, 2)
        assert engine.signals.log.end(arrival.id, said="written").state == "done"
        assert other.signals.log.end(arrival.id, failed=True).state == "done", "the first result counts"
    now[0] += LEASE
    assert engine.signals.take("me", LEASE) is None
    with pytest.raises(JobError, match="no such event"):
        engine.signals.log.end("evt_none")


def test_an_event_is_handed_out_as_soon_as_its_prompt_can_be_compiled(engine: Engine) -> None:
    engine.configuration.change("context_compiler.token_budget", "2048")
    engine.reload_config()
    engine.signals.arrive("email", "new_message", "a long mail " * 3_000, delivery="1")
    engine.signals.look()
    with pytest.raises(BudgetError):
        engine.signals.take("me", LEASE)
    (arrival,) = engine.signals.log.all()
    assert (arrival.state, arrival.taken) == ("waiting", 0)
    engine.configuration.change("context_compiler.token_budget", "32000")
    engine.reload_config()
    handed = engine.signals.take("me", LEASE)
    assert handed is not None and handed.arrival.id == arrival.id


def test_concurrent_takers_get_each_event_once(engine: Engine) -> None:
    for number in range(12):
        engine.signals.arrive("email", "new_message", f"mail {number}", delivery=str(number))
    engine.signals.look()
    barrier, found = threading.Barrier(4), list[str]()

    def take() -> None:
        log = type(engine.signals.log)(Files(engine.workspace), engine.clock)
        barrier.wait(60)
        while (taken := log.take("x", LEASE)) is not None:
            found.append(taken.text)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(f"mail {number}" for number in range(12))


def test_a_delivery_counts_once_across_processes_and_unmatched_events_are_kept(engine: Engine) -> None:
    assert engine.signals.arrive("ci", "failed", "x", delivery="d") is not None
    with Engine.open(engine.workspace.root) as other:
        assert other.signals.arrive("ci", "failed", "x", delivery="d") is None
        assert other.signals.arrive("email", "failed", "x", delivery="d") is not None
    engine.signals.look()
    assert [(each.source, each.state) for each in engine.signals.log.all()] == [
        ("ci", "nothing"), ("email", "arrived"),
    ]  # fmt: skip  # the other process handles its own event unless killed


def test_events_of_a_killed_process_are_handled_by_another(engine: Engine, now: list[datetime]) -> None:
    with Engine.open(engine.workspace.root, clock=lambda: now[0]) as killed:
        killed.signals.arrive("email", "new_message", "mail")
    events: list[object] = []
    engine.signals.log.all()
    engine.subscribe(events.append)
    now[0] += timedelta(minutes=1)
    engine.signals.look()
    assert [each.trace.active for each in events if isinstance(each, TurnTraced)] == [("mail",)]
    assert engine.signals.take("me", LEASE) is not None


def test_an_unwritable_log_accepts_no_event_and_damaged_lines_are_skipped(
    engine: Engine, now: list[datetime]
) -> None:
    assert engine.signals.arrive("email", "new_message", "mail", delivery="0") is not None
    with trip("append:write", fail(errno.ENOSPC)), pytest.raises(WriteFailed):
        engine.signals.arrive("email", "new_message", "again", delivery="1")
    assert engine.signals.arrive("email", "new_message", "again", delivery="1") is not None
    engine.signals.look()
    path = engine.workspace.root / "logs" / "events-2026-06.jsonl"
    path.write_text(
        path.read_text() + '{"id": 7}\n[]\n{"id": "evt_x", "at": "never", "state": "arrived"}\n{"id": "ev'
    )
    with Engine.open(engine.workspace.root, clock=lambda: now[0]) as other:
        handed = [other.signals.take("me", LEASE) for _ in range(3)]
        assert [each and each.arrival.text for each in handed] == ["mail", "again", None]
