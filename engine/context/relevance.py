"""What a message asks of the memory, and whether what was found has anything to do with it (spec 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.context.compiled import LeftOut, Limit
from engine.context.request import Part, Query
from engine.search.query import literal_terms
from engine.search.results import SearchResult
from engine.search.talk import telling
from engine.search.worth import Room, about
from engine.topics.model import Topic
from engine.transcripts.turn import Turn

FLOOR = 0.28
"""Relevance of the best result below which nothing is brought."""
ENOUGH = 0.36
"""Relevance from which results may fill their room; in between, a part of it."""
LEAST_SHARE = 0.2
BESIDE_SAID = 0.5
BESIDE_KNOWN = 0.42
"""Relevance from which something that was said, or stands in a file of knowledge, is told to an agent beside
a message. It has files and a conversation of its own: what only may be of use would be in its way."""
_ECHO = 0.7
"""Share of their words that a message and a result have in common, from which it is the message again."""
BESIDE_SHARE = 0.4
LEAST_SCORE = 0.2
"""Share of the best score below which a result is a crumb."""

_EXCHANGE_TURNS = 2
_CONTEXT_CHARACTERS = 800
_QUERY_CHARACTERS = 4000
_QUERY_KEYWORDS = 16
_SHORT = 60
"""Characters of a turn below which it may say no more than "yes, go on"."""


def query(
    message: str,
    history: Sequence[Turn],
    topics: Sequence[Topic],
    limit: int,
    room: Room,
    exclude: frozenset[str],
) -> Query | None:
    """What to search for; ``None`` where the message asks for nothing: "hello", "ok, do it", "continue".

    Args:
        history: The turns before it, oldest first. What they last spoke of is the context.
        topics: The active topics, whose keywords are context as well (spec 6.3).
    """
    text = message[:_QUERY_CHARACTERS]
    if not telling(literal_terms(text)):
        return None
    keywords = dict.fromkeys(
        word
        for topic in topics
        for trigger in topic.triggers
        if trigger.type == "keywords"
        for word in trigger.words
    )
    said = [turn.text for turn in history[-_EXCHANGE_TURNS:] if turn.is_dialogue]
    ends = [each[-_CONTEXT_CHARACTERS:] for each in said]
    return Query(text, "\n".join((*list(keywords)[:_QUERY_KEYWORDS], *ends)), limit, room, exclude)


def others(
    results: Sequence[SearchResult], conversation: str, history_line: int | None, left_out: list[LeftOut]
) -> list[SearchResult]:
    """The results beside what the history holds and the message itself, which answers itself best.

    Args:
        conversation: Empty without one.
        history_line: The first line of it that the history holds; ``None`` for all of it.
    """
    kept: list[SearchResult] = []
    for result in results:
        is_own = bool(conversation) and result.path == conversation
        if is_own and (history_line is None or result.end_line >= history_line):
            omit(left_out, result, "a turn of this conversation that the history holds")
        else:
            kept.append(result)
    return kept


def share_of_room(results: Sequence[SearchResult], part: Part) -> float:
    """Which part of its room the best results have earned: 0 where nothing has to do with the message."""
    best = max(map(_relevance, results), default=0.0)
    if part == "message":
        return BESIDE_SHARE if any(map(_is_sure, results)) else 0.0
    if best < FLOOR:
        return 0.0
    return min(1.0, LEAST_SHARE + (1 - LEAST_SHARE) * (best - FLOOR) / (ENOUGH - FLOOR))


def _relevance(result: SearchResult) -> float:
    return 1.0 if result.relevance is None else result.relevance


def _is_sure(result: SearchResult) -> bool:
    return _relevance(result) >= (BESIDE_SAID if result.category == "conversation" else BESIDE_KNOWN)


def _echoes(text: str, message: str) -> bool:
    said, asked = (set(literal_terms(each[:_QUERY_CHARACTERS].lower())) for each in (text, message))
    return bool(said) and len(said & asked) >= _ECHO * len(said | asked)


def relevant(
    results: Sequence[SearchResult], message: str, left_out: list[LeftOut], part: Part, *, anything: bool
) -> list[SearchResult]:
    """The results that may come in; why the others may not is noted.

    ``anything``: whether any of the results has enough to do with the message.
    """
    best = max((each.score for each in results), default=0.0)
    kept: list[SearchResult] = []
    for result in results:
        if result.category == "topic" or result.path.startswith("archive/topics/"):
            why_not = "a topic comes in by a trigger, its score or a person, not by being found"
        elif not anything:
            why_not = f"not enough to do with the message: {result.relevance or 0.0:.2f}; {FLOOR} is needed"
        elif part == "message" and not _is_sure(result):
            why_not = f"not sure enough to be told beside a message: {result.relevance or 0.0:.2f}"
        elif part == "message" and _echoes(result.text, message):
            why_not = "it says no more than the message"
        elif result.score < LEAST_SCORE * best:
            why_not = f"a crumb: its score is below {LEAST_SCORE} of the best one's"
        elif result.speaker and 0 < len(result.text) < _SHORT and not telling(literal_terms(result.text)):
            why_not = "a crumb: it says nothing by itself"
        else:
            kept.append(result)
            continue
        omit(left_out, result, why_not)
    return kept


def unsure(left_out: list[LeftOut], since: int) -> None:
    """Say of what found no room since then that a larger prompt would not hold it: nothing answers surely."""
    for index in range(since, len(left_out)):
        missing = left_out[index]
        if missing.limit == "room":
            reason = f"{missing.reason}: what was found has little to do with the message"
            left_out[index] = replace(missing, reason=reason, limit="")


def omit(left_out: list[LeftOut], result: SearchResult, reason: str, limit: Limit = "") -> None:
    """Note that a result is left out."""
    left_out.append(
        LeftOut(
            label=f"knowledge:{result.path}",
            priority=3,
            slot="knowledge",
            source=result.path,
            lines=f"{result.start_line}-{result.end_line}",
            tokens=max(1, about(len(result.text))),
            score=result.score,
            reason=reason,
            limit=limit,
        )
    )
