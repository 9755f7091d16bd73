"""Plays one's whole past to the memory as it stood before each prompt: what would an agent have been told,
and was it about what came next?

It counts words, not benefit: whether an agent would have worked better, it cannot know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

import numpy

from engine.recall.features import FEWEST_SESSIONS, NOTHING, numbers, rare_among, union
from engine.recall.recall import chosen
from engine.recall.replay import MOST_PROMPTS, prompts
from engine.search.past import WordFinder
from engine.search.worth import about
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.recall.model import Model
    from engine.recall.replay import Played
    from engine.rules.learning import Group
    from engine.rules.rulebook import Rulebook
    from engine.search.index import SearchIndex
    from engine.search.past import Past
    from engine.search.results import SearchResult

SHOWN = 10
"""Prompts in each of the two lists to read."""
CANNOT_KNOW = (
    "This counts words that came up later. Whether an agent would have worked better, it cannot know; and the"
    " rules are judged as they are now, not as they stood then."
)
_HIT_WORDS = 2
_KNOWN_WORDS = 4
_LEAST_WORDS = 4


@dataclass(frozen=True, slots=True)
class ToldPassage:
    """A passage of an earlier session."""

    path: str
    line: int
    day: str
    text: str
    worth: float  # 0 to 1
    came_up: int  # rare words it adds that came up later


@dataclass(frozen=True, slots=True)
class ToldPrompt:
    """A prompt beside which something would have been told."""

    path: str
    line: int
    day: str
    message: str
    passages: tuple[ToldPassage, ...]

    @property
    def came_up(self) -> int:
        """Rare words it was told that came up later."""
        return sum(each.came_up for each in self.passages)


@dataclass(frozen=True, slots=True)
class Backtest:
    """What the past would have been told."""

    sessions: int  # played; the first few have nothing before them
    prompts: int
    told: tuple[ToldPrompt, ...]
    tokens: int  # of all passages told
    hits: int  # prompts told a line with at least two rare words that came up later
    lines: int  # lines told that have a rare word
    lines_used: int  # of which one came up later
    known: int  # prompts after which words came up that one earlier session has together
    known_told: int  # of which the prompt was told one
    repeats: int  # times the person said a rule again
    repeats_held: int  # of which the rule was in force by then
    model: str

    @property
    def best(self) -> tuple[ToldPrompt, ...]:
        """The prompts of whose passages most came up."""
        found = sorted(self.told, key=lambda each: (-each.came_up, each.path, each.line))
        return tuple(each for each in found[:SHOWN] if each.came_up)

    @property
    def worst(self) -> tuple[ToldPrompt, ...]:
        """The prompts told the most of which nothing came up."""
        wasted = [each for each in self.told if not each.came_up]
        size = {each: sum(len(passage.text) for passage in each.passages) for each in wasted}
        return tuple(sorted(wasted, key=lambda each: (-size[each], each.path, each.line))[:SHOWN])


def backtest(
    index: SearchIndex,
    model: Model,
    groups: Iterable[Group],
    book: Rulebook,
    *,
    last: int = 0,
    most: int = MOST_PROMPTS,
    progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> Backtest:
    """Plays the past; some fifty prompts a second.

    Args:
        groups, book: What the person said about rules, and the rules.
        last: Plays only the last sessions; 0 for all.
        most: Prompts played of each session.
    """
    past = index.past()
    first = max(FEWEST_SESSIONS, len(past.sessions) - last if last else 0)
    count = max(0, len(past.sessions) - first)
    told: list[ToldPrompt] = []
    played = hits = lines = lines_used = known = known_told = spent = 0
    for number, session in enumerate(range(first, len(past.sessions))):
        progress(number, count)
        given: set[tuple[str, int]] = set()
        for prompt in prompts(index, past, session, most):
            results = chosen(index, past, prompt.candidates, model, partial(_was_told, given))
            texts = [result.text for result in results]
            given.update(map(_place, results))
            knows = _knowing(past, prompt)
            played += 1
            known += bool(len(knows))
            if not results:
                continue
            used = _used(past, prompt, texts)
            told.append(_row(past, prompt, results))
            spent += sum(about(len(text)) for text in texts)
            hits += any(each >= _HIT_WORDS for each in used)
            lines += len(used)
            lines_used += sum(each > 0 for each in used)
            known_told += _is_told(past, prompt, texts, knows)
    progress(count, count)
    repeats, held = _repeats(groups, book)
    return Backtest(
        sessions=count,
        prompts=played,
        told=tuple(told),
        tokens=spent,
        hits=hits,
        lines=lines,
        lines_used=lines_used,
        known=known,
        known_told=known_told,
        repeats=repeats,
        repeats_held=held,
        model=model.description,
    )


def _was_told(given: set[tuple[str, int]], result: SearchResult) -> bool:
    return _place(result) in given


def _place(result: SearchResult) -> tuple[str, int]:
    return result.path, result.start_line


def _used(past: Past, prompt: Played, texts: Sequence[str]) -> list[int]:
    """For each line with a rare word that is new to the session, how many such words came up later."""
    may_tell = numpy.arange(len(past.sessions)) < prompt.session
    lines = [
        numbers(line) for text in texts for line in text.split("\n") if len(line.split()) >= _LEAST_WORDS
    ]
    rare = rare_among(past, numpy.setdiff1d(union(NOTHING, *lines), prompt.so_far), may_tell)
    fresh = [numpy.intersect1d(line, rare) for line in lines]
    return [int(numpy.isin(each, prompt.later).sum()) for each in fresh if len(each)]


def _knowing(past: Past, prompt: Played) -> NDArray[numpy.intp]:
    """The sessions before that have several of the words that came up later."""
    at, _ = WordFinder(prompt.later).found(past.words)
    owners = past.owners[at]
    counts = numpy.bincount(owners[owners < prompt.session], minlength=prompt.session)
    return numpy.flatnonzero(counts >= _KNOWN_WORDS)


def _is_told(past: Past, prompt: Played, texts: Sequence[str], knows: NDArray[numpy.intp]) -> bool:
    """Whether a prompt is told such a word of one of these sessions."""
    said = numpy.intersect1d(numbers("\n".join(texts)), prompt.later)
    at, _ = WordFinder(said).found(past.words)
    return bool(numpy.isin(past.owners[at], knows).any())


def _row(past: Past, prompt: Played, results: list[SearchResult]) -> ToldPrompt:
    session = past.sessions[prompt.session]
    passages = tuple(
        ToldPassage(
            each.path,
            each.start_line,
            each.date,
            each.text,
            round(each.worth or 0.0, 3),
            int(numpy.isin(numbers(each.text), prompt.later).sum()),
        )
        for each in results
    )
    return ToldPrompt(session.path, prompt.line, _day(session.day), prompt.message, passages)


def _day(ordinal: int) -> str:
    return date.fromordinal(ordinal).isoformat() if ordinal else ""


def _repeats(groups: Iterable[Group], book: Rulebook) -> tuple[int, int]:
    """How often the person said a rule again in another session, and how often it was in force by then."""
    accepted = {rule.id for rule in book.rules if rule.counts}
    repeats = held = 0
    for group in groups:
        sessions: set[str] = set()
        messages: set[str] = set()
        is_held = group.id in accepted and not group.standing  # the person accepted it
        for each in sorted(group.occurrences, key=lambda each: (each.said.day, each.session.path)):
            if sessions and each.session.path not in sessions and each.said.message not in messages:
                repeats += 1
                held += is_held
            sessions.add(each.session.path)
            messages.add(each.said.message)
            is_held = is_held or each.said.standing
    return repeats, held
