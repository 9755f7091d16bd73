"""Search without an index: ripgrep, or a plain scan where there is none (spec 7.4).

Either only nominates files. The chunks of the 200 that hold most of the query's words, the latest first, are
cut and compared as the index would, and ranked by how many of the words they hold, then by date. All of it
ends within a time limit. Session logs in JSON lines are left out: the index alone reads them.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import apsw

from engine.errors import AutopoiesisError
from engine.search import chunks, logs, matches
from engine.search.described import counted, listed
from engine.search.folding import Folding
from engine.search.results import Category, Chunk, SearchResult
from engine.search.sources import FOLDERS, MAX_BYTES, Source, all_sources
from engine.store import programs
from engine.store.files import Files
from engine.store.paths import Workspace

TIME_LIMIT_S = 3.0

_NOMINATION = 0.5
_RIPGREP_ERROR = 2
_MOST_FILES = 200
_MOST_LINES_PER_FILE = 200
_SHORTEST_STEM = 3
_MOST_EXPRESSION_BYTES = 64 * 1024 * 1024

_ENOUGH = 3

Tool = Literal["ripgrep", "scan"]


class _Clock:
    """The time one search may take, and whether any of its steps was cut short."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started = time.monotonic()
        self.ran_out = False

    def left(self, share: float) -> float:
        """Seconds until this share of the whole time is used up."""
        return self._seconds * share - (time.monotonic() - self._started)

    def is_over(self, share: float) -> bool:
        over = self.left(share) < 0
        self.ran_out = self.ran_out or over
        return over


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
    """The chunks that hold most of the words, best first.

    Args:
        because: Why the index was not asked, for each result's ``why``.
        time_limit_s: Seconds after which what was found so far is the answer.
    """
    clock = _Clock(time_limit_s)
    connection = apsw.Connection(":memory:")
    try:
        finder = matches.Finder(terms, matches.stemmer(connection))
        folding = Folding(connection)
        sources = {
            source.path: source
            for source in all_sources(workspace)
            if category in (None, source.category)
            and source.path not in exclude
            and source.size <= MAX_BYTES
            and not logs.is_log(source.path)
        }
        needles = _needles(finder, folding)
        tool: Tool = "ripgrep"
        counts = _ripgrep(workspace, needles, folding, sources, clock)
        if counts is None:
            tool = "scan"
            counts = _scan(files, needles, folding, sources.values(), clock)
        nominated = sorted(counts, key=lambda path: (-counts[path], -sources[path].mtime_ns, path))
        found: list[_Found] = []
        held: Counter[int] = Counter()
        for path in nominated[:_MOST_FILES]:
            # Chunks enough that hold as many words as this whole file does: nothing better is to come.
            enough = sum(number for words, number in held.items() if words >= counts[path]) >= _ENOUGH * limit
            if enough or clock.is_over(1.0):
                break
            more = list(_chunks_with(files, sources[path], finder))
            held.update(one.key[0] for one in more)
            found += more
        found.sort(key=lambda one: (one.chunk.path, one.chunk.start_line))
        found.sort(key=lambda one: one.key, reverse=True)
        return [
            _result(one, rank, terms, tool, because, clock.ran_out)
            for rank, one in enumerate(found[:limit], 1)
        ]
    finally:
        connection.close()


def _needles(finder: matches.Finder, folding: Folding) -> tuple[str, ...]:
    """What to look for, folded, to find every word of the same stem: the stem, where it begins the word."""
    needles: list[str] = []
    for term, stems in finder.stems_of.items():
        folded = folding.fold(term)
        stem = stems[0] if stems else folded
        short = len(stem) < _SHORTEST_STEM or not folded.startswith(stem)
        needles.append(folded if short else stem)
    return tuple(filter(None, dict.fromkeys(needles)))


def _ripgrep(
    workspace: Workspace,
    needles: Sequence[str],
    folding: Folding,
    sources: Mapping[str, Source],
    clock: _Clock,
) -> dict[str, int] | None:
    """How many of the needles each file holds, as ripgrep finds them; ``None`` where there is no ripgrep."""
    program = programs.find("rg")
    folders = [folder for folder in FOLDERS if workspace.root.joinpath(folder).is_dir()]
    if program is None or not folders or not needles:
        return None
    # No configuration and no ignore file of the workspace may change what is found.
    arguments = [
        program, "--no-config", "--no-ignore", "--no-messages", "--no-mmap", "--color=never", "--no-heading",
        "--with-filename", "--null", "--no-line-number", "--only-matching", "--ignore-case",
        f"--regex-size-limit={_MOST_EXPRESSION_BYTES}", f"--max-count={_MOST_LINES_PER_FILE}",
        f"--max-filesize={MAX_BYTES}", "--glob=*.md", "--glob=*.txt",
    ]  # fmt: skip
    # Of several patterns that match at one place ripgrep takes the first.
    for needle in sorted(needles, key=len, reverse=True):
        arguments += ["-e", folding.expression(needle)]
    environment = programs.surroundings()
    environment.pop("RIPGREP_CONFIG_PATH", None)
    try:
        process = subprocess.Popen(
            [*arguments, "--", *folders],
            cwd=workspace.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    with process:
        try:
            output, _ = process.communicate(timeout=max(clock.left(_NOMINATION), 0.01))
        except subprocess.TimeoutExpired:
            clock.ran_out = True
            process.kill()
            output, _ = process.communicate()
    if process.returncode == _RIPGREP_ERROR and not output:
        return None
    seen: dict[str, set[str]] = {}
    for path, match in _records(output):
        if path in sources:
            folded = folding.fold(match)
            seen.setdefault(path, set()).update(needle for needle in needles if needle in folded)
    return {path: len(found) for path, found in seen.items() if found}


def _records(output: bytes) -> Iterator[tuple[str, str]]:
    """Path and matched text. A path ends at NUL and may hold a line end; a match ends at a line end."""
    path, *rest = output.split(b"\0")
    for piece in rest:
        match, line_end, following = piece.partition(b"\n")
        yield os.fsdecode(path), match.decode("utf-8", "replace")
        if not line_end:
            return
        path = following


def _scan(
    files: Files, needles: Sequence[str], folding: Folding, sources: Collection[Source], clock: _Clock
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for source in sorted(sources, key=lambda source: (-source.mtime_ns, source.path)):
        if clock.is_over(_NOMINATION):
            break
        data = _read(files, source)
        text = folding.fold(data.decode("utf-8", "replace")) if data else ""
        if count := sum(1 for needle in needles if needle in text):
            counts[source.path] = count
    return counts


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


def _result(
    found: _Found, rank: int, terms: Sequence[str], tool: Tool, because: str, late: bool
) -> SearchResult:
    chunk = found.chunk
    words = f"Holds {counted(found.key[0], len(terms))}"
    inside = f": {listed(found.within.terms)}" if found.within.terms else " in its heading or file"
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
        source=tool,
        why=f"{words}{inside}; {how}{cut}.",
    )
