"""Adapters of search and compile for a retrieval benchmark, with dialogue turns as transcripts."""

from __future__ import annotations

import bisect
import importlib
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypedDict

from engine.context import tokens
from engine.engine import Engine
from engine.search.query import literal_terms
from engine.search.results import SearchResult
from engine.settings import trust
from engine.transcripts.format import parse, render
from engine.transcripts.turn import Role, Text, Transcript, Turn
from tests.benchmarks.peers import WordTable
from tests.benchmarks.rows import agree
from tests.search.postgres.servers import committed

_FORMATS = ("%Y-%m-%d", "%d %B, %Y", "%d %B %Y", "%B %d %Y", "%B %d, %Y")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2}) ?(am|pm)?(?: on)?", re.IGNORECASE)
_ROLES: dict[str, Role] = {"user": "user", "human": "user", "assistant": "agent", "agent": "agent"}
SHARED_INDEX = "RETRIEVAL_INDEX_URL"
"""Environment variable with the address of a PostgreSQL to search instead of memory.db."""
LEAST_USE = 0.95
"""Share of the budget that a prompt must use if there is more text."""
_UNDATED = datetime(2000, 1, 1, tzinfo=UTC)


class Doc(TypedDict):
    """One turn of a dialogue."""

    id: str
    session: str
    pos: int
    date: str
    speaker: str
    body: str


@dataclass(slots=True)
class _Places:
    """The turns of one transcript: the line of each heading, ascending, and the turn's id."""

    lines: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def at(self, line: int) -> str | None:
        """The id of the turn that contains a line."""
        index = bisect.bisect_right(self.lines, line) - 1
        return self.ids[index] if index >= 0 else None


class Memory:
    """Dialogues as transcripts in a temporary workspace that exists as long as this object.

    Each session is a dated transcript; speakers other than user and assistant are named in the text.
    """

    def __init__(self, docs: Sequence[Doc]) -> None:
        with ExitStack() as stack:
            root = Path(tempfile.mkdtemp(prefix="autopoiesis-retrieval-"))
            stack.callback(shutil.rmtree, root, ignore_errors=True)
            url = os.environ.get(SHARED_INDEX, "")
            (root / "memory-config.yaml").write_text(f"index: {{url: '{url}'}}\n" if url else "")
            if url:
                committed(root)
                os.environ[trust.VARIABLE] = "all"
            self._places = _write(root, docs)
            self.engine = stack.enter_context(Engine.open(root))
            self.engine.refresh_index()
            weakref.finalize(self, stack.pop_all().close)

    def search(self, query: str, limit: int) -> list[str]:
        """The distinct ids of the turns found by search, best first."""
        found = (self._id_of(result) for result in self.engine.search(query, limit=limit))
        return list(dict.fromkeys(doc for doc in found if doc is not None))

    def compile(self, query: str, budget: int) -> str:
        """The prompt for a query, within a budget in tokens."""
        return self.engine.compile(query, budget=budget).text

    def compile_checked(self, query: str, budget: int) -> str:
        """The same, and check that the budget is kept and used and that the output is deterministic.

        Raises:
            Disagreement: A check failed.
        """
        compiled = self.engine.compile(query, budget=budget)
        room = budget - compiled.reply_reserve
        agree(compiled.tokens == tokens.count(compiled.text), f"tokens miscounted for {query!r}")
        agree(compiled.tokens <= room, f"{compiled.tokens} tokens of {room} for {query!r}")
        had_more = any(missing.limit == "room" for missing in compiled.left_out)
        agree(
            compiled.tokens >= LEAST_USE * room or not had_more,
            f"only {compiled.tokens} tokens of {room} used for {query!r}",
        )
        agree(self.compile(query, budget) == compiled.text, f"another prompt the second time for {query!r}")
        return compiled.text

    def _id_of(self, result: SearchResult) -> str | None:
        places = self._places.get(result.path)
        return places.at(result.start_line) if places else None


Search = Callable[[str, int], list[str]]
"""Takes a query and a limit; returns ids, best first."""


