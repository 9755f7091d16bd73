"""The moments a job runs for, whatever the clock does between two checks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from engine.lifecycle.schedule.job import JobRecord, Past, Result, What
from engine.store.cron import following, latest

START = datetime(2026, 10, 24, 12, tzinfo=UTC)  # that night clocks go back in Europe, a week later in America
ZONES = ("UTC", "Europe/Brussels", "America/New_York", "Australia/Lord_Howe")
CRONS = ("30 2 * * *", "0 23 * * *", "*/20 * * * *", "0 0 * * 0", "5 1 1 * *")
STEPS = st.one_of(
    st.integers(1, 90), st.integers(90, 4000), st.just(60 * 24 * 100), st.sampled_from([-30, -90, -3000])
).map(lambda minutes: timedelta(minutes=minutes))


FORWARD = st.lists(STEPS.filter(lambda step: step > timedelta()), max_size=8)


class Simulated:
    """A job with an in-memory log and a clock; ``look`` runs it at once if due."""

    def __init__(self, cron: str, zone: str) -> None:
        self.now, self.seq, self.latest = START, 0, START
        self.past = Past()
        self.cron, self.zone = cron, zone
        self.record("planned", cron=cron, zone=zone)

    def record(self, what: What, **fields: object) -> int:
        self.seq += 1
        self.latest = self.now
        self.past.take(JobRecord(seq=self.seq, at=self.now, what=what, job="a", **fields))  # type: ignore[arg-type]
        return self.seq

    def look(self, result: Result = "done") -> datetime | None:
        """Works like ``Schedule.look``; returns the moment that was run for."""
        if self.latest > self.now + timedelta(minutes=1):
            self.record("clock")
        due = self.past.due(self.now)
        if due is not None:
            self.record("ended", run=self.record("started", due=due), result=result)
        return due


@given(cron=st.sampled_from(CRONS), zone=st.sampled_from(ZONES), steps=FORWARD)
def test_a_span_with_due_moments_has_one_run_for_the_last_of_them(
    cron: str, zone: str, steps: list[timedelta]
) -> None:
    job, before = Simulated(cron, zone), START
    assert job.look() is None, "a new job has missed nothing"
    for step in steps:
        job.now += step
        expected = latest(cron, before, job.now, zone)
        announced = job.past.next(job.now)
        assert job.look() == expected
        assert announced == (expected or following(cron, job.now, zone))
        assert job.look() is None
        before = job.now


@given(cron=st.sampled_from(CRONS), zone=st.sampled_from(ZONES), steps=st.lists(STEPS, max_size=12))
@example("0 23 * * *", "UTC", [timedelta(hours=11), timedelta(hours=-1), timedelta(hours=1)])
@example("0 23 * * *", "UTC", [timedelta(days=90), timedelta(days=-89), timedelta(hours=26)])
@example("*/20 * * * *", "UTC", [timedelta(minutes=50), timedelta(minutes=-30), timedelta(minutes=90)])
def test_no_moment_has_two_runs_when_the_clock_is_changed(
    cron: str, zone: str, steps: list[timedelta]
) -> None:
    job = Simulated(cron, zone)
    ran: list[datetime] = []
    for step in steps:
        job.now += step
        due = job.look()
        if due is not None:
            assert due <= job.now and due not in ran
            assert step > timedelta(), "nothing comes due when a clock is set back"
            ran.append(due)
        assert job.past.due(job.now) is None
        following_run = job.past.next(job.now)
        assert following_run is not None and following_run > job.now and following_run not in ran
    # It continues from any setting of the clock: there is a run within a month.
    job.now += timedelta(days=32)
    assert job.look() is not None or latest(cron, job.now - timedelta(days=32), job.now, zone) in ran


def test_a_run_that_was_interrupted_is_caught_up_once() -> None:
    job = Simulated("0 23 * * *", "UTC")
    job.now += timedelta(hours=12)
    moment = job.look("interrupted")
    assert moment is not None and job.past.next(job.now) == moment
    assert job.look("interrupted") == moment
    assert job.look() is None, "no third time"

    job.now += timedelta(days=1)
    assert job.look("interrupted") == moment + timedelta(days=1)
    job.now += timedelta(days=1)
    assert job.look() == moment + timedelta(days=2), "a later moment replaces it"
    assert job.look() is None

    job.record("ended", run=job.record("started"), result="interrupted")
    assert job.look() is None, "a run by hand is not repeated"


def test_a_new_schedule_applies_from_when_it_is_set() -> None:
    job = Simulated("0 23 * * *", "UTC")
    job.record("planned", cron="off")
    job.now += timedelta(days=40)
    assert job.look() is None and job.past.next(job.now) is None
    job.record("planned", cron="0 11 * * *", zone="UTC")
    assert job.look() is None, "it was off when it would have been due"
    job.now += timedelta(days=1)
    assert job.look() is not None


def test_the_last_run_is_the_last_one_that_ended() -> None:
    job = Simulated("0 23 * * *", "UTC")
    found = [job.past.last]
    job.record("ended", run=job.record("started"), result="failed", said="no")
    job.record("started")
    found.append(job.past.last)
    assert [each and each.said for each in found] == [None, "no"]
