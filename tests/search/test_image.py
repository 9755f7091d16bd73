"""An image on disk is loaded exactly as it was saved, or not at all."""

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


def assert_equal(found: Image | None, expected: Image) -> None:
    assert found is not None
    assert (found.index, found.embedder, found.stamp) == (expected.index, expected.embedder, expected.stamp)
    assert_same(found.segment, expected.segment)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The image file of ``sample``."""
    image.save(tmp_path, sample())
    return tmp_path / NAME


def test_a_saved_image_is_loaded(saved: Path) -> None:
    assert_equal(image.load(saved.parent), sample())
    assert image.exists(saved.parent)


@given(corpora())
def test_any_segment_survives_a_round_trip(corpus: list[FileRow]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for dimensions in (DIMENSIONS, 0):
            expected = Image("index \u2028 ü", "", 0, build(corpus, Terms(), dimensions))
            image.save(folder, expected)
            assert_equal(image.load(folder), expected)
        assert [path.name for path in folder.iterdir()] == [NAME]


def test_odd_paths_survive_a_round_trip(tmp_path: Path) -> None:
    names = ["a\nb", 'quote"', "ü日本\U0001f642", "back\\slash", " ", "\u2028"]
    files = [FileRow(number, name, "reference", [chunk("x")]) for number, name in enumerate(sorted(names), 1)]
    expected = Image("i", "e", 1, build(files, Terms(), 0))
    image.save(tmp_path, expected)
    assert_equal(image.load(tmp_path), expected)


def test_without_a_file_there_is_no_image(tmp_path: Path) -> None:
    assert not image.exists(tmp_path)
    assert image.load(tmp_path) is None
    image.discard(tmp_path)
    (tmp_path / NAME).mkdir()
    assert not image.exists(tmp_path)
    assert image.load(tmp_path) is None
    image.discard(tmp_path)
    image.save(tmp_path, sample())
    assert os.listdir(tmp_path) == [NAME]


def test_a_discarded_image_is_deleted(saved: Path) -> None:
    image.discard(saved.parent)
    assert os.listdir(saved.parent) == []
    assert image.load(saved.parent) is None


def test_a_file_truncated_anywhere_is_not_loaded(saved: Path) -> None:
    data = saved.read_bytes()
    for length in (
        *range(400),
        *range(400, len(data), 7),
    ):  # Every length in the header, then unaligned steps.
        saved.write_bytes(data[:length])
        assert image.load(saved.parent) is None, length
    saved.write_bytes(data)
    assert_equal(image.load(saved.parent), sample())


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 2, 8, 64])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def zero(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    data[start : start + 64] = b"\xa5" * len(data[start : start + 64])


def swap(data: bytearray, rng: random.Random) -> None:
    one, other = rng.sample(range(0, len(data) - 16, 16), 2)
    data[one : one + 16], data[other : other + 16] = data[other : other + 16], data[one : one + 16]


def append(data: bytearray, rng: random.Random) -> None:
    data += rng.randbytes(rng.randrange(1, 40))


def insert(data: bytearray, rng: random.Random) -> None:
    place = rng.randrange(len(data))
    data[place:place] = rng.randbytes(rng.randrange(1, 40))


def replace_all(data: bytearray, rng: random.Random) -> None:
    data[:] = rng.randbytes(rng.choice([1, 9, 10, 100, 5000]))


@pytest.mark.parametrize(
    "damage", [flip, zero, swap, append, insert, replace_all], ids=lambda each: each.__name__
)
def test_a_damaged_file_is_not_loaded(
    damage: Callable[[bytearray, random.Random], None], saved: Path
) -> None:
    whole = saved.read_bytes()
    rng = random.Random(damage.__name__)
    damaged = 0
    while damaged < 40:
        data = bytearray(whole)
        damage(data, rng)
        if data == whole:
            continue
        damaged += 1
        saved.write_bytes(data)
        assert image.load(saved.parent) is None
    saved.write_bytes(whole)
    assert_equal(image.load(saved.parent), sample())


def test_a_single_flipped_bit_is_detected(saved: Path) -> None:
    whole = saved.read_bytes()
    data = bytearray(whole)
    for place in range(0, len(data), 5):
        data[place] ^= 1 << place % 8
        saved.write_bytes(data)
        assert image.load(saved.parent) is None, place
        data[place] = whole[place]


def rewrite_header(saved: Path, **changes: object) -> None:
    """Rewrite the file as another version would: with another header and a valid checksum."""
    data = saved.read_bytes()
    end = data.index(b"\n", 9)
    head = json.loads(data[9:end]) | changes
    text = json.dumps({name: value for name, value in head.items() if value is not ...}).encode()
    body = text + b" " * (-(9 + len(text) + 1) % 16) + b"\n" + data[end + 1 :]
    saved.write_bytes(b"%08x\n" % zlib.crc32(body) + body)


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
def test_an_image_of_another_version_is_not_loaded(changes: dict[str, object], saved: Path) -> None:
    rewrite_header(saved)
    assert_equal(image.load(saved.parent), sample())
    rewrite_header(saved, **changes)
    assert image.load(saved.parent) is None


@pytest.mark.parametrize("text", [b"", b"[]", b"7", b"null", b"{", b"\xff", b"[" * 100_000])
def test_an_image_with_an_invalid_header_is_not_loaded(text: bytes, tmp_path: Path) -> None:
    body = text + b"\n" + b"\0" * 64
    (tmp_path / NAME).write_bytes(b"%08x\n" % zlib.crc32(body) + body)
    assert image.load(tmp_path) is None


def test_a_checksum_without_content_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"00000000\n")
    assert image.load(tmp_path) is None


def test_the_arrays_are_read_into_memory_and_not_mapped(saved: Path) -> None:
    found = image.load(saved.parent)
    with saved.open("r+b") as stream:
        stream.truncate(20)
    assert_equal(found, sample())
    assert found is not None
    assert not found.segment.postings.flags.writeable


def test_a_later_image_replaces_an_earlier_one(saved: Path) -> None:
    later = replace(sample(), stamp=8, segment=segment_of(*files_of([chunk("one")])))
    image.save(saved.parent, later)
    assert_equal(image.load(saved.parent), later)
    assert os.listdir(saved.parent) == [NAME]


PROGRAM = """
import os, pathlib, sys
from engine.search.resident import image
from engine.search.resident.segment import Segment
from tests.search.test_image import sample
os.chdir("/")
{before}
image.save(pathlib.Path(sys.argv[1]), sample())
"""


def save_in_subprocess(folder: Path, before: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before), str(folder)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def test_an_unwritable_folder_is_no_error(saved: Path) -> None:
    whole = saved.read_bytes()
    folder = saved.parent
    folder.chmod(0o555)
    try:
        # Root ignores permissions, so run as another user then.
        done = save_in_subprocess(folder, "os.getuid() == 0 and os.setuid(65534)")
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


def test_a_full_disk_keeps_the_old_image(saved: Path) -> None:
    whole = saved.read_bytes()
    done = save_in_subprocess(saved.parent, FULL)
    assert (done.returncode, done.stderr) == (0, "")
    assert [(path.name, path.read_bytes()) for path in saved.parent.iterdir()] == [(NAME, whole)]


def test_a_killed_writer_keeps_the_old_image(saved: Path) -> None:
    whole = saved.read_bytes()
    for _ in range(2):
        kill = "import signal\nos.rename = lambda *args, **options: os.kill(os.getpid(), signal.SIGKILL)"
        assert save_in_subprocess(saved.parent, kill).returncode == -9
        assert saved.read_bytes() == whole
        assert len(os.listdir(saved.parent)) == 2
    image.save(saved.parent, sample())
    assert os.listdir(saved.parent) == [NAME]


def test_nothing_is_written_through_a_symlink(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "precious"
    outside.write_text("precious")
    saved.unlink()
    for name in (f"{NAME}.new", NAME):
        (saved.parent / name).symlink_to(outside)
        image.save(saved.parent, sample())
        assert outside.read_text() == "precious"
        assert os.listdir(saved.parent) == [NAME]
        assert_equal(image.load(saved.parent), sample())
        saved.unlink()


def test_symlinks_and_special_files_are_not_read(saved: Path) -> None:
    elsewhere = saved.with_name("elsewhere")
    saved.rename(elsewhere)
    saved.symlink_to(elsewhere)
    assert image.load(saved.parent) is None
    saved.unlink()
    saved.symlink_to("/dev/zero")
    assert image.load(saved.parent) is None
    saved.unlink()
    os.mkfifo(saved)
    assert image.load(saved.parent) is None
    image.discard(saved.parent)
    assert os.listdir(saved.parent) == ["elsewhere"]


def test_the_file_is_not_much_larger_than_its_arrays(saved: Path) -> None:
    segment: Segment = sample().segment
    numbers = sum(
        getattr(segment, name).nbytes for name in ("vectors", "bits", "postings", "counts", "terms", "chunks")
    )
    assert numbers < saved.stat().st_size < numbers + 4000
