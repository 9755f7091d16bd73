"""Cached folders are complete or absent, reused while unchanged, and removed when unused."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError, ReadOnly, WriteFailed
from engine.store import folder_cache
from engine.store.faults import fail, trip
from engine.store.files import Files
from engine.store.folder_cache import FolderCache
from engine.store.paths import Workspace

PLACE = "scratch/made"


class Maker:
    """Fills folders and counts its calls."""

    def __init__(self, text: str = "x") -> None:
        self.text = text
        self.made = 0

    def __call__(self, folder: Path) -> tuple[str, ...]:
        self.made += 1
        (folder / "deep").mkdir()
        (folder / "deep" / "a.md").write_text(self.text)
        (folder / "cache").write_text("1")
        return ("a note",)


@pytest.fixture
def cache(files: Files) -> FolderCache:
    return FolderCache(files, PLACE, unsealed=lambda name: name == "cache", keep=2)


@pytest.fixture
def root(workspace: Workspace) -> Path:
    return workspace.root / PLACE


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_a_folder_is_made_once_and_reused(cache: FolderCache, root: Path) -> None:
    maker = Maker()
    for _ in range(3):
        with cache.hold("one", maker) as held:
            assert (held.folder / "deep/a.md").read_text() == "x"
            assert held.notes == ("a note",)
            assert held.folder.is_relative_to(root / "one")
    assert maker.made == 1
    assert names(root) == ["one"]
    assert stat.S_IMODE((root / "one").stat().st_mode) == 0o700


def edit(folder: Path) -> None:
    path = folder / "content/deep/a.md"
    before = path.stat()
    while path.stat().st_mtime_ns == before.st_mtime_ns:  # until the file system's clock has moved on
        path.write_text("y")


def edit_behind_the_clock(folder: Path) -> None:
    path = folder / "content/deep/a.md"
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        path.write_text("y")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def add(folder: Path) -> None:
    (folder / "content/deep/b.md").write_text("y")


def remove(folder: Path) -> None:
    (folder / "content/deep/a.md").unlink()


def truncate(folder: Path) -> None:
    os.truncate(folder / "content/deep/a.md", 0)


def delete_seal(folder: Path) -> None:
    (folder / "seal.json").unlink()


def truncate_seal(folder: Path) -> None:
    os.truncate(folder / "seal.json", 5)


def nest_seal(folder: Path) -> None:
    (folder / "seal.json").write_text("[" * 100_000)


def delete_lock(folder: Path) -> None:
    (folder / "lock").unlink()


@pytest.mark.parametrize(
    "damage",
    [edit, edit_behind_the_clock, add, remove, truncate, delete_seal, truncate_seal, nest_seal, delete_lock],
)
def test_a_damaged_folder_is_made_again(
    cache: FolderCache, root: Path, damage: Callable[[Path], None]
) -> None:
    maker = Maker()
    with cache.hold("one", maker):
        pass
    damage(root / "one")
    with cache.hold("one", maker) as held:
        assert (held.folder / "deep/a.md").read_text() == "x"
        assert [path.name for path in (held.folder / "deep").iterdir()] == ["a.md"]
    assert maker.made == 2
    assert names(root) == ["one"]


def test_cache_files_inside_the_folder_may_change(cache: FolderCache) -> None:
    maker = Maker()
    with cache.hold("one", maker) as held:
        (held.folder / "cache").write_text("2")
    with cache.hold("one", maker) as held:
        assert (held.folder / "cache").read_text() == "2"
    assert maker.made == 1


def test_a_changed_folder_in_use_stays_with_its_holder(cache: FolderCache, root: Path) -> None:
    with cache.hold("one", Maker("old")) as held:
        (held.folder / "deep/b.md").write_text("changed")
        with cache.hold("one", Maker("new")) as other:
            assert other.folder != held.folder
            assert (other.folder / "deep/a.md").read_text() == "new"
        assert (held.folder / "deep/a.md").read_text() == "old"
        assert not other.folder.exists()
    with cache.hold("one", Maker("new")) as held:
        assert (held.folder / "deep/a.md").read_text() == "new"
    assert names(root) == ["one"]


def test_the_oldest_folders_are_removed_but_not_held_ones(cache: FolderCache, root: Path) -> None:
    with cache.hold("held", Maker()) as held:
        for key in ("a", "b", "c"):
            with cache.hold(key, Maker()):
                pass
            time.sleep(0.01)
        assert held.folder.exists()
        assert "held" in names(root) and "c" in names(root) and "a" not in names(root)
    with cache.hold("c", Maker()):
        pass
    with cache.hold("d", Maker()):
        pass
    assert names(root) == ["c", "d"]


def test_use_keeps_a_folder_from_being_removed(cache: FolderCache, root: Path) -> None:
    for key in ("a", "b", "a", "c"):
        with cache.hold(key, Maker()):
            pass
        time.sleep(0.01)
    assert names(root) == ["a", "c"]


def test_a_failing_maker_leaves_nothing(cache: FolderCache, root: Path) -> None:
    def broken(folder: Path) -> tuple[str, ...]:
        Maker()(folder)
        raise AutopoiesisError("no")

    with pytest.raises(AutopoiesisError, match="no"), cache.hold("one", broken):
        pass
    assert names(root) == []


@pytest.mark.parametrize("point", ["folder:create", "temp:write", "move:rename"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_full_or_broken_disk_leaves_nothing(cache: FolderCache, root: Path, point: str, code: int) -> None:
    (root).mkdir(parents=True)
    with (
        pytest.raises(WriteFailed, match="scratch/made"),
        trip(point, fail(code)),
        cache.hold("one", Maker()),
    ):
        pass
    assert names(root) == []
    with cache.hold("one", Maker()) as held:
        assert (held.folder / "deep/a.md").exists()


def test_an_error_of_the_holder_propagates_and_the_folder_stays(cache: FolderCache, root: Path) -> None:
    with pytest.raises(ZeroDivisionError), cache.hold("one", Maker()):
        _ = 1 // 0
    maker = Maker()
    with cache.hold("one", maker):
        pass
    assert maker.made == 0


def test_in_a_read_only_workspace_the_folder_is_temporary(workspace: Workspace, root: Path) -> None:
    cache = FolderCache(Files(workspace, read_only=True), PLACE)
    with cache.hold("one", Maker()) as held:
        assert (held.folder / "deep/a.md").exists()
        assert not held.folder.is_relative_to(workspace.root)
    assert not held.folder.exists()
    assert not root.exists()


def test_with_an_unwritable_scratch_folder_the_folder_is_temporary(
    cache: FolderCache, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with trip("folder:create", fail(errno.EACCES)), cache.hold("one", Maker()) as held:
        assert not held.folder.is_relative_to(root)


def test_a_scratch_symlink_out_of_the_workspace_is_rejected(
    cache: FolderCache, workspace: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace.root / "scratch").symlink_to(outside)
    with pytest.raises(AutopoiesisError, match="symlink"), cache.hold("one", Maker()):
        pass
    assert list(outside.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from engine.store.files import Files
from engine.store.folder_cache import FolderCache
from engine.store.paths import Workspace

def make(folder):
    (folder / "half.md").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

with FolderCache(Files(Workspace.open(sys.argv[1])), "scratch/made").hold("one", make):
    pass
"""


