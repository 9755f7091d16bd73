"""The jobs of an open workspace: what each does, and how to register another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.events import JobEnded
from engine.jobs import table
from engine.jobs.table import own_jobs
from engine.lifecycle.schedule import schedule
from engine.lifecycle.schedule.job import Job
from engine.parts import Parts
from engine.probes.probes import typed
from engine.store.git import pack
from tests.engine.conftest import Witness
from tests.store.history import git

EVENING = datetime(2026, 6, 12, 22, 59, 30, tzinfo=UTC)


def with_one_more(parts: Parts) -> tuple[Job, ...]:
    """The job table with one more entry."""
    return (
        *own_jobs(parts),
        Job(
            name="sum-up", does="Sums up the day.", run=lambda task: f"summed up {task.day}",
            cron=parts.config.lifecycle.condensation_schedule,
        ),
    )  # fmt: skip


def test_a_job_is_registered_by_one_entry_and_runs_on_its_schedule(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "own_jobs", with_one_more)
    monkeypatch.setattr(schedule, "POLL_S", 0.01)
    config = sample / "memory-config.yaml"
    config.write_text(
        config.read_text() + "lifecycle:\n  condensation_schedule: 0 1 * * *\n"
        "days:\n  time_zone: Europe/Brussels\n"  # two hours ahead
    )
    now, seen = [EVENING], Witness()
    with Engine.open(sample, clock=lambda: now[0]) as engine:
        engine.subscribe(seen)
        engine.schedule.start("watch")
        assert engine.schedule.held_by() == "watch"
        engine.schedule.look()
        now[0] += timedelta(minutes=1)
        done = seen.wait(JobEnded, lambda event: event.job == "sum-up")
        assert (done.result, done.said) == ("done", "summed up 2026-06-13")
        line = next(
            entry for entry in engine.feed(50) if entry.kind == "job" and entry.text.startswith("sum-up")
        )
        assert (line.text, line.note) == ("sum-up: summed up 2026-06-13", "done")
        row = engine.schedule.row("sum-up")
        assert row.last is not None and row.last.by == "watch"
    with Engine.open(sample) as after:
        assert after.schedule.held_by() is None


def test_the_index_and_history_jobs_do_their_work(sample: Path) -> None:
    root = sample
    with Engine.open(root, clock=lambda: EVENING) as engine:

        def result_of(name: str) -> tuple[str | None, str]:
            run = engine.schedule.run(name, "command")
            return run.result, run.said

        assert result_of("index") == ("done", "intact and up to date")
        note = root / "knowledge/memory/2026-06-11.md"
        note.write_text("# Thursday\n\nThe walrus project began.\n")
        assert result_of("index") == ("done", "1 file updated")
        assert result_of("trash") == ("done", "nothing old enough to delete")

        digest = root / engine.knowledge.digest.path
        before = digest.read_bytes()
        with (root / "knowledge/facts.md").open("a") as facts:
            facts.write("- The walrus is called Wanda. [from: zoo, 2026-06-12]\n")
        assert result_of("digest")[1].startswith("regenerated, committed as ")
        assert digest.read_bytes() != before
        assert git(root, "log", "-1", "--format=%s").strip() == "memory: digest regenerated"
        assert result_of("digest") == ("done", "unchanged")
        digest.unlink()
        assert result_of("digest") == ("done", "turned off") and not digest.exists()

        assert result_of("pack") == ("done", "no packing needed")
        objects = git(root, "rev-list", "--objects", "--all")
        assert pack(engine.repository.git, least=1) > 1 and pack(engine.repository.git, least=1) == 0
        assert git(root, "rev-list", "--objects", "--all") == objects
        assert git(root, "fsck", "--strict") == "" and not git(root, "count-objects").split()[0].strip("0")

        assert result_of("probes") == ("done", "no probes")
        evidence = typed(engine.workspace, "text:The walrus project began")
        engine.probes.add("What is the walrus project?", [evidence])
        assert result_of("probes") == ("done", "1 of 1 found")
        note.unlink()
        assert result_of("probes") == ("failed", "1 of 1 missing; see: autopoiesis probe run")


def test_the_lifecycle_jobs_do_their_work(sample: Path) -> None:
    with Engine.open(sample, clock=lambda: EVENING) as engine:
        journal = sample / "knowledge/journal/2026-06-12.md"
        before, memory = journal.read_text(), (sample / "knowledge/memory/MEMORY.md").read_bytes()

        def result_of(name: str) -> str:
            run = engine.schedule.run(name, "command")
            assert run.result == "done", run.said
            return run.said

        assert result_of("condense-daily") == "1 recap"
        assert "\n- Asked: " in journal.read_text() and before in journal.read_text()
        assert result_of("condense-daily") == "nothing to do"
        with journal.open("a") as lines:
            lines.write("\n- Decided: The walrus moves to Ghent\n")
        waiting = len(engine.knowledge.review.queue.waiting())
        assert result_of("condense-weekly").startswith("for review: MEMORY.md with the journals of 2026-W24")
        result_of("condense-weekly")
        assert len(engine.knowledge.review.queue.waiting()) == waiting + 1, "the same item is queued once"
        assert (sample / "knowledge/memory/MEMORY.md").read_bytes() == memory
        assert result_of("prune") == "nothing to do"
        full = [f"- 2026-05-01: Line {number}" for number in range(197)]
        (sample / "knowledge/memory/MEMORY.md").write_text("\n".join(["# Core Memory", *full, ""]))
        told = result_of("condense-weekly")
        assert "no room in MEMORY.md for knowledge/journal/2026-06-" in told
        before_it = git(sample, "tag", "--list", "memory/*").split()
        assert result_of("snapshot") == "memory/daily/2026-06-12"
        assert set(git(sample, "tag", "--list", "memory/*").split()) - {*before_it} == {
            "memory/daily/2026-06-12"
        }
        crons = {row.name: row.cron for row in engine.schedule.rows()}
        assert crons["condense-daily"] == "0 23 * * *" and crons["extract"] == "off"


def test_the_index_job_rebuilds_a_damaged_index(sample: Path) -> None:
    database = sample / "memory.db"
    data = bytearray(database.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4096] = b"\xff" * 4096
    database.write_bytes(data)
    with Engine.open(sample, clock=lambda: EVENING) as engine:
        run = engine.schedule.run("index", "command")
        assert run.result == "done"
        assert engine.index.verify(repair=False).sound


def test_a_read_only_workspace_lists_jobs_but_does_not_run_them(sample: Path) -> None:
    with Engine.open(sample, read_only=True) as engine:
        engine.start()
        assert engine.schedule.held_by() is None
        assert [row.name for row in engine.schedule.rows()][:2] == ["index", "trash"]
    assert not list((sample / "logs").glob("jobs-*"))
