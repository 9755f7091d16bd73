"""Git's index lock: held while a commit is applied, and cleared when a dead git left it behind (G1).

Like git, a commit moves the branch first and replaces the index second, both under ``index.lock``. Our lock
names the commit, and its index is prepared next to it, so that the next commit can complete or roll back an
interrupted one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from engine.store import programs
from engine.store.git_folder import REVISION
from engine.store.paths import INDEX_PREFIX

LOCK = "index.lock"
STALE_S = 600.0
PATIENCE_S = 0.5
"""Seconds to wait for another git: many take the lock briefly to refresh the index."""
POLL_S = 0.01
_OURS = "autopoiesis "
_MOST_BYTES = 200


def age_s(folder: Path) -> float | None:
    """Seconds since the lock was taken; ``None`` if it is not held."""
    try:
        return max(0.0, time.time() - (folder / LOCK).lstat().st_mtime)
    except OSError:
        return None


@contextlib.contextmanager
def held(folder: Path, revision: str) -> Iterator[Path]:
    """Hold the lock while a commit is applied, so that other programs cannot change the index.

    The caller holds the workspace lock.

    Args:
        folder: The git folder.

        Yields:
        Path at which to prepare the commit's index; ``finish`` puts it in place.

    Raises:
        FileExistsError: Another program has held the lock for ``PATIENCE_S``.
        OSError: It cannot be taken.
    """
    index = folder / f"{INDEX_PREFIX}{revision}"
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            _take(folder, f"{_OURS}{revision}\n".encode())
            break
        except FileExistsError:
            if time.monotonic() > until:
                raise
            time.sleep(POLL_S)
    try:
        yield index
    finally:
        (folder / LOCK).unlink(missing_ok=True)
        for leftover in folder.glob(f"{index.name}*"):
            leftover.unlink(missing_ok=True)


def _take(folder: Path, text: bytes) -> None:
    """Create the lock, atomically if the file system supports hard links."""
    draft = folder / f"{INDEX_PREFIX}{secrets.token_hex(6)}"
    try:
        with draft.open("xb", buffering=0) as file:
            file.write(text)
        try:
            os.link(draft, folder / LOCK, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:
            with (folder / LOCK).open("xb", buffering=0) as lock:
                lock.write(text)
    finally:
        draft.unlink(missing_ok=True)


def finish(folder: Path, revision: str) -> None:
    """Put the prepared index of a commit in place.

    Raises:
        OSError: It could not be replaced.
    """
    (folder / f"{INDEX_PREFIX}{revision}").replace(folder / "index")


def left_by_us(folder: Path) -> str | None:
    """The commit named by our lock; ``None`` if there is no lock or it is not ours."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(descriptor, _MOST_BYTES).decode("ascii", "replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    revision = text.removeprefix(_OURS).strip()
    return revision if text.startswith(_OURS) and REVISION.fullmatch(revision) else None


def recover(folder: Path, newest: str | None) -> None:
    """Complete or roll back a commit that was interrupted because its process died.

    The caller holds the workspace lock, so that process is gone.

    Args:
        folder: The repository's own folder.
        newest: The newest commit of the branch.

    Raises:
        OSError: The recovery failed.
    """
    revision = left_by_us(folder)
    if revision is None:
        return
    if revision == newest:
        with contextlib.suppress(FileNotFoundError):
            finish(folder, revision)
    (folder / LOCK).unlink(missing_ok=True)
    for leftover in folder.glob(f"{INDEX_PREFIX}{revision}*"):
        leftover.unlink(missing_ok=True)


def clear_stale(folder: Path, root: Path) -> bool:
    """Remove a lock older than ten minutes if no git is running in the repository.

    Returns:
        Whether one was removed.

    Raises:
        OSError: It could not be removed.
    """
    age = age_s(folder)
    if age is None or age < STALE_S or _git_at_work(folder, root):
        return False
    (folder / LOCK).unlink(missing_ok=True)
    return True


def _git_at_work(folder: Path, root: Path) -> bool:
    """Whether a git process may own the lock. A git waiting for an editor holds it without an open file."""
    processes = Path("/proc")
    if not (processes / "self" / "cwd").exists():
        return _any_git()
    for process in processes.iterdir():
        if not process.name.isdecimal():
            continue
        try:
            if not (process / "comm").read_text("utf-8", "replace").startswith("git"):
                continue
            place = (process / "cwd").readlink()
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError:
            # Another user's git: its working directory cannot be read.
            return True
        if place in (root, folder) or root in place.parents or folder in place.parents:
            return True
    return False


def _any_git() -> bool:
    try:
        listed = subprocess.run(
            [programs.find("ps") or "/bin/ps", "-Ao", "comm="],
            env=programs.surroundings(),
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    names = listed.stdout.decode("utf-8", "replace").splitlines()
    return any(Path(name.strip()).name.startswith("git") for name in names)
