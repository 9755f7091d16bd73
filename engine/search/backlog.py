"""Computes the vectors of a slow model in the background, while files change and searches run (spec 7.2).

Files can be found by their words as soon as they are indexed; their chunks wait here for the model, which is
called while nothing is locked that a refresh needs. After an interruption, the next refresh resumes, in any
process.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.search.reports import Unavailable

if TYPE_CHECKING:
    from engine.search.reports import IndexReport, Progress
    from engine.search.storage import Storage

FEW = 64
"""A refresh waits for the vectors if no more chunks than this are missing them."""
PATIENCE_S = 3.0
"""How long it waits."""
_PAUSE_S, _LONGEST_PAUSE_S = 5.0, 300.0
"""Pause after a failure, doubled each time."""
_POLL_S = 0.05


class Backlog:
    """The chunks of one workspace that wait for the vectors of a slow model.

    Thread-safe, but no method may be called while the storage is locked.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._closing = threading.Event()
        self._again = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted = False
        self.error = ""
        """Why the last attempt failed, in one clause; empty if it succeeded."""

    def follow(self, report: IndexReport) -> IndexReport:
        """Start computing missing vectors after a refresh, and wait briefly if there are few.

        Returns:
            The report, with the vector fields filled in.
        """
        missing = self._storage.count_missing()
        if not missing:
            return report
        before = self._storage.made
        self._wake()
        if missing <= FEW:
            self._wait(PATIENCE_S)
        made, left = self._storage.made - before, self._storage.count_missing()
        return replace(report, embedded=made, vectors=self.error, waiting=left)

    def finish(self, progress: Progress | None) -> str:
        """Block until all vectors are computed and the background thread is done, or computing them fails.

        ``progress`` is called from this thread, and only if vectors were missing.

        Returns:
            Why it failed, in one clause; empty if it did not.
        """
        left = total = self._storage.count_missing()
        if total:
            self.error = ""
            self._again.set()
            self._wake()
        elif not self._is_at_work():
            return ""
        else:
            progress = None
        while self._is_at_work():
            left = min(left, self._storage.count_missing())
            if progress is not None:
                progress(total - left, total)
            self._wait(4 * _POLL_S)
        if progress is not None and not self.error:
            progress(total, total)
        return self.error

    def close(self) -> None:
        """Stop the background thread. The model's calls have to be aborted before."""
        self._closing.set()
        self._again.set()
        with self._guard:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _wake(self) -> None:
        with self._guard:
            if self._closing.is_set():
                return
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="search index vectors", daemon=True)
                self._thread.start()

    def _is_at_work(self) -> bool:
        with self._guard:
            return self._thread is not None and not self.error

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._is_at_work() and time.monotonic() < until:
            time.sleep(_POLL_S)

    def _work(self) -> None:
        pause = _PAUSE_S / 2
        while True:
            with self._guard:
                if not self._wanted or self._closing.is_set():
                    self._thread = None
                    return
                self._wanted = False
            before = self._storage.made
            self._again.clear()
            try:
                while not self._closing.is_set() and self._storage.embed_some():
                    self.error = ""
                self.error = ""
                continue
            except Unavailable:
                continue  # the next refresh builds an index and calls this again
            except (AutopoiesisError, OSError) as error:
                self.error = str(error)
            pause = _PAUSE_S if self._storage.made > before else min(2 * pause, _LONGEST_PAUSE_S)
            if not self._closing.is_set():
                self._again.wait(pause)
            with self._guard:
                self._wanted = True
