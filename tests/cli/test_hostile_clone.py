"""A clone with symlinks and pipes in place of its index, caches, locks and folders.

Nothing outside is read, changed or created; search uses the files directly; and ``doctor`` reports each.
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

pytestmark = pytest.mark.timeout(150)

SECRET = "ssh-rsa AAAAB3 zanzibar@outside\n"

INDEX = ("memory.db", "memory.db-wal", "memory.db-shm", "memory.db-journal")
LOCKS = ("scratch/.lock", "scratch/.index.lock", "scratch/.vectors.lock")
CACHES = (
    "scratch/settings.json", "scratch/gate-cache.json",
    "scratch/labelled.json", "scratch/similarity.fit", "scratch/topics.json", "scratch/references.json",
    "scratch/file-sightings.json", "scratch/prompt.md",
)  # fmt: skip
CACHE_FOLDERS = ("scratch/revisions", "scratch/prefixes", "scratch/flush", "scratch/harvest", "scratch/trash")
FOLDERS = ("conversations", "topics", "knowledge")
MORE_FOLDERS = ("logs", "presets", "raw", "archive", "attachments")
TARGETS = ("keys", "new", "folder")

INDEX_COMMANDS = (
    ("-C", "{root}", "doctor"),
    ("-C", "{root}", "search", "deploy"),
    ("-C", "{root}", "compile", "what about the deploy"),
    ("-C", "{root}", "index"),
    ("-C", "{root}", "index", "--verify"),
)
COMMANDS = (
    ("init", "{root}"),
    ("init", "--hooks", "{root}"),
    *INDEX_COMMANDS,
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
    """A folder next to the workspace that must not be listed or changed."""
    folder = tmp_path / "outside"
    (folder / "folder").mkdir(parents=True)
    (folder / "keys").write_text(SECRET)
    (folder / "folder" / "zanzibar.md").write_text(f"---\ntype: knowledge\n---\n\n# Zanzibar\n\n{SECRET}")
    (folder / "folder" / ".lock").write_text(SECRET)
    before = _state(folder)
    listed: list[str] = []
    scandir = os.scandir

    def recording_scandir(path: Any = ".") -> Any:
        if not isinstance(path, int) and Path(os.path.realpath(path)).is_relative_to(folder):
            listed.append(os.fsdecode(path))
        return scandir(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", recording_scandir)
        yield folder
    assert listed == [], "the names of outside files were listed"
    assert _state(folder) == before


def _state(folder: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        data = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (status.st_mode, status.st_ino, status.st_mtime_ns, status.st_size, data)
    return found


def thorough(*values: object) -> Any:
    """A case that only ``make sweep`` runs."""
    return pytest.param(*values, marks=pytest.mark.thorough)


def replace(root: Path, path: str, make: Callable[[Path], object]) -> None:
    """Replace a file or folder with something else."""
    place = root / path
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    make(place)


def run_all(apo: Command, root: Path, commands: tuple[tuple[str, ...], ...] = COMMANDS) -> dict[str, str]:
    """Run commands; return the output of each, which never contains a traceback or the secret."""
    outputs = {}
    for arguments in commands:
        line = [word.format(root=root) for word in arguments]
        ran = apo(*line)
        assert "Traceback" not in ran.out + ran.err, line
        assert "AAAAB3" not in ran.out + ran.err, line
        outputs[" ".join(arguments[2:] if arguments[0] == "-C" else arguments[:-1])] = ran.out + ran.err
    return outputs


def is_reported(path: str, output: str) -> bool:
    return any(line.lstrip("⚠! ✗").startswith(f"{path}: ") for line in output.splitlines())


@pytest.mark.parametrize(
    ("name", "target"),
    [
        *zip(INDEX[:2], TARGETS, strict=False),
        *(thorough(name, target) for name in INDEX for target in TARGETS[:2]),
    ],
)
def test_the_index_is_not_opened_through_a_symlink(
    apo: Command, sample: Path, outside: Path, name: str, target: str
) -> None:
    if name != "memory.db":
        apo("-C", sample, "index")
    replace(sample, name, lambda place: place.symlink_to(outside / target))
    outputs = run_all(apo, sample, INDEX_COMMANDS)
    assert is_reported(name, outputs["doctor"]), outputs["doctor"]
    assert "topics/" in outputs["search deploy"] or "knowledge/" in outputs["search deploy"]
    assert f"{name} is a symlink" in outputs["index"]
    assert (sample / name).is_symlink(), "only the user may remove it"
    assert not (outside / "new").exists()


def test_rebuilding_the_index_replaces_the_symlink(apo: Command, sample: Path, outside: Path) -> None:
    replace(sample, "memory.db", lambda place: place.symlink_to(outside / "keys"))
    assert apo("-C", sample, "index", "--rebuild").code == 0
    assert (sample / "memory.db").is_file() and not (sample / "memory.db").is_symlink()


def test_a_pipe_or_folder_in_place_of_the_index_is_not_opened(
    apo: Command, sample: Path, outside: Path
) -> None:
    for name, make in (
        ("memory.db", os.mkfifo),
        ("memory.db-wal", Path.mkdir),
        ("memory.db-journal", os.mkfifo),
    ):
        replace(sample, name, make)
        outputs = run_all(apo, sample, INDEX_COMMANDS)
        assert is_reported(name, outputs["doctor"]), outputs["doctor"]
        assert f"{name} is not a regular file" in outputs["index"]
        assert "topics/" in outputs["search deploy"] or "knowledge/" in outputs["search deploy"]
        (sample / name).rmdir() if make is Path.mkdir else (sample / name).unlink()


def test_a_symlinked_scratch_folder_is_not_followed(apo: Command, sample: Path, outside: Path) -> None:
    replace(sample, "scratch", lambda place: place.symlink_to(outside / "folder"))
    outputs = run_all(apo, sample)
    assert is_reported("scratch", outputs["doctor"])
    assert "a symlink leads out of the workspace" in outputs["init"]


@pytest.mark.parametrize(
    ("names", "target"),
    [
        ((*LOCKS, *CACHES, *CACHE_FOLDERS), "keys"),
        ((*LOCKS, *CACHES, *CACHE_FOLDERS), "new"),
        *(thorough(names, target) for names in (LOCKS, CACHES, CACHE_FOLDERS) for target in TARGETS),
    ],
)
def test_symlinked_caches_and_locks_are_not_followed(
    apo: Command, sample: Path, outside: Path, names: tuple[str, ...], target: str
) -> None:
    for name in names:
        replace(sample, name, lambda place: place.symlink_to(outside / target))
    outputs = run_all(apo, sample)
    assert all(is_reported(name, outputs["doctor"]) for name in names), outputs["doctor"]


@pytest.mark.parametrize("names", [(*LOCKS, *CACHES), thorough(LOCKS), thorough(CACHES)])
def test_pipes_in_place_of_caches_and_locks_are_not_opened(
    apo: Command, sample: Path, outside: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        replace(sample, name, os.mkfifo)
    outputs = run_all(apo, sample)
    assert all(is_reported(name, outputs["doctor"]) for name in names), outputs["doctor"]


@pytest.mark.parametrize("names", [FOLDERS, *(thorough((name,)) for name in (*FOLDERS, *MORE_FOLDERS))])
def test_a_symlinked_folder_is_not_followed(
    apo: Command, sample: Path, outside: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        replace(sample, name, lambda place: place.symlink_to(outside / "folder"))
    outputs = run_all(apo, sample)
    assert all(is_reported(name, outputs["doctor"]) for name in names)
    assert "a symlink leads out of the workspace" in outputs["init"]
    assert any(name in outputs["init"] for name in names)
    assert "Zanzibar" not in "".join(outputs.values())


def test_a_lock_symlinked_to_another_file_leaves_it_unchanged(apo: Command, sample: Path) -> None:
    facts = sample / "knowledge" / "facts.md"
    before = facts.read_bytes()
    for name in LOCKS:
        replace(sample, name, lambda place: place.symlink_to(facts))
    run_all(apo, sample)
    assert facts.read_bytes() == before


@pytest.mark.parametrize("open_database", [open_reader, open_writer])
def test_a_journal_that_names_another_file_is_not_rolled_back(
    sample: Path, outside: Path, open_database: Callable[[Path], object]
) -> None:
    """After rolling a journal back, SQLite deletes the file that the journal names."""
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
        open_database(path)


def hot_journal(database: bytes) -> bytes:
    """A journal that reverts a change to the first page."""
    nonce, page = 7, database[:4096]
    checksum = (nonce + sum(page[at] for at in range(4096 - 200, 0, -200))) & 0xFFFFFFFF
    numbers = (1, nonce, len(database) // 4096, 512, 4096)
    header = bytes.fromhex("d9d505f920a163d7") + b"".join(number.to_bytes(4) for number in numbers)
    return header.ljust(512, b"\0") + (1).to_bytes(4) + page + checksum.to_bytes(4)
