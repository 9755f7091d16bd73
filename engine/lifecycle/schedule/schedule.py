"""The schedule of a workspace: its jobs, their due times, and the process that runs them.

Any number of processes may have the workspace open. One of them holds a lock and runs due jobs; when it ends
or crashes, its lock is released and another takes over at its next poll. All past state is in the log.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from engine.errors import AutopoiesisError, JobError, Problem
from engine.events import EngineEvent, ErrorReported, JobEnded, JobStarted, Signal
from engine.lifecycle.schedule.job import (
    By,
    Job,
    JobLog,
    JobRecord,
    JobRow,
    JobRun,
    Past,
    Result,
    Stopped,
    Task,
)
from engine.settings.file import CONFIG_FILE
from engine.store.cron import HINT, OFF, problem, words
from engine.store.files import lock_place
from engine.topics.fields import near

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.paths import Workspace

LOCK_NAME = "scratch/schedule.lock"
HOLDER = "scratch/schedule.by"
"""Contains the kind of program that holds the lock."""
POLL_S = 1.0
"""Seconds between checks for due jobs."""
EXIT_S = 2.0
"""Seconds to wait for the running job on exit."""

TRIGGERS_ZONE = "UTC"
"""The time zone of topic triggers."""

_WORDS: dict[Result, str] = {"failed": "failed", "refused": "does not run"}
_PROGRAMS: dict[By, str] = {
    "workbench": "the workbench", "watch": "the watch", "serve": "the server",
    "hooks": "a hook's background process", "command": "the command",
}  # fmt: skip


class Schedule:
    """Runs jobs on schedule and on request. Thread-safe.

    Args:
        jobs: Returns the current jobs, topic triggers last.
        publish: Called on the threads that run jobs.
    """

    def __init__(
        self,
        files: Files,
        jobs: Callable[[], Sequence[Job]],
        config: Callable[[], Config],
        clock: Callable[[], datetime],
        *,
        publish: Callable[[EngineEvent], None],
    ) -> None:
        self.log = JobLog(files, clock)
        self._files = files
        self._jobs = jobs
        self._config = config
        self._clock = clock
        self._publish = publish
        self._by: By = "command"
        self._lock: BaseFileLock | None = None
        self._since: datetime | None = None
        self._running: Running | None = None
        self._reported: set[str] = set()
        self._fired: set[int] = set()
        self._looking = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # Queries.

    def rows(self) -> tuple[JobRow, ...]:
        """The state of every job, topic triggers last."""
        self.log.refresh()
        return tuple(map(self._row, self._jobs()))

    def row(self, name: str) -> JobRow:
        """The state of one job.

        Raises:
            JobError: No such job.
        """
        self.log.refresh()
        return self._row(self._job(name))

    def runs(self, name: str = "", limit: int = 100) -> tuple[JobRun, ...]:
        """The last runs of one job or of all, newest first; raises as ``row``."""
        if name:
            self._job(name)
        self.log.refresh()
        return tuple(self.log.runs(name)[:limit])

    def held_by(self) -> By | None:
        """The kind of program that runs the schedule; ``None`` if none does."""
        if self._lock is not None:
            return self._by
        if not is_taken(self._files.workspace, LOCK_NAME):
            return None
        with contextlib.suppress(AutopoiesisError, OSError):
            said = self._files.read(HOLDER, limit=100).decode("utf-8", "replace")
            return next((by for by in get_args(By) if by == said), None)
        return None

    def problems(self) -> tuple[Problem, ...]:
        """Unknown job names in ``lifecycle.schedule``."""
        named = self._config().lifecycle.schedule
        known = {job.name for job in self._jobs()} if named else set()
        found: list[Problem] = []
        for name in named.keys() - known:
            text = (self._files.find(CONFIG_FILE) or b"").decode("utf-8", "replace")
            lines = enumerate(text.splitlines(), 1)
            line = next((at for at, each in lines if f"{name}:" in each), 0)
            hint = f"did you mean {guess}?" if (guess := near(name, known)) else "remove it"
            what = f"lifecycle.schedule: no job {name}"
            found.append(Problem(CONFIG_FILE, line, what, hint, "warning"))
        return tuple(sorted(found, key=lambda each: each.line))

    def switched(self, name: str, cron: str | None) -> Mapping[str, str] | None:
        """The value of ``lifecycle.schedule`` that gives a job another schedule, ``off``, or its default
        (``None``); raises as ``row``.
        """
        job = self._job(name)
        if job.topic:
            raise JobError(
                "its schedule is set by a topic's trigger", where=name, hint=f"edit topics/{job.topic}.md"
            )
        if cron is None and job.cron == OFF:
            raise JobError(f"{name} is off by its own setting", hint=f"autopoiesis jobs set {name} TIMES")
        invalid = "" if cron in (None, OFF) else problem(cron or "")
        if invalid:
            raise JobError(f"{cron!r} {invalid}", hint=f"{HINT}, or off")
        others = {each: it for each, it in self._config().lifecycle.schedule.items() if each != name}
        return (others if cron is None or cron == job.cron else {**others, name: cron}) or None

    # Running on request.

    def run(self, name: str, by: By, progress: Callable[[int, int], object] | None = None) -> JobRun:
        """Runs a job now, without affecting its schedule.

        Raises:
            JobError: No such job, or it is already running.
            WriteFailed, ReadOnly: The log cannot be written; it did not run.
        """
        job = self._job(name)
        if job.topic:
            fired = self._record_firing(job, by=by)
            job.run(Task(fired.at))
            return self.log.runs(name)[0]
        return self._work(self._begin(job, None, by, progress))

    # Running on schedule.

    def start(self, by: By) -> None:
        """Starts a thread that runs due jobs; does nothing if it was started before."""
        if self._thread is None and not self._files.read_only:
            self._by = by
            self._guarded(self._hold)
            for found in self.problems():
                self._publish(ErrorReported(self._clock(), str(found)))
            self._thread = threading.Thread(target=self._watch, name="autopoiesis-schedule", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stops the thread. A job that does not end soon counts as interrupted and is repeated next time."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(EXIT_S)
        running, self._running = self._running, None
        if running is not None and not running.ended:
            running.task.stop()
            running.wait(EXIT_S)
            self._guarded(lambda: self._end(running, "interrupted", "the program exited"))
        self._release()

    def look(self) -> None:
        """Runs due jobs, unless another process does: topic triggers at once, then one job in a thread.

        Raises:
            AutopoiesisError: The log cannot be read or written.
        """
        with self._looking:
            self._announce(self.log.news())
            if self._hold():
                self.log.refresh()  # records of the previous holder
                self._run_due()
            self._announce(self.log.news())

    def _run_due(self) -> None:
        if self.log.is_ahead(self._clock()):
            self.log.append("clock")
        self._end_orphans()
        jobs = self._jobs()
        self._plan(jobs)
        self._fire_due([job for job in jobs if job.topic])
        running = self._running
        if running is not None and running.task.overdue:
            self._end(running, "failed", running.too_long)
        if running is None or running.ended:
            self._begin_due([job for job in jobs if not job.topic])

    def wait(self, timeout_s: float | None = None) -> None:
        """Waits for the job started by ``look``."""
        if self._running is not None:
            self._running.wait(timeout_s)
        self._announce(self.log.news())

    def _watch(self) -> None:
        try:
            while not self._stop.is_set():
                self._guarded(self.look)
                self._stop.wait(POLL_S)
        except BaseException:
            self._release()  # so that another process can take over
            raise

    def _guarded(self, work: Callable[[], object]) -> None:
        """Reports each error once: it would recur at every look."""
        try:
            work()
        except (AutopoiesisError, OSError) as error:
            message = f"the schedule does not run: {error}"
            if message not in self._reported:
                self._reported.add(message)
                self._publish(ErrorReported(self._clock(), message))

    def _hold(self) -> bool:
        """Takes the lock if it is free; True if this process runs the schedule."""
        if self._lock is None and not self._stop.is_set():
            lock = take(self._files.workspace, LOCK_NAME)
            if lock is not None:
                self._lock, self._since = lock, self._clock()
                self._files.replace(HOLDER, self._by.encode())
        return self._lock is not None

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def _announce(self, records: Sequence[JobRecord]) -> None:
        """Publishes events for the records of any process."""
        for record in records:
            match record.what:
                case "started":
                    self._publish(JobStarted(record.at, record.job, record.by or "command"))
                case "ended":
                    self._publish(
                        JobEnded(record.at, record.job, record.result or "interrupted", record.said)
                    )
                    self._announce_failure(record)
                case "fired" if record.seq not in self._fired:
                    self._publish(Signal(record.at, "", "cron", record.cron))
            self._fired.discard(record.seq)

    def _announce_failure(self, record: JobRecord) -> None:
        before = next((run for run in self.log.runs(record.job) if run.id < record.run and run.end), None)
        is_known = before is not None and (before.result, before.said) == (record.result, record.said)
        if record.result == "failed" or (record.result == "refused" and not is_known):
            self._publish(
                ErrorReported(record.at, f"job {record.job} {_WORDS[record.result]}: {record.said}")
            )

    # Due jobs.

    def _plan(self, jobs: Sequence[Job]) -> None:
        """Records changed schedules; earlier due times do not count for them."""
        wanted = {job.name: (self._cron(job), self._zone(job)) for job in jobs}
        wanted |= dict.fromkeys(self.log.names() - wanted.keys(), (OFF, ""))
        for name, (cron, zone) in wanted.items():
            past = self.log.past(name)
            if (past.cron or OFF) != cron or (past.zone != zone and cron != OFF):
                self.log.append("planned", job=name, cron=cron, zone=zone)

    def _fire_due(self, topics: Sequence[Job]) -> None:
        now, due = self._clock(), dict[str, tuple[Job, datetime]]()
        for job in topics:
            moment = self._past(job, now).due(now)
            if moment is not None:
                self._record_firing(job, due=moment)
                due.setdefault(job.cron, (job, moment))  # one firing serves all topics with this schedule
        for job, moment in due.values():
            job.run(Task(moment))

    def _record_firing(self, job: Job, due: datetime | None = None, by: By | None = None) -> JobRecord:
        fired = self.log.append("fired", job=job.name, due=due, by=by or self._by, cron=job.cron)
        self._fired.add(fired.seq)
        return fired

    def _past(self, job: Job, now: datetime) -> Past:
        past = self.log.past(job.name)
        if job.topic and past.since is not None:
            # Triggers that came due while no process ran are skipped.
            past.since = max(past.since, min(self._since or now, now))
        return past

    def _begin_due(self, jobs: Sequence[Job]) -> None:
        now = self._clock()
        for job in jobs:
            moment = self.log.past(job.name).due(now)
            if moment is not None:
                with contextlib.suppress(JobError):  # the user is running it; try again afterwards
                    self._running = run = self._begin(job, moment, self._by)
                    run.start(lambda run=run: self._guarded(lambda: self._work(run)))  # type: ignore[misc]
                    return

    def _end_orphans(self) -> None:
        """Records the end of runs whose process was killed."""
        jobs = {job.name: job for job in self._jobs()}
        for run in self.log.unended():
            if not self._is_running(run, jobs.get(run.job)):
                reason = f"{_PROGRAMS[run.by]} was killed"
                self.log.append("ended", job=run.job, run=run.id, result="interrupted", said=reason)

    def _is_running(self, run: JobRun, job: Job | None) -> bool:
        return job is not None and is_taken(self._files.workspace, _lock_name(job))

    # Runs.

    def _begin(
        self, job: Job, due: datetime | None, by: By, progress: Callable[[int, int], object] | None = None
    ) -> Running:
        lock = take(self._files.workspace, _lock_name(job))
        if lock is None:
            raise JobError(f"job {job.name} is already running", hint="see: autopoiesis jobs")
        try:
            started = self.log.append("started", job=job.name, due=due, by=by)
        except BaseException:
            lock.release()
            raise
        since = self.log.past(job.name).done_until
        task = Task(due or started.at, self._zone(job), job.deadline_s, progress, since)
        return Running(job, started.seq, task, lock)

    def _work(self, running: Running) -> JobRun:
        try:
            self._end(running, *running.outcome())
        except BaseException:
            self._end(running, "interrupted", "stopped")
            raise
        finally:
            running.lock.release()
        return next(run for run in self.log.runs(running.job.name) if run.id == running.id)

    def _end(self, running: Running, result: Result, said: str) -> None:
        """Records the end of a run, unless it has already ended."""
        if running.end():
            self.log.append("ended", job=running.job.name, run=running.id, result=result, said=said)

    # Jobs.

    def _job(self, name: str) -> Job:
        jobs = {job.name: job for job in self._jobs()}
        if name not in jobs:
            guess = near(name, jobs)
            hint = f"did you mean {guess}?" if guess else "see: autopoiesis jobs"
            raise JobError(f"no job {name}", hint=hint)
        return jobs[name]

    def _cron(self, job: Job) -> str:
        return job.cron if job.topic else self._config().lifecycle.schedule.get(job.name, job.cron)

    def _zone(self, job: Job) -> str:
        return TRIGGERS_ZONE if job.topic else self._config().days.time_zone

    def _row(self, job: Job) -> JobRow:
        cron, now = self._cron(job), self._clock()
        past = self._past(job, now)
        if past.cron != cron:
            past = replace(past, cron=cron, zone=self._zone(job), since=now, again=None)
        return JobRow(
            name=job.name,
            does=job.does,
            topic=job.topic,
            cron=cron,
            schedule=f"{words(cron)}, {TRIGGERS_ZONE}" if job.topic else words(cron),
            next=past.next(now),
            last=past.last,
            running=next(
                (run for run in past.runs if run.end is None and self._is_running(run, job)), None
            ),
        )  # fmt: skip


def _lock_name(job: Job) -> str:
    return f"scratch/job-{job.name}.lock"


def take(workspace: Workspace, name: str) -> BaseFileLock | None:
    """Acquires a lock that any thread may release; ``None`` if it is held elsewhere.

    Raises:
        PathRefused, OSError: It is outside the workspace or cannot be created.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 — 15 ms; not needed by most commands

    lock = FileLock(lock_place(workspace, name), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def is_taken(workspace: Workspace, name: str) -> bool:
    """True if a lock is held; raises as ``take``."""
    if not workspace.root.joinpath(name).exists():
        return False
    lock = take(workspace, name)
    if lock is not None:
        lock.release()
    return lock is None


class Running:
    """A run of a job. It ends once, by finishing or by being abandoned.

    Args:
        id: The id of the run in the log.
        lock: Prevents other runs of the job; released by the thread that runs it.
    """

    def __init__(self, job: Job, id: int, task: Task, lock: BaseFileLock) -> None:
        self.job = job
        self.id = id
        self.task = task
        self.lock = lock
        self.ended = False
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, work: Callable[[], object]) -> None:
        """Runs ``work`` in a daemon thread."""
        self._thread = threading.Thread(target=work, name=f"autopoiesis-job-{self.job.name}", daemon=True)
        self._thread.start()

    def wait(self, timeout_s: float | None = None) -> None:
        """Waits for the thread."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def end(self) -> bool:
        """Marks it as ended; returns False if it already was."""
        with self._guard:
            before, self.ended = self.ended, True
            return not before

    def outcome(self) -> tuple[Result, str]:
        """Runs the job; returns the result, also as a clause."""
        try:
            return "done", self.job.run(self.task)
        except Stopped:
            if self.task.overdue:
                return "failed", self.too_long
            return "interrupted", "the program exited"
        except AutopoiesisError as error:
            return "refused" if error.lasting else "failed", str(error)
        except Exception as error:  # noqa: BLE001 — a bug in one job must not stop the others
            return "failed", f"{type(error).__name__}: {error}"

    @property
    def too_long(self) -> str:
        """The message for an exceeded deadline."""
        return f"timed out after {self.job.deadline_s / 60:g} minutes"
