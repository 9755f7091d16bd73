"""The scorer turns topics into probabilities and reasons; with a fake embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.activation.labelled import Labelled
from engine.activation.scorer.fit import fit
from engine.activation.scorer.fitted import Fitted
from engine.activation.scorer.scorer import CalibratedScorer
from engine.activation.scorer.store import FIT_PATH, FitStore
from engine.activation.scorer.texts import TopicTexts
from engine.activation.signals import probability_of
from engine.activation.trace import TriggerHit
from engine.topics.model import Topic, Trigger
from tests.activation.scorer.support import DEPLOY, HOLIDAY, REFUND, FakeVectors
from tests.activation.support import topic, workspace_files
from tests.cases import each_case


def known(name: str, examples: Sequence[str], **fields: Any) -> Topic:
    return topic(name, title=name, examples=tuple(examples), **fields)


TOPICS = (known("refund", REFUND), known("deploy", DEPLOY), known("holiday", HOLIDAY))
MONEY = (TriggerHit(0, "keywords", "money", 0, 5),)


def make_scorer(topics: Sequence[Topic] = TOPICS, **options: Any) -> CalibratedScorer:
    found = CalibratedScorer(vectors=FakeVectors(), **options)
    found.update(topics)
    return found


def probabilities(
    found: CalibratedScorer, text: str, hits: Mapping[str, Sequence[TriggerHit]] | None = None
) -> dict[str, float]:
    return found.score(text, hits or {})


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The topic names of each computed fit."""
    made_of: list[tuple[str, ...]] = []

    def counting(texts: Sequence[TopicTexts], *rest: Any) -> Fitted:
        made_of.append(tuple(each.name for each in texts))
        return fit(texts, *rest)

    monkeypatch.setattr("engine.activation.scorer.fit.fit", counting)
    return made_of


def test_the_matching_topic_is_the_most_probable() -> None:
    of = probabilities(make_scorer(), "please give me my money back")
    assert of["refund"] > 0.3 > 0.15 > max(of["deploy"], of["holiday"])


@each_case("text", ["thanks", "ok", "sounds good", "tell me a joke", "zzz qqq", "", "😀", "\ud800", "…"])
def test_a_message_that_asks_for_nothing_reaches_no_topic(text: str) -> None:
    assert max(probabilities(make_scorer(), text).values()) < 0.2


def test_probabilities_of_all_topics_and_of_nothing_add_up_to_one_without_hits() -> None:
    of = probabilities(make_scorer(), "deploy my refund in july")
    assert 0 < sum(of.values()) < 1
    assert all(0 <= value <= 1 for value in of.values())


def test_without_topics_or_before_they_are_known_there_is_nothing_to_score() -> None:
    for found in (make_scorer(()), CalibratedScorer(vectors=FakeVectors())):
        assert found.score("a message", {}) == {}
        assert found.explain("a message", {"gone": MONEY}, ["gone"]) == {}


def test_a_single_topic_without_examples_is_scored_by_what_its_file_says() -> None:
    found = make_scorer((topic("deploy", title="Deploying", description="When a release is deployed"),))
    of = probabilities(found, "the release is to be deployed"), probabilities(found, "a song of the sea")
    assert of[0]["deploy"] > of[1]["deploy"]


def test_equal_topics_share_the_probability() -> None:
    of = probabilities(
        make_scorer((known("a", REFUND, description="x"), known("b", REFUND, description="x"))), REFUND[0]
    )
    assert of["a"] == pytest.approx(of["b"], abs=0.1)


def test_a_hit_lifts_its_topic_and_takes_from_the_others() -> None:
    found = make_scorer(
        (replace(TOPICS[0], triggers=(Trigger("keywords", words=("penguin",)),)), *TOPICS[1:])
    )
    hits = {"refund": (TriggerHit(0, "keywords", "penguin", 2, 9),), "gone": (TriggerHit(0, "url", "x"),)}
    plain, lifted = probabilities(found, "a penguin"), probabilities(found, "a penguin", hits)
    assert plain["refund"] < 0.1
    assert lifted["refund"] > 0.5, "the message consists of the match"
    assert lifted["deploy"] < plain["deploy"]
    assert set(lifted) == set(plain)


