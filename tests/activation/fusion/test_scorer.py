"""The scorer turns topics into probabilities and reasons; with fake vectors and weights."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.activation.fusion import measures, scorer
from engine.activation.fusion.combiner import probability_of
from engine.activation.fusion.fitted import Embedding, Fitted, TopicTexts, fit
from engine.activation.fusion.scorer import DETAILED, SHOWN, CalibratedScorer
from engine.activation.fusion.store import FIT_PATH, FitStore
from engine.activation.labelled import Labelled
from engine.activation.similarity import deciding_value
from engine.activation.trace import TriggerHit
from engine.topics.model import Topic, Trigger
from tests.activation.fusion.support import DEPLOY, HOLIDAY, REFUND, FakeVectors, linear_combiner
from tests.activation.support import topic, workspace_files
from tests.cases import each_case

WEIGHTS = linear_combiner(bias=-4, words_top=6, vectors_top=6, against=-6)


def known(name: str, examples: Sequence[str], **fields: Any) -> Topic:
    return topic(name, title=name, examples=tuple(examples), **fields)


TOPICS = (known("refund", REFUND), known("deploy", DEPLOY), known("holiday", HOLIDAY))


def make_scorer(topics: Sequence[Topic] = TOPICS, **options: Any) -> CalibratedScorer:
    found = CalibratedScorer(vectors=FakeVectors(), combiner=WEIGHTS, **options)
    found.update(topics)
    return found


def probabilities(
    found: CalibratedScorer, text: str, hits: Mapping[str, Sequence[TriggerHit]] | None = None
) -> dict[str, float]:
    return {name: deciding_value(of, "probability") for name, of in found.score(text, hits or {}).items()}


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The topic names of each computed fit."""
    made_of: list[tuple[str, ...]] = []

    def counting(texts: Sequence[TopicTexts], vectors: Embedding) -> Fitted:
        made_of.append(tuple(each.name for each in texts))
        return fit(texts, vectors)

    monkeypatch.setattr(scorer, "fit", counting)
    return made_of


def test_the_matching_topic_is_the_most_probable() -> None:
    of = probabilities(make_scorer(), "please give me my money back")
    assert of["refund"] > 0.5 > max(of["deploy"], of["holiday"])


def test_scores_have_a_fixed_order_and_range() -> None:
    scores = make_scorer().score("can i have my money back", {})
    assert list(scores) == [each.name for each in TOPICS]
    for of in scores.values():
        assert [score.name for score in of] == ["probability", *SHOWN]
        assert all(0 <= score.value <= 1 for score in of)


def test_before_the_first_update_there_are_no_scores() -> None:
    found = CalibratedScorer(vectors=FakeVectors(), combiner=WEIGHTS)
    assert found.score("a message", {}) == {}
    assert found.explain("a message", {}, ["refund"]) == {}


def test_without_topics_there_is_nothing_to_score() -> None:
    found = make_scorer(())
    assert found.score("a message", {}) == {}
    assert found.explain("a message", {"gone": ()}, ["gone"]) == {}


@each_case("text", ["", "😀", "\ud800", "…"])
def test_a_message_without_words_scores_zero(text: str) -> None:
    found = make_scorer()
    assert probabilities(found, text) == {"refund": 0.0, "deploy": 0.0, "holiday": 0.0}
    assert found.explain(text, {}, ["refund"]) == {}


def test_a_topic_of_emoji_alone_is_scored() -> None:
    found = make_scorer((known("party", ("🎉",)), known("sad", ())))
    assert set(probabilities(found, "a party 🎉")) == {"party", "sad"}


def test_equal_topics_are_equally_probable() -> None:
    of = probabilities(
        make_scorer((known("a", REFUND, description="x"), known("b", REFUND, description="x"))), REFUND[0]
    )
    assert of["a"] == pytest.approx(of["b"], abs=0.02)


def test_topics_with_the_same_name_are_merged() -> None:
    assert list(probabilities(make_scorer((*TOPICS, known("refund", HOLIDAY))), "money back")) == [
        "refund",
        "deploy",
        "holiday",
    ]


def test_only_the_nearest_topics_get_detailed_scores() -> None:
    topics = [known(f"t{number}", (f"thing{number} here",)) for number in range(DETAILED + 20)]
    found = make_scorer(topics).score("is thing7 here", {})
    detailed = [name for name, of in found.items() if len(of) > 1]
    assert len(detailed) == DETAILED
    assert "t7" in detailed
    far = min(found[name][0].value for name in detailed)
    assert all(of[0].value <= far for of in found.values() if len(of) == 1)


def test_topics_off_the_shortlist_are_improbable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "ALL_TOPICS", 20)
    monkeypatch.setattr(measures, "SHORTLIST", 5)
    found = make_scorer([known(f"t{number}", (f"thing{number} here",)) for number in range(21)])
    of = probabilities(found, "is thing7 here")
    assert len(of) == 21
    assert sum(value > 0 for value in of.values()) == 5
    off = next(name for name, value in of.items() if value == 0)
    hit = {off: (TriggerHit(0, "keywords", "here"),)}
    assert probabilities(found, "is thing7 here", hit)[off] > 0.25
    explained = found.explain("is thing7 here", hit, [off])[off]
    assert [part.signal for part in explained.contributions] == ["trigger"]
    assert explained.words == ()


