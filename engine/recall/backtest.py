"""Plays one's whole past to the memory as it stood before each prompt: what would an agent have been told,
and was it about what came next?

It counts words, not benefit: whether an agent would have worked better, it cannot know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import numpy

from engine.recall.features import FEWEST_SESSIONS, NOTHING, numbers, rare_among, union
from engine.recall.labels import Labels, Place
from engine.recall.passages import place_of
from engine.recall.recall import chosen
from engine.recall.replay import MOST_PROMPTS, prompts
from engine.search.passages import number_of, words_of
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
    words: tuple[str, ...]  # rare words it adds that came up later, in its order
    useful: bool | None = None  # what the person said of it; ``None`` for nothing

    @property
    def place(self) -> Place:
        return Place(self.path, self.line)


@dataclass(frozen=True, slots=True)
class ToldPrompt:
    """A prompt beside which something would have been told."""

    path: str
    line: int
    day: str
    message: str
    passages: tuple[ToldPassage, ...]

    @property
    def place(self) -> Place:
        return Place(self.path, self.line)

    @property
    def came_up(self) -> int:
        """Rare words it was told that came up later."""
        return sum(len(each.words) for each in self.passages)

    def labelled(self, labels: Labels) -> ToldPrompt:
        """The prompt with what the person says of its passages now."""
        said = labels.of_prompt(self.place)
        return replace(self, passages=tuple(replace(p, useful=said.get(p.place)) for p in self.passages))


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
    rules: int  # that the person was ever heard to say; 0 if none were learned yet
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


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings that decide what is told."""

    model: Model | None  # ``None``: nothing is told
    tokens: int  # ``hooks.prompt_tokens``

    @property
    def description(self) -> str:
        """Which model decides, or why nothing is told."""
        if self.model is None:
            return "nothing is told of past sessions: hooks.past_sessions is off"
        return self.model.description if self.tokens else "nothing is told: hooks.prompt_tokens is 0"


