"""A cache of folders that are slow to build but can be rebuilt at any time.

A folder is built under a temporary name and renamed to its key when complete. It is valid only while its
files match the seal taken then; a folder changed by a power cut, a temp cleaner or the user is rebuilt.
Callers hold a shared lock on a folder; only unlocked folders are removed. Unlike ``store.files``, nothing is
synced, because nothing can be lost.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from engine.errors import PathRefused, ReadOnly
from engine.store import descriptors
from engine.store.faults import reach
from engine.store.files import Files, reported
from engine.store.paths import TEMP_PREFIX

KEPT = 6
"""Number of folders kept, most recently used first."""

_CONTENT = "content"
_LOCK = "lock"
_SEAL = "seal.json"
_FORM = 1
_ATTEMPTS = 5
_UNLOCKED_S = 60.0
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)

Make = Callable[[Path], tuple[str, ...]]
"""Fills an empty folder; returns notes, which are stored and passed to every later user."""


@dataclass(frozen=True, slots=True)
class Held:
    """A folder in use."""

    folder: Path
    notes: tuple[str, ...]
    """The notes returned by its builder."""


class FolderCache:
    """Folders below one folder of ``scratch/``, by key. Safe to use from several threads and processes.

    In a read-only workspace, a folder is built in the system's temporary folder and removed on release.

    Args:
        place: Workspace-relative folder.
        unsealed: Whether a top-level name of a cached folder may change while in use.
    """

    def __init__(
        self, files: Files, place: str, *, unsealed: Callable[[str], bool] = lambda _: False, keep: int = KEPT
    ) -> None:
        self._files = files
        self._place = place
        self._unsealed = unsealed
        self._keep = keep

    @contextlib.contextmanager
    def hold(self, key: str, make: Make) -> Iterator[Held]:
        """The folder of a key, built if missing; it is kept while the context lasts.

        Args:
            key: Letters, digits and hyphens.
            make: Fills a folder. If it raises, nothing is left behind.

        Raises:
            WriteFailed: The disk is full or failing.
        """
        root = self._root()
        if root is None:
            with tempfile.TemporaryDirectory(prefix="autopoiesis-", ignore_cleanup_errors=True) as aside:
                content = Path(os.path.realpath(aside)) / _CONTENT
                with reported(aside):
                    content.mkdir()
                    notes = make(content)
                yield Held(content, notes)
            return
        self._sweep(root, key)
        for _ in range(_ATTEMPTS):
            existed = os.path.lexists(root / key)
            with self._held(root / key) as held:
                if held is not None:
                    yield held
                    return
            if existed:
                _discard(root / key)
                if os.path.lexists(root / key):
                    # An invalid folder is still in use. Leave it until it is released.
                    break
            with self._making(root, make) as (aside, notes):
                with reported(self._place):
                    reach("move:rename")
                    taken = _rename(aside, root / key)
                if not taken:
                    yield Held(root / key / _CONTENT, notes)
                    return
        with self._making(root, make) as (aside, notes):
            yield Held(aside / _CONTENT, notes)

    def _root(self) -> Path | None:
        """The folder of the cache; ``None`` if it is not writable."""
        if self._files.read_only:
            return None
        workspace = self._files.workspace
        parts = workspace.resolve(self._place).relative_to(workspace.root).parts
        try:
            with reported(self._place), descriptors.open_folder(workspace.root, parts, create=True):
                return workspace.root.joinpath(*parts)
        except ReadOnly:
            return None

    @contextlib.contextmanager
    def _held(self, entry: Path) -> Iterator[Held | None]:
        """A cached folder that is still valid; ``None`` if there is none."""
        with _locked(entry / _LOCK, fcntl.LOCK_SH) as is_mine:
            if not is_mine:
                yield None
                return
            try:
                seal = json.loads((entry / _SEAL).read_bytes())
                notes = tuple(map(str, seal["notes"]))
                is_whole = seal["form"] == _FORM and seal["files"] == self._sealed(entry / _CONTENT)
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                is_whole = False
            if not is_whole:
                yield None
                return
            with contextlib.suppress(OSError):
                os.utime(entry / _LOCK)
            yield Held(entry / _CONTENT, notes)

    @contextlib.contextmanager
    def _making(self, root: Path, make: Make) -> Iterator[tuple[Path, tuple[str, ...]]]:
        """A new folder under a temporary name, built and sealed; removed on exit unless renamed."""
        aside = root / f"{TEMP_PREFIX}{secrets.token_hex(6)}"
        try:
            with reported(self._place):
                reach("folder:create")
                aside.mkdir(mode=0o700)
                (aside / _LOCK).touch()
            with _locked(aside / _LOCK, fcntl.LOCK_SH):
                with reported(self._place):
                    (aside / _CONTENT).mkdir()
                    notes = make(aside / _CONTENT)
                    seal = {"form": _FORM, "files": self._sealed(aside / _CONTENT), "notes": notes}
                    reach("temp:write")
                    (aside / _SEAL).write_text(json.dumps(seal), "utf-8")
                yield aside, notes
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _sealed(self, folder: Path) -> str:
        """A digest of the file names and their modification times."""
        lines: list[bytes] = []
        for place, folders, names in os.walk(folder):
            if place == str(folder):
                folders[:] = [name for name in folders if not self._unsealed(name)]
                names = [name for name in names if not self._unsealed(name)]
            for name in names:
                path = os.path.join(place, name)  # noqa: PTH118 — plain strings, thousands at once
                found = os.lstat(path)
                numbers = (found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
                lines.append(os.fsencode(path[len(str(folder)) :]) + b"\0" + repr(numbers).encode())
        return sha256(b"\0".join(sorted(lines))).hexdigest()

    def _sweep(self, root: Path, key: str) -> None:
        """Remove unfinished folders and the oldest finished ones, except those in use."""
        finished: list[tuple[int, Path]] = []
        # A younger folder may not have been locked by its builder yet.
        horizon = time.time() - _UNLOCKED_S
        with contextlib.suppress(OSError), os.scandir(root) as found:
            for entry in found:
                path = Path(entry.path)
                if entry.name.startswith(TEMP_PREFIX):
                    if entry.stat(follow_symlinks=False).st_mtime < horizon:
                        _discard(path)
                elif entry.name != key:
                    with contextlib.suppress(OSError):
                        finished.append(((path / _LOCK).stat().st_mtime_ns, path))
        for _, path in sorted(finished, reverse=True)[self._keep - 1 :]:
            _discard(path)


@contextlib.contextmanager
def _locked(lock: Path, kind: int) -> Iterator[bool]:
    """Hold a lock file; ``False`` if it does not exist or is already locked.

    A file moved away while waiting for it no longer locks anything.
    """
    try:
        with descriptors.open_folder(lock.parent.parent, (lock.parent.name,)) as folder:
            descriptor = descriptors.open_file(lock.name, folder, os.O_RDWR, lock.name)
    except (OSError, PathRefused):
        yield False
        return
    try:
        is_mine = False
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            is_mine = os.path.samestat(os.fstat(descriptor), lock.stat())
        yield is_mine
    finally:
        os.close(descriptor)


def _discard(entry: Path) -> None:
    """Remove a folder that is not in use."""
    with contextlib.suppress(OSError):
        with _locked(entry / _LOCK, fcntl.LOCK_EX) as is_mine:
            if is_mine:
                _remove(entry)
                return
        # Without a lock file it cannot be held. A builder may be replacing it right now.
        with _naming(entry.parent, fcntl.LOCK_EX):
            if not os.path.lexists(entry / _LOCK):
                _remove(entry)


def _remove(entry: Path) -> None:
    """Remove a folder, renaming it first so that it is never seen half deleted."""
    aside = entry
    if not entry.name.startswith(TEMP_PREFIX):
        aside = entry.with_name(f"{TEMP_PREFIX}{secrets.token_hex(6)}")
        entry.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def _naming(root: Path, kind: int) -> Iterator[None]:
    """Serialize naming folders and removing folders without a lock file."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)


def _rename(aside: Path, target: Path) -> bool:
    """Give a folder its final name, and return whether the name was already taken."""
    with _naming(target.parent, fcntl.LOCK_SH):
        try:
            aside.rename(target)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            return True
    return False
