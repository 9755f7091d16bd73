"""The features of the local gate: eight numbers about one topic and one message.

They are stored with each decision in the log, so that learning from it later needs neither the topic files
nor the whole message.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from engine.activation.trace import Direction, TriggerHit
from engine.startup.lazy import expression

if TYPE_CHECKING:
    from engine.topics.model import Topic


class Signals(NamedTuple):
    """The evidence for one topic; 0 where there is none."""

    word: float = 0.0  # 1 if the strongest hit is a word or phrase (``pattern``, ``keywords``)
    mark: float = 0.0  # 1 if it is written deliberately (``mention``, ``code``)
    whole: float = 0.0
    """1 if it is about the message as a whole (``language``, ``sentiment``, ``url``, ``glob``), or if a
    trigger for the agent's output fired on output. At most one of these three is 1."""
    more: float = 0.0  # number of further distinct matches, at most 2
    similar: float = 0.0
    """Tier-2 score divided by the topic's threshold, at most 3; reduced in proportion if fewer than half of
    the message's content words occur in the topic's profile, since TF-IDF over few topics rates words such as
    ``the`` highly. 0 if the score is a probability: see ``logit``."""
    share: float = 0.0  # share of the message's content words that are in the topic's profile, 0 to 1
    density: float = 0.0  # share of the message's content words that the hits cover, 0 to 1
    logit: float = 0.0
    """Log-odds of the calibrated probability that the topic applies, hits included, −6 to 6; 0 if tier 2
    gives none."""


NO_SIGNALS = Signals()

CALIBRATED = "probability"
"""Name of the deciding score if tier 2 is calibrated (``Trace.deciding``)."""

LOGIT_LIMIT = 6.0
"""Beyond this a probability is practically certain, and more log-odds would outweigh everything else."""

_WHOLE = frozenset({"language", "sentiment", "url", "glob", "webhook", "cron"})
_MARK = frozenset({"mention", "code"})
_WORDS_READ = 20_000
_MIN_THRESHOLD = 0.01

_TOKEN = expression(r"\w\w+")
_ENGLISH = (
    "about after again all also am an and any are aren as at be because been before being both but by can "
    "could couldn did didn do does doesn doing don down each else even ever few for from further get gets "
    "getting go going got had hadn has hasn have haven having he hello her here hers hey hi him his how "
    "if in into is isn it its itself just know let like ll maybe me more most much my myself need no nor "
    "not now of off ok okay on once one only or other our ours out over own please re really same shall "
    "she should shouldn so some still such tell than thank thanks that the their theirs them then there "
    "these they thing things this those through to too under until up us ve very want wants was wasn way "
    "we well were weren what when where which while who whom why will with won would wouldn yes yet you "
    "your yours yourself "
)
_FUNCTION_WORDS = frozenset(_ENGLISH.split())


def content_words(text: str) -> frozenset[str]:
    """The distinct content words in the first 20,000 characters of a text, in lower case without plural s.

    Function words are only known for English; in other languages they count as content words, which makes
    shares smaller and the local gate more cautious.
    """
    words = set(_TOKEN.findall(text[:_WORDS_READ].lower())) - _FUNCTION_WORDS
    return frozenset(
        word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word
        for word in words
    )


def measure(
    topic: Topic,
    hits: Sequence[TriggerHit],
    score: float,
    threshold: float,
    message_words: frozenset[str],
    profile_words: frozenset[str],
    direction: Direction,
    *,
    calibrated: bool = False,
) -> Signals:
    """The signals of one topic for one message.

    Args:
        score: The deciding tier-2 score, 0 to 1.
        message_words: ``content_words`` of the message.
        profile_words: ``content_words`` of the topic's profile.
        calibrated: Whether the score is the probability that the topic applies.
    """
    kinds = {kind_of(topic, hit, direction) for hit in hits}
    strongest = next((kind for kind in ("whole", "mark", "word") if kind in kinds), "")
    texts = {" ".join(hit.matched.lower().split()) for hit in hits}
    covered = frozenset[str]().union(*(content_words(text) for text in texts)) & message_words
    total = len(message_words)
    share = len(message_words & profile_words) / total if total else 0.0
    carried = min(3.0, score / max(threshold, _MIN_THRESHOLD)) * min(1.0, 2 * share)
    return Signals(
        word=float(strongest == "word"),
        mark=float(strongest == "mark"),
        whole=float(strongest == "whole"),
        more=float(min(2, max(0, len(texts) - 1))),
        similar=0.0 if calibrated else carried,
        share=share,
        density=len(covered) / total if total else float(bool(hits)),
        logit=_logit(score) if calibrated else 0.0,
    )


def _logit(probability: float) -> float:
    if not 0.0 < probability < 1.0:
        return LOGIT_LIMIT if probability >= 1.0 else -LOGIT_LIMIT
    return max(-LOGIT_LIMIT, min(LOGIT_LIMIT, math.log(probability / (1.0 - probability))))


def kind_of(topic: Topic, hit: TriggerHit, direction: Direction) -> str:
    """The kind of a hit: ``whole``, ``mark`` or ``word``; see ``Signals``."""
    made_for_output = (
        direction == "output"
        and 0 <= hit.trigger < len(topic.triggers)
        and topic.triggers[hit.trigger].scope == "output"
    )
    if made_for_output or hit.type in _WHOLE:
        return "whole"
    return "mark" if hit.type in _MARK else "word"
