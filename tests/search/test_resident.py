"""The in-memory copy follows the index, and its image on disk saves the next process from building it."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import numpy
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.search import database
from engine.search.index import SearchIndex
from engine.search.resident import image, resident
from engine.search.resident.image import NAME
from engine.search.resident.resident import Resident
from engine.search.resident.segment import FileRow
from engine.search.results import SearchResult
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.arrays import assert_same
from tests.search.conftest import Open
from tests.search.samples import FILES, TRANSCRIPT, BagOfWords, put

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats

TODAY = date(2026, 3, 1)
ROOT = Path(__file__).parents[2]
QUERIES = ("heron trout", "rye bread", "plain files", "who is Ann", "2026-02-16", "entry 7", "last month")


def new_index(
    workspace: Workspace, embedder: BagOfWords | None = None, *, read_only: bool = False
) -> SearchIndex:
    files = Files(workspace)
    return SearchIndex(workspace, files, SearchSettings(), embedder or BagOfWords(64), read_only=read_only)


def answers(index: SearchIndex, limit: int = 20) -> list[list[SearchResult]]:
    found = [index.search(query, limit, today=TODAY) for query in QUERIES]
    found.append(index.search("heron", limit, "journal", today=TODAY))
    found.append(index.search("heron", limit, exclude=["knowledge/facts.md"], today=TODAY))
    return found


def fresh_answers(workspace: Workspace, embedder: BagOfWords | None = None) -> list[list[SearchResult]]:
    """The answers of an index built from scratch from a copy of the same files."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "memory"
        shutil.copytree(workspace.root, copy, ignore=shutil.ignore_patterns("scratch"))
        index = new_index(Workspace.open(copy), embedder)
        index.refresh()
        try:
            return answers(index)
        finally:
            index.close()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with an index and an image: a few hundred chunks."""
    root = tmp_path_factory.mktemp("made") / "memory"
    root.mkdir()
    (root / "memory-config.yaml").write_text("")
    workspace = Workspace.open(root)
    for path, content in FILES.items():
        put(workspace, path, content)
    for number in range(60):
        text = "\n\n".join(
            f"## Part {part}\n\nentry {number} {part} heron {'trout ' * part}" for part in range(6)
        )
        put(workspace, f"knowledge/reference/{number:02}.md", text)
    index = new_index(workspace)
    index.refresh()
    index.close()
    return root


@pytest.fixture
def indexed(original: Path, tmp_path: Path) -> Workspace:
    """A copy of ``original``."""
    return Workspace.open(shutil.copytree(original, tmp_path / "memory"))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of files read from the database, one entry per read."""
    read: list[int] = []
    files = resident._files

    def counted(connection: apsw.Connection, after: int) -> Iterator[FileRow]:
        found = list(files(connection, after))
        read.append(len(found))
        return iter(found)

    monkeypatch.setattr(resident, "_files", counted)
    return read


# Following changes


_NAMES = ("knowledge/reference/a.md", "knowledge/reference/b.md", "knowledge/journal/2026-02-16.md",
          "knowledge/people/ann.md", "raw/conversations/2026/02/16/1845-ses_a1-x.md", "conversations/t.txt",
          "topics/heron.md", "archive/a.md")  # fmt: skip
_WORDS = ["heron", "trout", "Ann:", "bread", "files", "2026-02-16", "\n\n", "# H\n"]
_TEXTS = st.one_of(
    st.sampled_from(["", "heron\n", "same words\n", TRANSCRIPT, "# A\n\n## B\nheron\n\n## C\ntrout\n"]),
    st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join),
)


