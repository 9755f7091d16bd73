from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.store.tree import Change, Tree
from engine.store.watcher import Watcher

TIMEOUT_S = 60.0


class Recorder:
    """Collects the changes reported by a watcher, and waits for them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changes: list[tuple[str, str]] = []
        self.threads: set[str] = set()
        self._arrived = threading.Condition()

    def __call__(self, changes: list[Change]) -> None:
        assert changes
        with self._arrived:
            self.threads.add(threading.current_thread().name)
            for change in changes:
                name = os.path.relpath(change.path, self.root)
                self.changes.append((change.kind, name))
            self._arrived.notify_all()

    def wait(self, done: Callable[[list[tuple[str, str]]], bool]) -> list[tuple[str, str]]:
        with self._arrived:
            assert self._arrived.wait_for(lambda: done(self.changes), TIMEOUT_S), self.changes[-20:]
            return list(self.changes)

    def wait_for(self, kind: str, name: str) -> None:
        self.wait(lambda changes: (kind, name) in changes)

    def present(self) -> set[str]:
        """The files that exist according to the reports, applied in order."""
        names: set[str] = set()
        for kind, name in list(self.changes):
            if kind == "removed":
                names.discard(name)
            else:
                names.add(name)
        return names


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "watched"
    (root / "topics").mkdir(parents=True)
    (root / "topics" / "a.md").write_text("a")
    return root


@pytest.fixture
def seen(root: Path) -> Recorder:
    return Recorder(root)


@pytest.fixture(params=["live", "polling"])
def watcher(request: pytest.FixtureRequest, root: Path, seen: Recorder) -> Iterator[Watcher]:
    polling = request.param == "polling"
    # With native events the periodic scan is turned off, so that only events are tested.
    watcher = Watcher(root, seen, polling=polling, rescan_s=0.05 if polling else 600)
    watcher.start()
    assert (watcher.mode, watcher.why) == (request.param, "")
    yield watcher
    watcher.stop()


def atomic_save(path: Path, text: str) -> None:
    temp = path.with_name(f".tmp-{path.name}")
    temp.write_text(text)
    temp.replace(path)


def test_new_changed_and_removed_files_are_reported(watcher: Watcher, root: Path, seen: Recorder) -> None:
    (root / "topics" / "b.md").write_text("b")
    seen.wait_for("added", "topics/b.md")
    (root / "topics" / "a.md").write_text("longer")
    seen.wait_for("changed", "topics/a.md")
    (root / "topics" / "b.md").unlink()
    seen.wait_for("removed", "topics/b.md")
    assert seen.threads == {"watcher"}


def test_every_save_by_an_editor_is_reported(watcher: Watcher, root: Path, seen: Recorder) -> None:
    for count in range(1, 5):
        atomic_save(root / "topics" / "a.md", str(count))
        seen.wait(lambda changes, count=count: changes.count(("changed", "topics/a.md")) >= count)  # type: ignore[misc]
    assert {name for _, name in seen.changes} == {"topics/a.md"}


def test_a_save_of_the_same_size_at_the_same_time_is_reported(root: Path, seen: Recorder) -> None:
    watcher = Watcher(root, seen, rescan_s=600)
    watcher.start()
    path = root / "topics" / "a.md"
    try:
        for count in range(1, 20):
            before = len(seen.changes)
            path.write_text(chr(96 + count))
            seen.wait(lambda changes, before=before: len(changes) > before)  # type: ignore[misc]
    finally:
        watcher.stop()


def test_a_moved_file_is_reported_as_removed_and_added(watcher: Watcher, root: Path, seen: Recorder) -> None:
    (root / "topics" / "a.md").rename(root / "b.md")
    seen.wait_for("removed", "topics/a.md")
    seen.wait_for("added", "b.md")


def test_files_in_new_folders_are_reported(watcher: Watcher, root: Path, seen: Recorder) -> None:
    expected = set()
    for day in range(6):
        folder = root / "raw" / "conversations" / "2026" / "02" / f"{day:02}"
        folder.mkdir(parents=True)
        for index in range(5):
            (folder / f"{index}.md").write_text("x")
            expected.add(f"raw/conversations/2026/02/{day:02}/{index}.md")
    seen.wait(lambda _: expected <= seen.present())


def test_a_folder_moved_in_and_out_is_reported(
    watcher: Watcher, root: Path, seen: Recorder, tmp_path: Path
) -> None:
    (tmp_path / "other" / "deep").mkdir(parents=True)
    (tmp_path / "other" / "deep" / "a.md").write_text("x")
    (tmp_path / "other").rename(root / "other")
    seen.wait_for("added", "other/deep/a.md")
    shutil.rmtree(root / "other")
    seen.wait_for("removed", "other/deep/a.md")


def test_excluded_files_are_never_reported(watcher: Watcher, root: Path, seen: Recorder) -> None:
    for folder in (".git/objects", "scratch", "knowledge/.git", "knowledge/scratch"):
        (root / folder).mkdir(parents=True)
    for name in (
        ".git/objects/x",
        "scratch/x",
        "knowledge/.git/x",
        "memory.db",
        "memory.db-wal",
        "topics/.tmp-x",
        "topics/.deploy.md.swp",
        "topics/4913",
        "topics/deploy.md~",
    ):
        (root / name).write_text("x")
    (root / "knowledge" / "scratch" / "x.md").write_text("x")
    (root / "last.md").write_text("x")
    seen.wait(lambda _: {"last.md", "knowledge/scratch/x.md"} <= seen.present())
    watcher.rescan()
    (root / "very-last.md").write_text("x")
    seen.wait_for("added", "very-last.md")
    assert seen.present() == {"last.md", "very-last.md", "knowledge/scratch/x.md"}


WRITER = """
import pathlib, sys
root = pathlib.Path(sys.argv[1])
for index in range(5000):
    folder = root / "burst" / str(index % 7)
    if index < 7:
        folder.mkdir(parents=True)
    (folder / f"{index}.md").write_text("x")
    if index % 5 == 0:
        (folder / f"{index}.md").unlink()
