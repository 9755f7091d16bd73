"""However memory.db is damaged, search returns results, and the index is repaired to equal a fresh one."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from engine.search import database
from engine.search.index import SearchIndex
from engine.search.results import SearchResult
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import FILES, BagOfWords, put

QUERIES = (
    "plain files",
    "rye bread",
    "heron river",
    "who keeps bees",
    "release wheel commit",
    "2026-02-16",
    "entry 17",
)
PAGE = 4096


Answers = list[list[SearchResult]]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answers]:
    """A workspace with an index of several hundred pages, and its answers; every test gets a copy."""
    root = tmp_path_factory.mktemp("made") / "memory"
    root.mkdir()
    (root / "memory-config.yaml").write_text("")
    workspace = Workspace.open(root)
    for path, content in FILES.items():
        put(workspace, path, content)
    for number in range(40):
        text = "\n\n".join(
            f"## Part {part}\n\nentry {number} {part} " + "lorem ipsum " * 30 for part in range(6)
        )
        put(workspace, f"knowledge/reference/{number}.md", text)
    with closing(SearchIndex(workspace, Files(workspace), SearchSettings(), BagOfWords())) as index:
        index.refresh()
        return root, [index.search(query) for query in QUERIES]


@pytest.fixture
def indexed(original: tuple[Path, Answers], tmp_path: Path) -> Workspace:
    """A copy of the workspace with its index, which is closed."""
    return Workspace.open(shutil.copytree(original[0], tmp_path / "memory"))


@pytest.fixture
def fresh(original: tuple[Path, Answers]) -> Answers:
    """The answers of an undamaged index."""
    return original[1]


def truncate(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size))


def flip_bytes(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    start = rng.randrange(len(data) // PAGE) * PAGE
    for _ in range(rng.choice([1, 4, 64])):
        data[start + rng.randrange(PAGE)] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def zero_a_page(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    start = rng.randrange(len(data) // PAGE) * PAGE
    data[start : start + PAGE] = bytes(PAGE)
    path.write_bytes(data)


def swap_pages(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    one, other = (rng.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]
    path.write_bytes(data)


def overwrite(path: Path, rng: random.Random) -> None:
    path.write_bytes(rng.randbytes(rng.choice([0, 10, 100, 5000])))


DAMAGE: list[Callable[[Path, random.Random], None]] = [
    truncate,
    flip_bytes,
    zero_a_page,
    swap_pages,
    overwrite,
]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
def test_a_damaged_index_still_answers_and_is_repaired(
    damage: Callable[[Path, random.Random], None],
    is_open: bool,
    indexed: Workspace,
    fresh: Answers,
    open_index: Open,
    tmp_path: Path,
) -> None:
    sound = tmp_path / "sound.db"
    shutil.copyfile(indexed.database, sound)
    rng = random.Random(f"{damage.__name__} {is_open}")
    for _ in range(4 if damage is flip_bytes else 2):
        index = open_index(indexed, BagOfWords())
        database.remove(indexed.database)
        shutil.copyfile(sound, indexed.database)
        if is_open:
            assert index.search(QUERIES[0]) == fresh[0]
        damage(indexed.database, rng)
        for query in QUERIES:
            for one in index.search(query):
                assert one.source in ("index", "scan")
        assert index.settle(30)
        index.verify()
        assert [index.search(query) for query in QUERIES] == fresh
        assert index.verify(repair=False).sound
        index.close()


def test_verify_detects_a_word_changed_in_the_database(
    fresh: Answers, indexed: Workspace, open_index: Open
) -> None:
    with apsw.Connection(str(indexed.database)) as connection:
        connection.execute("UPDATE chunks SET text = replace(text, 'rye', 'oat') WHERE text LIKE '%rye%'")
    connection.close()
    index = open_index(indexed, BagOfWords())
    report = index.verify()
    assert report.rebuilt
    assert report.refresh is not None
    assert report.refresh.rebuilt == report.problems[0]
    assert [index.search(query) for query in QUERIES] == fresh


PROBLEMS = (
    ("UPDATE chunks SET start_line = start_line + 1 WHERE id = 3", "differ from what was written"),
    ("UPDATE chunks SET date = '1999-01-01' WHERE id = 3", "differ from what was written"),
    ("UPDATE files SET category = 'memory' WHERE category = 'person'", "differ from what was written"),
    ("DELETE FROM files WHERE id = 2", "belong to no file"),
    ("UPDATE chunks SET counts = zeroblob(length(counts)) WHERE id = 3", "differ from what was written"),
    ("UPDATE vectors SET vector = zeroblob(512) WHERE chunk = 2", "the vector of chunk 2"),
    ("DELETE FROM chunk_signs WHERE chunk = 2", "vectors for"),
    (
        "DELETE FROM chunk_signs WHERE chunk = 2; INSERT INTO chunk_signs VALUES (2, vec_bit(zeroblob(128)))",
        "others than were written",
    ),
    ("UPDATE totals SET vectors = vectors + 1", "its totals"),
    ("INSERT INTO chunk_signs VALUES (99999, vec_bit(zeroblob(128)))", "vectors for"),
    ("UPDATE terms SET chunks = 7000", "the counts of its words"),
    ("UPDATE totals SET length = length + 1", "its totals"),
    ("DELETE FROM chunk_words WHERE rowid = 3", "the word index"),
    ("INSERT INTO chunk_words (chunk_words) VALUES ('delete-all')", "the word index"),
    ("UPDATE meta SET value = '' WHERE key = 'complete'", "it is not complete"),
    ("PRAGMA user_version = 77", "another version"),
)  # fmt: skip


def test_verify_names_the_problem(
    fresh: Answers, indexed: Workspace, open_index: Open, tmp_path: Path
) -> None:
    index = open_index(indexed, BagOfWords())
    assert index.verify().sound
    sound = shutil.copyfile(indexed.database, tmp_path / "sound.db")
    for change, problem in PROBLEMS:
        database.remove(indexed.database)
        shutil.copyfile(sound, indexed.database)
        with apsw.Connection(str(indexed.database)) as connection:
            connection.pragma("foreign_keys", False)
            database.load_vectors(connection)
            connection.execute(change)
        connection.close()
        found = index.verify(repair=False)
        assert problem in found.problems[0], change
        assert not found.rebuilt
    assert index.verify().rebuilt
    assert [index.search(query) for query in QUERIES] == fresh


def test_verifying_without_an_index_builds_one(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled)
    report = index.verify()
    assert report.problems == ("there is no search index",)
    assert report.refresh is not None
    assert report.refresh.added == len(FILES)


def test_an_index_deleted_while_in_use_is_rebuilt(
    fresh: Answers, indexed: Workspace, open_index: Open
) -> None:
    index = open_index(indexed, BagOfWords())
    assert index.search("rye bread")[0].source == "index"
    database.remove(indexed.database)
    best = index.search("rye bread")[0]
    assert best.source == "scan"
    assert best.why.endswith("the files were searched directly because there is no search index")
    assert best.path == "knowledge/journal/2026-02-16.md"
    assert index.settle(30)
    assert [index.search(query) for query in QUERIES] == fresh


def test_deleting_only_the_database_file_rebuilds_the_index(
    fresh: Answers, indexed: Workspace, open_index: Open
) -> None:
    index = open_index(indexed, BagOfWords())
    assert index.search("rye bread")[0].source == "index"
    indexed.database.unlink()
    report = index.refresh(paths=["knowledge/facts.md"])
    assert report.added == len(FILES) + 40
    assert [index.search(query) for query in QUERIES] == fresh
    assert index.verify(repair=False).sound


def test_an_index_deleted_while_being_written_is_rebuilt(
    indexed: Workspace, fresh: Answers, open_index: Open
) -> None:
    database.remove(indexed.database)
    index = open_index(indexed, BagOfWords())
    left = [2]

    def delete(done: int, total: int) -> None:
        if done and left[0]:
            left[0] -= 1
            database.remove(indexed.database)

    report = index.refresh(delete)
    assert report.rebuilt == "it was deleted while being written"
    assert [index.search(query) for query in QUERIES] == fresh


def test_a_replaced_index_is_used_at_once(
    fresh: Answers, indexed: Workspace, open_index: Open, tmp_path: Path
) -> None:
    index = open_index(indexed, BagOfWords())
    assert index.search("walrus", use_vectors=False) == []
    put(indexed, "knowledge/reference/new.md", "walrus\n")
    other = open_index(indexed, BagOfWords())
    other.rebuild()
    assert index.search("walrus", use_vectors=False)[0].source == "index"


def test_a_folder_at_the_path_of_the_index_is_no_error(filled: Workspace, open_index: Open) -> None:
    filled.database.mkdir()
    index = open_index(filled)
    assert index.search("rye bread")[0].source == "scan"
    assert index.settle(10)
    assert index.status().state != "ready"
