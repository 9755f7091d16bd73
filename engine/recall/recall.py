"""Finds the passages of past sessions that are worth telling the one at work."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING

from engine.recall.labels import LabelLog
from engine.recall.passages import passage_of, place_of
from engine.recall.telling import WIDE, tells
from engine.search.past_work import content_words
from engine.search.talk import is_order
from engine.startup.lazy import expression

if TYPE_CHECKING:
    from engine.recall.features import Candidates, Situation
    from engine.recall.model import Model
    from engine.recall.own import OwnModel
    from engine.search.index import SearchIndex
    from engine.search.past import Past
    from engine.search.results import SearchResult
    from engine.store.files import Files
    from engine.transcripts.turn import Turn

MOST_PASSAGES = 3
MOST_CHARACTERS = 1_200
"""Of all passages for one message, about 300 tokens."""
ANSWERS = 0.6
"""Share of the message's words from which a passage is told whatever else speaks against it."""
_REPEATS, _WORTH = 0.8, 0.4
"""That share, or the probability, needed besides by a message that asks nothing, where pairs of letters are
counted as words: most of those of an order stand in any passage about the same.
"""
_TRIED = 12
_FEWEST_WORDS = 2
"""Words that say what a message is about: one with fewer is answered by its own session."""
_ANSWER = expression(r"^(?:Answer|Note): (.*(?:\n(?!Question: |Answer: |Note: ).*)*)", re.MULTILINE)
"""What the person said to a question of the agent, in the form that importers give it."""
_ASSENT = expression(
    r"\([^()]*\)|はい|うん|いいね|(?:良い|いい)です|問題(?:なし|な[いく]|ありません)|大丈夫|このまま|そのまま|その通り|進め(?:て|る|ます)?"
    r"|お願いします?|承認|賛成|了解(?:です)?|作成|ください"
    r"|没问题|沒問題|没有问题|可以|好的?|同意|继续|繼續|就这样|创建|提交"
    r"|문제 ?없(?:음|어|습니다)\w*|좋(?:아|습니다)\w*|네|예|그대로|진행\w*"
    r"|계속\w*|승인\w*|동의\w*|작성\w*|해? ?줘|해주세요"
)
"""Yes, no objection and go on, in scripts of which ``engine.search.talk`` knows few words; and a remark such
as "(Recommended)"."""
_PARTICLES = expression(r"[\u3040-\u309f]")
_ASKS = expression(r"[？؟]|\?(?=[\"'”’»)\]*_]*(?:\s|$))")
"""A question mark, as opposed to that of an address."""
_SAME = 0.7
"""Share of common words from which two passages say the same."""


class Recall:
    """Answers from the index. Thread-safe.

    Args:
        mode: ``hooks.past_sessions``.
    """

    def __init__(
        self,
        index: Callable[[], SearchIndex],
        files: Files,
        mode: Callable[[], str],
        clock: Callable[[], datetime],
    ) -> None:
        self._index = index
        self._files = files
        self._mode = mode
        self.labels = LabelLog(files, clock)

    @cached_property
    def own(self) -> OwnModel:
        """The model in use, and how it is learned."""
        from engine.recall.own import OwnModel  # noqa: PLC0415 — imports numpy

        return OwnModel(self._files, self._mode, self.labels)

    def find(
        self, message: str, turns: Sequence[Turn], conversation: str, told: Collection[tuple[str, str]]
    ) -> list[SearchResult]:
        """The passages worth telling, best first.

        Args:
            turns: The session so far, without the message.
            conversation: Its transcript, if it has one.
            told: Paths and lines of what the session was told.
        """
        import numpy  # noqa: PLC0415 — only a search needs it

        from engine.recall.features import FEWEST_SESSIONS, examine  # noqa: PLC0415 — as above

        if self._mode() == "off":
            return []
        index, model = self._index(), self.own.model()
        past = index.past()
        may_tell = numpy.array([each.path != conversation for each in past.sessions], dtype=bool)
        if may_tell.sum() < FEWEST_SESSIONS or model is None:
            return []
        candidates = examine(past, _situation(past, message, turns, conversation), may_tell)
        labels = self.labels.read()
        return chosen(
            index,
            past,
            candidates,
            model,
            message,
            partial(_was_told, told),
            lambda each: labels.is_noise(place_of(each)),
        )


