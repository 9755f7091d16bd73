"""The lock file a git leaves behind when it dies, and when it is safe to take it away (G1)."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from engine import programs

LOCK = "index.lock"
STALE_S = 600.0


def age_s(folder: Path) -> float | None:
    """Seconds since the lock was taken; ``None`` when there is none."""
    try:
        return max(0.0, time.time() - (folder / LOCK).lstat().st_mtime)
    except OSError:
        return None


def clear_stale(folder: Path, root: Path) -> bool:
    """Remove a lock that is older than ten minutes while no git works in the repository.

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
    """Whether a git process may own the lock. One that waits for an editor holds it without an open file."""
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
            # Somebody else's git: it cannot be asked where it works.
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