class Following(RuleBasedStateMachine):
    """While files are added, changed, moved and removed, a running program answers like a fresh one."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name) / "memory"
        root.mkdir()
        (root / "memory-config.yaml").write_text("")
        self.workspace = Workspace.open(root)
        self.kept = pytest.MonkeyPatch()
        self.kept.setattr(resident, "_STALE_LEAST", 3)
        self.kept.setattr(resident, "_STALE_PART", 2)
        self.index = new_index(self.workspace)
        self.reader = new_index(self.workspace)
        self.clean = False

    def teardown(self) -> None:
        self.index.close()
        self.reader.close()
        self.kept.undo()
        self.folder.cleanup()

    @initialize()
    def begin(self) -> None:
        self.index.refresh()
        self.clean = True

    @rule(name=st.sampled_from(_NAMES), text=_TEXTS)
    def write(self, name: str, text: str) -> None:
        put(self.workspace, name, text)
        self.clean = False

    @rule(name=st.sampled_from(_NAMES))
    def remove(self, name: str) -> None:
        (self.workspace.root / name).unlink(missing_ok=True)
        self.clean = False

    @rule(source=st.sampled_from(_NAMES), moved=st.sampled_from(_NAMES))
    def rename(self, source: str, moved: str) -> None:
        old, new = self.workspace.root / source, self.workspace.root / moved
        if old.exists() and source != moved:
            new.parent.mkdir(parents=True, exist_ok=True)
            old.rename(new)
            self.clean = False

    @precondition(lambda self: not self.clean)
    @rule(named=st.lists(st.sampled_from(_NAMES), max_size=3))
    def refresh_some(self, named: list[str]) -> None:
        self.index.refresh(paths=named)

    @precondition(lambda self: not self.clean)
    @rule()
    def refresh(self) -> None:
        self.index.refresh()
        self.clean = True

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = new_index(self.workspace)

    @rule()
    def discard_the_image(self) -> None:
        image.discard(self.workspace.scratch)

    @rule(change=st.integers(0, 255), place=st.floats(0, 0.999))
    def damage_the_image(self, change: int, place: float) -> None:
        path = self.workspace.scratch / NAME
        if path.exists():
            data = bytearray(path.read_bytes())
            data[int(place * len(data))] ^= change
            path.write_bytes(data)

    @rule()
    def rebuild(self) -> None:
        self.index.rebuild()
        self.clean = True

    @rule()
    def search(self) -> None:
        assert answers(self.reader) == answers(self.index)

    @invariant()
    def all_answers_are_equal(self) -> None:
        if self.clean:
            expected = fresh_answers(self.workspace)
            assert answers(self.index) == expected
            assert answers(self.reader) == expected
            assert list(self.workspace.scratch.glob(f"{NAME}?*")) == []


TestFollowing = Following.TestCase
TestFollowing.settings = settings(
    deadline=None, max_examples=8, stateful_step_count=15, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2, 3))])
def test_after_many_changes_the_answers_equal_those_of_a_fresh_index(
    seed: int, filled: Workspace, open_index: Open
) -> None:
    rng = random.Random(seed)
    index = open_index(filled, BagOfWords(64))
    index.refresh()
    names = [*FILES, *(f"knowledge/reference/{number}.md" for number in range(30))]
    words = ["heron", "trout", "rye", "bread", "Ann:", "files", "entry", "7", "\n\n## H\n", "\n\n"]
    for step in range(40):
        changed = rng.sample(names, rng.choice([1, 1, 1, 2, 9]))
        for name in changed:
            if rng.random() < 0.2:
                (filled.root / name).unlink(missing_ok=True)
            else:
                put(filled, name, " ".join(rng.choices(words, k=rng.randrange(40))) + "\n")
        index.refresh(paths=changed)
        answers(index)
        if step % 40 == 39:
            assert answers(index) == fresh_answers(filled)
    view = index._resident._views[0]
    assert len(view.segments) <= 8
    assert index.verify(repair=False).sound


def test_only_changed_files_are_read_again(indexed: Workspace, open_index: Open, reads: list[int]) -> None:
    index = open_index(indexed, BagOfWords(64))
    answers(index)
    assert reads == []
    put(indexed, "knowledge/reference/07.md", "# New\n\nwalrus\n")
    (indexed.root / "knowledge/reference/08.md").unlink()
    index.refresh()
    assert index.search("walrus")[0].path == "knowledge/reference/07.md"
    answers(index)
    index.search("walrus")
    assert reads == [1]


def test_changes_by_another_process_are_seen(indexed: Workspace, open_index: Open) -> None:
    index = open_index(indexed, BagOfWords(64))
    assert index.search("walrus", use_vectors=False) == []
    other = """
