"""The search query of a message, and the relevance of search results to it (spec 6.3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from engine.context.compiled import LeftOut, Limit
from engine.context.request import Part, Query
from engine.search.past_work import asks_back
from engine.search.query import literal_terms
from engine.search.results import SearchResult
from engine.search.talk import is_order, telling
from engine.search.worth import Room, about
from engine.startup.lazy import expression
from engine.topics.model import Topic
from engine.transcripts.injected import BY_PROGRAM
from engine.transcripts.turn import Turn

FLOOR = 0.28
"""Relevance of the best result below which no results are included."""
ENOUGH = 0.36
"""Relevance of the best result from which results may fill their room; in between, part of it."""
LEAST_SHARE = 0.2
BESIDE_SAID = 0.5
BESIDE_KNOWN = 0.42
"""Relevance from which lost turns of the conversation, or knowledge files, are injected beside an agent's
message. An agent has its own files, so results that might be useful would only be in its way."""
BESIDE_SHARE = 0.4
LEAST_SCORE = 0.2
"""Share of the best score below which a result is dropped."""
ASKED_SCORE = 0.4
"""The same for an answer to an agent, which can ask for more."""
ASKED_SHARES = (0.0, 0.5, 0.8)
"""Share of the best relevance that the first, the second and each further result from a file must have in an
answer to an agent.