def chosen(
    index: SearchIndex,
    past: Past,
    candidates: Candidates,
    model: Model,
    message: str,
    was_told: Callable[[SearchResult], bool],
    is_noise: Callable[[SearchResult], bool],
) -> list[SearchResult]:
    """The candidates that are told, best first.

    Args:
        is_noise: Whether a person said so of a passage; it is told only if it has most words of the message.
    """
    from engine.recall.features import MANY_SESSIONS, NAMES  # noqa: PLC0415 — imports numpy

    found: list[SearchResult] = []
    if len(set(content_words(message))) < _FEWEST_WORDS:
        return found
    worth = model.worth(candidates.values)
    shared = candidates.values[:, NAMES.index("asked")]
    answers = shared >= ANSWERS
    if WIDE.search(message) and not _ASKS.search(message):
        answers &= (shared >= _REPEATS) | (worth >= _WORTH)
    if candidates.sessions < MANY_SESSIONS:
        worth[:] = 0.0
    worth[answers & (worth < model.floor)] = model.floor
    left = MOST_CHARACTERS
    for place in (-worth).argsort(kind="stable")[:_TRIED].tolist():
        if worth[place] < model.floor or len(found) == MOST_PASSAGES:
            break
        why = (
            f"its session shares {candidates.shared[place]} rare words with this one, and it adds"
            f" {candidates.added[place]}: worth {worth[place]:.2f}, at least {model.floor:.2f} needed"
            f"{'; it has most words of the message' if answers[place] else ''}"
        )
        result = passage_of(index, past, int(candidates.places[place]), float(worth[place]), why)
        if result is None or not candidates.added[place] or len(result.text) > left or was_told(result):
            continue
        if (is_noise(result) and not answers[place]) or is_assent(result.text):
            continue
        if tells(result, message) and not any(_are_alike(result.text, each.text) for each in found):
            found.append(result)
            left -= len(result.text)
    return found


def _situation(past: Past, message: str, turns: Sequence[Turn], conversation: str) -> Situation:
    from engine.recall.features import NOTHING, RECENT_TURNS, numbers, situation  # noqa: PLC0415 — as above

    own = past.place_of(conversation) if conversation else None
    answer = next((turn.text for turn in reversed(turns) if turn.role == "agent" and turn.text.strip()), "")
    if own is not None:
        so_far = past.sessions[own].words
    else:
        so_far = numbers("\n".join(map(said_and_done, turns))) if turns else NOTHING
    return situation(message, [said_and_done(turn) for turn in turns[-RECENT_TURNS:]], answer, so_far)


def said_and_done(turn: Turn) -> str:
    """A turn's text with its tool calls."""
    return "\n".join((turn.text, *(f"{call.name} {call.summary} {call.result}" for call in turn.tools)))


def _was_told(told: Collection[tuple[str, str]], result: SearchResult) -> bool:
    return any(
        first <= result.end_line and result.start_line <= last
        for path, lines in told
        if path == result.path
        for first, last in spans(lines)
    )


def spans(lines: str) -> Iterator[tuple[int, int]]:
    """The first and last lines of each part of a section, such as ``10-13``."""
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", lines):
        yield int(first), int(last or first)


def is_assent(text: str) -> bool:
    """Whether a text is questions of the agent that the person only said yes to: it tells what was asked, not
    what holds.

    Which words of the answer are rare would hold in any language, but says nothing in a few sessions: in 12,
    "JSON" was not rare, and "go on" was.
    """
    answers = _ANSWER.findall(text) if text.startswith("Question: ") else []
    return bool(answers) and all(is_order(_PARTICLES.sub(" ", _ASSENT.sub(" ", each))) for each in answers)


def _are_alike(text: str, other: str) -> bool:
    words, others = set(text.casefold().split()), set(other.casefold().split())
    return len(words & others) >= _SAME * min(len(words), len(others))