def test_leftovers_of_a_killed_process_are_never_used_and_get_removed(
    cache: FolderCache, workspace: Workspace, root: Path
) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(workspace.root)], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = names(root)
    with cache.hold("one", Maker()) as held:
        assert not (held.folder / "half.md").exists()
    assert names(root) == sorted((left, "one"))
    old = time.time() - 3600
    os.utime(root / left, (old, old))
    with cache.hold("one", Maker()):
        pass
    assert names(root) == ["one"]


def test_a_folder_still_being_made_is_not_removed(cache: FolderCache, root: Path) -> None:
    seen: list[bool] = []

    def slow(folder: Path) -> tuple[str, ...]:
        old = time.time() - 3600
        os.utime(folder.parent, (old, old))
        with cache.hold("other", Maker()):
            seen.append(folder.exists())
        return ()

    with cache.hold("one", slow):
        pass
    assert seen == [True]


def test_threads_may_hold_folders_at_once(cache: FolderCache, root: Path) -> None:
    wrong: list[object] = []

    def use(number: int) -> None:
        key = f"key-{number % 3}"
        for _ in range(8):
            try:
                with cache.hold(key, Maker(key)) as held:
                    if (held.folder / "deep/a.md").read_text() != key:
                        wrong.append(key)
            except Exception as error:  # noqa: BLE001 — any error fails the test
                wrong.append(error)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with cache.hold("key-0", Maker("key-0")):
        pass
    assert not [name for name in names(root) if name.startswith(".")]


def _use(place: str, number: int) -> int:
    """Hold each of three folders repeatedly; returns how often the content was wrong."""
    cache = FolderCache(Files(Workspace.open(place)), PLACE, keep=1)
    wrong = 0
    for turn in range(25):
        key = f"key-{(number + turn) % 3}"
        with cache.hold(key, Maker(key)) as held:
            time.sleep(0.001)
            wrong += (held.folder / "deep/a.md").read_text() != key
    return wrong


def test_processes_may_hold_folders_at_once(workspace: Workspace, root: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.starmap(_use, [(str(workspace.root), number) for number in range(2)]) == [0, 0]
    assert not [name for name in names(root) if name.startswith(".")]


def test_a_read_only_error_names_the_place(files: Files) -> None:
    cache = FolderCache(files, PLACE)
    with (
        pytest.raises(ReadOnly, match=PLACE),
        trip("temp:write", fail(errno.EROFS)),
        cache.hold("a", Maker()),
    ):
        pass


def test_a_folder_without_a_lock_is_checked_again_before_removal(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.mkdir(parents=True)
    entry = root / "key"
    found_none, naming = threading.Event(), folder_cache._naming

    def watched(folder: Path, kind: int) -> AbstractContextManager[None]:
        found_none.set()
        return naming(folder, kind)

    monkeypatch.setattr(folder_cache, "_naming", watched)
    with naming(root, fcntl.LOCK_SH):  # As when a folder is renamed into place.
        taking = threading.Thread(target=folder_cache._discard, args=(entry,))
        taking.start()
        assert found_none.wait(60)
        taking.join(0.2)
        assert taking.is_alive()
        entry.mkdir()
        (entry / folder_cache._LOCK).touch()
    taking.join()
    assert entry.is_dir()
