"""Git's lock files: the index lock is held while a commit is applied, and any that a dead git left behind is
cleared (G1).

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
from engine.store.git_folder import REVISION, common_folder, head, reference_file
from engine.store.paths import INDEX_PREFIX

LOCK = "index.lock"
HEAD_LOCK = "HEAD.lock"
_SHARED = ("packed-refs.lock", "config.lock", "reftable/tables.list.lock")
"""Locks that linked work trees share, besides those of branches and tags."""
STALE_S = 600.0
"""Seconds after which a lock without a running git counts as left behind."""
PATIENCE_S = 0.5
"""Seconds to wait for another git: many take the lock briefly to refresh the index."""
POLL_S = 0.01
_OURS = "autopoiesis "
_MOST_BYTES = 200


def age_s(lock: Path) -> float | None:
    """Seconds since a lock was taken, or until then if the clock was set back; ``None`` if it is not held."""
    try:
        return abs(time.time() - lock.lstat().st_mtime)
    except OSError:
        return None


def locks(folder: Path) -> list[Path]:
    """Every lock of the index, HEAD, branches, tags and settings that is held."""
    common = common_folder(folder)
    places = [folder / LOCK, folder / HEAD_LOCK, *(common / name for name in _SHARED)]
    refs = common / "refs"
    for below, _, names in () if refs.is_symlink() else os.walk(refs):
        places += [Path(below, name) for name in names if name.endswith(".lock")]
    return [place for place in places if os.path.lexists(place)]


def in_the_way(folder: Path) -> Path | None:
    """A lock that prevents a commit, unless it is ours."""
    branch = head(folder)
    places = [folder / HEAD_LOCK]
    if branch.startswith("refs/"):
        places.append(Path(f"{reference_file(folder, branch)}.lock"))
    if left_by_us(folder) is None:
        places.insert(0, folder / LOCK)
    return next((place for place in places if os.path.lexists(place)), None)


def explained(lock: Path, root: Path) -> tuple[str, str]:
    """What a lock means, in one clause, and a hint."""
    name = lock.relative_to(root) if lock.is_relative_to(root) else lock
    age = age_s(lock) or 0.0
    shown_age = f"{int(age)} s" if age < 120 else f"{int(age / 60)} min"
    return (
        f"another git is running or has crashed: {name} is {shown_age} old",
        f"wait for it; if no git is running, the first commit after {STALE_S / 60:.0f} min removes {name}",
    )


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


def leftovers(folder: Path) -> list[Path]:
    """Locks and temporary index files that are old enough to be left behind by a dead process."""
    found = [*locks(folder), *folder.glob(f"{INDEX_PREFIX}*")]
    return [place for place in found if (age_s(place) or 0.0) >= STALE_S]


def clear_stale(folder: Path, root: Path) -> bool:
    """Remove locks and temporary index files older than ten minutes if no git is running in the repository.

    Returns:
        Whether any was removed.

    Raises:
        OSError: One could not be removed.
    """
    left = leftovers(folder)
    if not left or _git_at_work(folder, root):
        return False
    for place in left:
        place.unlink(missing_ok=True)
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
