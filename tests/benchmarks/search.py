"""The search index over 2,000 transcripts: building, searching, refreshing; beside a bare FTS5 table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from engine.search.chunks import split
from engine.search.embeddings import LocalEmbedder
from engine.search.index import SearchIndex
from engine.search.query import literal_terms
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.benchmarks.inputs import Words, write_transcripts
from tests.benchmarks.peers import WordTable, stat_all
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Timings, alternate, once

Chunks = list[tuple[str, str, str]]


def run(setting: Setting) -> Iterator[Row]:
    """Time building, searching and refreshing."""
    words = Words(3)
    workspace = setting.workspace("search")
    paths = write_transcripts(words, workspace.root, setting.size(2_000, 20))
    table = WordTable(setting.folder / "raw.db")
    with closing(_index(workspace)) as index, closing(table):
        chunks = _chunks(workspace, paths)
        raw, _ = once(lambda: table.insert(chunks))
        yield from _building(index, workspace, raw, len(paths), len(chunks))
        table.optimise()
        yield from _searching(index, table, words.questions(setting.size(120, 5)), setting.size(100, 3))
        yield from _refreshing(index, table, workspace, paths, chunks[0], setting.size(30, 2))


def _index(workspace: Workspace, *, by_meaning: bool = True) -> SearchIndex:
    embedder = LocalEmbedder() if by_meaning else None
    return SearchIndex(workspace, Files(workspace), SearchSettings(), embedder)


def _chunks(workspace: Workspace, paths: list[str]) -> Chunks:
    """The chunks of the files as table rows."""
    return [
        (piece.chunk.text, piece.chunk.heading, piece.about)
        for path in paths
        for piece in split((workspace.root / path).read_bytes(), path, "conversation").pieces
    ]


def _building(
    index: SearchIndex, workspace: Workspace, raw: Timings, files: int, chunks: int
) -> Iterator[Row]:
    with closing(_index(workspace, by_meaning=False)) as words_alone:
        words_s, _ = once(words_alone.rebuild)
    whole_s, _ = once(index.rebuild)
    found = index.status()
    agree(found.chunks == chunks, f"the index holds {found.chunks} chunks of {chunks}")
    for name, ours in (("by words alone", words_s), ("with vectors", whole_s)):
        figures = {"files_per_s": files / ours.p50, "chunks_per_s": chunks / ours.p50}
        note = f"{chunks:,} chunks, {figures['chunks_per_s']:,.0f}/s"
        yield Row(f"index {files:,} transcripts, {name}", ours, "FTS5 insertion", raw, note, figures)


def _searching(index: SearchIndex, table: WordTable, questions: list[str], rounds: int) -> Iterator[Row]:
    def question(number: int) -> str:
        return questions[number % len(questions)]

    for text in questions[:5]:
        agree(bool(table.search(literal_terms(text))), f"FTS5 finds nothing for {text!r}")
        agree(index.search(text)[0].source == "index", "the index does not answer")

    lexical, hybrid, raw = alternate(
        [
            lambda number: index.search(question(number), use_vectors=False),
            lambda number: index.search(question(number)),
            lambda number: table.search(literal_terms(question(number))),
        ],
        rounds=rounds,
        warm_up=3,
    )
    yield Row("search by words", lexical, "FTS5 MATCH", raw)
    yield Row("search by words and meaning", hybrid, "FTS5 MATCH", raw)


def _refreshing(
    index: SearchIndex,
    table: WordTable,
    workspace: Workspace,
    paths: list[str],
    chunk: tuple[str, str, str],
    rounds: int,
) -> Iterator[Row]:
    root = workspace.transcripts
    nothing, walk = alternate([lambda _: index.refresh(), lambda _: stat_all(root)], rounds=rounds, warm_up=2)
    yield Row("refresh, nothing changed", nothing, "os.walk and stat", walk)

    def touch(number: int) -> None:
        with (workspace.root / paths[number % len(paths)]).open("a", encoding="utf-8") as stream:
            stream.write(f"\n## 23:50 — user\nOne thing more, number {number}.\n")

    def replaced(number: int) -> None:
        table.put(number + 1, chunk)

    named, row = alternate(
        [lambda number: index.refresh(paths=[paths[number % len(paths)]]), replaced],
        rounds=rounds,
        warm_up=2,
        before=touch,
    )
    yield Row("refresh, one changed file, named", named, "FTS5, one row", row)
    found, row = alternate([lambda _: index.refresh(), replaced], rounds=rounds, warm_up=2, before=touch)
    yield Row("refresh, one changed file, looked for", found, "FTS5, one row", row)
