"""What hooks tell beside a prompt, and what simpler ways to choose, or the best choice, would tell there.

The last sessions are played to the memory as it stood before each prompt (``engine.recall.backtest``). With
data these are the coding sessions of its ``retrieval/agents.json.gz``, else a small made-up past.

told    share of prompts that get something; tokens: of each of these
hit     share of these with a line of which two rare words come up later
lines   share of the lines with a rare word of which one comes up later
known   of the prompts after which several rare words of one earlier session come up: share told one of them
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import numpy

from engine.recall.backtest import Plan, PlannedTelling, Telling, play
from engine.recall.features import FEWEST_SESSIONS
from engine.recall.labels import Labels
from engine.recall.model import shipped
from engine.recall.passages import passage_of
from engine.recall.recall import MOST_PASSAGES
from engine.recall.replay import Played
from engine.search.index import SearchIndex
from engine.search.past import Past
from engine.search.query import literal_terms
from engine.search.results import SearchResult
from tests.benchmarks.evaluations import Outcome
from tests.benchmarks.inputs import START, Words
from tests.benchmarks.retrieval import Doc, Memory
from tests.benchmarks.rows import aligned

NAME = "told"
DATA = "retrieval/agents.json.gz"
FLOORS = (15.0, 25.0)
"""bm25 from which a passage is told; FTS5 gives it with a minus sign."""
_PLAYED, _PROMPTS = 40, 8
"""The last sessions, and prompts of each."""
_TOKENS = 700
"""``hooks.prompt_tokens`` far from its limit."""
_CONSIDERED = 200
"""Results among which the best choice is made."""
NO_LABELS = Labels({}, frozenset())
HEADS = ("", "told", "tokens", "hit", "lines", "known")


class Baseline(Telling):
    """A way to choose rows of ``Past.passages``."""

    name = ""

    def __init__(self) -> None:
        super().__init__(NO_LABELS)

    def rows(self, past: Past, prompt: Played) -> Sequence[int]:
        """The passages, best first."""
        raise NotImplementedError

    def results(self, index: SearchIndex, past: Past, prompt: Played) -> list[SearchResult]:
        rows = self.rows(past, prompt)[:MOST_PASSAGES]
        return [each for row in rows if (each := passage_of(index, past, int(row))) is not None]


class Hooks(PlannedTelling):
    """What hooks tell."""

    name = "hooks"

    def __init__(self) -> None:
        super().__init__(Plan(shipped(), _TOKENS), NO_LABELS)


class Table:
    """A bare FTS5 table of all passages, in their order."""

    def __init__(self, index: SearchIndex, past: Past) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute("CREATE VIRTUAL TABLE p USING fts5(text, tokenize='porter unicode61')")
        texts = (passage_of(index, past, row) for row in range(len(past.passages)))
        self._connection.executemany(
            "INSERT INTO p (rowid, text) VALUES (?, ?)",
            ((row + 1, each.text if each else "") for row, each in enumerate(texts)),
        )

    def search(self, past: Past, prompt: Played, limit: int, floor: float = 0.0) -> list[int]:
        """Rows of earlier sessions with any word of the message."""
        terms = literal_terms(prompt.message)
        known = int(numpy.searchsorted(past.passages[:, 0], prompt.session))
        found = self._connection.execute(
            "SELECT rowid - 1 FROM p WHERE p MATCH ? AND rowid <= ? AND rank <= ? ORDER BY rank LIMIT ?",
            (" OR ".join(f'"{term}"' for term in terms) or '""', known, -floor, limit),
        )
        return [int(row) for (row,) in found]


class Fts5(Baseline):
    """The best three, for every prompt or above a floor."""

    def __init__(self, table: Table, floor: float = 0.0) -> None:
        super().__init__()
        self.name = f"FTS5 top 3, bm25 from {floor:.0f}" if floor else "FTS5 top 3"
        self._table, self._floor = table, floor

    def rows(self, past: Past, prompt: Played) -> Sequence[int]:
        return self._table.search(past, prompt, MOST_PASSAGES, self._floor)


class MostRecent(Baseline):
    """The end of the session before."""

    name = "most recent session"

    def rows(self, past: Past, prompt: Played) -> Sequence[int]:
        end = int(numpy.searchsorted(past.passages[:, 0], prompt.session))
        last = past.passages[end - 1, 0] if end else -1
        return [row for row in range(max(0, end - MOST_PASSAGES), end) if past.passages[row, 0] == last]


class Chance(Baseline):
    """Any three."""

    name = "random"

    def __init__(self) -> None:
        super().__init__()
        self._random = random.Random(1)

    def rows(self, past: Past, prompt: Played) -> Sequence[int]:
        end = int(numpy.searchsorted(past.passages[:, 0], prompt.session))
        return self._random.sample(range(end), min(MOST_PASSAGES, end))


class Oracle(Baseline):
    """Of the first results of FTS5 those with the most words that come up later: it knows the future."""

    name = f"oracle among FTS5's {_CONSIDERED}"

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table

    def rows(self, past: Past, prompt: Played) -> Sequence[int]:
        found = numpy.array(self._table.search(past, prompt, _CONSIDERED), dtype=int)
        comes_up = numpy.isin(past.spoken, prompt.later)
        counts = numpy.bincount(past.speakers, comes_up, len(past.passages))[found]
        order = numpy.argsort(-counts, kind="stable")
        chosen: list[int] = found[order[counts[order] > 0]].tolist()
        return chosen


def run(data: Path | None, *, quick: bool = False) -> Outcome:
    """Play the past of the data, or a made-up one, in all ways; one table."""
    started = time.perf_counter()
    path = data / DATA if data is not None else None
    memory = Memory(_read(path) if path is not None and path.is_file() else list(made_up()))
    index = memory.engine.index
    past = index.past()
    ways, count = ways_to_choose(index, past), len(past.sessions)
    sessions = range(max(FEWEST_SESSIONS, count - (4 if quick else _PLAYED)), count)
    played, known = play(index, past, sessions, ways, _PROMPTS)
    rows = [_cells(way, played, known) for way in ways]
    head = f"{count} sessions, the last {len(sessions)} played: {played} prompts, {known} known before"
    return Outcome(NAME, "beside a prompt", (head, *aligned((HEADS, *rows))), time.perf_counter() - started)


def ways_to_choose(index: SearchIndex, past: Past) -> list[Baseline | Hooks]:
    """What is compared: the hooks, the baselines and the best choice."""
    table = Table(index, past)
    plain = [Fts5(table), *(Fts5(table, floor) for floor in FLOORS)]
    return [Hooks(), *plain, MostRecent(), Chance(), Oracle(table)]


def _cells(way: Baseline | Hooks, played: int, known: int) -> tuple[str, ...]:
    told = len(way.told)
    return (
        way.name,
        _percent(told, played),
        f"{way.spent / told:.0f}" if told else "–",
        _percent(way.hits, told),
        _percent(way.lines_used, way.lines),
        _percent(way.known, known),
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _read(path: Path) -> list[Doc]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        docs: list[Doc] = json.load(file)[0]["docs"]
        return docs


def made_up() -> Iterator[Doc]:
    """Sixty sessions on thirty subjects, each taken up again once, with names of its own."""
    words = Words(11, 5_000)
    names = iter(words.random.sample(words.all[1_000:], 30 * 8))
    subjects = [list(itertools.islice(names, 8)) for _ in range(30)]
    for number in range(60):
        one, two, three, four, five, six, seven, eight = subjects[number % 30]
        again = number >= 30
        turns = [
            ("user", f"Please look at the {one} of the {two}: {'again ' * again}the {three} is wrong."),
            ("assistant", f"The {two} is read before the {three}, as {words.text(80)}"),
            ("user", "And then?"),
            (
                "assistant",
                f"The {four} must give the {one} back once the {three} has been found, since whoever comes"
                f" next needs it, and nobody can go on with the {two} before.\n\n"
                f"The cause was the {five} in the {six}: it kept the {seven} of each {four} for too long. We"
                f" decided to leave the {eight} out of the {five} and to compute the {seven} first.",
            ),
        ]
        for position, (speaker, body) in enumerate(turns):
            day = START.fromordinal(START.toordinal() + number)
            yield Doc(
                id=f"{number}:{position}", session=f"made-up {number}", pos=4 * number + position,
                date=f"{day:%Y-%m-%d}", speaker=speaker, body=body,
            )  # fmt: skip
