"""Follows an open workspace: notices file changes, traces new turns, compiles prompts and publishes events.

One thread does the work in the order of events; others index, flush, commit and push. Watcher reports are
only hints to look: the files are the source of truth.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from engine.conversations.conversations import WINDOW, is_conversation
from engine.errors import AutopoiesisError, ConfigError, PathRefused, Problem
from engine.events import (
    CacheGivenUp,
    Committed,
    EngineEvent,
    ErrorReported,
    FileChanged,
    PromptCompiled,
    TopicsReloaded,
    TurnArrived,
    TurnTraced,
    WatchState,
)
from engine.flush.worker import FlushWorker
from engine.live.commit_worker import CommitWorker
from engine.live.followed_logs import FollowedLogs
from engine.live.index_worker import Indexing, IndexWorker
from engine.live.push_worker import Pushing, PushWorker
from engine.settings.file import CONFIG_FILE
from engine.store.files import sweep_temps
from engine.store.watcher import Change, Watcher
from engine.transcripts.importers.state import is_imported

if TYPE_CHECKING:
    from engine.activation.trace import Trace
    from engine.commits.commits import Commits
    from engine.context.compiled import Compiled
    from engine.conversations.conversations import Conversation, Conversations
    from engine.discussions.caches import DiscussionCaches
    from engine.flush.flush import Flusher
    from engine.injections.injections import Injections
    from engine.live.feed import FeedEntry
    from engine.pipeline.labels import Labels
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.paths import Workspace
    from engine.store.repository import Repository
    from engine.topics.library import TopicLibrary, TopicsDelta
    from engine.transcripts.turn import Turn

Found = TypeVar("Found")

IDLE_S = 1.0
"""Seconds between two checks of the clock and the repository."""

MAX_NEW_TURNS = 200
"""Turns of one file that are traced when they arrive together; of more, only the last ones."""

LOCAL_TIMES = timedelta(hours=12)
"""How far a heading may lag if an agent wrote it in local time instead of UTC."""

IMPORTED_LATE = timedelta(hours=1)
"""Age of a turn in a running session up to which it still counts as new when imported."""


class LiveEngine(Indexing, Pushing, Protocol):
    """What the background work needs from the engine; implemented by ``engine.engine.Engine``."""

    workspace: Workspace
    files: Files
    config: Config
    pace: Callable[[float], object]

    @property
    def conversations(self) -> Conversations: ...

    @property
    def library(self) -> TopicLibrary: ...

    @property
    def repository(self) -> Repository: ...

    @property
    def labels(self) -> Labels: ...

    @property
    def flush(self) -> Flusher: ...

    @property
    def caches(self) -> DiscussionCaches: ...

    @property
    def injections(self) -> Injections: ...

    @property
    def commits(self) -> Commits: ...

    def trace_turn(self, key: str, *, record: bool, ask: bool) -> Trace | None: ...

    def trace_of(self, key: str) -> Trace | None: ...

    def compile_of(self, key: str) -> Compiled | None: ...

    def reload_topics(self, paths: Iterable[str] | None = None) -> TopicsDelta: ...

    def reload_config(self) -> None: ...

    def problems(self) -> tuple[Problem, ...]: ...


class Live:
    """The background work of an open engine.

    ``publish`` is called from the worker threads.
    """

    def __init__(self, engine: LiveEngine, publish: Callable[[EngineEvent], None]) -> None:
        self._engine = engine
        self._publish = publish
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._sizes: dict[str, int] = {}
        self._known: dict[str, tuple[int, Turn | None]] = {}
        self._shows_past = False
        self._removed: dict[str, datetime] = {}
        self._started = engine.clock()
        self._waiting: set[str] = set()
        self._reported: set[Problem] = set()
        self._head: tuple[str, str] | None = None
        self._watch_state = ("", "")
        self._thread = threading.Thread(target=self._work, name="autopoiesis-live", daemon=True)
        self._index = IndexWorker(engine, publish)
        self._flushes = FlushWorker(engine, publish)
        self._pushes = PushWorker(engine, publish)
        self._commits = CommitWorker(engine, publish)
        self._logs = FollowedLogs(engine, self.enqueue, self._mark_as_past)
        self.watcher = Watcher(engine.workspace.root, self._changed)

    @property
    def watch_state(self) -> tuple[str, str]:
        """The watcher's mode, and why it is not live."""
        return self.watcher.mode, self.watcher.why

    def start(self) -> None:
        """Starts watching; existing content counts as known."""
        self._sizes = self._engine.conversations.sizes()
        # Loads the topics now: later, they would already include the first change.
        self._reported = set(self._engine.problems())
        self._head = self._engine.repository.head()
        self.watcher.start()
        # Before the worker starts, so that everything written from now on is new.
        self._guarded(self._logs.refresh)
        self._thread.start()
        self._index.start()
        self._flushes.start()

    def stop(self) -> None:
        """Stops watching and waits for running work."""
        self._stop.set()
        self._jobs.put(None)
        self.watcher.stop()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=5)
        self._logs.stop()
        self._index.stop()
        self._flushes.stop()
        self._pushes.stop()
        self._commits.stop()

    def rescan(self) -> None:
        """Checks every file again, for example when the terminal regains focus."""
        self.watcher.rescan()
        self._logs.rescan()

    def enqueue(self, job: Callable[[], None]) -> None:
        """Queues a job on the worker thread."""
        self._jobs.put(job)

    def _changed(self, changes: list[Change]) -> None:
        self._jobs.put(lambda: self._take(changes))

    def _work(self) -> None:
        self._publish_watch_state()
        if not self._engine.files.read_only:
            self._guarded(lambda: sweep_temps(self._engine.workspace))
        self._guarded(self._mark_logs_as_past)
        polled = time.monotonic()
        while not self._stop.is_set():
            with contextlib.suppress(queue.Empty):
                job = self._jobs.get(timeout=IDLE_S)
                if job is not None:
                    self._guarded(job)
            # Commits must not wait for a pause in a steady stream of changes.
            if time.monotonic() - polled >= IDLE_S:
                self._guarded(self._poll)
                polled = time.monotonic()

    def trace_past(self, entries: Iterable[FeedEntry]) -> None:
        """Traces messages from before the start, for an interface that shows their traces."""
        self._shows_past = True
        self.enqueue(lambda: self._trace_one([each.key for each in entries if each.key]))

    def _trace_one(self, keys: list[str]) -> None:
        """Traces the newest of some messages and queues the others behind current work."""
        if not keys or self._stop.is_set():
            return
        key = keys.pop()
        trace = self._engine.trace_of(key)
        if trace is not None:
            self._publish(TurnTraced(key, trace))
        self.enqueue(lambda: self._trace_one(keys))

    def _mark_logs_as_past(self) -> None:
        """Reads other agents' logs and long transcripts once, so that only additions count as new."""
        for path, size in self._sizes.items():
            if path.endswith(".jsonl") or size > WINDOW:
                self._mark_as_past(path)

    def _mark_as_past(self, path: str) -> None:
        """Marks everything in a conversation so far as past."""
        conversation = self._engine.conversations.read(path)
        if conversation is not None:
            self._known[path] = (conversation.end, conversation.turn(conversation.end - 1))

    def _guarded(self, job: Callable[[], object]) -> None:
        try:
            job()
        except (AutopoiesisError, OSError) as error:
            self._publish(ErrorReported(self._engine.clock(), str(error)))
        except Exception as error:  # noqa: BLE001 — a bug in one job must not end the watching of files
            self._publish(ErrorReported(self._engine.clock(), f"{type(error).__name__}: {error}"))

    def _poll(self) -> None:
        self._publish_watch_state()
        head = self._engine.repository.head()
        if head is not None and head != self._head:
            self._publish(Committed(self._engine.clock(), head[0], head[1]))
            self._pushes.committed()
        self._head = head
        waiting, self._waiting = self._waiting, set()
        for path in sorted(waiting):
            self._conversation_changed(path, "changed")
        self._commits.commit_if_due()
        # Settings can change without a change to their file, for example when a workspace is trusted.
        self._logs.refresh()

    def _publish_watch_state(self) -> None:
        if self.watch_state != self._watch_state:
            self._watch_state = self.watch_state
            self._publish(WatchState(self.watcher.mode, self.watcher.why))

    def _take(self, changes: Iterable[Change]) -> None:
        latest: dict[str, Change] = {}
        for change in changes:
            with contextlib.suppress(PathRefused):
                latest[self._engine.workspace.relative(change.path)] = change
        topics = [path for path in latest if path.startswith("topics/")]
        if topics:
            delta = self._engine.reload_topics(topics)
            self._reported.update(delta.problems)
            if delta.changed or delta.removed or delta.problems:
                self._publish(
                    TopicsReloaded(
                        self._engine.clock(),
                        (*delta.changed, *delta.removed),
                        len(self._engine.library.topics),
                        delta.problems,
                    )
                )
        if CONFIG_FILE in latest:
            with contextlib.suppress(ConfigError):  # it is one of the problems
                self._engine.reload_config()
                self._logs.refresh()
            self._report_problems()
        for path, change in latest.items():
            if is_conversation(path):
                self._conversation_changed(path, change.kind)
            elif not path.startswith(("logs/", "scratch/")):
                self._publish(FileChanged(self._engine.clock(), path, change.kind))
        self._index.changed(latest)
        if not self._engine.files.read_only:
            for state in self._engine.caches.files_changed(latest):
                self._publish(CacheGivenUp(self._engine.clock(), state.discussion_id, state.why))

    def _conversation_changed(self, path: str, kind: str) -> None:
        """Publishes and traces new turns of a conversation, and compiles the prompt for the last message."""
        conversation = self._paced(partial(self._engine.conversations.read, path))
        if conversation is None:
            self._known.pop(path, None)
            self._sizes.pop(path, None)
            self._removed[path] = self._engine.clock()
            if kind == "removed":
                self._publish(FileChanged(self._engine.clock(), path, "removed"))
            return
        is_known = path in self._known or path in self._sizes
        first = self._first_news(path, conversation)
        end = conversation.end
        # Unless logs are followed, what is added to an imported session may also be of long ago.
        is_fresh = is_known and (bool(self._engine.config.imports.follow) or not self._is_imported(path))
        news = first if is_fresh else self._first_recent(path, conversation, first)
        self._known[path] = (end, conversation.turn(end - 1))
        if self._engine.conversations.is_waiting(path):
            self._waiting.add(path)
        for ordinal in range(first, end):
            at, turn = conversation.times[ordinal - conversation.first], conversation.turn(ordinal)
            if turn is not None:
                key, is_past = f"{path}#{ordinal}", ordinal < news
                self._publish(TurnArrived(at, key, path, conversation.session_id, turn, is_past))
        if self._shows_past and first < news:
            self._trace_one([f"{path}#{ordinal}" for ordinal in range(first, news)])
        last_input = ""
        for ordinal in range(max(news, end - MAX_NEW_TURNS), end):
            key = f"{path}#{ordinal}"
            trace = self._paced(partial(self._engine.trace_turn, key, record=True, ask=True))
            if trace is None:
                continue
            self._publish(TurnTraced(key, trace))
            if trace.message.direction == "input":
                last_input = key
        self._report_problems()
        compiled = self._paced(partial(self._engine.compile_of, last_input)) if last_input else None
        if compiled is not None:
            self._publish(PromptCompiled(last_input, compiled))
        if first < end:
            # Also for past turns, since the flush log records which of them were never shown to a model.
            self._flushes.enqueue(
                path, compiled if news < end else self._engine.compile_of(f"{path}#{end - 1}")
            )
        if news < end:
            self._engine.injections.learn_from_use(path, max(news, end - MAX_NEW_TURNS))
            self._engine.labels.learn_from_use(path, max(news, end - MAX_NEW_TURNS))

    def _paced(self, work: Callable[[], Found]) -> Found:
        started = time.monotonic()
        found = work()
        self._engine.pace(time.monotonic() - started)
        return found

    def _is_imported(self, path: str) -> bool:
        return is_imported(self._engine.workspace.root / path)

    def _first_recent(self, path: str, conversation: Conversation, first: int) -> int:
        """The first recent turn, from ``first`` on: restored or imported turns are past."""
        removed = self._removed.pop(path, None)
        since = self._started - LOCAL_TIMES if removed is None else removed
        if self._is_imported(path):
            # Its times are UTC. Manual imports bring old turns, followed logs bring recent ones.
            since = max(since, self._started, self._engine.clock() - IMPORTED_LATE)
        since = since.replace(second=0, microsecond=0)  # headings have no seconds
        recent = (at >= since for at in conversation.times[first - conversation.first :])
        return next((number for number, it_is in enumerate(recent, first) if it_is), conversation.end)

    def _report_problems(self) -> None:
        """Reports problems found since loading, such as a pattern that fails only on a certain message."""
        problems = set(self._engine.problems())
        for problem in sorted(problems - self._reported, key=str):
            self._publish(ErrorReported(self._engine.clock(), str(problem)))
        self._reported = problems

    def _first_news(self, path: str, conversation: Conversation) -> int:
        """The first new or extended turn; the very first if another file has taken the name."""
        known = self._known.get(path)
        if known is None:
            count = self._engine.conversations.turns_within(path, self._sizes.pop(path, 0))
            return max(conversation.first, min(count, conversation.end))
        count, last = known
        if count > conversation.end:
            return conversation.first
        has_grown = count > conversation.first and conversation.turn(count - 1) != last
        return count - 1 if has_grown else max(count, conversation.first)
