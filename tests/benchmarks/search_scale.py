"""Search at scale: up to 100,000 chunks, warm and cold; compared with FTS5, sqlite-vec, tantivy and numpy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy

from engine.context import tokens
from engine.engine import Engine
from engine.search.chunks import split
from engine.search.embeddings import LocalEmbedder
from engine.search.index import SearchIndex
from engine.search.query import literal_terms
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.benchmarks.inputs import Words, write_transcripts
from tests.benchmarks.peers import Matrix, Tantivy, VectorTable, WordTable
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Action, alternate, once

TURNS = 12
"""Approximate number of chunks per transcript."""

# The peak size in KiB. That of getrusage starts with the size of the parent process.
_PEAK = (
    "from pathlib import Path\n"
    "print(next(line.split()[1] for line in Path('/proc/self/status').read_text().splitlines()"
    " if line.startswith('VmHWM')))\n"
)
_HAS_PEAK = Path("/proc/self/status").exists()
_COLD = (
    "import sys\n"
    "from engine.engine import Engine\n"
    "with Engine.open(sys.argv[1]) as engine:\n"
    "    assert engine.search(sys.argv[2])[0].source == 'index'\n"
)
_BARE = "import numpy, apsw\n"


def run(setting: Setting) -> Iterator[Row]:
    """Time building, searching warm and cold, following changes, and compiling."""
    for size in setting.sizes(1_000, 10_000, 100_000):
        words = Words(3)
        workspace = setting.workspace(f"search-{size}")
        paths = write_transcripts(words, workspace.root, max(2, setting.size(size, 48) // TURNS))
        yield from _measured(
            setting, f"{size:,} chunks", workspace, paths, words.questions(setting.size(200, 4))
        )


def _measured(
    setting: Setting, name: str, workspace: Workspace, paths: list[str], questions: list[str]
) -> Iterator[Row]:
    rows = [
        (piece.chunk.text, piece.chunk.heading, piece.about)
        for path in paths
        for piece in split((workspace.root / path).read_bytes(), path, "conversation").pieces
    ]
    table = WordTable(setting.folder / f"{len(rows)}.db")
    settings = SearchSettings()
    with closing(table):
        raw, _ = once(lambda: table.insert(rows))
        with closing(_index(workspace, settings, by_meaning=False)) as by_words:
            plain, _ = once(by_words.rebuild)
        yield Row(f"{name}, index made, words alone", plain, "FTS5 insertion", raw)
        with closing(_index(workspace, settings)) as index:
            whole, _ = once(index.rebuild)
            per_chunk = f"{1e6 * (whole.p50 - plain.p50) / len(rows):,.0f} µs a chunk for vectors"
            yield Row(f"{name}, index made, with vectors", whole, "FTS5 insertion", raw, per_chunk)
            table.optimise()
            yield from _searched(setting, name, index, table, workspace, rows, questions)
            yield from _followed(setting, name, index, table, workspace, paths, rows[0])
        yield from _compiled(setting, name, workspace, questions)
        yield _cold(setting, name, workspace, questions, len(rows))


def _index(workspace: Workspace, settings: SearchSettings, *, by_meaning: bool = True) -> SearchIndex:
    return SearchIndex(workspace, Files(workspace), settings, LocalEmbedder() if by_meaning else None)


def _searched(
    setting: Setting,
    name: str,
    index: SearchIndex,
    table: WordTable,
    workspace: Workspace,
    rows: list[tuple[str, str, str]],
    questions: list[str],
) -> Iterator[Row]:
    embedder = LocalEmbedder()
    floats = numpy.random.default_rng(1).standard_normal((len(rows), embedder.dimensions))
    matrix = Matrix(floats)
    tantivy = Tantivy.of([" ".join(row) for row in rows])
    agree(index.search(questions[0])[0].source == "index", "the index does not answer")
    with closing(VectorTable(setting.folder / f"{len(rows)}-vectors.db", floats)) as near:

        def both(number: int) -> object:
            question = questions[number % len(questions)]
            return table.search(literal_terms(question), 50), near.search(embedder.embed([question])[0])

        actions: list[Action] = [
            lambda number: index.search(questions[number % len(questions)], use_vectors=False),
            lambda number: index.search(questions[number % len(questions)]),
            lambda number: table.search(literal_terms(questions[number % len(questions)])),
            both,
            lambda number: matrix.search(embedder.embed([questions[number % len(questions)]])[0]),
            lambda number: index.search(questions[number % len(questions)], use_vectors=False, in_full=False),
        ]
        if tantivy is not None:
            actions.append(lambda number: tantivy.search(literal_terms(questions[number % len(questions)])))
        lexical, hybrid, words, merged, by_matrix, ranked, *others = alternate(
            actions, rounds=setting.size(100, 2), warm_up=3
        )
    yield Row(f"{name}, by words", lexical, "FTS5 MATCH", words)
    yield Row(f"{name}, by words, no snippets", ranked, "FTS5 MATCH", words)
    for other in others:
        yield Row(f"{name}, by words, no snippets", ranked, "tantivy", other)
    yield Row(f"{name}, by words and meaning", hybrid, "FTS5 and sqlite-vec", merged)
    yield Row(f"{name}, by words and meaning", hybrid, "numpy, float32, meaning alone", by_matrix)


def _followed(
    setting: Setting,
    name: str,
    index: SearchIndex,
    table: WordTable,
    workspace: Workspace,
    paths: list[str],
    row: tuple[str, str, str],
) -> Iterator[Row]:
    """Re-indexing and finding one changed file."""

    def touch(number: int) -> None:
        with (workspace.root / paths[number % len(paths)]).open("a", encoding="utf-8") as stream:
            stream.write(f"\n## 23:50 — user\n\nOne thing more, number {number}.\n")

    refreshed, one = alternate(
        [
            lambda number: index.refresh(paths=[paths[number % len(paths)]]),
            lambda number: table.put(number + 1, row),
        ],
        rounds=setting.size(30, 2),
        warm_up=2,
        before=touch,
    )
    found = [result.text for result in index.search(f"number {setting.size(30, 2) + 1}", limit=50)]
    agree(any("One thing more" in text for text in found), "what was added is not found")
    yield Row(
        f"{name}, one changed file, a chunk", refreshed.per(TURNS), "FTS5, one row", one,
        f"{1e3 * refreshed.p50:.1f} ms the file",
    )  # fmt: skip


def _compiled(setting: Setting, name: str, workspace: Workspace, questions: list[str]) -> Iterator[Row]:
    with Engine.open(workspace.root) as engine:
        _, first = engine.try_message(questions[0])
        agree(any(section.slot == "knowledge" for section in first.sections), "nothing was retrieved")
        texts = [engine.try_message(question)[1].text for question in questions]
        compiled, counted = alternate(
            [
                lambda number: engine.try_message(questions[number % len(questions)]),
                # A different one in every round, because token counts are cached.
                lambda number: tokens.count(f"{number}\n{texts[number % len(texts)]}"),
            ],
            rounds=setting.size(60, 2),
            warm_up=2,
        )
    note = f"{first.tokens:,} tokens"
    yield Row(f"{name}, trace and compile", compiled, "counting the prompt's tokens", counted, note)


def _cold(setting: Setting, name: str, workspace: Workspace, questions: list[str], chunks: int) -> Row:
    """A process that searches once, and the memory it needs beyond its packages."""
    sizes: list[int] = []

    def search(number: int) -> None:
        sizes.append(_child(_COLD, str(workspace.root), questions[number % len(questions)]))

    found, bare = alternate([search, lambda _: _child(_BARE)], rounds=setting.size(9, 1), warm_up=1)
    bytes_each = (max(sizes) - _child(_BARE)) * 1024 / chunks
    note = f"{bytes_each:,.0f} bytes a chunk in memory" if _HAS_PEAK else ""
    figures = {"bytes_per_chunk": bytes_each}
    return Row(f"{name}, a process that searches once", found, "numpy and apsw imported", bare, note, figures)


def _child(code: str, *arguments: str) -> int:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", code + (_PEAK if _HAS_PEAK else "print(0)"), *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=Path(__file__).parents[2],
    )
    return int(done.stdout)
