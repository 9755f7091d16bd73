"""The trash restores the same bytes and never accepts a file that changed on the way."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.errors import HarvestRefused
from engine.knowledge.trash import FOLDER, Trash
from engine.store.files import Files
from engine.store.paths import Workspace

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
PATH = "conversations/a.md"
TALK = "## 18:00 — user\nhöre \udcff zu\r\n".encode("utf-8", "surrogateescape")
SHA = hashlib.sha256(TALK).hexdigest()


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "memory-config.yaml").touch()
    files = Files(Workspace.open(tmp_path))
    files.create(PATH, TALK)
    return files


def there(files: Files, path: str) -> bool:
    return files.workspace.root.joinpath(path).exists()


def test_a_conversation_is_moved_with_its_manifest_and_bytes(files: Files) -> None:
    trash = Trash(files, Clock())
    put = trash.put(PATH, SHA, "harvested")
    assert not there(files, PATH)
    assert trash.all() == (put,)
    assert (put.path, put.size, put.why) == (PATH, len(TALK), "harvested")
    assert trash.content(SHA) == TALK


def test_content_other_than_harvested_is_not_moved(files: Files) -> None:
    files.replace(PATH, b"more was said")
    with pytest.raises(HarvestRefused, match="changed in the meantime and is kept"):
        Trash(files, Clock()).put(PATH, SHA, "harvested")
    assert files.read(PATH) == b"more was said"


def test_a_file_saved_between_check_and_move_is_restored(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    trash = Trash(files, Clock())
    move = files.move

    def saved_first(source: str, target: str) -> None:
        if source == PATH:
            files.workspace.root.joinpath(PATH).write_bytes(b"saved in between")
        move(source, target)

    monkeypatch.setattr(files, "move", saved_first)
    with pytest.raises(HarvestRefused):
        trash.put(PATH, SHA, "harvested")
    assert files.read(PATH) == b"saved in between"
    assert trash.all() == ()


def test_a_manifest_without_content_is_ignored(files: Files) -> None:
    trash = Trash(files, Clock())
    trash.put(PATH, SHA, "harvested")
    os.remove(files.workspace.root / FOLDER / SHA / "content")
    assert trash.all() == ()
    assert trash.content(SHA) is None
    assert trash.recover() == ()


def test_a_copy_under_another_name_is_moved_as_well(files: Files) -> None:
    trash = Trash(files, Clock())
    trash.put(PATH, SHA, "harvested")
    files.create("conversations/copy.md", TALK)
    trash.put("conversations/copy.md", SHA, "harvested")
    assert not there(files, "conversations/copy.md")
    assert [each.path for each in trash.all()] == [PATH]
    assert trash.content(SHA) == TALK


def test_a_copy_stays_as_long_as_the_later_of_two_names(files: Files) -> None:
    clock = Clock()
    trash = Trash(files, clock)
    trash.put(PATH, SHA, "harvested")
    clock.now = NOW + timedelta(days=6)
    files.create("conversations/b.md", TALK)
    trash.put("conversations/b.md", SHA, "harvested")
    clock.now = NOW + timedelta(days=8)
    assert trash.purge(7) == () and trash.content(SHA) == TALK


def test_a_conversation_is_not_deleted_in_favour_of_a_damaged_copy(files: Files) -> None:
    trash = Trash(files, Clock())
    trash.put(PATH, SHA, "harvested")
    files.replace(f"{FOLDER}/{SHA}/content", b"saved by an editor")
    files.create("conversations/b.md", TALK)
    trash.put("conversations/b.md", SHA, "harvested")
    assert trash.content(SHA) == TALK
    assert files.read(PATH) == b"saved by an editor"


def test_a_conversation_is_purged_only_after_its_retention(files: Files) -> None:
    clock = Clock()
    trash = Trash(files, clock)
    trash.put(PATH, SHA, "harvested")
    clock.now = NOW + timedelta(days=7)
    assert trash.purge(7) == ()
    clock.now = NOW + timedelta(days=7, seconds=1)
    assert [each.path for each in trash.purge(7)] == [PATH]
    assert trash.all() == ()
    assert not there(files, f"{FOLDER}/{SHA}")


def test_content_that_was_not_harvested_is_restored_and_never_purged(files: Files) -> None:
    clock = Clock()
    trash = Trash(files, clock)
    trash.put(PATH, SHA, "harvested")
    files.workspace.root.joinpath(FOLDER, SHA, "content").write_bytes(b"an editor still held it open")
    clock.now = NOW + timedelta(days=400)
    assert trash.purge(7) == ()
    files.create(PATH, b"a new one has the name")
    (back,) = trash.recover()
    assert files.read(back) == b"an editor still held it open"
    assert files.read(PATH) == b"a new one has the name"


@pytest.mark.parametrize("manifest", [b"", b"[]", b'{"sha256": 1}', b"\xff", b'{"at": "x"}'])
def test_a_damaged_manifest_hides_a_conversation_and_keeps_it(files: Files, manifest: bytes) -> None:
    clock = Clock()
    trash = Trash(files, clock)
    trash.put(PATH, SHA, "harvested")
    files.replace(f"{FOLDER}/{SHA}/manifest.json", manifest)
    clock.now = NOW + timedelta(days=400)
    assert trash.purge(7) == ()
    assert trash.content(SHA) == TALK
