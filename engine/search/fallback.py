"""Searches the files without an index (spec 7.4).

The 200 files that contain the most query words, latest first, are split into chunks and matched as the index
would do it; their chunks are ranked by how many of the words they contain, then by date. All of it stops at a
time limit. Session logs in JSON lines are left out: only the index reads them.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from engine.errors import AutopoiesisError
from engine.search import chunks, logs, matches
from engine.search.results import Category, Chunk, SearchResult
from engine.search.scripts import searchable
from engine.search.sources import MAX_BYTES, Source, all_sources
from engine.store.files import Files
from engine.store.paths import Workspace

TIME_LIMIT_S = 3.0

_COUNTING = 0.6
"""Share of the time in which the words of files are counted."""
_MOST_FILES = 200
_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True)
class _Found:
    key: tuple[int, str, int]
    chunk: Chunk
    category: str
    within: matches.Matches


def search(
    workspace: Workspace,
    files: Files,
    terms: Sequence[str],
    *,
    limit: int,
    category: Category | None = None,
    exclude: Collection[str] = (),
    because: str = "",
    time_limit_s: float = TIME_LIMIT_S,
) -> list[SearchResult]:
    """The chunks that contain the most query words, best first.

    Args:
        because: Why the index was not used, for each result's ``why``.
        time_limit_s: Seconds after which the results so far are returned.
    """
    started, is_late = time.monotonic(), False
    finder = matches.Finder(terms)
    sources = {
        source.path: source
        for source in all_sources(workspace)
        if category in (None, source.category)
        and source.path not in exclude
        and source.size <= MAX_BYTES
        and not logs.is_log(source.path)
    }
    needles, counts = _needles(finder), dict[str, int]()
    latest = sorted(sources.values(), key=lambda source: (-source.mtime_ns, source.path))
    for source in latest:
        if time.monotonic() - started > _COUNTING * time_limit_s:
            is_late = True
            break
        data = _read(files, source)
        text = searchable(data.decode("utf-8", "replace")).casefold() if data else ""
        if count := sum(needle in text for needle in needles):
            counts[source.path] = count
    found: list[_Found] = []
    for path in sorted(counts, key=lambda path: -counts[path])[:_MOST_FILES]:
        if time.monotonic() - started > time_limit_s:
            is_late = True
            break
        found += _chunks_with(files, sources[path], finder)
    found.sort(key=lambda one: (one.chunk.path, one.chunk.start_line))
    found.sort(key=lambda one: one.key, reverse=True)
    return [_result(one, rank, terms, because, is_late) for rank, one in enumerate(found[:limit], 1)]


def _needles(finder: matches.Finder) -> tuple[str, ...]:
    """What every form of a word contains, for each of the words; all that contain it need not be one."""
    stems = (stem.casefold() for stems in finder.stems_of.values() for stem in stems[:1])
    # The stemmer changes the last letter: happy, happi.
    return tuple(dict.fromkeys(stem[:-1] if len(stem) > _SHORTEST_STEM else stem for stem in stems))


def _chunks_with(files: Files, source: Source, finder: matches.Finder) -> Iterator[_Found]:
    data = _read(files, source)
    if data is None:
        return
    changed = datetime.datetime.fromtimestamp(source.mtime_ns / 1e9, datetime.UTC).date().isoformat()
    for piece in chunks.split(data, source.path, source.category).pieces:
        within = finder.find(piece.chunk.text)
        around = finder.find(f"{piece.chunk.heading} {piece.about}")
        if count := len({*within.terms, *around.terms}):
            key = (count, piece.chunk.date or changed, source.mtime_ns)
            yield _Found(key, piece.chunk, source.category, within)


def _read(files: Files, source: Source) -> bytes | None:
    try:
        data = files.read(source.path, limit=MAX_BYTES)
    except (FileNotFoundError, AutopoiesisError):
        return None
    return None if b"\0" in data else data


def _result(found: _Found, rank: int, terms: Sequence[str], because: str, late: bool) -> SearchResult:
    chunk = found.chunk
    words = f"contains {found.key[0]} of {len(terms)} words"
    how = "the files were searched directly" + (f" because {because}" if because else "")
    cut = ", and time ran out before all were read" if late else ""
    return SearchResult(
        path=chunk.path,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        category=found.category,  # type: ignore[arg-type]
        heading=chunk.heading,
        date=chunk.date,
        snippet=matches.snippet(chunk.text, found.within),
        text=chunk.text,
        score=found.key[0] / len(terms),
        lexical_rank=rank,
        vector_rank=None,
        source="scan",
        why=f"{words}; {how}{cut}",
    )
