"""A fixed memory to search: files, results, and an index in any state."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from engine.context.presets import PresetChange, Presets
from engine.errors import AutopoiesisError
from engine.search.index import SearchIndex
from engine.search.reports import IndexStatus
from engine.search.results import Category, SearchResult, Share, ShareName
from engine.store.paths import category_of
from tui.render.search import Words

SESSION = "raw/conversations/2026/06/10/0912-ses_7c41d0aa-pool-exhausted.md"
DECISIONS = "knowledge/decisions.md"
JOURNAL = "knowledge/journal/2026-06-10.md"

FILES: dict[str, str] = {
    SESSION: """---
session_id: ses_7c41d0aa
date: 2026-06-10
---

# Pool exhausted

## 09:12 — user
The ingest answers with 503 since nine. Can you look?

## 09:14 — agent
The workers wait for a database connection: 40 of 40 are taken, and 212 requests stand in the queue.
The pool is exhausted, not the database: it has 180 connections to spare.

## 09:21 — user
Why now? Nothing was deployed.

## 09:31 — agent
The backfill opens a transaction per gauge and keeps it while it fetches over HTTP. With the timeout of 30 s
the pool drains within four minutes. Two ways out:

1. close the connection before the fetch, which costs one more query per gauge
2. a pool of its own for the backfill, with at most 8 connections

I would do the first today and the second with the next release.

## 09:33 — user
Do the first. And write down that the connection pool was not the cause but the victim.

## 09:52 — agent
Done, #433. The queue is empty, p95 is back at 140 ms.
""",
    DECISIONS: """# Decisions

## Database
- Files are the truth; the database is a cache that may go at any moment [from: files-or-db, 2026-06-10]
- The backfill gets a connection pool of its own, at most 8 connections [from: pool-exhausted, 2026-06-10]
- No transaction is held over a network call [from: pool-exhausted, 2026-06-10]

## Review
- Two reviewers where a migration is part of it [from: review-rules, 2026-06-02]
""",
    JOURNAL: """# 2026-06-10

## tidemark
- 503 from nine to ten: the backfill kept a connection per gauge while it waited for HTTP; pool empty in 4 min
- #433 closes the connection before the fetch. p95 140 ms again.

## decisions
- A pool of its own for the backfill, in 0.15.
""",
    "knowledge/procedures/incident-response.md": """# Incident response

## 503 or slow answers
- First look at the queue, then at `db.pool.taken`: a full pool is a victim more often than a cause.
- Suspects in this order: a bulk job, a long transaction, a leaked connection.
- A restart frees the pool, and destroys the evidence: take the list of open transactions first.
""",
    "knowledge/projects/tidemark/notes.md": """# Tidemark

## Settings
The pool is set in `config/db.toml`:

```toml
[pool]
size = 40
timeout = 30      # seconds a worker waits for a connection
```

The timeout must be shorter than that of the load balancer, which is 60 s.
""",
    "knowledge/playbooks.md": """# Playbooks

## Pool exhausted
1. `tidemarkctl pool list` shows who holds a connection, oldest first
2. stop the bulk job that holds most
3. wait one timeout, then look again
""",
    "topics/incident.md": """---
name: incident
keywords: [incident, outage, 503, pool]
---