Of 198 commits, answers of at most 2,048 tokens hold something of the session that made it as often as without
this, in a quarter less; a bound on first results loses more than it saves.
"""
ASKED_ROOM = 2_000
"""Tokens of room from which these shares become smaller: who allows more asks for more."""
_SAYS_ENOUGH = 3
"""A reply with fewer distinctive words is about its own conversation."""

_EXCHANGE_TURNS = 2
_CONTEXT_CHARACTERS = 800
_QUERY_CHARACTERS = 4000
_QUERY_KEYWORDS = 16
_STAMP = expression(r"\s*\W?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d\S*")
_FAILURE = expression(r"error|fail|exception|fatal|cannot|denied|not found", re.IGNORECASE)
_SAME = 0.7
"""Share of common words from which a result repeats the message, or says a part of it."""
_SHORT = 60
"""Characters of a turn below which it may say as little as "yes, go on"."""


def query(
    message: str,
    history: Sequence[Turn],
    topics: Sequence[Topic],
    limit: int,
    room: Room,
    exclude: frozenset[str],
    part: Part,
) -> Query | None:
    """The search query; ``None`` if the message asks nothing: "hello", "ok, do it", "continue".

    Args:
        history: Earlier turns, oldest first; the last ones are context.
        part: Beside an agent's message nothing is searched for "commit this and run the tests" either: the
            agent knows what that is about, and the memory would only find other times it was said.
        topics: The active topics, whose keywords are context too (spec 6.3).
    """
    text = (_without_log(message) if part == "message" else message)[:_QUERY_CHARACTERS]
    if not telling(literal_terms(text)):
        return None
    if part == "message" and (is_order(text) or BY_PROGRAM.match(text)):
        return None
    keywords = dict.fromkeys(
        word
        for topic in topics
        for trigger in topic.triggers
        if trigger.type == "keywords"
        for word in trigger.words
    )
    texts = [turn.text for turn in history[-_EXCHANGE_TURNS:] if turn.is_dialogue]
    ends = [each[-_CONTEXT_CHARACTERS:] for each in texts]
    asked = _without_folders(text) if part == "message" else text
    return Query(asked, "\n".join((*list(keywords)[:_QUERY_KEYWORDS], *ends)), limit, room, exclude)


def _without_log(text: str) -> str:
    """A message without the lines of a pasted log, except those that report a failure."""
    found = ((line, _STAMP.match(line)) for line in text.split("\n"))
    return "\n".join(
        line[stamp.end() :] if stamp else line for line, stamp in found if not stamp or _FAILURE.search(line)
    )


def _is_log(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    return 2 * sum(_STAMP.match(line) is not None for line in lines) > len(lines)


def _without_folders(text: str) -> str:
    """A message with only the end of each path and address, since most of the work is in the same folders."""
    return " ".join(word if word.count("/") < 2 else _end(word) for word in text.split())


def _end(path: str) -> str:
    names = [name for name in path.split("/") if name]
    return " ".join(names[-2:] if "://" in path else names[-1:])


def without_history(
    results: Sequence[SearchResult], conversation: str, history_line: int | None, left_out: list[LeftOut]
) -> list[SearchResult]:
    """The results without turns of this conversation that are in the history, including the message itself.

    Args:
        conversation: The transcript, if any.
        history_line: Its first line in the history; ``None`` for all of it.
    """
    kept: list[SearchResult] = []
    for result in results:
        is_own = bool(conversation) and result.path == conversation
        if is_own and (history_line is None or result.end_line >= history_line):
            omit(left_out, result, "a turn of this conversation that is in the history")
        else:
            kept.append(result)
    return kept


def without_others(
    results: Sequence[SearchResult], conversation: str, message: str, left_out: list[LeftOut]
) -> list[SearchResult]:
    """The results without those from elsewhere that are not clearly about the same thing.

    A message is mostly about its own conversation, and one that says little is about no other. Of 242
    turns that a search found for 36 messages in the middle of coding sessions, a reader called 6 % related
    below a relevance of 0.3, 33 % up to 0.45, and 65 % above. Files are asked for that only beside a message
    that says little: what was written down is rarely as beside the point as what was once said. A question
    about past work asks for another conversation, however short it is.
    """
    says_little = len(telling(literal_terms(message[:_QUERY_CHARACTERS]))) < _SAYS_ENOUGH
    is_vague = says_little and not asks_back(message)
    kept: list[SearchResult] = []
    for result in results:
        was_said = result.category == "conversation"
        if result.path == conversation or not (was_said or is_vague):
            kept.append(result)
        elif was_said and is_vague:
            omit(left_out, result, "the message says little: it is about its own conversation")
        elif result.worth is None and _relevance(result) < ENOUGH:
            reason = f"not relevant enough beside its own conversation: {_relevance(result):.2f}"
            omit(left_out, result, f"{reason}, at least {ENOUGH} needed")
        else:
            kept.append(result)
    return kept


def share_of_room(results: Sequence[SearchResult], part: Part) -> float:
    """The share of their room that results get: 0 if none is relevant."""
    best = max(map(_relevance, results), default=0.0)
    if part == "message":
        return BESIDE_SHARE if any(map(_is_sure, results)) else 0.0
    if best < FLOOR:
        return 0.0
    return min(1.0, LEAST_SHARE + (1 - LEAST_SHARE) * (best - FLOOR) / (ENOUGH - FLOOR))


def _relevance(result: SearchResult) -> float:
    return 1.0 if result.relevance is None else result.relevance


def _is_sure(result: SearchResult) -> bool:
    if result.worth is not None:
        return True
    return _relevance(result) >= (BESIDE_SAID if result.category == "conversation" else BESIDE_KNOWN)


def relevant(
    results: Sequence[SearchResult],
    left_out: list[LeftOut],
    part: Part,
    message: str,
    room: int,
    *,
    anything: bool,
) -> list[SearchResult]:
    """The results to include; the reasons against others are recorded.

    Args:
        room: Tokens for all results.
        anything: Whether any result is relevant enough.
    """
    best = max((each.score for each in results if each.worth is None), default=0.0)
    least = ASKED_SCORE if part == "asked" else LEAST_SCORE
    highest = max((each.relevance or 0.0 for each in results), default=0.0) * min(
        1.0, ASKED_ROOM / max(room, 1)
    )
    kept: list[SearchResult] = []
    told: Counter[str] = Counter()  # those kept, by file
    for result in results:
        if result.category == "topic" or result.path.startswith("archive/topics/"):
            reason = "topics are activated by triggers, scores or by hand, not by search"
        elif not anything:
            reason = f"not relevant enough: {result.relevance or 0.0:.2f}, at least {FLOOR} needed"
        elif part == "message" and not _is_sure(result):
            reason = f"not relevant enough to be added to a message: {result.relevance or 0.0:.2f}"
        elif part == "message" and result.speaker and _repeats(result, message):
            reason = "it repeats the message"
        elif part == "message" and result.speaker and BY_PROGRAM.search(result.text):
            reason = "an agent's program wrote it"
        elif part == "message" and result.speaker and _is_log(result.text):
            reason = "a pasted log"
        elif (
            part == "asked"
            and result.worth is None
            and _relevance(result)
            < (enough := highest * ASKED_SHARES[min(told[result.path], len(ASKED_SHARES) - 1)])
        ):
            reason = f"not relevant enough for more of its file: {_relevance(result):.2f} of {enough:.2f}"
        elif result.worth is None and result.score < least * best:
            reason = f"its score is below {least} of the best one"
        elif result.speaker and 0 < len(result.text) < _SHORT and not telling(literal_terms(result.text)):
            reason = "it says too little on its own"
        else:
            kept.append(result)
            told[result.path] += 1
            continue
        omit(left_out, result, reason)
    return kept


def _repeats(result: SearchResult, message: str) -> bool:
    """Whether a turn says what the message says; one of the person also if it says only a part of it."""
    words, asked = (set(literal_terms(each[:_QUERY_CHARACTERS].lower())) for each in (result.text, message))
    whole = words if result.speaker.startswith("user") else words | asked
    return bool(words) and len(words & asked) >= _SAME * len(whole)


def mark_irrelevant(left_out: list[LeftOut], since: int) -> None:
    """Records that results left out since then would not be included by a larger budget either."""
    for index in range(since, len(left_out)):
        missing = left_out[index]
        if missing.limit == "room":
            reason = f"{missing.reason}: the results are not relevant enough for more"
            left_out[index] = replace(missing, reason=reason, limit="")


def omit(left_out: list[LeftOut], result: SearchResult, reason: str, limit: Limit = "") -> None:
    """Records that a result is left out."""
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
