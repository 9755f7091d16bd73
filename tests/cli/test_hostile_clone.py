"""A clone that ships links and pipes in the places of its index, caches, locks and folders.

Nothing outside of it is read into it, changed or made; search goes by the files; and ``doctor`` names each.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.search.database import open_reader, open_writer
from tests.cli.conftest import Command

pytestmark = pytest.mark.timeout(60)

SECRET = "ssh-rsa AAAAB3 zanzibar@outside\n"

INDEX = ("memory.db", "memory.db-wal", "memory.db-shm", "memory.db-journal")
LOCKS = ("scratch/.lock", "scratch/.index.lock", "scratch/.vectors.lock")
CACHES = (
    "scratch/search.image", "scratch/search.image.new", "scratch/settings.json", "scratch/gate-cache.jsonl",
    "scratch/gate-model.json", "scratch/proofs.json", "scratch/labelled.json", "scratch/headings.json",
    "scratch/similarity.fit", "scratch/topics.json", "scratch/references.json",
    "scratch/file-sightings.json", "scratch/prompt.md",
)  # fmt: skip
CACHE_FOLDERS = ("scratch/revisions", "scratch/prefixes", "scratch/flush", "scratch/harvest", "scratch/trash")
FOLDERS = ("conversations", "topics", "knowledge")
MORE_FOLDERS = ("logs", "presets", "raw", "archive", "attachments")
TARGETS = ("keys", "new", "folder")

OF_THE_INDEX = (
    ("-C", "{root}", "doctor"),
    ("-C", "{root}", "search", "deploy"),
    ("-C", "{root}", "compile", "what about the deploy"),
    ("-C", "{root}", "index"),
    ("-C", "{root}", "index", "--verify"),
)
COMMANDS = (
    ("init", "{root}"),
    ("init", "--hooks", "{root}"),
    *OF_THE_INDEX,
    ("-C", "{root}", "doctor", "--staged"),
    ("-C", "{root}", "commit", "--dry-run"),
    ("-C", "{root}", "search", "zanzibar"),
    ("-C", "{root}", "compile", "--record", "what about the deploy"),
    ("-C", "{root}", "trace", "what about the deploy"),
    ("-C", "{root}", "review", "list"),
    ("-C", "{root}", "harvest"),
    ("-C", "{root}", "topics", "list"),
    ("-C", "{root}", "cache"),
)


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder beside the workspace, of which everything must stay as it is, and unseen."""
    folder = tmp_path / "outside"
    (folder / "folder").mkdir(parents=True)
    (folder / "keys").write_text(SECRET)
    (folder / "folder" / "zanzibar.md").write_text(f"---\ntype: knowledge\n---\n\n# Zanzibar\n\n{SECRET}")
    (folder / "folder" / ".lock").write_text(SECRET)
    before = _state(folder)
    listed: list[str] = []
    scandir = os.scandir

    def listing(path: Any = ".") -> Any:
        if not isinstance(path, int) and Path(os.path.realpath(path)).is_relative_to(folder):
            listed.append(os.fsdecode(path))
        return scandir(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", listing)
        yield folder
    assert listed == [], "not even the names are looked at"
    assert _state(folder) == before


def _state(folder: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        data = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (status.st_mode, status.st_ino, status.st_mtime_ns, status.st_size, data)
    return found


def thorough(*values: object) -> Any:
    """A case that ``make sweep`` tries."""
    return pytest.param(*values, marks=pytest.mark.thorough)


def put(root: Path, path: str, make: Callable[[Path], object]) -> None:
    """Puts something else in the place of a file or folder."""
    place = root / path
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    make(place)


def attack(apo: Command, root: Path, commands: tuple[tuple[str, ...], ...] = COMMANDS) -> dict[str, str]:
    """What every command says; none ends in an error of the program."""
    said = {}
    for words in commands:
        line = [word.format(root=root) for word in words]
        ran = apo(*line)
        assert "Traceback" not in ran.out + ran.err, line
        assert "AAAAB3" not in ran.out + ran.err, line
        said[" ".join(words[2:] if words[0] == "-C" else words[:-1])] = ran.out + ran.err
    return said


def is_named(path: str, said: str) -> bool:
    return any(line.lstrip("⚠! ✗").startswith(f"{path}: ") for line in said.splitlines())


@pytest.mark.parametrize("name", [*INDEX[:2], *(thorough(name) for name in INDEX[2:])])
@pytest.mark.parametrize("target", ["keys", "new"])
def test_the_index_is_not_opened_through_a_link(
    apo: Command, sample: Path, outside: Path, name: str, target: str
) -> None:
    if name != "memory.db":
        apo("-C", sample, "index")
    put(sample, name, lambda place: place.symlink_to(outside / target))
    said = attack(apo, sample, OF_THE_INDEX)
    assert is_named(name, said["doctor"]), said["doctor"]
    assert "topics/" in said["search deploy"] or "knowledge/" in said["search deploy"]
    assert f"{name} is a symlink" in said["index"]
    assert (sample / name).is_symlink(), "it is the person who takes it away"
    assert not (outside / "new").exists()


def test_the_index_is_made_where_the_person_asks_for_it_and_the_link_goes(
    apo: Command, sample: Path, outside: Path
) -> None:
    put(sample, "memory.db", lambda place: place.symlink_to(outside / "keys"))
    assert apo("-C", sample, "index", "--rebuild").code == 0
    assert (sample / "memory.db").is_file() and not (sample / "memory.db").is_symlink()


def test_the_index_is_not_a_pipe_or_a_folder(apo: Command, sample: Path, outside: Path) -> None:
    for name, make in (
        ("memory.db", os.mkfifo),
        ("memory.db-wal", Path.mkdir),
        ("memory.db-journal", os.mkfifo),
    ):
        put(sample, name, make)
        said = attack(apo, sample, OF_THE_INDEX)
        assert is_named(name, said["doctor"]), said["doctor"]
        assert f"{name} is not a regular file" in said["index"]
        assert "topics/" in said["search deploy"] or "knowledge/" in said["search deploy"]
        (sample / name).rmdir() if make is Path.mkdir else (sample / name).unlink()


def test_scratch_is_not_another_folder(apo: Command, sample: Path, outside: Path) -> None:
    put(sample, "scratch", lambda place: place.symlink_to(outside / "folder"))
    said = attack(apo, sample)
    assert is_named("scratch", said["doctor"])
    assert "a symlink leads out of the workspace" in said["init"]


@pytest.mark.parametrize(
    ("names", "target"),
    [
        *zip((LOCKS, CACHES, CACHE_FOLDERS), TARGETS, strict=True),
        *(thorough(LOCKS, target) for target in TARGETS[1:]),
        *(thorough(CACHES, target) for target in TARGETS[::2]),
        *(thorough(CACHE_FOLDERS, target) for target in TARGETS[:2]),
    ],
)
def test_caches_and_locks_are_not_links(
    apo: Command, sample: Path, outside: Path, names: tuple[str, ...], target: str
) -> None:
    for name in names:
        put(sample, name, lambda place: place.symlink_to(outside / target))
    said = attack(apo, sample)
    assert all(is_named(name, said["doctor"]) for name in names), said["doctor"]


@pytest.mark.parametrize("names", [LOCKS, CACHES], ids=["locks", "caches"])
def test_caches_and_locks_are_not_pipes(
    apo: Command, sample: Path, outside: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        put(sample, name, os.mkfifo)
    said = attack(apo, sample)
    assert all(is_named(name, said["doctor"]) for name in names), said["doctor"]


@pytest.mark.parametrize("name", [*FOLDERS, *map(thorough, MORE_FOLDERS)])
def test_no_folder_is_another_one(apo: Command, sample: Path, outside: Path, name: str) -> None:
    put(sample, name, lambda place: place.symlink_to(outside / "folder"))
    said = attack(apo, sample)
    assert is_named(name, said["doctor"])
    assert f"{name}" in said["init"] and "a symlink leads out of the workspace" in said["init"]
    assert "Zanzibar" not in "".join(said.values())


def test_a_lock_that_leads_to_another_file_of_the_workspace_leaves_it_whole(
    apo: Command, sample: Path
) -> None:
    facts = sample / "knowledge" / "facts.md"
    before = facts.read_bytes()
    for name in LOCKS:
        put(sample, name, lambda place: place.symlink_to(facts))
    attack(apo, sample)
    assert facts.read_bytes() == before


@pytest.mark.parametrize("opened", [open_reader, open_writer])
def test_a_journal_that_names_another_file_is_not_rolled_back(
    sample: Path, outside: Path, opened: Callable[[Path], object]
) -> None:
    """SQLite deletes the file that a journal names, once that is rolled back."""
    import apsw

    path = sample / "small.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE t(a)")
    connection.close()
    target = str(outside / "keys").encode()
    path.with_name("small.db-journal").write_bytes(
        hot_journal(path.read_bytes())
        + (0x40000001).to_bytes(4)
        + target
        + len(target).to_bytes(4)
        + sum(target).to_bytes(4)
        + bytes.fromhex("d9d505f920a163d7")
    )
    with pytest.raises(apsw.CorruptError, match="names another file"):
        opened(path)


def hot_journal(database: bytes) -> bytes:
    """A journal that takes back a change of the first page."""
    nonce, page = 7, database[:4096]
    checksum = (nonce + sum(page[at] for at in range(4096 - 200, 0, -200))) & 0xFFFFFFFF
    numbers = (1, nonce, len(database) // 4096, 512, 4096)
    header = bytes.fromhex("d9d505f920a163d7") + b"".join(number.to_bytes(4) for number in numbers)
    return header.ljust(512, b"\0") + (1).to_bytes(4) + page + checksum.to_bytes(4)
