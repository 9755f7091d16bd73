"""While files change, an index that is kept up to date answers like one built from scratch."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
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
from engine.search.results import SearchResult
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import FILES, TRANSCRIPT, BagOfWords, put

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats

pytestmark = pytest.mark.both

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
    """A workspace with an index of a few hundred chunks."""
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
        self.index = new_index(self.workspace)
        self.reader = new_index(self.workspace)
        self.clean = False

    def teardown(self) -> None:
        self.index.close()
        self.reader.close()
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
            assert self.index.verify(repair=False).sound


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
    assert index.verify(repair=False).sound


@pytest.mark.both(False)
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


@pytest.mark.both(False)
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


@pytest.mark.both(False)
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


@pytest.mark.both(False)
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


# Damage


@pytest.mark.both(False)
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
    assert best.source == "scan"
    assert "from what was written" in best.why
    assert index.settle(20)
    assert answers(index) == fresh_answers(filled)
    assert index.verify(repair=False).sound


@pytest.mark.both(False)
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
    assert best.source == "scan"
    assert index.settle(20)
    assert answers(index) == fresh_answers(filled)


# Threads


@pytest.mark.both(False)
def test_threads_search_while_another_refreshes(indexed: Workspace, open_index: Open) -> None:
    index = open_index(indexed, BagOfWords(64))
    put(indexed, "knowledge/facts.md", "walrus 0\n")
    index.refresh()
    index.search("walrus")
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
    assert answers(index) == fresh_answers(indexed)