def test_hits_count_only_for_existing_topics() -> None:
    found = make_scorer(
        (replace(TOPICS[0], triggers=(Trigger("keywords", words=("penguin",)),)), *TOPICS[1:])
    )
    hits = {"refund": (TriggerHit(0, "keywords", "penguin", 2, 9),), "gone": (TriggerHit(0, "url", "x"),)}
    plain, lifted = probabilities(found, "a penguin"), probabilities(found, "a penguin", hits)
    assert plain["refund"] < 0.1
    assert lifted["refund"] > 0.5
    assert {name: lifted[name] for name in ("deploy", "holiday")} == {
        name: plain[name] for name in ("deploy", "holiday")
    }
    assert probabilities(found, "😀", hits)["refund"] > 0.25


def test_each_requested_topic_is_explained() -> None:
    found = make_scorer()
    text = "can i have my money back"
    explained = found.explain(text, {}, ["refund", "deploy", "refund", "gone"])
    assert list(explained) == ["refund", "deploy"]
    weights = [part.weight for part in explained["refund"].contributions]
    assert weights == sorted(weights, key=abs, reverse=True)
    parts = {part.signal: part.weight for part in explained["refund"].contributions}
    assert parts["words"] > 0
    assert parts["vectors"] > 0
    assert "trigger" not in parts
    logit = -4 + sum(parts.values())
    assert probabilities(found, text)["refund"] == pytest.approx(probability_of(logit), abs=0.02)
    shown = [text[span.start : span.end] for span in explained["refund"].words]
    assert "money" in shown
    assert shown == [word for word in text.split() if word in shown]


def test_a_counter_example_counts_against_its_topic() -> None:
    found = make_scorer(labelled=lambda: {"refund": Labelled(noise=("money for the bus",))})
    parts = found.explain("money for the bus", {}, ["refund"])["refund"].contributions
    assert {part.signal: part.weight for part in parts}["counter-examples"] < -1


@pytest.mark.parametrize("with_hit", [True, False])
def test_a_trigger_is_a_reason_only_for_topics_it_fired_for(with_hit: bool) -> None:
    hits = {"refund": (TriggerHit(0, "keywords", "money", 0, 5),)} if with_hit else {}
    explained = make_scorer().explain("money for the bus", hits, ["refund", "deploy"])
    for name in explained:
        triggers = [part.weight for part in explained[name].contributions if part.signal == "trigger"]
        assert bool(triggers) == (with_hit and name == "refund")
        assert all(weight > 0 for weight in triggers)


def test_unchanged_texts_are_not_fitted_again(fits: list[tuple[str, ...]]) -> None:
    found = make_scorer()
    found.update(TOPICS)
    found.update([replace(each, priority="low", forced=True, similarity_threshold=0.4) for each in TOPICS])
    assert len(fits) == 1


Change = Callable[[dict[str, Any]], None]


def examples(state: dict[str, Any]) -> None:
    state["topics"] = (replace(TOPICS[0], examples=REFUND[:2]), *TOPICS[1:])


def instructions(state: dict[str, Any]) -> None:
    state["topics"] = (replace(TOPICS[0], instructions="Pay it back."), *TOPICS[1:])


def title(state: dict[str, Any]) -> None:
    state["topics"] = (replace(TOPICS[0], title="Reimbursement"), *TOPICS[1:])


def description(state: dict[str, Any]) -> None:
    state["topics"] = (replace(TOPICS[0], description="Reimbursement"), *TOPICS[1:])


def one_less(state: dict[str, Any]) -> None:
    state["topics"] = TOPICS[1:]


def another_order(state: dict[str, Any]) -> None:
    state["topics"] = TOPICS[::-1]


def useful(state: dict[str, Any]) -> None:
    state["labelled"] = {"refund": Labelled(useful=("pay me",))}


def noise(state: dict[str, Any]) -> None:
    state["labelled"] = {"refund": Labelled(noise=("pay me",))}


def heading(state: dict[str, Any]) -> None:
    state["headings"] = ("Reimbursement",)


CHANGES = (examples, instructions, title, description, one_less, another_order, useful, noise, heading)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_any_change_to_a_topics_texts_causes_a_new_fit(
    change: Change, tmp_path: Path, fits: list[tuple[str, ...]]
) -> None:
    state: dict[str, Any] = {"topics": TOPICS, "labelled": {}, "headings": ()}
    files = workspace_files(tmp_path)

    def updated() -> None:
        make_scorer(
            state["topics"],
            store=FitStore(files),
            labelled=lambda: state["labelled"],
            headings=lambda _: {"refund": state["headings"]},
        )

    updated()
    updated()
    assert len(fits) == 1
    change(state)
    updated()
    updated()
    assert len(fits) == 2


