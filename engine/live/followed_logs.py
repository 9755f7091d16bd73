"""Takes over other agents' sessions while they are written, and at the start what was written meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import ImportFailed
from engine.store.watcher import Change, Watcher

if TYPE_CHECKING:
    from engine.conversations.imports import Importing
    from engine.transcripts.importers.drafts import ImportResult
    from engine.transcripts.importers.log import Kind


class FollowedLogs:
    """Follows the folders that ``imports.follow`` names, as the settings are now.

    All sessions in them are taken in when following begins, the newest first: those of before, and whatever
    was written while nothing ran. That is the past: only what is written from then on is news.

    Args:
        soon: Runs a job later, in the thread in which everything here is called, after what waits there.
        past: Called with the path of a transcript whose turns are no news.
    """

    def __init__(
        self,
        engine: Importing,
        soon: Callable[[Callable[[], None]], None],
        past: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._soon = soon
        self._past = past
        # By the real folder: the folder as it is named, so that a log has one name however it is noticed.
        self._folders: dict[Path, tuple[Path, Kind]] = {}
        self._watcher: Watcher | None = None
        self._behind: dict[Path, Kind] = {}
        self._has_written = False

    def refresh(self) -> None:
        """Follow what the settings name now; nothing happens while they name the same."""
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
        # What is written from here on is reported, so nothing can fall between.
        self._behind = self._all_logs()
        self._soon(self._catch_up)

    def rescan(self) -> None:
        """Look at every log again, soon."""
        watcher = self._watcher
        if watcher is not None:
            watcher.rescan()

    def stop(self) -> None:
        """Follow nothing any more."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()
        self._folders = {}
        self._behind = {}

    def _wanted(self) -> dict[Path, tuple[Path, Kind]]:
        settings = self._engine.config.imports
        if not settings.follow or self._engine.files.read_only:
            return {}
        from engine.transcripts.importers.run import log_folder  # noqa: PLC0415 — only where logs are followed

        named = [(log_folder(kind, settings.home(kind)), kind) for kind in settings.follow]
        return {folder.resolve(): (folder, kind) for folder, kind in named}

    def _all_logs(self) -> dict[Path, Kind]:
        from engine.transcripts.importers.run import discover  # noqa: PLC0415 — only where logs are followed

        settings = self._engine.config.imports
        found: list[tuple[float, Path, Kind]] = []
        for kind in settings.follow:
            for path in discover(kind, settings.home(kind)):
                with contextlib.suppress(OSError):
                    found.append((path.stat().st_mtime, path, kind))
        return {path: kind for _, path, kind in sorted(found, reverse=True)}

    def _changed(self, changes: list[Change]) -> None:
        self._soon(lambda: self._take_all(changes))

    def _take_all(self, changes: Iterable[Change]) -> None:
        from engine.transcripts.importers.run import is_session_log  # noqa: PLC0415 — only where logs are followed

        for change in changes:
            for real, (folder, kind) in self._folders.items():
                if change.kind == "removed" or real not in change.path.parents:
                    continue
                inside = change.path.relative_to(real)
                if is_session_log(inside):
                    self._take(folder / inside, kind)

    def _catch_up(self) -> None:
        """Takes in one log and leaves the others for later: what happens now goes first."""
        if self._behind:
            path = next(iter(self._behind))
            self._take(path, self._behind[path])
            self._soon(self._catch_up)
        elif self._has_written:
            from engine.conversations.imports import commit_imported  # noqa: PLC0415 — only after an import

            self._has_written = False
            commit_imported(self._engine)

    def _take(self, path: Path, kind: Kind) -> None:
        from engine.transcripts.importers.run import import_file  # noqa: PLC0415 — only where logs are followed

        is_past = self._behind.pop(path, None) is not None
        with contextlib.suppress(ImportFailed):
            result = import_file(
                kind,
                path,
                self._engine.workspace,
                self._engine.files,
                redact=self._engine.config.capture.redact,
            )
            if is_past and _is_written(result):
                self._has_written = True
                self._past(result.target)


def _is_written(result: ImportResult) -> bool:
    return bool(result.target) and result.status in ("new", "grown", "replaced")