def test_what_is_known_of_a_trigger_comes_from_the_texts_it_fires_on() -> None:
    """One that fires on what other topics are asked for counts for less."""

    def score(fires_on: Sequence[str]) -> float:
        found = make_scorer(matching=lambda _: lambda text: {"refund": 1.0} if text in fires_on else {})
        return probabilities(found, "the new version and the money", {"refund": MONEY})["refund"]

    assert score(REFUND) > score(DEPLOY)


def test_the_parts_of_an_explanation_add_up_to_the_score() -> None:
    found = make_scorer(matching=lambda _: lambda text: {"refund": 1.0} if "money" in text else {})
    for text, hits in (("can i have my money back", {"refund": MONEY}), ("deploy it to the holiday", {})):
        of = probabilities(found, text, hits)
        for name, explained in found.explain(text, hits, [*of]).items():
            logit = sum(part.weight for part in explained.contributions)
            assert of[name] == pytest.approx(probability_of(logit), abs=0.05)


def test_each_requested_topic_is_explained() -> None:
    found = make_scorer()
    text = "can i have my money back"
    explained = found.explain(text, {}, ["refund", "deploy", "refund", "gone"])
    assert list(explained) == ["refund", "deploy"]
    weights = [part.weight for part in explained["refund"].contributions]
    assert weights == sorted(weights, key=abs, reverse=True)
    parts = {part.signal: part.weight for part in explained["refund"].contributions}
    assert min(parts["words"], parts["letters"], parts["vectors"]) > 0
    assert "trigger" not in parts
    shown = [text[span.start : span.end] for span in explained["refund"].words]
    assert "money" in shown
    assert shown == [word for word in text.split() if word in shown]


def test_labels_move_the_message_and_those_like_it() -> None:
    message, like = "my card was charged twice", "My card was charged TWICE!"
    before = make_scorer()
    useful = make_scorer(labelled=lambda: {"refund": Labelled(useful=(message,))})
    for text in (message, like):
        assert probabilities(useful, text)["refund"] > probabilities(before, text)["refund"] + 0.2
    text = "give me my money back for the bus"
    noise = make_scorer(labelled=lambda: {"refund": Labelled(noise=(text,))})
    for each in (text, text.upper()):
        assert probabilities(noise, each)["refund"] < probabilities(before, each)["refund"] - 0.2


def test_noise_for_one_topic_speaks_for_what_else_the_message_is_about() -> None:
    both = "deploy the new version and give me my money back"
    before = make_scorer()
    after = make_scorer(labelled=lambda: {"refund": Labelled(noise=(both,))})
    assert probabilities(after, both)["refund"] < probabilities(before, both)["refund"]
    assert probabilities(after, both)["deploy"] >= probabilities(before, both)["deploy"]


def changed(**fields: Any) -> dict[str, Any]:
    return {"topics": (replace(TOPICS[0], **fields), *TOPICS[1:])}


@pytest.mark.parametrize(
    "change",
    [
        changed(examples=REFUND[:2]),
        changed(instructions="Pay it back."),
        changed(description="Reimbursement"),
        changed(triggers=(Trigger("pattern", match="x"),)),
        {"topics": TOPICS[1:]},
        {"topics": TOPICS[::-1]},
        {"labelled": {"refund": Labelled(useful=("pay me",))}},
        {"labelled": {"refund": Labelled(noise=("pay me",))}},
    ],
)
def test_any_change_to_a_topics_texts_causes_a_new_fit(
    change: dict[str, Any], tmp_path: Path, fits: list[tuple[str, ...]]
) -> None:
    store = FitStore(workspace_files(tmp_path))
    for number, state in enumerate(({}, change), 1):
        given = {"topics": TOPICS, "labelled": {}, **state}
        for _ in range(2):
            make_scorer(given["topics"], store=store, labelled=lambda given=given: given["labelled"])
        assert len(fits) == number


