"""Computes the vectors of a slow model in the background, while files change and searches run (spec 7.2).

Files can be found by their words as soon as they are indexed; their chunks wait here for the model, which is
called while nothing is locked that a refresh needs. After a failure or an interruption the next refresh
resumes, in any process.
"""

from __future__ import annotations

import threading
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
_POLL_S = 0.2


class Backlog:
    """The chunks of one workspace that wait for the vectors of a slow model.

    Thread-safe, but no method may be called while the storage is locked.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._closing = False
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
        thread = self._started()
        if thread is not None and missing <= FEW:
            thread.join(PATIENCE_S)
        made, left = self._storage.made - before, self._storage.count_missing()
        return replace(report, embedded=made, vectors=self.error, waiting=left)

    def finish(self, progress: Progress | None) -> str:
        """Block until all vectors are computed and the background thread is done, or computing them fails.

        ``progress`` is called from this thread, and only if vectors were missing.

        Returns:
            Why it failed, in one clause; empty if it did not.
        """
        left = total = self._storage.count_missing()
        thread = self._started() if total else self._thread
        while thread is not None and thread.is_alive():
            left = min(left, self._storage.count_missing())
            if progress is not None and total:
                progress(total - left, total)
            thread.join(_POLL_S)
        if progress is not None and total and not self.error:
            progress(total, total)
        return self.error

    def close(self) -> None:
        """Stop the background thread. The model's calls have to be aborted before."""
        with self._guard:
            self._closing = True
            thread = self._thread
        if thread is not None:
            thread.join()

    def _started(self) -> threading.Thread | None:
        """The thread, which will see all chunks that are missing vectors now; ``None`` once closed."""
        with self._guard:
            self._wanted = not self._closing
            if self._wanted and self._thread is None:
                self._thread = threading.Thread(target=self._work, name="search index vectors", daemon=True)
                self._thread.start()
            return self._thread

    def _work(self) -> None:
        while True:
            with self._guard:
                if not self._wanted or self._closing:
                    self._thread = None
                    return
                self._wanted = False
            try:
                while not self._closing and self._storage.embed_some():
                    self.error = ""
                self.error = ""
            except Unavailable:
                pass  # the next refresh builds an index
            except (AutopoiesisError, OSError) as error:
                self.error = str(error)
