"""Flushes in the background while a workspace is open."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from engine.errors import AutopoiesisError
from engine.events import EngineEvent, ErrorReported, FlushDue, Flushed

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.conversations.conversations import Conversation, Conversations
    from engine.flush.flush import Flusher
    from engine.store.files import Files

MAX_PARTS = 4
"""Maximum parts of one conversation that are sent to a provider at once."""

RECENT = timedelta(days=1)
"""Age of a conversation's last turn up to which a provider is asked: old imports are not in use, and every
part of them would cost a call."""

_JOIN_S = 5.0


class Flushing(Protocol):
    """What the worker needs from the engine."""

    files: Files
    clock: Callable[[], datetime]

    @property
    def conversations(self) -> Conversations: ...

    @property
    def flush(self) -> Flusher: ...


class FlushWorker:
    """After each prompt, flushes the turns that are about to leave the window.

    A single thread does all the work, so no conversation is flushed twice at once. ``publish`` is called from
    that thread.
    """

    def __init__(self, engine: Flushing, publish: Callable[[EngineEvent], None]) -> None:
        self._engine = engine
        self._publish = publish
        self._paths: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._queued: set[str] = set()
        self._rooms: dict[str, tuple[int, int]] = {}
        self._guard = threading.Lock()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="autopoiesis-flush", daemon=True)

    def start(self) -> None:
        """Starts the thread, which first finishes interrupted flushes."""
        self._thread.start()

    def stop(self) -> None:
        """Cancels the running flush and records whatever is due as unflushed, without asking a model."""
        self._stopping = True
        self._paths.put(None)
        if self._thread.is_alive():
            self._engine.flush.close()
            self._thread.join(timeout=_JOIN_S)

    def enqueue(self, path: str, compiled: Compiled | None) -> None:
        """Queues a conversation that has grown; ``compiled`` is the prompt for its last message if that is
        new."""
        with self._guard:
            if compiled is not None:
                self._rooms[path] = (compiled.history_room, compiled.dropped_turns)
            if path not in self._rooms or path in self._queued or self._engine.files.read_only:
                return
            self._queued.add(path)
        self._paths.put(path)

    def _work(self) -> None:
        self._guarded(self._recover)
        while (path := self._paths.get()) is not None:
            self._guarded(lambda path=path: self._flush(path))  # type: ignore[misc]

    def _guarded(self, job: Callable[[], None]) -> None:
        try:
            job()
        except (AutopoiesisError, OSError) as error:
            self._publish(ErrorReported(self._engine.clock(), str(error)))

    def _recover(self) -> None:
        for record in self._engine.flush.recover():
            self._publish(Flushed(self._engine.clock(), record))

    def _flush(self, path: str) -> None:
        with self._guard:
            self._queued.discard(path)
            room, dropped = self._rooms[path]
        conversation = self._engine.conversations.read(path)
        if conversation is None or not conversation.turns:
            return
        flusher = self._engine.flush
        parts = flusher.plan(conversation, room, dropped=dropped).parts
        # Without a provider, skipped flushes are not worth an event; the doctor reports the missing setting.
        publishes = flusher.has_provider
        for part in parts if publishes else ():
            now = self._engine.clock()
            self._publish(FlushDue(now, path, conversation.session_id, part.first, part.last))
        skip_reason = self._skip_reason(conversation)
        for record in flusher.run(conversation, parts, limit=MAX_PARTS, skip_reason=skip_reason):
            if publishes:
                self._publish(Flushed(self._engine.clock(), record))

    def _skip_reason(self, conversation: Conversation) -> str:
        if self._stopping:
            return "the workspace was closed"
        if self._engine.clock() - conversation.times[-1] > RECENT:
            name = conversation.session_id or "ID"
            return f"old conversations are not flushed automatically; run: autopoiesis session flush {name}"
        return ""
