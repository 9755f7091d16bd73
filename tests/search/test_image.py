"""A segment on disk is what was written, or nothing."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from engine.search.resident import image
from engine.search.resident.image import FORMAT, NAME, Image
from engine.search.resident.segment import FileRow, Segment, build
from engine.search.resident.terms import Terms
from tests.search.arrays import DIMENSIONS, assert_same, chunk, corpora, files_of, segment_of


def sample() -> Image:
    contents = [
        [chunk(f"heron {number} trout", vector=[number, 1], date="2026-02-16", speaker="user Ann")] * 3
        for number in range(10)
    ]
    return Image("index-1", "model-1", 7, segment_of(*files_of(*contents, category="journal")))


def assert_is(found: Image | None, expected: Image) -> None:
    assert found is not None
    assert (found.index, found.embedder, found.stamp) == (expected.index, expected.embedder, expected.stamp)
    assert_same(found.segment, expected.segment)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The file of ``sample``."""
    image.save(tmp_path, sample())
    return tmp_path / NAME


def test_what_is_saved_is_loaded(kept: Path) -> None:
    assert_is(image.load(kept.parent), sample())
    assert image.exists(kept.parent)


@given(corpora())
def test_any_segment_comes_back(corpus: list[FileRow]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for dimensions in (DIMENSIONS, 0):
            expected = Image("index \u2028 ü", "", 0, build(corpus, Terms(), dimensions))
            image.save(folder, expected)
            assert_is(image.load(folder), expected)
        assert [path.name for path in folder.iterdir()] == [NAME]


def test_paths_of_every_kind_come_back(tmp_path: Path) -> None:
    names = ["a\nb", 'quote"', "ü日本\U0001f642", "back\\slash", " ", "\u2028"]
    files = [FileRow(number, name, "reference", [chunk("x")]) for number, name in enumerate(sorted(names), 1)]
    expected = Image("i", "e", 1, build(files, Terms(), 0))
    image.save(tmp_path, expected)
    assert_is(image.load(tmp_path), expected)


def test_without_a_file_there_is_none(tmp_path: Path) -> None:
    assert not image.exists(tmp_path)
    assert image.load(tmp_path) is None
    image.discard(tmp_path)
    (tmp_path / NAME).mkdir()
    assert not image.exists(tmp_path)
    assert image.load(tmp_path) is None
    image.discard(tmp_path)
    image.save(tmp_path, sample())
    assert os.listdir(tmp_path) == [NAME]


def test_what_is_discarded_is_gone(kept: Path) -> None:
    image.discard(kept.parent)
    assert os.listdir(kept.parent) == []
    assert image.load(kept.parent) is None


def test_a_file_that_is_cut_anywhere_is_none(kept: Path) -> None:
    data = kept.read_bytes()
    for length in (*range(400), *range(400, len(data), 7)):  # the head, and steps of no alignment
        kept.write_bytes(data[:length])
        assert image.load(kept.parent) is None, length
    kept.write_bytes(data)
    assert_is(image.load(kept.parent), sample())


def flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 2, 8, 64])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def zero(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    data[start : start + 64] = b"\xa5" * len(data[start : start + 64])


def swap(data: bytearray, chance: random.Random) -> None:
    one, other = chance.sample(range(0, len(data) - 16, 16), 2)
    data[one : one + 16], data[other : other + 16] = data[other : other + 16], data[one : one + 16]


def append(data: bytearray, chance: random.Random) -> None:
    data += chance.randbytes(chance.randrange(1, 40))


def insert(data: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(data))
    data[place:place] = chance.randbytes(chance.randrange(1, 40))


def replace_all(data: bytearray, chance: random.Random) -> None:
    data[:] = chance.randbytes(chance.choice([1, 9, 10, 100, 5000]))


@pytest.mark.parametrize(
    "damage", [flip, zero, swap, append, insert, replace_all], ids=lambda each: each.__name__
)
def test_a_damaged_file_is_none(damage: Callable[[bytearray, random.Random], None], kept: Path) -> None:
    whole = kept.read_bytes()
    chance = random.Random(damage.__name__)
    damaged = 0
    while damaged < 40:
        data = bytearray(whole)
        damage(data, chance)
        if data == whole:
            continue
        damaged += 1
        kept.write_bytes(data)
        assert image.load(kept.parent) is None
    kept.write_bytes(whole)
    assert_is(image.load(kept.parent), sample())


def test_a_single_bit_is_watched(kept: Path) -> None:
    whole = kept.read_bytes()
    data = bytearray(whole)
    for place in range(0, len(data), 5):
        data[place] ^= 1 << place % 8
        kept.write_bytes(data)
        assert image.load(kept.parent) is None, place
        data[place] = whole[place]


def with_head(kept: Path, **changes: object) -> None:
    """Write the file again as another version would: another head, and a sum that is right."""
    data = kept.read_bytes()
    end = data.index(b"\n", 9)
    head = json.loads(data[9:end]) | changes
    text = json.dumps({name: value for name, value in head.items() if value is not ...}).encode()
    body = text + b" " * (-(9 + len(text) + 1) % 16) + b"\n" + data[end + 1 :]
    kept.write_bytes(b"%08x\n" % zlib.crc32(body) + body)


OTHER_ORDER = "big" if sys.byteorder == "little" else "little"


@pytest.mark.parametrize(
    "changes",
    [
        {"form": [FORMAT + 1, sys.byteorder]},
        {"form": [FORMAT - 1, sys.byteorder]},
        {"form": [FORMAT, OTHER_ORDER]},
        {"form": None},
        {"form": ...},
        {"index": ...},
        {"embedder": ...},
        {"stamp": ...},
        {"paths": ...},
        {"categories": 7},
        {"arrays": ...},
        {"arrays": {}},
        {"arrays": []},
        {"arrays": {"chunks": ["int64", 30]}},
        {"arrays": {"chunks": ["object", 30]}},
        {"arrays": {"chunks": ["no such type", 30]}},
        {"arrays": {"chunks": ["int64", 10**9]}},
        {"arrays": {"chunks": ["int64", -2]}},
        {"arrays": {"chunks": []}},
    ],
    ids=str,
)
def test_what_another_version_wrote_is_none(changes: dict[str, object], kept: Path) -> None:
    with_head(kept)
    assert_is(image.load(kept.parent), sample())
    with_head(kept, **changes)
    assert image.load(kept.parent) is None


@pytest.mark.parametrize("text", [b"", b"[]", b"7", b"null", b"{", b"\xff", b"[" * 100_000])
def test_a_head_that_is_none(text: bytes, tmp_path: Path) -> None:
    body = text + b"\n" + b"\0" * 64
    (tmp_path / NAME).write_bytes(b"%08x\n" % zlib.crc32(body) + body)
    assert image.load(tmp_path) is None


def test_the_sum_of_nothing_is_no_image(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"00000000\n")
    assert image.load(tmp_path) is None


def test_the_arrays_are_read_and_not_mapped(kept: Path) -> None:
    found = image.load(kept.parent)
    with kept.open("r+b") as stream:
        stream.truncate(20)
    assert_is(found, sample())
    assert found is not None
    assert not found.segment.postings.flags.writeable


def test_a_later_image_takes_the_place_of_an_earlier_one(kept: Path) -> None:
    later = replace(sample(), stamp=8, segment=segment_of(*files_of([chunk("one")])))
    image.save(kept.parent, later)
    assert_is(image.load(kept.parent), later)
    assert os.listdir(kept.parent) == [NAME]


PROGRAM = """
import os, pathlib, sys
from engine.search.resident import image
from engine.search.resident.segment import Segment
from tests.search.test_image import sample
os.chdir("/")
{before}
image.save(pathlib.Path(sys.argv[1]), sample())
"""


def save_elsewhere(folder: Path, before: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before), str(folder)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def test_a_folder_that_cannot_be_written_is_no_failure(kept: Path) -> None:
    whole = kept.read_bytes()
    folder = kept.parent
    folder.chmod(0o555)
    try:
        # As nobody where this is root, whom no permission stops.
        done = save_elsewhere(folder, "os.getuid() == 0 and os.setuid(65534)")
        assert (done.returncode, done.stderr) == (0, "")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o555
        assert [path.read_bytes() for path in folder.iterdir()] == [whole]
    finally:
        folder.chmod(0o755)
    image.save(folder / "no such folder", sample())
    assert os.listdir(folder) == [NAME]


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = pathlib.Path(sys.argv[1])
whole = (folder / image.NAME).read_bytes()
for size in (0, 1, 9, 100, len(whole) - 1):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    image.save(folder, sample())
    assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [(image.NAME, whole)], size
"""


def test_a_full_disk_leaves_what_was_there(kept: Path) -> None:
    whole = kept.read_bytes()
    done = save_elsewhere(kept.parent, FULL)
    assert (done.returncode, done.stderr) == (0, "")
    assert [(path.name, path.read_bytes()) for path in kept.parent.iterdir()] == [(NAME, whole)]


def test_a_writer_that_is_killed_leaves_what_was_there(kept: Path) -> None:
    whole = kept.read_bytes()
    for _ in range(2):
        kill = "import signal\nos.rename = lambda *args, **options: os.kill(os.getpid(), signal.SIGKILL)"
        assert save_elsewhere(kept.parent, kill).returncode == -9
        assert kept.read_bytes() == whole
        assert len(os.listdir(kept.parent)) == 2
    image.save(kept.parent, sample())
    assert os.listdir(kept.parent) == [NAME]


def test_nothing_is_written_through_a_symlink(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "precious"
    outside.write_text("precious")
    kept.unlink()
    for name in (f"{NAME}.new", NAME):
        (kept.parent / name).symlink_to(outside)
        image.save(kept.parent, sample())
        assert outside.read_text() == "precious"
        assert os.listdir(kept.parent) == [NAME]
        assert_is(image.load(kept.parent), sample())
        kept.unlink()


def test_what_is_no_file_of_ours_is_not_read(kept: Path) -> None:
    elsewhere = kept.with_name("elsewhere")
    kept.rename(elsewhere)
    kept.symlink_to(elsewhere)
    assert image.load(kept.parent) is None
    kept.unlink()
    kept.symlink_to("/dev/zero")
    assert image.load(kept.parent) is None
    kept.unlink()
    os.mkfifo(kept)
    assert image.load(kept.parent) is None
    image.discard(kept.parent)
    assert os.listdir(kept.parent) == ["elsewhere"]


def test_the_file_has_the_size_of_its_numbers(kept: Path) -> None:
    segment: Segment = sample().segment
    numbers = sum(
        getattr(segment, name).nbytes for name in ("vectors", "bits", "postings", "counts", "terms", "chunks")
    )
    assert numbers < kept.stat().st_size < numbers + 4000
