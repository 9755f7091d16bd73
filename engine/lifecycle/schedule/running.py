"""A job that is being run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.lifecycle.schedule.job import Job, Result, Stopped, Task

if TYPE_CHECKING:
    from filelock import BaseFileLock


class Running:
    """One run, which ends once, whoever says so first: the job, or whoever gives it up.

    Args:
        id: Of the run, in the log.
        lock: Keeps others from running the job; whoever runs it releases it.
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
        """Does it in a thread, which ends with the program."""
        self._thread = threading.Thread(target=work, name=f"autopoiesis-job-{self.job.name}", daemon=True)
        self._thread.start()

    def wait(self, timeout_s: float | None = None) -> None:
        """Waits for that thread."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def end(self) -> bool:
        """Ends it; gives whether it had not ended before."""
        with self._guard:
            before, self.ended = self.ended, True
            return not before

    def outcome(self) -> tuple[Result, str]:
        """Does the job; gives what came of it, and that in a clause."""
        try:
            return "done", self.job.run(self.task)
        except Stopped:
            if self.task.overdue:
                return "failed", self.too_long
            return "interrupted", "the program was left"
        except AutopoiesisError as error:
            return "refused" if error.lasting else "failed", str(error)
        except Exception as error:  # noqa: BLE001 — one job that fails unforeseen must not end the others
            return "failed", f"{type(error).__name__}: {error}"

    @property
    def too_long(self) -> str:
        """What is said where its time is up."""
        return f"it took longer than {self.job.deadline_s / 60:g} minutes and was given up"
