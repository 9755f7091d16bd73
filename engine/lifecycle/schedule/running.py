"""A running job."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.lifecycle.schedule.job import Job, Result, Stopped, Task

if TYPE_CHECKING:
    from filelock import BaseFileLock


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
