"""Brings the index up to date with the files, in steps that keep it consistent (spec 7.3)."""

from __future__ import annotations

import json
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice, repeat
from typing import NamedTuple, TypeVar

import apsw

from engine.search import changes, chunks, passages, schema, vectors
from engine.search.changes import Change, ChunkRow, Known, Stored, file_digest
from engine.search.embeddings import EMBEDDING_FAULTS, Embedder
from engine.search.facts import Facts, Words, facts_of, numbers_in
from engine.search.sources import Source, all_sources, is_encodable, named_sources
from engine.search.terms import Terms
from engine.startup.records import dataclass
from engine.store.files import Files
from engine.store.paths import Workspace, shown

Progress = Callable[[int, int], None]
"""Called with the number of steps done and the total."""

_Item = TypeVar("_Item")

_FILE_COLUMNS = (
    "path, category, session_id, title, date, tags, line_count, skipped,"
    " sha256, size, mtime_ns, ctime_ns, read_ns, chunk_count, digest, stamp"
)
_CHUNKS_OF = "SELECT id FROM chunks WHERE file_id = ?"

BATCH_FILES = 64
BATCH_BYTES = 2 * 1024 * 1024
BATCH_TEXTS = 512


class _New(NamedTuple):
    """A chunk to write."""

    row: ChunkRow
    facts: tuple[Facts, Words]
    vector: bytes | None  # packed; ``None`` without a model