class Telling(ABC):
    """What is told of the past in one way, and how much of it came up."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.told: list[ToldPrompt] = []
        self.spent = self.hits = self.lines = self.lines_used = self.known = 0

    def start_session(self) -> None:  # noqa: B027 — not every way keeps something for a session
        """Called before the prompts of each session."""

    @abstractmethod
    def results(self, index: SearchIndex, past: Past, prompt: Played) -> list[SearchResult]:
        """The passages that are told beside a prompt."""

    def play(self, index: SearchIndex, past: Past, prompt: Played, knows: NDArray[numpy.intp]) -> None:
        """Tells what there is to tell beside a prompt.

        Args:
            knows: The sessions that knew of what came up later.
        """
        results = self.results(index, past, prompt)
        if not results:
            return
        texts = [result.text for result in results]
        used = _used(past, prompt, texts)
        self.told.append(_row(past, prompt, results).labelled(self.labels))
        self.spent += sum(about(len(text)) for text in texts)
        self.hits += any(each >= _HIT_WORDS for each in used)
        self.lines += len(used)
        self.lines_used += sum(each > 0 for each in used)
        self.known += _is_told(past, prompt, texts, knows)


class PlannedTelling(Telling):
    """What is told with one plan."""

    def __init__(self, plan: Plan, labels: Labels) -> None:
        super().__init__(labels)
        self.plan = plan
        self._given: set[Place] = set()

    def start_session(self) -> None:
        self._given.clear()

    def results(self, index: SearchIndex, past: Past, prompt: Played) -> list[SearchResult]:
        if self.plan.model is None:
            return []
        at = Place(past.sessions[prompt.session].path, prompt.line)
        results = chosen(
            index,
            past,
            prompt.candidates,
            self.plan.model,
            prompt.message,
            lambda each: place_of(each) in self._given,
            lambda each: self.labels.is_noise(place_of(each), at),
        )
        left = self.plan.tokens
        fit: list[SearchResult] = []
        for result in results:
            if (size := about(len(result.text))) <= left:
                fit.append(result)
                left -= size
        self._given.update(map(place_of, fit))
        return fit


def backtest(
    index: SearchIndex,
    plans: Sequence[Plan],
    labels: Labels,
    groups: Iterable[Group],
    book: Rulebook,
    *,
    last: int = 0,
    only: str = "",
    most: int = MOST_PROMPTS,
    progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> tuple[Backtest, ...]:
    """Plays the past once, and tells what there is to tell with each plan; some fifty prompts a second.

    Args:
        labels: What the person said of passages; noise is told only beside the prompt it was said at.
        groups, book: What the person said about rules, and the rules.
        last: Plays only the last sessions; 0 for all.
        only: Plays only this transcript; empty for all.
        most: Prompts played of each session.
    """
    past = index.past()
    first = max(FEWEST_SESSIONS, len(past.sessions) - last if last else 0)
    sessions = [
        place for place in range(first, len(past.sessions)) if only in ("", past.sessions[place].path)
    ]
    tellings = {plan: PlannedTelling(plan, labels) for plan in plans}
    played, known = play(index, past, sessions, list(tellings.values()), most, progress)
    said = list(groups)
    repeats, held = _repeats(said, book, {past.sessions[place].path for place in sessions})
    return tuple(
        Backtest(
            sessions=len(sessions),
            prompts=played,
            told=tuple(telling.told),
            tokens=telling.spent,
            hits=telling.hits,
            lines=telling.lines,
            lines_used=telling.lines_used,
            known=known,
            known_told=telling.known,
            rules=len(said),
            repeats=repeats,
            repeats_held=held,
            model=telling.plan.description,
        )
        for telling in (tellings[plan] for plan in plans)
    )


def play(
    index: SearchIndex,
    past: Past,
    sessions: Sequence[int],
    tellings: Sequence[Telling],
    most: int = MOST_PROMPTS,
    progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> tuple[int, int]:
    """Plays some sessions in all ways, by their places in the past.

    Returns:
        The number of prompts, and of those after which words came up that an earlier session has together.
    """
    played = known = 0
    for number, session in enumerate(sessions):
        progress(number, len(sessions))
        for telling in tellings:
            telling.start_session()
        for prompt in prompts(index, past, session, most):
            knows = _knowing(past, prompt)
            played += 1
            known += bool(len(knows))
            for telling in tellings:
                telling.play(index, past, prompt, knows)
    progress(len(sessions), len(sessions))
    return played, known


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
    session, later = past.sessions[prompt.session], frozenset(prompt.later.tolist())
    passages = tuple(
        ToldPassage(
            each.path,
            each.start_line,
            each.date,
            each.text,
            round(each.worth or 0.0, 3),
            _came_up(each.text, later),
        )
        for each in results
    )
    return ToldPrompt(session.path, prompt.line, _day(session.day), prompt.message, passages)


def _came_up(text: str, later: frozenset[int]) -> tuple[str, ...]:
    """The words of a text that came up later, in its order."""
    folded = text.casefold()
    words = [word for word in words_of(text) if number_of(word) in later]
    return tuple(sorted(words, key=lambda word: (folded.find(word), -len(word))))


def _day(ordinal: int) -> str:
    return date.fromordinal(ordinal).isoformat() if ordinal else ""


def _repeats(groups: Iterable[Group], book: Rulebook, played: Collection[str]) -> tuple[int, int]:
    """How often the person said a rule again in one of these sessions after another one, and how often it was
    in force by then.
    """
    accepted = {rule.id for rule in book.rules if rule.counts}
    repeats = held = 0
    for group in groups:
        sessions: set[str] = set()
        messages: set[str] = set()
        is_held = group.id in accepted and not group.standing  # the person accepted it
        for each in sorted(group.occurrences, key=lambda each: (each.said.day, each.session.path)):
            path = each.session.path
            if sessions and path not in sessions and each.said.message not in messages and path in played:
                repeats += 1
                held += is_held
            sessions.add(path)
            messages.add(each.said.message)
            is_held = is_held or each.said.standing
    return repeats, held
