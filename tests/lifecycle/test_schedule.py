"""Scheduled jobs: run by one program, once per moment; a failing job does not stop the others."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.errors import AutopoiesisError, CostLimit, JobError
from engine.events import EngineEvent, ErrorReported, JobEnded, JobStarted, Signal
from engine.lifecycle.schedule.job import Job, Task
from engine.lifecycle.schedule.schedule import Schedule
from engine.settings.model import Config, DaySettings, LifecycleSettings
from engine.store.files import Files
from engine.store.paths import Workspace

NOON = datetime(2026, 6, 12, 12, tzinfo=UTC)
DAY = timedelta(days=1)
ROOT = Path(__file__).parents[2]


class Program:
    """A program that has the workspace open, with a clock set by the test."""

    def __init__(self, root: Path) -> None:
        self.now = NOON
        self.config = Config(days=DaySettings("UTC"))
        self.jobs: list[Job] = []
        self.did: list[tuple[str, datetime]] = []
        self.events: list[EngineEvent] = []
        self.schedule = Schedule(
            Files(Workspace.open(root)),
            lambda: self.jobs,
            lambda: self.config,
            lambda: self.now,
            publish=self.events.append,
        )

    def add(
        self, name: str, cron: str = "0 23 * * *", run: Callable[[Task], str] | None = None, **more: Any
    ) -> None:
        """Registers a job that records the moment it runs for."""

        def note(task: Task) -> str:
            self.did.append((name, task.due))
            return f"did {name}" if run is None else run(task)

        self.jobs.append(Job(name=name, does=f"Does {name}.", cron=cron, run=note, **more))

    def look(self, after: timedelta = timedelta()) -> list[tuple[str, datetime]]:
        """Runs the schedule until nothing is due; returns the runs."""
        self.now += after
        before = len(self.did)
        for _ in range(len(self.jobs) + 1):
            self.schedule.look()
            self.schedule.wait(60)
        return self.did[before:]

    def events_of(self, kind: type[EngineEvent]) -> list[Any]:
        """Returns the events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory-config.yaml").write_text("")
    return tmp_path


@pytest.fixture
def program(root: Path) -> Iterator[Program]:
    made = Program(root)
    yield made
    made.schedule.close()


