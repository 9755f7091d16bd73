"""How trigger hits raise the probability that a topic applies."""

from __future__ import annotations

import itertools

import numpy
import pytest

from engine.activation.fusion.combiner import MOST_LOGIT, probability_of
from engine.activation.fusion.evidence import REFUSED, counter_evidence, with_hits
from engine.activation.policy import thresholds_of
from engine.activation.signals import content_words
from engine.activation.trace import TriggerHit
from engine.settings.model import WatcherSettings
from engine.topics.model import Topic, Trigger
from tests.activation.support import topic
from tests.cases import each_case

CALIBRATED = WatcherSettings(preset="calibrated")
KEYWORD = TriggerHit(0, "keywords", "refund", 10, 16)
MENTION = TriggerHit(1, "mention", "@billing", 0, 8)
LANGUAGE = TriggerHit(2, "language", "de")
WATCHED = TriggerHit(3, "pattern", "sorry", 0, 5)
HITS = (KEYWORD, MENTION, LANGUAGE, WATCHED)
LONG = "about the refund that somebody promised last week while travelling through the mountains of Norway"


def billing(priority: str = "medium") -> Topic:
    triggers = (
        Trigger("keywords", words=("refund",)),
        Trigger("mention", words=("billing",)),
        Trigger("language", words=("de",)),
        Trigger("pattern", scope="output", match="sorry"),
    )
    return topic("billing", triggers=triggers, priority=priority)


def probability(*hits: TriggerHit, text: str = LONG, logit: float = -MOST_LOGIT) -> float:
    return probability_of(with_hits(logit, billing(), hits, content_words(text)))


def test_without_hits_nothing_changes() -> None:
    assert with_hits(-1.5, billing(), (), frozenset({"refund"})) == -1.5


def test_a_further_hit_never_lowers_the_probability() -> None:
    for count in range(1, len(HITS)):
        for some in itertools.combinations(HITS, count):
            for more in HITS:
                assert probability(*some, more) >= probability(*some)


@each_case("hit", HITS)
def test_with_a_hit_similarity_still_counts(hit: TriggerHit) -> None:
    assert probability(hit, logit=-8) < probability(hit, logit=-1) < probability(hit, logit=2)


@each_case("priority", ["critical", "high", "medium", "low"])
@each_case("hit", HITS)
def test_a_hit_raises_a_dissimilar_topic_to_the_gate(hit: TriggerHit, priority: str) -> None:
    thresholds = thresholds_of(billing(priority), CALIBRATED, matched=True)
    assert thresholds.gate is not None
    assert probability(hit) >= thresholds.gate


def test_one_word_of_a_long_message_does_not_activate() -> None:
    thresholds = thresholds_of(billing(), CALIBRATED, matched=True)
    assert thresholds.activate is not None
    assert probability(KEYWORD) < thresholds.activate


@each_case("hit", [LANGUAGE, WATCHED])
@each_case("priority", ["high", "medium", "low"])
def test_a_trigger_about_the_whole_message_activates(hit: TriggerHit, priority: str) -> None:
    thresholds = thresholds_of(billing(priority), CALIBRATED, matched=True)
    assert thresholds.activate is not None
    assert probability(hit) >= thresholds.activate


@pytest.mark.parametrize("priority", ["high", "medium", "low"])
def test_a_message_that_is_only_the_hit_activates(priority: str) -> None:
    thresholds = thresholds_of(billing(priority), CALIBRATED, matched=True)
    assert thresholds.activate is not None
    assert probability(KEYWORD, text="Refund?") >= thresholds.activate


def test_a_message_without_content_words_counts_as_covered_by_its_hit() -> None:
    assert probability(KEYWORD, text="and you?") == probability(KEYWORD, text="refund")


def test_different_texts_count_twice_at_most_and_equal_ones_once() -> None:
    hits = [TriggerHit(0, "keywords", f"word{number}") for number in range(6)]
    assert probability(hits[0], hits[0]) == probability(hits[0])
    assert probability(*hits[:2]) > probability(hits[0])
    assert probability(*hits[:3]) > probability(*hits[:2])
    assert probability(*hits) == probability(*hits[:3])


def test_a_hit_of_a_removed_trigger_counts_as_a_keyword() -> None:
    assert probability(TriggerHit(99, "pattern", "sorry")) == probability(TriggerHit(0, "keywords", "sorry"))


def test_only_a_counter_example_closer_than_every_example_counts_against() -> None:
    similarity = numpy.array([0.0, 0.7, 0.9, 1.0, 0.95], dtype=numpy.float32)
    examples = numpy.array([0.2, 0.3, 0.5, 0.6, 0.97], dtype=numpy.float32)
    taken = counter_evidence(similarity, examples)
    assert taken[0] == taken[1] == taken[4] == 0
    assert -REFUSED < taken[2] < 0
    assert taken[3] == -REFUSED