@dataclass(slots=True)
class Outcome:
    """What a refresh has done so far; the fields match those of ``IndexReport``."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    unnameable: list[str] = field(default_factory=list)
    embedded: int = 0
    vectors: str = ""
    stopped: bool = False


class Writer:
    """One refresh over an open connection. The caller holds the index lock.

    Args:
        connection: A write connection to a database with the newest schema.
        embedder: Computes vectors while files are written; ``None`` without a model, or if a slow model
            computes them later.
        stopping: Called between steps; returns whether to stop early.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        workspace: Workspace,
        files: Files,
        embedder: Embedder | None,
        without_vectors: str = "",
        *,
        progress: Progress | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._connection = connection
        self._workspace = workspace
        self._files = files
        self._embedder = embedder
        self._progress = progress or (lambda done, total: None)
        self._stopping = stopping
        self._terms = Terms()
        self._held: Counter[int] = Counter()
        self.outcome = Outcome(vectors=without_vectors)

    def run(self, paths: Iterable[str] | None = None) -> Outcome:
        """Bring the whole index, or the given paths, up to date.

        Raises:
            apsw.Error: The database is damaged or cannot be written.
        """
        connection, outcome = self._connection, self.outcome
        self._check_versions()
        sources, known = self._everything() if paths is None else self._named(paths)
        pending = pending_of(sources, known, outcome)
        present = {source.path for source in sources}
        gone = [row.id for path, row in known.items() if path not in present]
        backlog = self._backlog()
        was_complete = schema.get_meta(connection, "complete") == "1"
        completes = paths is None and not was_complete
        if pending or gone or backlog or completes:
            self._work(pending, known, gone, backlog)
            if completes and not outcome.stopped:
                connection.execute("INSERT INTO chunk_words (chunk_words) VALUES ('optimize')")
            if paths is None and not outcome.stopped:
                with connection:
                    schema.set_meta(connection, "complete", "1")
                    schema.set_meta(connection, "refreshed_ns", str(time.time_ns()))
        return outcome

    def _check_versions(self) -> None:
        """Mark all files for reading if the chunker changed, and delete vectors of another model."""
        if schema.get_meta(self._connection, "chunker") != chunks.VERSION:
            with self._connection:
                self._connection.execute("UPDATE files SET sha256 = ''")
                schema.set_meta(self._connection, "chunker", chunks.VERSION)
        if self._embedder is not None:
            try:
                with self._connection:
                    vectors.prepare(self._connection, self._embedder)
            except EMBEDDING_FAULTS as error:
                self.outcome.vectors = f"the embedding model failed ({error})"
                self._embedder = None

    def _everything(self) -> tuple[list[Source], dict[str, Known]]:
        # In the order of their paths, and thus conversations by date, so that equal files give equal indexes.
        return sorted(all_sources(self._workspace), key=lambda each: each.path), self._known("1", ())

    def _named(self, paths: Iterable[str]) -> tuple[list[Source], dict[str, Known]]:
        sources: dict[str, Source] = {}
        known: dict[str, Known] = {}
        for path in paths:
            plain, found = named_sources(self._workspace, path)
            if plain and is_encodable(plain):
                sources |= {source.path: source for source in found}
                # "0" follows "/", so this range covers everything below the path and uses the path index.
                known |= self._known("path = ? OR (path > ? AND path < ?)", (plain, f"{plain}/", f"{plain}0"))
        return list(sources.values()), known

    def _known(self, condition: str, values: tuple[str | int, ...]) -> dict[str, Known]:
        rows = self._connection.execute(
            "SELECT path, id, sha256, size, mtime_ns, ctime_ns, read_ns, skipped FROM files"
            f" WHERE {condition}",
            values,
        )
        return {path: Known(*rest) for path, *rest in rows}

    def _work(
        self, pending: Sequence[Source], known: dict[str, Known], gone: Sequence[int], backlog: int
    ) -> None:
        total, done = len(pending) + backlog, 0
        self._progress(0, total)
        for ids in batches(gone, BATCH_TEXTS):
            with self._connection:
                stamp = schema.next_stamp(self._connection)
                for file in ids:
                    self._remove([chunk for (chunk,) in self._connection.execute(_CHUNKS_OF, (file,))])
                self._count_terms()
                self._connection.executemany("DELETE FROM files WHERE id = ?", [(file,) for file in ids])
                self._connection.executemany(
                    "INSERT OR REPLACE INTO gone (file, stamp) VALUES (?, ?)", [(file, stamp) for file in ids]
                )
            self.outcome.removed += len(ids)
        for batch in self._read(pending, known):
            self._write(batch)
            done += len(batch)
            self._progress(done, total)
        while not self._must_stop() and (count := self._embed_backlog()):
            done = min(done + count, total)
            self._progress(done, total)
        if not self.outcome.stopped:
            self._progress(total, total)

    def _must_stop(self) -> bool:
        self.outcome.stopped = self.outcome.stopped or self._stopping()
        return self.outcome.stopped

    def _read(self, pending: Sequence[Source], known: dict[str, Known]) -> Iterator[list[Change]]:
        """Read the files in batches that fit in memory and in one transaction."""
        batch: list[Change] = []
        size = 0
        for source in pending:
            if self._must_stop():
                break
            batch.append(changes.read(self._stored, self._files, source, known.get(source.path)))
            size += source.size
            if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _stored(self, file: int) -> Iterator[Stored]:
        return self._connection.execute(
            "SELECT id, position, start_line, end_line, speaker, date, heading, about, text FROM chunks"
            " WHERE file_id = ? ORDER BY position",
            (file,),
        )

    def _write(self, batch: Sequence[Change]) -> None:
        rows = [row for change in batch for row in change.new]
        packed = self._embed([vectors.embedded_text(row[3], row[5], row[7]) for row in rows])
        facts = facts_of(self._terms, [row[3:] for row in rows])
        following = iter([_New(*each) for each in zip(rows, facts, packed or repeat(None), strict=False)])
        embedded: list[tuple[int, bytes]] = []
        with self._connection:
            stamp = schema.next_stamp(self._connection)
            for change in batch:
                if change.known is not None and change.is_none:
                    self._connection.execute(
                        "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, read_ns = ?, sha256 = ?"
                        " WHERE id = ?",
                        (
                            change.source.size,
                            change.source.mtime_ns,
                            change.source.ctime_ns,
                            change.read_ns,
                            change.sha256,
                            change.known.id,
                        ),
                    )
                    self.outcome.unchanged += 1
                    continue
                embedded += self._write_file(change, stamp, list(islice(following, len(change.new))))
                if change.known is None:
                    self.outcome.added += 1
                else:
                    self.outcome.changed += 1
            self._count_terms()
            vectors.add(self._connection, embedded)
        self.outcome.embedded += sum(1 for vector in packed if vector)

    def _write_file(self, change: Change, stamp: int, new: Sequence[_New]) -> list[tuple[int, bytes]]:
        """Write a file's row and bring its chunks up to date; return the vectors of the new ones by id."""
        connection, source, contents = self._connection, change.source, change.contents
        metadata = (
            source.path,
            source.category,
            contents.session_id if contents else "",
            contents.title if contents else "",
            contents.date if contents else "",
            json.dumps(contents.tags if contents else [], ensure_ascii=False),
            contents.line_count if contents else 0,
            change.skipped,
        )
        times = (source.mtime_ns, source.ctime_ns, change.read_ns)
        read = (change.sha256, source.size, *times, len(change.rows))
        values = (*metadata, *read, file_digest(metadata, change.rows), stamp)
        if change.known is None:
            marks = ", ".join("?" * len(values))
            connection.execute(f"INSERT INTO files ({_FILE_COLUMNS}, extent) VALUES ({marks}, 0)", values)
            file = connection.last_insert_rowid()
        else:
            file = change.known.id
            assignments = ", ".join(f"{column} = ?" for column in _FILE_COLUMNS.split(", "))
            connection.execute(f"UPDATE files SET {assignments} WHERE id = ?", (*values, file))
        extent = -self._remove(change.gone)
        connection.executemany(
            "UPDATE chunks SET position = ?, start_line = ?, end_line = ? WHERE id = ?",
            [(*place, chunk) for chunk, place in change.moved],
        )
        embedded = self._add(file, new)
        extent += sum(each.facts[0].length for each in new)
        connection.execute("UPDATE files SET extent = extent + ? WHERE id = ?", (extent, file))
        if source.category == "conversation":
            # What another person and their agent said is found by a search, but told to no one unasked.
            is_own = contents is not None and not contents.author
            self._write_passages(file, contents.pieces if contents and is_own else ())
        return embedded

    def _add(self, file: int, new: Sequence[_New]) -> list[tuple[int, bytes]]:
        """Write chunks with the words indexed of them, and return their vectors by id."""
        if not new:
            return []
        first = 1 + int(self._connection.execute("SELECT coalesce(max(id), 0) FROM chunks").get)
        chunks, words = [], []
        for chunk, (row, (facts, indexed), vector) in enumerate(new, first):
            kept = None if vector is None else vectors.sum_of(vector)
            chunks.append((chunk, file, *row[:3], kept, *facts, vector or b"", *row[3:]))
            words.append((chunk, *indexed))
            self._held.update(numbers_in(facts.terms))
        marks = ", ".join("?" * len(chunks[0]))
        self._connection.executemany(f"INSERT INTO chunks VALUES ({marks})", chunks)
        self._connection.executemany(
            "INSERT INTO chunk_words (rowid, prose, heading, about, aside) VALUES (?, ?, ?, ?, ?)", words
        )
        return [(chunk, each.vector) for chunk, each in enumerate(new, first) if each.vector]

    def _remove(self, chunks: Sequence[int]) -> int:
        """Delete chunks with all that is indexed of them, and return the total of their lengths."""
        extent = 0
        for chunk in chunks:
            for terms, length in self._connection.execute(
                "SELECT terms, length FROM chunks WHERE id = ?", (chunk,)
            ):
                self._held.subtract(numbers_in(terms))
                extent += length
        self._connection.executemany("DELETE FROM chunks WHERE id = ?", [(chunk,) for chunk in chunks])
        if chunks:
            vectors.remove(self._connection, chunks)
        return extent

    def _count_terms(self) -> None:
        """Write how many more or fewer chunks contain each term, before the transaction ends."""
        changed = sorted(each for each in self._held.items() if each[1])
        self._held.clear()
        self._connection.executemany(
            "INSERT INTO terms VALUES (?, ?)"
            " ON CONFLICT (term) DO UPDATE SET chunks = chunks + excluded.chunks",
            changed,
        )
        self._connection.executemany(
            "DELETE FROM terms WHERE term = ? AND chunks <= 0",
            [(term,) for term, more in changed if more < 0],
        )

    def _write_passages(self, file: int, pieces: Sequence[chunks.Piece]) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)", (file, *packed_passages(pieces))
        )

    def _backlog(self) -> int:
        return 0 if self._embedder is None else vectors.count_missing(self._connection, self._embedder)

    def _embed_backlog(self) -> int:
        """Embed some chunks that were written without vectors, and return their number."""
        if self._embedder is None:
            return 0
        rows = vectors.missing_texts(self._connection, self._embedder, BATCH_TEXTS)
        packed = self._embed([text for _, text in rows])
        if not packed:
            return 0
        with self._connection:
            places = (chunk for chunk, _ in rows)
            vectors.complete(self._connection, list(zip(places, packed, strict=True)))
        self.outcome.embedded += sum(1 for vector in packed if vector)
        return len(rows)

    def _embed(self, texts: Sequence[str]) -> list[bytes]:
        """Packed vectors of texts; empty without a model. A model that fails is not called again."""
        if self._embedder is None:
            return []
        packed: list[bytes] = []
        for batch in batches(texts, BATCH_TEXTS):
            try:
                found = self._embedder.embed(batch)
            except EMBEDDING_FAULTS as error:
                self.outcome.vectors = f"the embedding model failed ({error})"
            else:
                if found.shape == (len(batch), self._embedder.dimensions):
                    packed.extend(vectors.packed(found))
                    continue
                self.outcome.vectors = "the embedding model's vectors do not have the declared size"
            self._embedder = None
            return []
        return packed


def pending_of(sources: Iterable[Source], known: Mapping[str, Known], outcome: Outcome) -> list[Source]:
    """The files to read; the others are counted in the outcome."""
    pending: list[Source] = []
    for source in sources:
        row = known.get(source.path)
        if not is_encodable(source.path):
            outcome.unnameable.append(shown(source.path))
        elif row is not None and row.is_current(source):
            outcome.unchanged += 1
        else:
            pending.append(source)
    return pending


def packed_passages(pieces: Sequence[chunks.Piece]) -> tuple[bytes, bytes, bytes, bytes]:
    """The arrays of ``engine.search.past.Session`` for a conversation, packed, in their order."""
    found = passages.passages(pieces)
    places = array("i", (number for each in found for number in each[:4]))
    lengths = array("i", (len(each.words) // places.itemsize for each in found))
    spoken = b"".join(each.words for each in found)
    return passages.session_words(pieces), places.tobytes(), lengths.tobytes(), spoken


def batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