def test_other_vectors_cause_a_new_fit(tmp_path: Path, fits: list[tuple[str, ...]]) -> None:
    store = FitStore(workspace_files(tmp_path))
    make_scorer(store=store)
    vectors = FakeVectors()
    vectors.version = "trained anew"
    CalibratedScorer(vectors=vectors, combiner=WEIGHTS, store=store).update(TOPICS)
    assert len(fits) == 2


def test_a_stored_fit_needs_no_embedding(tmp_path: Path) -> None:
    store = FitStore(workspace_files(tmp_path))
    make_scorer(store=store)
    vectors = FakeVectors()
    again = CalibratedScorer(vectors=vectors, combiner=WEIGHTS, store=store)
    again.update(TOPICS)
    assert vectors.texts == []
    assert again.score("money back", {}) == make_scorer().score("money back", {})


@pytest.mark.parametrize("damage", [b"", b"PK\3\4", b"\0" * 100])
def test_a_damaged_fit_is_recomputed(damage: bytes, tmp_path: Path, fits: list[tuple[str, ...]]) -> None:
    store = FitStore(workspace_files(tmp_path))
    make_scorer(store=store)
    (tmp_path / FIT_PATH).write_bytes(damage)
    assert probabilities(make_scorer(store=store), "money back") == probabilities(make_scorer(), "money back")
    assert len(fits) == 3
    make_scorer(store=store)
    assert len(fits) == 3


def test_a_read_only_workspace_is_scored_from_memory(tmp_path: Path) -> None:
    store = FitStore(workspace_files(tmp_path, read_only=True))
    assert probabilities(make_scorer(store=store), "money back") == probabilities(make_scorer(), "money back")
    assert not (tmp_path / FIT_PATH).exists()


def test_the_last_message_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counting(text: str, *rest: Any) -> Any:
        calls.append(text)
        return measures.measure(text, *rest)

    monkeypatch.setattr(scorer, "measure", counting)
    found = make_scorer()
    found.score("money back", {})
    found.explain("money back", {}, ["refund"])
    found.score("money back", {"refund": (TriggerHit(0, "keywords", "money"),)})
    assert calls == ["money back"]
    found.score("july off", {})
    found.update(TOPICS[:2])
    found.score("july off", {})
    assert calls == ["money back", "july off", "july off"]


def test_labels_are_applied_only_by_relearn(fits: list[tuple[str, ...]]) -> None:
    labelled: dict[str, Labelled] = {}
    found = CalibratedScorer(vectors=FakeVectors(), combiner=WEIGHTS, labelled=lambda: labelled)
    assert not found.relearn()
    found.update(TOPICS)
    before = probabilities(found, "money for the bus")
    assert not found.relearn()
    labelled["refund"] = Labelled(noise=("money for the bus",))
    assert probabilities(found, "money for the bus") == before
    assert found.relearn()
    assert probabilities(found, "money for the bus")["refund"] < before["refund"]
    labelled.clear()
    assert found.relearn()
    assert probabilities(found, "money for the bus") == before
    assert not found.relearn()
    assert len(fits) == 3


def test_messages_are_scored_while_topics_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An update neither delays messages nor exposes partial results."""
    found = make_scorer()
    fitting, go_on = threading.Event(), threading.Event()

    def slow(texts: Sequence[TopicTexts], vectors: Embedding) -> Fitted:
        fitting.set()
        assert go_on.wait(30)
        return fit(texts, vectors)

    monkeypatch.setattr(scorer, "fit", slow)
    thread = threading.Thread(target=found.update, args=(TOPICS[:1],))
    thread.start()
    assert fitting.wait(30)
    assert set(probabilities(found, "july off")) == {"refund", "deploy", "holiday"}
    assert set(found.explain("july off", {}, ["holiday", "deploy"])) == {"holiday", "deploy"}
    go_on.set()
    thread.join(30)
    assert set(probabilities(found, "july off")) == {"refund"}


def test_many_threads_get_the_same_results_as_one() -> None:
    found = make_scorer()
    texts = ("money back", "deploy the release", "july off", "")
    sets = (TOPICS, TOPICS[:2], TOPICS[::-1])
    expected = {
        (text, tuple(each.name for each in topics)): (
            make_scorer(topics).score(text, {}),
            make_scorer(topics).explain(text, {}, ["refund", "holiday"]),
        )
        for text in texts
        for topics in sets
    }
    wrong: list[object] = []

    def work(number: int) -> None:
        for turn in range(25):
            if number == 0:
                found.update(sets[turn % 3])
                continue
            text = texts[(turn + number) % 4]
            scores = found.score(text, {})
            if scores != expected[text, tuple(scores)][0]:
                wrong.append((text, scores))
            explained = found.explain(text, {}, ["refund", "holiday"])
            if explained not in [of for (of_text, _), (_, of) in expected.items() if of_text == text]:
                wrong.append((text, explained))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
