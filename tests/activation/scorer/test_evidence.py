"""Hits as evidence: where they stand in a message, and how much a topic was taught."""

from __future__ import annotations

import pytest

from engine.activation.scorer.fitted import (
    FEW,
    HEAD_WORDS,
    IN_PASSING,
    LEAST_LOGIT,
    MANY,
    directness_of,
    with_hits,
)
from engine.activation.trace import TriggerHit
from engine.topics.model import Trigger
from tests.activation.support import topic
from tests.cases import each_case


def hit(text: str, word: str) -> TriggerHit:
    start = text.index(word)
    return TriggerHit(0, "keywords", word, start, start + len(word))


@each_case(
    ("text", "share"),
    [
        ("deploy it", 1.0),
        ("can you please deploy the app", 1.0),
        ("it works here, so deploy it now", 1.0),
        ("the page that came up right after the deploy is empty", IN_PASSING),
        ("- first of all\n- deploy", 1.0),
        ("我们现在需要一个，deploy", 1.0),
        ("word " * (HEAD_WORDS + 1) + "deploy", IN_PASSING),
        ("word " * 300 + "deploy", IN_PASSING),
    ],
)
def test_a_hit_is_direct_near_the_start_of_its_clause(text: str, share: float) -> None:
    assert directness_of(text, [hit(text, "deploy")]) == share


def test_one_direct_hit_is_enough_and_one_outside_the_text_is_direct() -> None:
    text = "deploy what we were talking about when you did the last deploy"
    late = TriggerHit(0, "keywords", "deploy", text.rindex("deploy"), len(text))
    assert directness_of(text, [late]) == IN_PASSING
    assert directness_of(text, [late, hit(text, "deploy")]) == 1.0
    assert directness_of(text, [TriggerHit(0, "glob", "deploy.sh")]) == 1.0


def test_hits_count_less_the_more_a_topic_was_taught() -> None:
    deploy = topic("deploy", triggers=(Trigger("keywords", words=("deploy",)),))
    text = "deploy it"

    def logit(taught: float, before: float = -9.0) -> float:
        return with_hits(before, 0.0, deploy, [hit(text, "deploy")], frozenset({"deploy"}), taught)

    assert logit(0) == logit(FEW) > LEAST_LOGIT
    assert logit(FEW) > logit((FEW + MANY) / 2) > logit(MANY) == logit(2 * MANY) == -9.0
    assert logit((FEW + MANY) / 2, 0.0) == pytest.approx(logit(0, 0.0) / 2)