def records(root: Path) -> list[dict[str, Any]]:
    """Returns all records of the log."""
    paths = sorted((root / "logs").glob("jobs-*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def raising(error: Exception) -> Callable[[Task], str]:
    """Returns the function of a job that fails."""

    def run(_task: Task) -> str:
        raise error

    return run


def test_a_job_runs_at_its_times_and_missed_moments_are_caught_up_by_one_run(
    root: Path, program: Program
) -> None:
    program.add("tidy")
    program.config = Config(
        days=DaySettings("Europe/Brussels"), lifecycle=LifecycleSettings(schedule={"tidy": "30 6 * * *"})
    )
    assert program.look() == [], "nothing was missed by a job that was just added"
    row = program.schedule.row("tidy")
    assert (row.schedule, row.next, row.last) == ("At 06:30 every day", NOON + timedelta(hours=16.5), None)

    assert program.look(DAY) == [("tidy", NOON + timedelta(hours=16.5))]
    assert program.look(timedelta(hours=1)) == []
    assert program.look(5 * DAY) == [("tidy", NOON + timedelta(hours=16.5) + 5 * DAY)]
    assert program.look(timedelta(hours=-30)) == [] == program.look(timedelta(hours=30))
    last = program.schedule.row("tidy").last
    assert last is not None and (last.result, last.said, last.by) == ("done", "did tidy", "command")

    assert [(each["what"], each.get("job")) for each in records(root)][:3] == [
        ("planned", "tidy"), ("started", "tidy"), ("ended", "tidy"),
    ]  # fmt: skip
    assert [event.said for event in program.events_of(JobEnded)] == ["did tidy"] * 2
    assert len(program.events_of(JobStarted)) == 2 and not program.events_of(ErrorReported)

    program.config = Config(lifecycle=LifecycleSettings(schedule={"tidy": "off", "tydi": "off"}))
    assert program.look(3 * DAY) == [] and program.schedule.row("tidy").next is None
    (found,) = program.schedule.problems()
    assert "no job tydi" in str(found)


def test_a_run_knows_the_days_since_the_last_successful_run(program: Program) -> None:
    days: list[list[int]] = []

    def note(task: Task) -> str:
        days.append([day.day for day in task.days])
        if len(days) == 3:
            raise AutopoiesisError("no answer")
        return "noted"

    program.add("tidy", run=note)
    program.look()
    for after in (DAY, 3 * DAY, DAY, DAY):
        program.look(after)
    program.schedule.run("tidy", "command")
    program.look(200 * DAY)
    for cron in ("off", "0 23 * * *"):
        program.config = Config(lifecycle=LifecycleSettings(schedule={"tidy": cron}), days=DaySettings("UTC"))
        program.look(10 * DAY)
    program.look(2 * DAY)
    assert len(days.pop()) == 2, "the days it was off are not caught up"
    assert days[:5] == [[12], [12, 13, 14, 15], [15, 16], [15, 16, 17], [17, 18]]
    assert len(days[5]) == 93, "no further back than journals are kept"


def test_one_of_several_programs_runs_the_schedule_and_another_takes_over(
    root: Path, program: Program
) -> None:
    other = Program(root)
    for each in (program, other):
        each.add("tidy")
        each.look()
    assert other.schedule.held_by() == "command" == program.schedule.held_by()
    assert program.look(DAY) == [("tidy", NOON + timedelta(hours=11))]
    assert other.look(DAY) == []
    assert [type(event) for event in other.events] == [JobStarted, JobEnded], "it still receives the events"

    program.schedule.close()
    assert other.schedule.held_by() is None
    assert other.look() == [], "the moment already had its run"
    assert other.schedule.held_by() == "command"
    assert other.look(DAY) == [("tidy", NOON + timedelta(hours=35))]
    other.schedule.close()


KILLED = """
    import sys, threading
    from tests.lifecycle.test_schedule import NOON, Program, DAY
    program = Program(sys.argv[1])
    program.now = NOON - DAY
    program.add("tidy", run=lambda task: print("running", flush=True) or threading.Event().wait() or "")
    program.look()
    program.now = NOON
    program.schedule.look()
    program.schedule.wait()
"""


def test_another_program_takes_over_from_a_killed_one_and_repeats_its_run_once(
    root: Path, program: Program
) -> None:
    program.add("tidy")
    killed = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(root)], stdout=subprocess.PIPE, cwd=ROOT
    )
    try:
        assert killed.stdout is not None and killed.stdout.readline() == b"running\n"
        assert program.look() == []
        row = program.schedule.row("tidy")
        assert row.running is not None and row.last is None
        with pytest.raises(JobError, match="is already running"):
            program.schedule.run("tidy", "command")
    finally:
        killed.kill()
        killed.communicate()
    assert program.look() == [("tidy", NOON - timedelta(hours=13))] and program.look() == []
    assert [(run.result, run.said) for run in program.schedule.runs()] == [
        ("done", "did tidy"), ("interrupted", "the command was killed"),
    ]  # fmt: skip


def test_a_failing_job_is_reported_and_does_not_stop_the_others(program: Program) -> None:
    program.add("broken", run=raising(ZeroDivisionError("division by zero")))
    program.add("poor", run=raising(CostLimit("the budget is spent", hint="raise it")))
    program.add("network", run=raising(AutopoiesisError("no answer")))
    program.add("tidy")
    program.look()
    assert [name for name, _ in program.look(DAY)] == ["broken", "poor", "network", "tidy"]
    assert program.look(timedelta(hours=1)) == []
    assert [event.text for event in program.events_of(ErrorReported)] == [
        "job broken failed: ZeroDivisionError: division by zero",
        "job poor does not run: the budget is spent; raise it",
        "job network failed: no answer",
    ]

    program.look(DAY)
    again = [event.text.split()[1] for event in program.events_of(ErrorReported)[3:]]
    assert again == ["broken", "network"], "errors that need action are reported once"


def test_a_job_past_its_deadline_is_abandoned_and_the_others_run(root: Path, program: Program) -> None:
    begun, release = threading.Event(), threading.Event()

    def stick(_task: Task) -> str:
        begun.set()
        return str(release.wait(60))

    program.add("stuck", run=stick, deadline_s=0)
    program.add("tidy")
    program.schedule.look()
    program.now += DAY
    program.schedule.look()
    stuck = program.schedule._running
    assert begun.wait(60)
    program.schedule.look()
    program.schedule.wait(60)
    assert [name for name, _ in program.did] == ["stuck", "tidy"]
    given_up = program.schedule.row("stuck").last
    assert given_up is not None and "timed out after 0 minutes" in given_up.said
    with pytest.raises(JobError, match="already running"):
        program.schedule.run("stuck", "command")

    release.set()
    assert stuck is not None
    stuck.wait(60)
    program.schedule.look()
    assert [run.result for run in program.schedule.runs()] == ["done", "failed"], "its result comes too late"