def test_a_stored_fit_needs_no_embedding_and_no_fit(tmp_path: Path, fits: list[tuple[str, ...]]) -> None:
    store = FitStore(workspace_files(tmp_path))
    first = make_scorer(store=store)
    vectors = FakeVectors()
    again = CalibratedScorer(vectors=vectors, store=store)
    again.update(TOPICS)
    assert vectors.texts == []
    assert len(fits) == 1
    assert again.score("money back", {}) == first.score("money back", {})


def test_an_impatient_scorer_leaves_the_fit_to_relearn(tmp_path: Path, fits: list[tuple[str, ...]]) -> None:
    """A hook never waits for a fit: it scores by the last one, and by triggers what is not in it."""
    store = FitStore(workspace_files(tmp_path))
    make_scorer(TOPICS[:2], store=store)
    hasty = make_scorer(TOPICS, store=store, patient=False)
    assert len(fits) == 1
    assert probabilities(hasty, "give me my money back")["refund"] > 0.4
    assert probabilities(hasty, "some holidays in july")["holiday"] < 0.05
    hit = {"holiday": (TriggerHit(0, "keywords", "july", 0, 4),)}
    assert probabilities(hasty, "july", hit)["holiday"] > 0.3
    assert hasty.relearn()
    assert len(fits) == 2
    assert probabilities(hasty, "request some holidays in july")["holiday"] > 0.3
    assert not hasty.relearn()


def test_of_many_impatient_processes_one_fits(tmp_path: Path, fits: list[tuple[str, ...]]) -> None:
    """With no process that lingers, each hook leaves one that learns: all of them would fit the same."""
    files = workspace_files(tmp_path)
    one, another = (make_scorer(store=FitStore(files), patient=False) for _ in range(2))
    with FitStore(files).fitting() as is_alone:
        assert is_alone and not one.relearn() and not fits
        make_scorer(TOPICS[:2], store=FitStore(files))  # a workbench that starts does not wait for it
        assert len(fits) == 1
    assert one.relearn() and another.relearn()
    assert len(fits) == 2, "the other one loads it"
    assert probabilities(another, "give me my money back")["refund"] > 0.4


def test_without_any_fit_an_impatient_scorer_goes_by_triggers() -> None:
    hasty = make_scorer(patient=False)
    assert max(probabilities(hasty, "give me my money back").values()) < 0.05
    assert probabilities(hasty, "money", {"refund": MONEY})["refund"] > 0.3
    assert hasty.explain("money", {"refund": MONEY}, ["refund", "deploy"])["refund"].contributions


def test_a_damaged_fit_is_recomputed(tmp_path: Path, fits: list[tuple[str, ...]]) -> None:
    store = FitStore(workspace_files(tmp_path))
    make_scorer(store=store)
    (tmp_path / FIT_PATH).write_bytes(b"PK\3\4")
    assert probabilities(make_scorer(store=store), "money back") == probabilities(make_scorer(), "money back")
    assert len(fits) == 3
    make_scorer(store=store)
    assert len(fits) == 3


def test_labels_are_applied_only_by_relearn(fits: list[tuple[str, ...]]) -> None:
    labelled: dict[str, Labelled] = {}
    found = CalibratedScorer(vectors=FakeVectors(), labelled=lambda: labelled)
    assert not found.relearn()
    found.update(TOPICS)
    before = probabilities(found, "give me my money back for the bus")
    assert not found.relearn()
    labelled["refund"] = Labelled(noise=("give me my money back for the bus",))
    assert probabilities(found, "give me my money back for the bus") == before
    assert found.relearn()
    assert probabilities(found, "give me my money back for the bus")["refund"] < before["refund"]
    labelled.clear()
    assert found.relearn()
    assert probabilities(found, "give me my money back for the bus") == before
    assert not found.relearn()
    assert len(fits) == 3
