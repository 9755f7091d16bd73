"""Watches a workspace for changes by other programs.

Native file events are only hints: editors replace files instead of writing them, queues overflow silently,
and a folder may fill before it is watched. So an event only says where to scan, and regular full scans catch
the rest. Without native events, the watcher polls.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.store.tree import EXCLUDED, Change, ChangeKind, Tree

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

__all__ = ["EXCLUDED", "Change", "ChangeKind", "Watcher"]

Mode = Literal["live", "polling", "off"]

_POLL_S = 1.0
_GATHER_MS = 60
"""Maximum time to gather a burst of events before scanning."""
_STEP_MS = 25
_SECOND_LOOKS_S = (0.15, 0.6)
_MOST_SECOND_LOOKS = 256
_PAUSE_PER_LOOK = {"live": 100, "polling": 20, "off": 20}
_JOIN_S = 5.0


class Watcher:
    """Watches a folder tree in a separate thread.

    Args:
        on_changes: Called in the watcher's thread with what changed; never with an empty list.
        polling: Do not use native events.
        rescan_s: Seconds between full scans; more if the tree is so large that scanning would take a
        noticeable share of the time.
        extra: More folders, which need not exist yet.

    Attributes:
        mode: ``live`` with native events, ``polling`` without, ``off`` when not running.
        why: Why the mode is not ``live``; empty if it is, or if polling was requested.
    """

    def __init__(
        self,
        root: Path,
        on_changes: Callable[[list[Change]], None],
        *,
        polling: bool = False,
        rescan_s: float = 5.0,
        extra: Iterable[Path] = (),
    ) -> None:
        self.root = root.resolve()
        self.extra = tuple(folder.resolve() for folder in extra)
        self._on_changes = on_changes
        self._polling = polling
        self._rescan_s = rescan_s
        self.mode: Mode = "off"
        self.why = ""
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._rescan_asked = False
        self._thread: threading.Thread | None = None
        self._tree = self._new_tree()
        self._native: RustNotify | None = None
        self._watched: tuple[tuple[str, int, int], ...] = ()

    def start(self) -> None:
        """Start. All changes after this returns are reported."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._stop.clear()
        self._wake.clear()
        self._tree = self._new_tree()
        self._open_native()
        self._tree.look_everywhere()
        self._tree.new_folders.clear()
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop, and wait for the thread to end. Nothing is reported afterwards."""
        self._stop.set()
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN_S)
            self._thread = None

    def rescan(self) -> None:
        """Schedule a full scan in the watcher's thread."""
        self._rescan_asked = True
        self._wake.set()

    def _new_tree(self) -> Tree:
        return Tree((self.root, *self.extra), stopped=self._stop.is_set)

    def _run(self) -> None:
        try:
            self._follow()
        finally:
            self._close_native()
            why = "" if self._stop.is_set() else "stopped by an error while handling changes"
            self.mode, self.why = "off", why

    def _follow(self) -> None:
        next_full = time.monotonic() + self._rescan_s
        second_looks: list[tuple[float, str]] = []
        while not self._stop.is_set():
            soonest = min([next_full, *(at for at, _ in second_looks)])
            places = self._wait(max(0.0, soonest - time.monotonic()))
            if self._stop.is_set():
                return
            now = time.monotonic()
            if self._rescan_asked or self._native is None or now >= next_full:
                self._rescan_asked = False
                self._reopen_native()
                changes = self._tree.look_everywhere(places)
                took = time.monotonic() - now
                next_full = time.monotonic() + max(self._pause_s(), took * _PAUSE_PER_LOOK[self.mode])
            else:
                places |= {folder for at, folder in second_looks if at <= now}
                changes = self._tree.look_at(places)
            second_looks = [look for look in second_looks if look[0] > now]
            # A folder may have filled before the system started to watch it.
            for folder in self._tree.new_folders[:_MOST_SECOND_LOOKS]:
                second_looks += [(now + delay, folder) for delay in _SECOND_LOOKS_S]
            self._tree.new_folders.clear()
            if changes and not self._stop.is_set():
                self._on_changes(changes)

    def _pause_s(self) -> float:
        return self._rescan_s if self._native is not None else min(self._rescan_s, _POLL_S)

    def _wait(self, seconds: float) -> set[str]:
        """Sleep until something happens; returns the paths of native events."""
        if self._native is None:
            self._wake.wait(seconds)
            self._wake.clear()
            return set()
        try:
            events = self._native.watch(_GATHER_MS, _STEP_MS, max(1, int(seconds * 1000)), self._wake)
        except (OSError, RuntimeError) as error:
            self._fall_back(error)
            return set()
        if isinstance(events, str):
            self._wake.clear()
            return set()
        return {path for _, path in events}

    def _open_native(self) -> None:
        if self._polling:
            self.mode, self.why = "polling", ""
            return
        self._watched = self._present()
        folders = [folder for folder, _, _ in self._watched]
        try:
            from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 — takes 20 ms, and only watchers need it

            self._native = RustNotify(folders, False, False, 0, True, True)
        except (ImportError, OSError, RuntimeError) as error:
            self._fall_back(error)
        else:
            self.mode, self.why = "live", ""

    def _reopen_native(self) -> None:
        """Restart native watching if a watched folder has appeared or was replaced."""
        if self._native is not None and self._present() != self._watched:
            self._close_native()
            self._open_native()

    def _present(self) -> tuple[tuple[str, int, int], ...]:
        present = []
        for root in self._tree.roots:
            with contextlib.suppress(OSError):
                status = Path(root).stat()
                present.append((root, status.st_dev, status.st_ino))
        return tuple(present)

    def _close_native(self) -> None:
        if self._native is not None:
            self._native.close()
            self._native = None

    def _fall_back(self, error: Exception) -> None:
        self._close_native()
        self.mode = "polling"
        self.why = f"no native file events ({error}); polling every {self._pause_s():g} s"