# Incident
When something is down, say first what is known, then what is tried.
""",
}  # fmt: skip
"""Path and content."""


def _result(
    path: str,
    lines: tuple[int, int],
    heading: str,
    date: str,
    snippet: str,
    shares: dict[ShareName, float],
    ranks: tuple[int | None, int | None],
    why: str,
) -> SearchResult:
    start, end = lines
    text = "\n".join(FILES[path].split("\n")[start - 1 : end])
    parts = tuple(Share(name, value) for name, value in sorted(shares.items(), key=lambda item: -item[1]))
    category: Category = category_of(path)  # type: ignore[assignment]
    score = round(sum(shares.values()), 4)
    return SearchResult(
        path, start, end, category, heading, date, snippet, text, score, *ranks, "index", why, parts
    )


RESULTS: tuple[SearchResult, ...] = (
    _result(
        SESSION, (19, 25), "09:31 — agent", "2026-06-10",
        "The backfill opens a transaction per gauge and keeps it while it fetches over HTTP. With the "
        "timeout of 30 s the pool drains within four minutes. Two ways out: 1. close the connection before "
        "the fetch, …",
        {"words": 0.382, "meaning": 0.241, "neighbours": 0.094, "session": 0.061, "recency": 0.032,
         "speaker": 0.014},
        (1, 2), "Contains 3 of 3 words: connection, pool, timeout, rank 1 by words; rank 2 by meaning.",
    ),
    _result(
        DECISIONS, (4, 6), "Decisions › Database", "2026-06-10",
        "- Files are the truth; the database is a cache that may go at any moment - The backfill gets a "
        "connection pool of its own, at most 8 connections",
        {"words": 0.31, "meaning": 0.262, "use": 0.058, "recency": -0.021},
        (3, 1), "Contains 2 of 3 words: connection, pool, rank 3 by words; rank 1 by meaning.",
    ),
    _result(
        "knowledge/projects/tidemark/notes.md", (4, 12), "Tidemark › Settings", "",
        "The pool is set in `config/db.toml`: [pool] size = 40 timeout = 30 # seconds a worker waits for a "
        "connection",
        {"words": 0.357, "meaning": 0.188, "neighbours": 0.02},
        (2, 5), "Contains 3 of 3 words: connection, pool, timeout, rank 2 by words; rank 5 by meaning.",
    ),
    _result(
        JOURNAL, (4, 5), "2026-06-10 › tidemark", "2026-06-10",
        "- 503 from nine to ten: the backfill kept a connection per gauge while it waited for HTTP; pool "
        "empty in 4 min - #433 closes the connection before the fetch.",
        {"words": 0.22, "meaning": 0.181, "neighbours": 0.048, "recency": 0.032},
        (4, 4), "Contains 2 of 3 words: connection, pool, rank 4 by words; rank 4 by meaning.",
    ),
    _result(
        SESSION, (12, 13), "09:14 — agent", "2026-06-10",
        "The workers wait for a database connection: 40 of 40 are taken, and 212 requests stand in the "
        "queue. The pool is exhausted, not the database: it has 180 connections to spare.",
        {"words": 0.201, "meaning": 0.152, "session": 0.061, "neighbours": 0.04, "speaker": 0.014},
        (5, 6), "Contains 2 of 3 words: connection, pool, rank 5 by words; rank 6 by meaning.",
    ),
    _result(
        "knowledge/procedures/incident-response.md", (4, 6), "Incident response › 503 or slow answers", "",
        "- First look at the queue, then at `db.pool.taken`: a full pool is a victim more often than a "
        "cause. - Suspects in this order: a bulk job, a long transaction, a leaked connection.",
        {"words": 0.163, "meaning": 0.197, "use": 0.02},
        (7, 3), "Contains 2 of 3 words: connection, pool, rank 7 by words; rank 3 by meaning.",
    ),
    _result(
        "knowledge/playbooks.md", (4, 6), "Playbooks › Pool exhausted", "",
        "1. `tidemarkctl pool list` shows who holds a connection, oldest first 2. stop the bulk job that "
        "holds most 3. wait one timeout, then look again",
        {"words": 0.231, "meaning": 0.11},
        (6, 8), "Contains 3 of 3 words: connection, pool, timeout, rank 6 by words; rank 8 by meaning.",
    ),
    _result(
        JOURNAL, (8, 8), "2026-06-10 › decisions", "2026-06-10",
        "- A pool of its own for the backfill, in 0.15.",
        {"meaning": 0.12, "words": 0.094, "neighbours": 0.048},
        (9, 7), "Contains 1 of 3 words: pool, rank 9 by words; rank 7 by meaning.",
    ),
    _result(
        "topics/incident.md", (7, 7), "Incident", "",
        "When something is down, say first what is known, then what is tried.",
        {"meaning": 0.081, "words": 0.04},
        (None, 9), "Contains 1 of 3 words: pool (pool in its heading or file); rank 9 by meaning.",
    ),
)  # fmt: skip
"""The results of a query about the pool, best first."""

READY = IndexStatus(
    "ready",
    files=46,
    chunks=312,
    vectors=312,
    embedder="wordllama-l2-supercat-256",
    size=1_204_224,
    refreshed=datetime(2026, 6, 12, 18, 40, tzinfo=UTC),
    journal="wal",
)
"""A healthy index."""
BUILDING = IndexStatus("building", "the search index is being built")
"""An index being built."""
WITHOUT_VECTORS = replace(READY, vectors=0, embedder="", without_vectors="no embedding model is set up")
"""An index without vectors."""


def many_results(number: int) -> tuple[SearchResult, ...]:
    """Any number of distinct results."""
    base = RESULTS[0]
    return tuple(
        replace(
            base,
            path=f"knowledge/reference/pool-{at:03d}.md",
            start_line=at + 1,
            end_line=at + 1,
            category="reference",
            heading=f"Pools › number {at}",
            snippet=f"pool {at} has a connection",
            text=f"pool {at} has a connection",
            score=max(0.01, 0.9 - at / 600),
            shares=(),
        )
        for at in range(number)
    )


def write_files(root: Path) -> None:
    """Writes the files to a workspace, plus some of every kind to count."""
    for path, text in FILES.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    more = {
        "knowledge/identity": 4, "knowledge/memory": 1, "knowledge/journal": 9, "knowledge/people": 5,
        "knowledge/reference": 3, "raw/conversations/2026/06/09": 12, "topics": 6,
    }  # fmt: skip
    for folder, number in more.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        for at in range(number):
            (root / folder / f"file-{at}.md").write_text(f"# File {at}\n", encoding="utf-8")


@dataclass
class FakeSearch:
    """Searches fixed results: those that contain a query word, best first; preset changes are recorded.

    A call named in ``blocked``, or a search for a query in ``blocked_queries``, waits for its event; a call
    named in ``failing`` raises its error.
    """

    results: tuple[SearchResult, ...] = RESULTS
    state: IndexStatus = READY
    calls: list[tuple[object, ...]] = field(default_factory=list)
    blocked: dict[str, threading.Event] = field(default_factory=dict)
    blocked_queries: dict[str, threading.Event] = field(default_factory=dict)
    failing: dict[str, AutopoiesisError] = field(default_factory=dict)

    def search(self, query: str, *, category: str | None = None, limit: int = 10) -> list[SearchResult]:
        """The results."""
        self.record("search", query, category, limit)
        if query in self.blocked_queries:
            self.blocked_queries[query].wait(60)
        words = Words(query)
        found = [
            result
            for result in self.results
            if category in (None, result.category) and words.within(result.text, result.heading, result.path)
        ]
        source = "index" if self.state.state == "ready" else "ripgrep"
        return [replace(result, source=source) for result in found[:limit]]  # type: ignore[arg-type]

    def calls_of(self, name: str) -> list[tuple[object, ...]]:
        """The calls of one name, in order."""
        return [call for call in self.calls if call[0] == name]

    def record(self, name: str, *arguments: object) -> None:
        """Records a call, which may block or fail."""
        self.calls.append((name, *arguments))
        if name in self.blocked:
            self.blocked[name].wait(60)
        if name in self.failing:
            raise self.failing[name]


class FakeIndex(SearchIndex):
    """The index state."""

    def __init__(self, fake_search: FakeSearch) -> None:
        self.fake_search = fake_search

    def status(self) -> IndexStatus:
        """Records the call."""
        self.fake_search.record("status")
        return self.fake_search.state


class FakePresets(Presets):
    """Records what is added to presets."""

    def __init__(self, fake_search: FakeSearch) -> None:
        self.fake_search = fake_search

    def add(self, name: str, path: str, lines: str = "", note: str = "", title: str = "") -> PresetChange:
        """Records the call."""
        self.fake_search.record("add", name, path, lines, note)
        return PresetChange(f"presets/{name}.md", name, (path,), (), "a81f2c09d5e7")