def test_closing_ends_a_cooperative_job_and_it_is_caught_up_next_time(
    root: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.lifecycle.schedule.schedule.EXIT_S", 60.0)
    begun = threading.Event()

    def long(task: Task) -> str:
        begun.set()
        while True:
            task.tell(1, 2)

    program.add("long", run=long)
    program.look()
    program.now += DAY
    program.schedule.look()
    assert begun.wait(60)
    program.schedule.close()
    later = Program(root)
    later.now = program.now
    later.add("long")
    assert later.look() == [("long", NOON + timedelta(hours=11))]
    assert [run.said for run in later.schedule.runs()] == ["did long", "the program exited"]
    later.schedule.close()


def test_a_job_can_be_run_by_hand_without_affecting_its_schedule(program: Program) -> None:
    program.add("tidy")
    program.look()
    seen: list[tuple[int, int]] = []

    def counting(task: Task) -> str:
        task.tell(1, 3)
        return str(task.day)

    program.add("counts", run=counting)
    run = program.schedule.run("counts", "workbench", lambda done, total: seen.append((done, total)))
    assert (run.result, run.said, run.due, run.by) == ("done", "2026-06-12", None, "workbench")
    assert seen == [(1, 3)]
    assert program.schedule.run("tidy", "command").result == "done"
    assert program.look(DAY)[-1] == ("tidy", NOON + timedelta(hours=11))
    with pytest.raises(JobError, match=r"no job tid; did you mean tidy\?"):
        program.schedule.run("tid", "command")
    assert program.schedule.switched("tidy", "off") == {"tidy": "off"}
    assert program.schedule.switched("tidy", "0 23 * * *") is None
    program.add("never", "off")
    with pytest.raises(JobError, match="off by its own setting"):
        program.schedule.switched("never", None)


def test_a_schedule_that_crashes_releases_its_lock(root: Path, program: Program) -> None:
    other = Program(root)
    program.add("topic:a", "0 13 * * *", run=raising(ZeroDivisionError()), topic="a")
    program.look()
    program.now += DAY
    with pytest.raises(ZeroDivisionError):
        program.schedule._watch()
    assert other.schedule.held_by() is None


def test_topic_triggers_fire_together_and_are_not_caught_up(root: Path, program: Program) -> None:
    other = Program(root)
    for each in (program, other):
        for name in ("evening", "night"):
            each.add(f"topic:{name}", "0 22 * * *", topic=name)
        each.look()
    row = program.schedule.row("topic:night")
    assert (row.schedule, row.next) == ("At 22:00 every day, UTC", NOON + timedelta(hours=10))
    assert program.look(3 * DAY) == [("topic:evening", NOON + timedelta(hours=58))]
    other.look()
    assert [(event.event, event.key) for event in other.events_of(Signal)] == [("0 22 * * *", "")] * 2
    last = program.schedule.row("topic:night").last
    assert last is not None and last.due == NOON + timedelta(hours=58)
    with pytest.raises(JobError, match=r"edit topics/night\.md"):
        program.schedule.switched("topic:night", "off")

    program.schedule.close()
    other.now = program.now + 2 * DAY
    assert other.look() == [], "no program was running when it was due"
    assert other.look(timedelta(hours=11)) == [("topic:evening", NOON + 5 * DAY + timedelta(hours=10))]
    other.jobs.clear()
    other.look(5 * DAY)
    other.add("topic:evening", "0 22 * * *", topic="evening")
    assert other.look() == [], "a topic that returns starts afresh"
    other.schedule.close()


def test_a_damaged_or_deleted_log_loses_only_its_content(root: Path, program: Program) -> None:
    program.add("tidy")
    program.look()
    program.look(DAY)
    log = next((root / "logs").glob("jobs-*.jsonl"))
    with log.open("a") as file:
        file.write('{"seq": 99, "what": "started"}\n[]\n{"at": 5}\nnonsense\n')
        file.write(
            '{"seq":7,"at":"2026-06-13T12:00:00+00:00","what":"started","job":"../../x","by":"watch"}\n'
        )
    assert program.look(DAY) == [("tidy", NOON + timedelta(hours=35))]
    assert [run.job for run in program.schedule.runs() if run.result == "interrupted"] == ["../../x"]
    log.unlink()
    assert program.look() == [] and program.schedule.runs() == ()
    assert program.look(DAY) == [("tidy", NOON + timedelta(hours=59))]
    assert not (root.parent / "x.lock").exists()


def test_an_unwritable_log_is_reported_once_and_nothing_runs(root: Path, program: Program) -> None:
    (root / "logs").write_text("not a folder")
    program.add("tidy")
    program.schedule.start("workbench")
    for _ in range(3):
        program.schedule._guarded(program.schedule.look)
    program.schedule.close()
    assert (
        len({event.text for event in program.events_of(ErrorReported)})
        == len(program.events_of(ErrorReported))
        >= 1
    )
    assert program.did == []
