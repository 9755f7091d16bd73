"""Plays past sessions to the memory as it stood then: at each prompt, what could have been told, and what of
it was about what came next.

A passage was worth telling if the session later used rare words that it adds: at least two, and a fifth of
them, in what the person or the agent said. Names that only tool output mentions do not count, since the agent
finds those anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy

from engine.recall.features import (
    NOTHING,
    RECENT_TURNS,
    examine,
    no_candidates,
    numbers,
    rare_among,
    situation,
)
from engine.search.past import WordFinder
from engine.search.query import literal_terms
from engine.search.talk import is_order, telling
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.transcripts.injected import BY_PROGRAM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.recall.features import Candidates
    from engine.search.index import SearchIndex
    from engine.search.past import Past, Words

MOST_PROMPTS = 30
"""Prompts of one session that are played."""
_MOST_CHARACTERS = 4_000
"""Length of a message from which it is mostly a paste."""
_SHELL = expression(r"^!(?: |(?=[a-z./~])).*$", re.MULTILINE)
"""A command that the person ran in a session: no hook is called for it."""
_LATER_TURNS = 60
_USED_WORDS = 2
_USED_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class _Said:
    """A turn, or what a log shows of one."""

    role: str
    line: int
    text: str

    @property
    def prose(self) -> str:
        return "\n".join(line for line in self.text.split("\n") if not line.startswith("> "))


@dataclass(frozen=True, slots=True, eq=False)
class _WordsSaid:
    """The ``W`` words of a session, so that each turn is read once, not for each prompt again."""

    words: Words  # ``[W]``, ascending
    first: NDArray[numpy.intp]  # ``[W]``: the turn in which each is said first
    first_prose: NDArray[numpy.intp]  # ``[W]``: likewise, in prose; far beyond if never


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """A prompt of a past session."""

    session: int  # its place in the past
    line: int
    message: str
    so_far: Words  # of the session up to it
    candidates: Candidates
    useful: NDArray[numpy.bool_]  # ``[N]``: whether each candidate was about what came next
    weights: NDArray[numpy.float64]  # ``[N]``: how much each counts as an example
    later: Words
    """The words that came up later, and not before, and are rare in the sessions before."""


def prompts(index: SearchIndex, past: Past, session: int, most: int = MOST_PROMPTS) -> Iterator[Played]:
    """The prompts of a session with what the sessions before it could have told."""
    may_tell = numpy.arange(len(past.sessions)) < session
    turns = _turns(index, past, session)
    said = _words_said(turns)
    is_rare = numpy.isin(said.words, rare_among(past, said.words, may_tell))
    done = 0
    for number, turn in enumerate(turns):
        message = _SHELL.sub("", turn.text).strip() if turn.role == "user" else ""
        if not message or number + 1 == len(turns) or done >= most:
            continue
        done += 1
        so_far = said.words[said.first <= number]
        candidates = no_candidates()
        if asks(message):
            answers = (each.prose for each in reversed(turns[:number]) if each.role == "agent")
            answer = next((text for text in answers if text.strip()), "")
            recent = [each.text for each in turns[max(0, number - RECENT_TURNS) : number]]
            candidates = examine(past, situation(message, recent, answer, so_far), may_tell)
        end = number + _LATER_TURNS
        comes_up = is_rare & (said.first > number) & (said.first <= end)
        hits = _hits(past, candidates, said.words[comes_up & (said.first_prose <= end)])
        useful = (hits >= _USED_WORDS) & (hits >= _USED_SHARE * candidates.added)
        yield Played(
            session,
            turn.line,
            message,
            so_far,
            candidates,
            useful,
            numpy.ones(len(useful)),
            said.words[comes_up],
        )


def asks(message: str) -> bool:
    """Whether a message says what it is about, so that anything is looked for at all."""
    is_short = len(message) <= _MOST_CHARACTERS
    return (
        is_short
        and bool(telling(literal_terms(message)))
        and not is_order(message)
        and not BY_PROGRAM.search(message)
    )


def _turns(index: SearchIndex, past: Past, session: int) -> list[_Said]:
    rows = index.turns(past.sessions[session].file)
    found: list[_Said] = []
    for (speaker, _), group in groupby(rows, lambda row: (row[2], row[3])):
        parts = list(group)
        if speaker:
            role = speaker.partition(" ")[0]
            found.append(_Said(role, parts[0][0], "\n".join(part[5] for part in parts)))
    return found


def _words_said(turns: Sequence[_Said]) -> _WordsSaid:
    words, first = _first([each.text for each in turns])
    in_prose, first_in_prose = _first([each.prose for each in turns])
    first_prose = numpy.full(len(words), len(turns) + _LATER_TURNS)
    first_prose[numpy.searchsorted(words, in_prose)] = first_in_prose
    return _WordsSaid(words, first, first_prose)


def _first(texts: Sequence[str]) -> tuple[Words, NDArray[numpy.intp]]:
    """The words of some texts, and the first text that has each."""
    words = [numbers(text) for text in texts]
    every = numpy.concatenate([NOTHING, *words])
    distinct, place = numpy.unique(every, return_index=True)
    return distinct, numpy.repeat(numpy.arange(len(words)), [len(each) for each in words])[place]


def _hits(past: Past, candidates: Candidates, used: Words) -> NDArray[numpy.intp]:
    """How many of some words each candidate has."""
    if not len(candidates.places):
        return numpy.zeros(0, numpy.intp)
    row = numpy.full(len(past.passages), -1)
    row[candidates.places] = numpy.arange(len(candidates.places))
    rows = row[past.speakers]
    mine = numpy.flatnonzero(rows >= 0)
    at, _ = WordFinder(used).found(past.spoken[mine])
    return numpy.bincount(rows[mine[at]], minlength=len(candidates.places))
