"""Imports the sessions of other agents while they are being written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import ImportFailed
from engine.store.watcher import Change, Watcher

if TYPE_CHECKING:
    from engine.conversations.imports import Importing
    from engine.transcripts.importers.drafts import ImportResult
    from engine.transcripts.importers.log import Kind


class FollowedLogs:
    """Follows the log folders named in ``imports.follow``.

    When following starts, all existing sessions are imported, newest first. They count as past; only what is
    written from then on is new.

    Args:
        enqueue: Queues a job on the thread that calls these methods.
        past: Called with the path of a transcript whose turns are not new.
    """

    def __init__(
        self,
        engine: Importing,
        enqueue: Callable[[Callable[[], None]], None],
        past: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._enqueue = enqueue
        self._past = past
        # Real folder → folder as named in the settings, so that a log always has the same name.
        self._folders: dict[Path, tuple[Path, Kind]] = {}
        self._watcher: Watcher | None = None
        self._backlog: dict[Path, Kind] = {}
        self._has_imported = False

    def refresh(self) -> None:
        """Applies the current settings; does nothing if they have not changed."""
        folders = self._wanted()
        if folders == self._folders:
            return
        self.stop()
        self._folders = folders
        if not folders:
            return
        first, *others = folders
        self._watcher = Watcher(first, self._changed, extra=others)
        self._watcher.start()
        # The watcher reports everything from here on, so nothing is missed.
        self._backlog = self._all_logs()
        self._enqueue(self._catch_up)

    def rescan(self) -> None:
        """Schedules a check of every log."""
        if self._watcher is not None:
            self._watcher.rescan()

    def stop(self) -> None:
        """Stops following."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()
        self._folders = {}
        self._backlog = {}

    def _wanted(self) -> dict[Path, tuple[Path, Kind]]:
        settings = self._engine.config.imports
        if not settings.follow or self._engine.files.read_only:
            return {}
        from engine.transcripts.importers.log import log_folders  # noqa: PLC0415 — only if logs are followed

        named = [
            (folder, kind) for kind in settings.follow for folder in log_folders(kind, settings.home(kind))
        ]
        return {folder.resolve(): (folder, kind) for folder, kind in named}

    def _all_logs(self) -> dict[Path, Kind]:
        from engine.transcripts.importers.run import discover  # noqa: PLC0415 — only if logs are followed

        settings = self._engine.config.imports
        found: list[tuple[float, Path, Kind]] = []
        for kind in settings.follow:
            for path in discover(kind, settings.home(kind)):
                with contextlib.suppress(OSError):
                    found.append((path.stat().st_mtime, path, kind))
        return {path: kind for _, path, kind in sorted(found, reverse=True)}

    def _changed(self, changes: list[Change]) -> None:
        self._enqueue(lambda: self._take_all(changes))

    def _take_all(self, changes: Iterable[Change]) -> None:
        from engine.transcripts.importers.run import is_session_log  # noqa: PLC0415 — only if logs are followed

        for change in changes:
            for real, (folder, kind) in self._folders.items():
                if change.kind == "removed" or real not in change.path.parents:
                    continue
                inside = change.path.relative_to(real)
                if is_session_log(inside):
                    # Each in its own job, so that one that fails does not hold up the others.
                    self._enqueue(partial(self._take, folder / inside, kind))

    def _catch_up(self) -> None:
        """Imports one log and queues the others behind current work."""
        if self._backlog:
            path = next(iter(self._backlog))
            try:
                self._take(path, self._backlog[path])
            finally:
                self._enqueue(self._catch_up)
        elif self._has_imported:
            from engine.conversations.imports import commit_imported  # noqa: PLC0415 — only after an import

            self._has_imported = False
            commit_imported(self._engine)

    def _take(self, path: Path, kind: Kind) -> None:
        from engine.transcripts.importers.run import import_file  # noqa: PLC0415 — only if logs are followed

        is_past = self._backlog.pop(path, None) is not None
        with contextlib.suppress(ImportFailed):
            result = import_file(
                kind,
                path,
                self._engine.workspace,
                self._engine.files,
                redact=self._engine.config.capture.redact,
            )
            if is_past and _is_written(result):
                self._has_imported = True
                self._past(result.target)


def _is_written(result: ImportResult) -> bool:
    return bool(result.target) and result.status in ("new", "grown", "replaced")