from tests.search.samples import put
put(workspace, "knowledge/reference/07.md", "# New\\n\\nwalrus\\n")
(workspace.root / "knowledge/reference/08.md").unlink()
index.refresh()
"""
    assert run_in_subprocess(other, indexed) == ""
    assert index.search("walrus", use_vectors=False)[0].path == "knowledge/reference/07.md"
    assert answers(index) == fresh_answers(indexed)


ELSEWHERE = """
import sys
from datetime import date
from engine.settings.model import SearchSettings
from engine.search.index import SearchIndex
from engine.search.resident import image, resident
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.samples import BagOfWords
workspace = Workspace.open(sys.argv[1])
index = SearchIndex(workspace, Files(workspace), SearchSettings(), BagOfWords(64))
"""


def run_in_subprocess(program: str, workspace: Workspace) -> str:
    """The output of a program that opens the workspace in its own process."""
    done = subprocess.run(
        [sys.executable, "-c", f"{ELSEWHERE}{program}\nindex.close()", str(workspace.root)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.stderr == ""
    return done.stdout


def test_a_reader_that_began_before_a_change_keeps_its_view(
    indexed: Workspace, open_index: Open, reads: list[int]
) -> None:
    index = open_index(indexed, BagOfWords(64))
    index.search("heron")
    memory = index._resident
    before = database.open_reader(indexed.database)
    before.execute("BEGIN")
    old = memory.view(before)
    put(indexed, "knowledge/reference/07.md", "# New\n\nwalrus\n")
    index.refresh()
    assert index.search("walrus")[0].path == "knowledge/reference/07.md"
    again = memory.view(before)
    assert (again.stamp, again.segments) == (old.stamp, old.segments)
    assert index.search("walrus")[0].path == "knowledge/reference/07.md"
    assert reads == [1]  # Neither view made the other be rebuilt.
    before.execute("COMMIT")
    before.close()


# The image


def test_a_second_process_loads_the_image(indexed: Workspace) -> None:
    assert (indexed.scratch / NAME).is_file()
    program = """
def refuse(*args, **more):
    raise AssertionError("rebuilt")

