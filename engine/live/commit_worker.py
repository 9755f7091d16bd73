"""Commits in the background while a workspace is open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from engine.commits.commits import Cadence
from engine.errors import AutopoiesisError
from engine.events import EngineEvent, ErrorReported

if TYPE_CHECKING:
    from engine.commits.commits import Commits
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.repository import Repository

_JOIN_S = 5.0


class Committing(Protocol):
    """What the worker needs from the engine."""

    files: Files
    config: Config
    clock: Callable[[], datetime]

    @property
    def repository(self) -> Repository: ...

    @property
    def commits(self) -> Commits: ...


class CommitWorker:
    """Commits each batch in its own thread, since a model may be asked for the message.

    ``publish`` is called from that thread and from the one that calls ``stop``.
    """

    def __init__(self, engine: Committing, publish: Callable[[EngineEvent], None]) -> None:
        self._engine = engine
        self._publish = publish
        self._cadence: Cadence | None = None
        self._thread: threading.Thread | None = None

    def commit_if_due(self) -> None:
        """Starts a batch if one is due and none is running."""
        if self._engine.files.read_only or (self._thread is not None and self._thread.is_alive()):
            return
        cadence = self._cadence_of_engine()
        if cadence.is_due():
            self._thread = threading.Thread(
                target=self._guarded, args=(cadence.commit_batch,), name="autopoiesis-commit", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Finishes the running batch without its model, and commits what is left."""
        if self._thread is not None:
            self._engine.commits.give_up()
            self._thread.join(timeout=_JOIN_S)
        if not self._engine.files.read_only:
            self._guarded(self._cadence_of_engine().close)

    def _cadence_of_engine(self) -> Cadence:
        if self._cadence is None:
            engine = self._engine
            self._cadence = Cadence(
                engine.commits,
                lambda: engine.repository,
                lambda: engine.config.git,
                engine.clock,
                self._report,
            )
        return self._cadence

    def _guarded(self, job: Callable[[], object]) -> None:
        try:
            job()
        except (AutopoiesisError, OSError) as error:
            self._report(str(error))

    def _report(self, text: str) -> None:
        self._publish(ErrorReported(self._engine.clock(), text))