def make(docs: Sequence[Doc]) -> Search:
    """``search(query, limit)`` over the turns, which returns their ids, best first."""
    return Memory(docs).search


def compiler(docs: Sequence[Doc]) -> Callable[[str, int], str]:
    """``compile(query, budget)`` over the turns, which returns the prompt."""
    return Memory(docs).compile


def compiler_checked(docs: Sequence[Doc]) -> Callable[[str, int], str]:
    """The same, with the checks of ``Memory.compile_checked``."""
    return Memory(docs).compile_checked


def make_fts5(docs: Sequence[Doc]) -> Search:
    """A bare FTS5 table, matching any of the words except stop words."""
    table = WordTable(":memory:")
    table.insert((f"{doc['speaker']}: {doc['body']}", "", doc["date"]) for doc in docs)
    ids = [doc["id"] for doc in docs]
    return lambda query, limit: [ids[row - 1] for row, _ in table.search(literal_terms(query), limit)]


def make_bm25s(docs: Sequence[Doc]) -> Search:
    """bm25s with its stop words and a stemmer, if installed."""
    bm25s: Any = importlib.import_module("bm25s")
    stemmer: Any = importlib.import_module("Stemmer").Stemmer("english")

    def tokenize(texts: str | list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25()
    index.index(
        tokenize([f"{doc['date']} {doc['speaker']}: {doc['body']}" for doc in docs]), show_progress=False
    )
    ids = [doc["id"] for doc in docs]

    def search(query: str, limit: int) -> list[str]:
        found, _ = index.retrieve(tokenize(query), k=min(limit, len(ids)), show_progress=False)
        return [ids[row] for row in found[0]]

    return search


def _write(root: Path, docs: Sequence[Doc]) -> dict[str, _Places]:
    """Write a transcript per session and date; returns the positions of the turns by relative path."""
    sessions: dict[tuple[str, str], list[Doc]] = {}
    for doc in docs:
        sessions.setdefault((doc["session"], doc["date"]), []).append(doc)
    places = {}
    for number, ((_, date), turns) in enumerate(sessions.items()):
        started = moment(date)
        path = f"raw/conversations/{started:%Y/%m/%d/%H%M}-ses_{number:05}.md"
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        data = render(_transcript(path, f"ses_{number:05}", started, turns)).encode()
        place.write_bytes(data)
        written = parse(data, path).turns
        places[path] = _Places(
            [turn.line for turn in written], [doc["id"] for doc, _ in zip(turns, written, strict=True)]
        )
    return places


def _transcript(path: str, session: str, started: datetime, docs: Sequence[Doc]) -> Transcript:
    header: dict[str, object] = {"session_id": session, "started": f"{started:%Y-%m-%dT%H:%M:%SZ}"}
    first = docs[0]["speaker"]
    turns = []
    for number, doc in enumerate(docs):
        speaker = doc["speaker"]
        role = _ROLES.get(speaker.lower())
        text = doc["body"] if role else f"{speaker}: {doc['body']}"
        # Half a minute per turn, without running into the next day.
        at = started + timedelta(seconds=30 * number)
        time = f"{at:%H:%M}" if at.date() == started.date() else "23:59"
        turns.append(Turn(role or ("user" if speaker == first else "agent"), time, (Text(text),)))
    return Transcript(path, session, "", "", "Session", header, tuple(turns))


def moment(date: str) -> datetime:
    """Parse the start of a session from a date with or without a time, as people write it; UTC."""
    clock = _CLOCK.search(date)
    hour, minute = (int(clock[1]), int(clock[2])) if clock else (0, 0)
    if clock and clock[3]:
        hour = hour % 12 + (12 if clock[3].lower() == "pm" else 0)
    day = _CLOCK.sub("", date).strip()
    for candidate in (day, day.replace("-", " ")):
        for form in _FORMATS:
            try:
                return datetime.strptime(candidate, form).replace(hour=hour, minute=minute, tzinfo=UTC)
            except ValueError:
                continue
    return _UNDATED