resident.build = resident._files = refuse
found = index.search("heron trout", 20, today=date(2026, 3, 1))
print([(one.path, one.start_line, one.score, one.why) for one in found])
"""
    index = new_index(indexed)
    found = index.search("heron trout", 20, today=TODAY)
    index.close()
    assert len(found) == 20
    assert (
        run_in_subprocess(program, indexed)
        == f"{[(one.path, one.start_line, one.score, one.why) for one in found]}\n"
    )


def test_a_read_only_process_uses_the_image(indexed: Workspace, reads: list[int]) -> None:
    index = new_index(indexed, read_only=True)
    assert answers(index) == fresh_answers_without_reads(reads, indexed)
    index.close()


def fresh_answers_without_reads(reads: list[int], workspace: Workspace) -> list[list[SearchResult]]:
    """Assert that nothing was read, then return ``fresh_answers``, which reads everything."""
    assert reads == []
    return fresh_answers(workspace)


def test_changes_after_the_image_are_added_to_it(
    indexed: Workspace, open_index: Open, reads: list[int]
) -> None:
    index = open_index(indexed, BagOfWords(64))
    put(indexed, "knowledge/reference/07.md", "# New\n\nwalrus\n")
    before = (indexed.scratch / NAME).read_bytes()
    index.refresh()
    assert (indexed.scratch / NAME).read_bytes() == before
    reads.clear()
    other = open_index(indexed, BagOfWords(64))
    found = answers(other)
    assert reads == [1]
    assert found == fresh_answers(indexed)


def corrupt(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def from_another_index(path: Path) -> None:
    found = image.load(path.parent)
    assert found is not None
    image.save(path.parent, image.Image("another", found.embedder, found.stamp, found.segment))


def from_another_model(path: Path) -> None:
    found = image.load(path.parent)
    assert found is not None
    image.save(path.parent, image.Image(found.index, "another", found.stamp, found.segment))


def with_a_later_stamp(path: Path) -> None:
    found = image.load(path.parent)
    assert found is not None
    image.save(path.parent, image.Image(found.index, found.embedder, found.stamp + 1, found.segment))


def with_an_earlier_stamp(path: Path) -> None:
    found = image.load(path.parent)
    assert found is not None
    image.save(path.parent, image.Image(found.index, found.embedder, found.stamp - 1, found.segment))


@pytest.mark.parametrize(
    "damage",
    [Path.unlink, corrupt, with_a_later_stamp, with_an_earlier_stamp],
    ids=lambda each: each.__name__,
)
def test_a_missing_or_wrong_image_is_rebuilt(
    damage: object, indexed: Workspace, open_index: Open, reads: list[int]
) -> None:
    expected = fresh_answers(indexed)
    whole = image.load(indexed.scratch)
    assert whole is not None
    damage(indexed.scratch / NAME)  # type: ignore[operator]
    reads.clear()
    index = open_index(indexed, BagOfWords(64))
    assert answers(index) == expected
    assert reads == [len(FILES) + 60]
    assert not (indexed.scratch / NAME).exists()
    index.refresh()
    again = image.load(indexed.scratch)
    assert again is not None
    assert again.index == whole.index
    assert_same(again.segment, whole.segment)
    reads.clear()
    assert answers(open_index(indexed, BagOfWords(64))) == expected
    assert reads == []


@pytest.mark.parametrize("damage", [from_another_index, from_another_model], ids=lambda each: each.__name__)
def test_an_image_of_another_index_or_model_is_not_used(
    damage: object, indexed: Workspace, open_index: Open, reads: list[int]
) -> None:
    expected = fresh_answers(indexed)
    damage(indexed.scratch / NAME)  # type: ignore[operator]
    reads.clear()
    index = open_index(indexed, BagOfWords(64))
    assert answers(index) == expected
    assert reads == [len(FILES) + 60]
    index.rebuild()
    reads.clear()
    assert answers(open_index(indexed, BagOfWords(64))) == expected
    assert reads == []


def test_a_read_only_process_does_not_replace_a_damaged_image(indexed: Workspace) -> None:
    expected = fresh_answers(indexed)
    corrupt(indexed.scratch / NAME)
    data = (indexed.scratch / NAME).read_bytes()
    index = new_index(indexed, read_only=True)
    assert answers(index) == expected
    assert (indexed.scratch / NAME).read_bytes() == data
    index.close()


def test_an_image_newer_than_the_database_is_not_used(
    indexed: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident, "_STALE_LEAST", 0)
    lost = indexed.scratch / "lost.db"
    shutil.copyfile(indexed.database, lost)
    index = open_index(indexed, BagOfWords(64))
    put(indexed, "knowledge/reference/07.md", "# Other\n\nheron of the one time\n" * 30)
    index.refresh()
    ahead = image.load(indexed.scratch)
    assert ahead is not None
    index.close()
    # After a power failure the commits are lost but the image is not; then indexing continues.
    database.remove(indexed.database)
    lost.rename(indexed.database)
    monkeypatch.setattr(resident, "_STALE_LEAST", 10_000)
    put(indexed, "knowledge/reference/07.md", "# Entry\n\nheron of another time\n")
    writer = open_index(indexed, BagOfWords(64))
    writer.refresh()
    put(indexed, "knowledge/reference/09.md", "# Entry\n\nheron of another time\n")
    writer.refresh()
    connection = database.open_reader(indexed.database)
    assert ahead.stamp <= int(connection.execute("SELECT value FROM meta WHERE key = 'stamp'").get)
    connection.close()
    assert answers(open_index(indexed, BagOfWords(64))) == fresh_answers(indexed)


def test_a_rebuilt_index_is_not_searched_before_its_image_is_saved(
    indexed: Workspace, reads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = new_index(indexed), new_index(indexed, read_only=True)
    states: list[str] = []
    save = image.save

    def noted(folder: Path, saved: image.Image) -> None:
        states.append(reader.status().state)
        save(folder, saved)

    monkeypatch.setattr(image, "save", noted)
    writer.rebuild()
    assert states == ["building"] and reader.status().state == "ready"
    reads.clear()
    assert answers(reader) and not any(reads), "a search reads all of an index that has no image"
    writer.close()
    reader.close()


def test_a_small_index_has_no_image(filled: Workspace, open_index: Open) -> None:
    open_index(filled, BagOfWords(64)).refresh()
    assert not (filled.scratch / NAME).exists()


def test_an_image_is_rebuilt_after_many_changes(indexed: Workspace, open_index: Open) -> None:
    def stamp() -> int:
        found = image.load(indexed.scratch)
        assert found is not None
        return found.stamp

    index = open_index(indexed, BagOfWords(64))
    first = stamp()
    for number in range(40):
        put(indexed, f"knowledge/reference/{number:02}.md", "# A\n\nheron\n")
    index.refresh()  # 240 chunks were removed, 40 added.
    assert stamp() == first
    for number in range(40, 50):
        (indexed.root / f"knowledge/reference/{number:02}.md").unlink()
    index.refresh()  # 60 more were removed.
    second = stamp()
    assert second > first
    for number in range(300):
        put(indexed, f"knowledge/people/{number}.md", "heron\n")
    index.refresh()
    assert stamp() > second
    assert len(index._resident._views[0].segments) == 1
    assert answers(index) == fresh_answers(indexed)


def test_an_unwritable_image_is_no_error(
    indexed: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    (indexed.scratch / NAME).unlink()
    (indexed.scratch / NAME).mkdir()
    (indexed.scratch / NAME / "x").write_text("")
    index = open_index(indexed, BagOfWords(64))
    put(indexed, "knowledge/reference/07.md", "# New\n\nwalrus\n")
    assert index.refresh().changed == 1
    assert answers(index) == fresh_answers(indexed)
    assert sorted(path.name for path in indexed.scratch.glob(f"{NAME}*")) == [NAME]


# Models


def test_another_model_is_reported_and_used_after_a_refresh(indexed: Workspace, open_index: Open) -> None:
    put(indexed, "knowledge/reference/00.md", "# Zero\n\nwalrus walrus\n")
    open_index(indexed, BagOfWords(64)).refresh()
    index = open_index(indexed, BagOfWords(32, "other"))
    by_words = index.search("walrus", today=TODAY)
    assert by_words == open_index(indexed).search("walrus", today=TODAY)
    assert (by_words[0].path, by_words[0].vector_rank) == ("knowledge/reference/00.md", None)
    assert "vectors" in index.status().without_vectors
    index.refresh()
    assert index.status().without_vectors == ""
    assert index.search("walrus", today=TODAY)[0].vector_rank == 1
    assert answers(index) == fresh_answers(indexed, BagOfWords(32, "other"))
    # An index with the first model uses words alone from then on.
    assert answers(open_index(indexed, BagOfWords(64)))[0][0].vector_rank is None
    open_index(indexed, BagOfWords(64)).refresh()
    assert answers(index)[0][0].vector_rank is None


def test_vectors_added_later_are_used_without_a_restart(indexed: Workspace, open_index: Open) -> None:
    database.remove(indexed.database)
    open_index(indexed).refresh()
    reader = open_index(indexed, BagOfWords(64))
    assert answers(reader)[0][0].vector_rank is None
    open_index(indexed, BagOfWords(64)).refresh()
    assert answers(reader) == fresh_answers(indexed)
    assert answers(reader)[0][0].vector_rank is not None


@pytest.mark.parametrize("dimensions", [8, 12, 100])
def test_vectors_may_have_any_length(dimensions: int, filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords(dimensions))
    index.refresh()
    assert index.search("rye bread caraway")[0].path == "knowledge/journal/2026-02-16.md"
    assert answers(index) == fresh_answers(filled, BagOfWords(dimensions))


@pytest.mark.parametrize(
    "row", [[numpy.nan] * 64, [numpy.inf] * 64, [1.0] * 3, [0.0] * 64], ids=["nan", "inf", "short", "zero"]
)
def test_with_invalid_vectors_search_uses_words(
    row: list[float], indexed: Workspace, open_index: Open
) -> None:
    class Nonsense(BagOfWords):
        def embed(self, texts: Sequence[str]) -> Floats:
            return numpy.array([row] * len(texts), dtype=numpy.float32)

    found = open_index(indexed, Nonsense(64)).search("rye bread", today=TODAY)
    assert found == open_index(indexed).search("rye bread", today=TODAY)
    assert found[0].source == "index"
    assert found[0].path == "knowledge/journal/2026-02-16.md"


# Damage that the in-memory copy would hide


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM chunks WHERE text LIKE '%caraway%'",
        "UPDATE chunks SET text = x'ff00' WHERE text LIKE '%caraway%'",
        "UPDATE chunks SET heading = 7.5 || heading, start_line = 'x' WHERE text LIKE '%caraway%'",
    ],
)
def test_an_altered_chunk_is_detected_as_damage(change: str, filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords(64))
    index.refresh()
    assert index.search("rye bread caraway")[0].source == "index"
    with apsw.Connection(str(filled.database)) as connection:
        connection.execute("DROP TRIGGER chunk_removed")
        connection.execute(change)
    connection.close()
    best = index.search("rye bread caraway")[0]
    assert best.source in ("ripgrep", "scan")
    assert "differs from what was written" in best.why
    assert index.settle(20)
    assert answers(index) == fresh_answers(filled)
    assert index.verify(repair=False).sound


@pytest.mark.parametrize("column", ["text", "heading", "about", "speaker", "date"])
def test_values_of_the_wrong_type_are_detected_as_damage(
    column: str, filled: Workspace, open_index: Open
) -> None:
    open_index(filled, BagOfWords(64)).refresh()
    with apsw.Connection(str(filled.database)) as connection:
        connection.execute(f"UPDATE chunks SET {column} = x'ff00' WHERE text LIKE '%caraway%'")
    connection.close()
    index = open_index(filled, BagOfWords(64))
    best = index.search("rye bread caraway")[0]
    assert best.source in ("ripgrep", "scan")
    assert index.settle(20)
    assert answers(index) == fresh_answers(filled)


# Threads


def test_threads_search_while_another_refreshes(
    indexed: Workspace, open_index: Open, reads: list[int]
) -> None:
    index = open_index(indexed, BagOfWords(64))
    put(indexed, "knowledge/facts.md", "walrus 0\n")
    index.refresh()
    index.search("walrus")
    reads.clear()
    done = threading.Event()

    def search_repeatedly() -> int:
        last = count = 0
        while not count or not done.is_set():
            (found,) = index.search("walrus", 1, use_vectors=False)
            assert found.source == "index"
            version = int(found.text.split()[1])
            assert version >= last
            last, count = version, count + 1
        return count

    with ThreadPoolExecutor(5) as pool:
        readers = [pool.submit(search_repeatedly) for _ in range(4)]
        for version in range(1, 16):
            put(indexed, "knowledge/facts.md", f"walrus {version}\n")
            index.refresh(paths=["knowledge/facts.md"])
        done.set()
    assert all(reader.result() for reader in readers)
    assert index.search("walrus")[0].text == "walrus 15"
    assert max(reads) == 1  # Never everything.
    assert answers(index) == fresh_answers(indexed)


def test_threads_that_start_together_build_once(
    indexed: Workspace, open_index: Open, reads: list[int]
) -> None:
    (indexed.scratch / NAME).unlink()
    index = open_index(indexed, BagOfWords(64))
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: index.search("heron", 5, today=TODAY), range(12)))
    assert all(each == found[0] for each in found)
    assert len(found[0]) == 5
    assert reads == [len(FILES) + 60]


def test_the_terms_of_a_query_are_numbered_once(tmp_path: Path) -> None:
    memory = Resident(tmp_path)
    assert memory.numbers(["heron", "herons", "Heron", "trout"]) == memory.numbers(["heron", "trout"])
    assert len(memory.numbers(["heron-trout", "日本", "\ud800", ""])) == 3
