"""Folders that take long to make and can be made again at any time, kept for a while.

A folder is made aside and appears under its key by one rename, complete. It is believed only while the files
in it are those that were sealed then: what a power cut, a cleaner of temporary files or a person has changed
is made anew. The user of a folder holds a shared lock in it; only a folder without one is removed.
Nothing is synced, since nothing can be lost: that is the one way in which this differs from ``store.files``.
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
"""Folders kept: those used last."""

_CONTENT = "content"
_LOCK = "lock"
_SEAL = "seal.json"
_FORM = 1
_ATTEMPTS = 5
_UNLOCKED_S = 60.0
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)

Make = Callable[[Path], tuple[str, ...]]
"""Fills an empty folder; gives notes, which every later user of it is given too."""


@dataclass(frozen=True, slots=True)
class Held:
    """A folder in use."""

    folder: Path
    notes: tuple[str, ...]
    """What its maker said of it."""


class FolderCache:
    """Folders below one folder of ``scratch/``, by key. Safe to use from several threads and processes.

    In a workspace that cannot be written, a folder is made in the system's place for temporary files, and
    goes when it is let go of.

    Args:
        place: Workspace-relative folder.
        unsealed: Whether a name at the top of a made folder is one that may change while it is used.
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
        """The folder of a key, made if there is none; it stays while the context lasts.

        Args:
            key: Names what ``make`` makes; letters, digits and hyphens.
            make: Fills a folder. What it raises leaves nothing behind.

        Raises:
            WriteFailed: There is no room, or the disk fails.
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
                    # Somebody uses a folder that is not what it was. It is theirs until they let go of it.
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
        """Where the folders are; ``None`` where nothing can be written."""
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
        """A folder that is there and is what it was; ``None`` when there is none such."""
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
        """A folder aside, made and sealed; gone at the end if it was not renamed."""
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
        """A digest of which files there are, and of what the system says when each was last changed."""
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
        """Removes what was left unfinished, and of the finished the oldest; what is in use stays."""
        finished: list[tuple[int, Path]] = []
        # What is younger may be a folder whose maker has not come to lock it.
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
    """Holds a lock file; ``False`` when there is none, or it is another's.

    A file that was moved away while it was waited for holds nothing any more.
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
    """Removes a folder that is not held."""
    with contextlib.suppress(OSError):
        with _locked(entry / _LOCK, fcntl.LOCK_EX) as is_mine:
            if is_mine:
                _remove(entry)
                return
        # Without a lock file it cannot be held. A maker may put a whole one in its place at this moment.
        with _naming(entry.parent, fcntl.LOCK_EX):
            if not os.path.lexists(entry / _LOCK):
                _remove(entry)


def _remove(entry: Path) -> None:
    """Removes a folder. It loses its name first: no one sees a part of it."""
    aside = entry
    if not entry.name.startswith(TEMP_PREFIX):
        aside = entry.with_name(f"{TEMP_PREFIX}{secrets.token_hex(6)}")
        entry.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def _naming(root: Path, kind: int) -> Iterator[None]:
    """Keeps those who give folders their names and those who take away what has no lock apart."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)


def _rename(aside: Path, target: Path) -> bool:
    """Gives a folder its name; whether another has it already."""
    with _naming(target.parent, fcntl.LOCK_SH):
        try:
            aside.rename(target)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            return True
    return False
