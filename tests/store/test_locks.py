"""Locks of files among threads and processes, and beside filelock's."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from engine.store.locks import Lock, lock_at


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / ".lock"


def elsewhere(lock: Lock) -> bool:
    """Whether another thread can take it; gives it back."""
    taken: list[bool] = []

    def take() -> None:
        taken.append(lock.acquire(0, 0.001))
        if taken[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return taken[0]


def test_the_thread_that_holds_it_takes_it_again(place: Path) -> None:
    lock = Lock(place)
    assert lock.acquire(0, 0.001) and lock.acquire(0, 0.001)
    found = [(lock.is_locked, elsewhere(lock))]
    for _ in range(2):
        lock.release()
        found.append((lock.is_locked, elsewhere(lock)))
    assert found == [(True, False), (True, False), (False, True)]
    assert place.exists() and place.stat().st_mode & 0o777 == 0o644 & ~umask()


def umask() -> int:
    before = os.umask(0)
    os.umask(before)
    return before


def test_there_is_one_for_a_path(place: Path) -> None:
    assert lock_at(place) is lock_at(place) is not lock_at(place.with_name("other"))


def test_it_and_filelock_exclude_one_another(place: Path) -> None:
    lock = Lock(place)
    with FileLock(place):
        assert not lock.acquire(0.01, 0.001)
    assert lock.acquire(0, 0.001)
    with pytest.raises(Timeout):
        FileLock(place).acquire(timeout=0.01)
    lock.release()
    with FileLock(place, timeout=0):
        pass


def test_one_waits_until_the_other_lets_go(place: Path) -> None:
    lock, other = Lock(place), FileLock(place, thread_local=False)
    other.acquire()
    thread = threading.Timer(0.05, other.release)
    thread.start()
    assert lock.acquire(20, 0.001)
    thread.join()
    lock.release()


def test_a_process_that_was_forked_off_holds_nothing(place: Path) -> None:
    lock = Lock(place)
    assert lock.acquire(0, 0.001)
    child = os.fork()
    if not child:
        os._exit(lock.is_locked or lock.acquire(0, 0.001))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert lock.is_locked and not elsewhere(lock)
    lock.release()


def test_a_file_that_was_removed_guards_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock = fcntl.flock
    removed: list[Path] = []

    def removing(file: int, kind: int) -> None:
        if not removed:
            place.unlink()
            removed.append(place)
        flock(file, kind)

    monkeypatch.setattr(fcntl, "flock", removing)
    lock = Lock(place)
    assert lock.acquire(1, 0.001)
    assert place.exists() and len(removed) == 1
    lock.release()


def test_a_link_is_not_followed_and_no_file_stays_open(place: Path, tmp_path: Path) -> None:
    place.symlink_to(tmp_path / "outside")
    with pytest.raises(OSError) as found:
        Lock(place).acquire(0, 0.001)
    assert found.value.errno == errno.ELOOP
    assert not (tmp_path / "outside").exists()


def test_where_the_file_system_has_no_such_locks_filelock_finds_another_way(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_file: int, _kind: int) -> None:
        raise OSError(errno.ENOSYS, "not implemented")

    monkeypatch.setattr(fcntl, "flock", missing)
    monkeypatch.setattr("filelock.FileLock", Stand)
    lock = Lock(place)
    seen = [lock.acquire(0, 0.001), lock.is_locked]
    lock.release()
    seen.append(lock.is_locked)
    monkeypatch.setattr(Stand, "busy", True)
    assert [*seen, lock.acquire(0, 0.001)] == [True, True, False, False]


class Stand:
    """In filelock's place."""

    busy = False

    def __init__(self, _path: Path) -> None:
        self.is_locked = False

    def acquire(self, timeout: float, poll_interval: float) -> None:
        if self.busy:
            raise Timeout("")
        self.is_locked = True

    def release(self) -> None:
        self.is_locked = False