"""


def test_after_a_burst_the_reports_add_up_to_the_existing_files(
    watcher: Watcher, root: Path, seen: Recorder
) -> None:
    subprocess.run([sys.executable, "-c", WRITER, str(root)], check=True)
    expected = {f"burst/{index % 7}/{index}.md" for index in range(5000) if index % 5}
    seen.wait(lambda _: seen.present() == expected)


def test_lost_events_are_recovered_on_demand(
    root: Path, seen: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher(root, seen, rescan_s=600)
    # As when the system's queue overflows: events never arrive.
    monkeypatch.setattr(Tree, "look_at", lambda self, paths: [])
    watcher.start()
    try:
        (root / "a.md").write_text("x")
        (root / "topics" / "a.md").unlink()
        watcher.rescan()
        seen.wait_for("added", "a.md")
        seen.wait_for("removed", "topics/a.md")
    finally:
        watcher.stop()


def test_lost_events_are_recovered_by_the_periodic_scan(
    root: Path, seen: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher(root, seen, rescan_s=0.1)
    monkeypatch.setattr(Tree, "look_at", lambda self, paths: [])
    watcher.start()
    try:
        (root / "a.md").write_text("x")
        seen.wait_for("added", "a.md")
    finally:
        watcher.stop()


@pytest.mark.parametrize(
    "error", [OSError(28, "inotify watch limit reached"), RuntimeError("no watcher here")]
)
def test_without_native_events_the_watcher_polls_and_says_so(
    root: Path, seen: Recorder, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr("watchfiles._rust_notify.RustNotify", refuse)
    watcher = Watcher(root, seen, rescan_s=0.1)
    watcher.start()
    try:
        assert watcher.mode == "polling"
        assert str(error) in watcher.why
        (root / "a.md").write_text("x")
        seen.wait_for("added", "a.md")
    finally:
        watcher.stop()


def test_when_native_events_fail_later_the_watcher_polls(
    root: Path, seen: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail = threading.Event()

    class Failing:
        def __init__(self, *_: object) -> None:
            pass

        def watch(self, *_: object) -> str:
            assert fail.wait(TIMEOUT_S)
            raise RuntimeError("too many open files")

        def close(self) -> None:
            pass

    monkeypatch.setattr("watchfiles._rust_notify.RustNotify", Failing)
    watcher = Watcher(root, seen, rescan_s=0.1)
    watcher.start()
    try:
        modes: list[str] = [watcher.mode]
        (root / "a.md").write_text("x")
        fail.set()
        seen.wait_for("added", "a.md")
        modes.append(watcher.mode)
        assert modes == ["live", "polling"]
        assert "too many open files" in watcher.why
    finally:
        fail.set()
        watcher.stop()


def test_folders_outside_the_workspace_are_watched_once_they_exist(
    root: Path, seen: Recorder, tmp_path: Path
) -> None:
    present, later = tmp_path / "present", tmp_path / "later" / "projects"
    present.mkdir()
    watcher = Watcher(root, seen, rescan_s=0.1, extra=[present, later])
    watcher.start()
    try:
        (present / "a.jsonl").write_text("x")
        seen.wait_for("added", "../present/a.jsonl")
        later.mkdir(parents=True)
        (later / "b.jsonl").write_text("x")
        seen.wait_for("added", "../later/projects/b.jsonl")
        shutil.rmtree(later)
        seen.wait_for("removed", "../later/projects/b.jsonl")
        later.mkdir(parents=True)
        (later / "c.jsonl").write_text("x")
        seen.wait_for("added", "../later/projects/c.jsonl")
        assert watcher.mode == "live"
    finally:
        watcher.stop()


def test_symlinks_are_reported_as_files_and_not_followed(root: Path, seen: Recorder, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.md").write_text("x")
    watcher = Watcher(root, seen, polling=True, rescan_s=0.05)
    watcher.start()
    try:
        (root / "loop").symlink_to(root)
        (root / "folder").symlink_to(tmp_path / "outside")
        (root / "dangling.md").symlink_to("nowhere")
        os.mkfifo(root / "pipe")
        (root / "link.md").symlink_to(tmp_path / "outside" / "x.md")
        seen.wait_for("added", "link.md")
        (root / "last.md").write_text("x")
        seen.wait_for("added", "last.md")
        assert seen.present() == {"link.md", "last.md"}
    finally:
        watcher.stop()


@pytest.mark.parametrize("polling", [False, True])
def test_stopping_is_immediate_and_leaves_no_thread(root: Path, seen: Recorder, polling: bool) -> None:
    before = set(threading.enumerate())
    watcher = Watcher(root, seen, polling=polling, rescan_s=600)
    watcher.stop()
    for _ in range(3):
        watcher.start()
        watcher.start()
        watcher.rescan()
        watcher.stop()
        assert (watcher.mode, watcher.why) == ("off", "")
        assert set(threading.enumerate()) <= before
    (root / "late.md").write_text("x")
    watcher.stop()
    assert seen.changes == []


def test_the_watcher_can_be_stopped_from_its_callback(root: Path) -> None:
    stopped = threading.Event()

    def stop(_: list[Change]) -> None:
        mine.stop()
        stopped.set()

    mine = Watcher(root, stop, rescan_s=0.05, polling=True)
    mine.start()
    (root / "a.md").write_text("x")
    assert stopped.wait(TIMEOUT_S)
    mine.stop()
    assert mine.mode == "off"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_failing_callback_is_reported(root: Path) -> None:
    def fail(_: list[Change]) -> None:
        raise ValueError("cannot handle this")

    watcher = Watcher(root, fail, rescan_s=0.05, polling=True)
    watcher.start()
    thread = watcher._thread
    assert thread is not None
    (root / "a.md").write_text("x")
    thread.join(TIMEOUT_S)
    assert (watcher.mode, watcher.why) == ("off", "stopped by an error while handling changes")


def test_an_idle_watcher_uses_almost_no_cpu(root: Path, seen: Recorder) -> None:
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from engine.store.watcher import Watcher\n"
        "watcher = Watcher(Path(sys.argv[1]), print)\n"
        "watcher.start()\n"
        "before = time.process_time()\n"
        "time.sleep(0.5)\n"
        "print(time.process_time() - before)\n"
        "watcher.stop()\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", program, str(root)], capture_output=True, text=True, check=True
    )
    assert float(child.stdout) < 0.05


def test_a_folder_replaced_by_a_file_is_reported(root: Path) -> None:
    tree = Tree([root])
    assert tree.look_everywhere() == [Change(root / "topics" / "a.md", "added")]
    (root / "topics").rename(root / "old")
    (root / "topics").write_text("now a file")
    assert tree.look_everywhere() == [
        Change(root / "old" / "a.md", "added"),
        Change(root / "topics", "added"),
        Change(root / "topics" / "a.md", "removed"),
    ]
    assert tree.look_everywhere() == []
    assert tree.files == 2


def test_unwatched_paths_can_be_scanned(root: Path, tmp_path: Path) -> None:
    tree = Tree([root])
    tree.look_everywhere()
    (tmp_path / "watched-not").mkdir()
    (tmp_path / "watched-not" / "a.md").write_text("x")
    assert tree.look_at([str(tmp_path / "watched-not" / "a.md"), "/", str(root / ".git" / "x")]) == []
    assert tree.files == 1
