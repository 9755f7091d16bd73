"""The search index of a workspace (spec 7): one search function over a self-repairing cache.

``memory.db`` may be deleted, truncated or damaged at any time without loss: searches fall back to the files,
and the index is rebuilt from them.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, EmbeddingFailed, IndexFailed
from engine.search.embeddings import EMBEDDING_FAULTS
from engine.search.memory_db import MemoryDb
from engine.search.query import literal_terms
from engine.search.reports import IndexReport, IndexStatus, Progress, Unavailable, VerifyReport
from engine.search.request import Request
from engine.search.results import CATEGORIES, Category, SearchResult
from engine.search.terms import Terms
from engine.search.worth import Room, chosen
from engine.store.zone import local_day

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from engine.meaning.vectors import Floats
    from engine.search.embeddings import Embedder
    from engine.search.past import Past
    from engine.search.state import State, Turn
    from engine.search.storage import Storage
    from engine.settings.model import SearchSettings
    from engine.store.files import Files
    from engine.store.paths import Workspace

MAX_LIMIT = 500
FEW = 64
"""A refresh waits for the vectors of a slow model if no more chunks than this lack one."""
PATIENCE_S = 3.0
"""How long it waits."""
_NO_EMBEDDER = "no embedding model is set up"


class SearchIndex:
    """Searches and indexes one workspace. Thread-safe.

    Nothing is opened before the first search, and a search by words loads no embedding model.

    Args:
        embedder: ``None`` for search by words alone.
        without_vectors: Why there is no embedder, in one clause.
        url: Of the PostgreSQL that keeps the index; empty for memory.db.
        references: Returns the number of useful references by path, which affects ranking.
        read_only: Never write, neither to index nor to rebuild.
        lock_timeout_s: Seconds to wait for another writer, where nothing else is said.
    """

    def __init__(
        self,
        workspace: Workspace,
        files: Files,
        settings: SearchSettings,
        embedder: Embedder | None = None,
        *,
        without_vectors: str = _NO_EMBEDDER,
        url: str = "",
        references: Callable[[], Mapping[str, int]] = dict,
        zone: str = "",
        read_only: bool = False,
        lock_timeout_s: float = 30.0,
    ) -> None:
        self._workspace = workspace
        self._files = files
        self._settings = settings
        self._embedder = embedder
        self.without_vectors = "" if embedder else without_vectors
        """Why searches are by words alone, in one clause; empty if they use vectors."""
        self._references = references
        self._zone = zone
        self._read_only = read_only
        self._terms = Terms()
        self._one_term = threading.Lock()
        self._closing = threading.Event()
        make: Callable[..., Storage] = MemoryDb
        if url:
            from engine.search.postgres.shared import SharedIndex  # noqa: PLC0415 — only for this setting

            make = partial(SharedIndex, url)
        self._storage = make(
            workspace,
            files,
            embedder,
            self.without_vectors,
            read_only=read_only,
            lock_timeout_s=lock_timeout_s,
            stopping=self._closing.is_set,
        )
        self._embeds_later = embedder is not None and embedder.is_slow and not read_only
        self._repair: Future[None] | None = None
        self._error = ""

    def search(
        self,
        query: str,
        limit: int = 10,
        category: str | None = None,
        exclude: Collection[str] = (),
        *,
        use_vectors: bool = True,
        today: date | None = None,
        in_full: bool = True,
        context: str = "",
        room: Room | None = None,
    ) -> list[SearchResult]:
        """The chunks that match a query best, best first.

        The query is taken literally; a query without words finds nothing. While the index cannot answer, the
        files are searched directly, and a damaged or missing index is rebuilt in the background.

        Args:
            limit: Values above 500 count as 500.
            exclude: Paths of files to leave out.
            use_vectors: ``False`` searches by words alone and loads no model.
            today: The date to which ``last week`` and ages are relative; by default the current date.
            in_full: ``False`` omits snippets and most explanations, and takes a fraction of the time.
            context: The text before the query. Its rarest words count a little; the less the query says, the
                more they count.
            room: The space in a prompt. Only results that may fit are returned, ordered by their value for
                their length.

        Raises:
            IndexFailed: The category is unknown.
        """
        known = _category(category)
        terms = literal_terms(query)
        limit = min(limit, MAX_LIMIT)
        if not terms or limit < 1:
            return []
        request = Request(
            query,
            terms,
            limit,
            known,
            frozenset(exclude),
            use_vectors,
            today or local_day(datetime.now(UTC), self._zone),
            in_full,
            context,
            room,
        )
        try:
            return self._query_index(request)
        except Unavailable as error:
            why = error.why
            if error.repairable and not self._read_only:
                self._start_repair(error)
        from engine.search import fallback  # noqa: PLC0415 — never needed while the index works

        found = fallback.search(
            self._workspace,
            self._files,
            terms,
            limit=limit,
            category=known,
            exclude=request.exclude,
            because=why,
        )
        return chosen(found, room)

    def past(self) -> Past:
        """The past sessions; none while the index cannot answer."""
        from engine.search import past  # noqa: PLC0415 — imports numpy

        try:
            with self._storage.read() as state:
                return state.past()
        except Unavailable:
            return past.Past()

    def turns(self, file: int, position: int | None = None) -> list[Turn]:
        """The chunks of a file by row id, or the one at a position: first and last line, speaker, heading,
        date and text; none while the index cannot answer.
        """
        try:
            with self._storage.read() as state:
                return state.turns(file, position)
        except Unavailable:
            return []

    def refresh(
        self,
        progress: Progress | None = None,
        paths: Iterable[str] | None = None,
        *,
        wait_s: float | None = None,
        rebuild: str = "",
    ) -> IndexReport:
        """Bring the index up to date with the files. The vectors of a slow model follow in the background.

        Unchanged files are not read. Work is written in batches: after an interruption the index is
        consistent, and the next refresh continues from there. A missing or damaged index is rebuilt.

        Args:
            progress: Called with the steps done and the total, from this thread.
            paths: Only these workspace-relative files and folders, whether they were added, changed or
                removed; by default the whole workspace. An incomplete index is always completed.
            wait_s: Seconds to wait for another writer; by default as long as the index was made to wait.
            rebuild: Why to delete the index first; empty to keep it.

        Raises:
            IndexBusy: Another writer was not done within ``wait_s``.
            IndexFailed: The disk is full or fails.
            ReadOnly: The workspace cannot be written.
        """
        asked = None if paths is None else list(paths)
        report = self._storage.refresh(progress, asked, rebuild=rebuild, wait_s=wait_s)
        if not self._embeds_later or not report.waiting or self._closing.is_set():
            return report
        before = self._storage.made
        work = self._background.submit(self._storage.embed)
        if report.waiting <= FEW:
            with contextlib.suppress(TimeoutError):
                work.result(PATIENCE_S)
        made, why = self._storage.made - before, report.vectors or self._storage.error
        return replace(report, embedded=made, vectors=why, waiting=self._storage.count_missing())

    def rebuild(self, progress: Progress | None = None) -> IndexReport:
        """Delete the index and rebuild it from the files. Raises the same errors as ``refresh``."""
        return self.refresh(progress, rebuild="a rebuild was requested")

    def verify(self, progress: Progress | None = None, *, repair: bool = True) -> VerifyReport:
        """Check the index for consistency, and rebuild it if anything is wrong.

        ``repair=False`` only reports.

        Raises:
            IndexFailed, ReadOnly: As for ``refresh``.
        """
        return self._storage.verify(progress, repair=repair)

    def status(self) -> IndexStatus:
        """The state of the index. Never raises or changes anything."""
        return self._status_by(lambda state: state.status())

    def why_not_ready(self) -> str:
        """Why a search would read the files instead, in one clause; empty if the index can answer."""
        return self._status_by(lambda _: IndexStatus("ready")).why

    def _status_by(self, ready: Callable[[State], IndexStatus]) -> IndexStatus:
        try:
            with self._storage.read() as state:
                found = ready(state)
        except Unavailable as error:
            return IndexStatus(error.state, error.why, error=self._error)
        coming = found.vectors_coming
        if coming and self._storage.error:
            coming = f"{coming}: {self._storage.error}"
        return replace(
            found,
            without_vectors=self.without_vectors
            or found.without_vectors
            or ("" if found.vectors else coming),
            vectors_coming=coming,
            error=self._error,
        )

    def finish_vectors(self, progress: Progress | None = None) -> str:
        """Wait until a slow model has computed all vectors. Searches and refreshes can go on in the meantime.

        Args:
            progress: Called from another thread.

        Returns:
            Why some vectors are missing, in one clause; ``""`` if none are.
        """
        if not self._embeds_later or self._closing.is_set():
            return ""
        self._background.submit(self._storage.embed, progress).result()
        return self._storage.error

    def settle(self, timeout_s: float | None = None) -> bool:
        """Wait for a background repair.

        Returns:
            Whether no repair is running any more.
        """
        if self._repair is None:
            return True
        from concurrent.futures import wait  # noqa: PLC0415 — imported with the repair

        return not wait([self._repair], timeout_s).not_done

    def close(self) -> None:
        """Stop background work and close the database; nothing is written afterwards."""
        self._closing.set()
        if self._embedder is not None:
            self._embedder.close()
        if "_background" in vars(self):
            self._background.shutdown(cancel_futures=True)
        self._storage.close()

    def _query_index(self, request: Request) -> list[SearchResult]:
        settings = self._settings
        wanted = self._embedder if request.use_vectors and settings.vector_weight > 0 else None
        with self._storage.read() as state:
            vector: Floats | None = None
            if wanted and state.model.vectors:
                vector = self._query_vector(wanted, request.meant)
            from engine.search.answer import answer  # noqa: PLC0415 — imports numpy

            state.dimensions = 0 if vector is None else len(vector)
            return answer(state, self._numbers_of, request, vector, settings, self._references())

    def _numbers_of(self, word: str) -> list[int]:
        with self._one_term:
            return self._terms.of_query(word)

    def _query_vector(self, embedder: Embedder, query: str) -> Floats | None:
        """The vector of a query; ``None`` to search by words alone, and the status then says why."""
        try:
            found = embedder.embed_query(query)
            if found.shape != (embedder.dimensions,) or not math.isfinite(found.sum()):
                raise EmbeddingFailed("its vector of the query cannot be compared with those of the texts")
            self.without_vectors = ""
        except EMBEDDING_FAULTS as error:
            self.without_vectors = f"the embedding model failed ({error})"
            return None
        return found if found.any() else None

    @cached_property
    def _background(self) -> Executor:
        """One thread that computes the vectors of a slow model and rebuilds the index, while files change and
        searches run.
        """
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 — not needed as long as all is well

        return ThreadPoolExecutor(1, "search index")

    def _start_repair(self, found: Unavailable) -> None:
        """Start a background repair unless one is running."""
        if not self._closing.is_set() and (self._repair is None or self._repair.done()):
            self._repair = self._background.submit(self._run_repair, found)

    def _run_repair(self, found: Unavailable) -> None:
        try:
            self.refresh(rebuild=self._storage.why_rebuild(found))
            self._error = ""
        except AutopoiesisError as error:
            self._error = str(error)


def _category(category: str | None) -> Category | None:
    if category is None:
        return None
    for known in CATEGORIES:
        if category == known:
            return known
    raise IndexFailed(f"unknown category {category!r}", hint=f"choose one of {', '.join(CATEGORIES)}")
