"""Tier 2 learns labels while messages are processed: no message waits for the fit, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.activation.labelled import Labelled
from engine.activation.scorer.fit import fit
from engine.activation.scorer.fitted import Fitted
from engine.activation.scorer.scorer import CalibratedScorer
from engine.activation.scorer.store import FIT_PATH, FitStore
from engine.activation.scorer.texts import TopicTexts
from engine.activation.trace import Trace
from engine.settings.model import WatcherSettings
from engine.topics.model import Topic
from tests.activation.scorer.support import DEPLOY, HOLIDAY, REFUND, FakeVectors
from tests.activation.support import Topics, pipeline_of, topic, workspace_files

WAIT_S = 30
MESSAGE = "money for the bus"


def known(name: str, examples: Sequence[str]) -> Topic:
    return topic(name, title=name, examples=tuple(examples))


REFUNDS, DEPLOYS, HOLIDAYS = known("refund", REFUND), known("deploy", DEPLOY), known("holiday", HOLIDAY)


class Fitting:
    """Fits normally, but the next fit after ``hold`` blocks until it is released."""

    def __init__(self) -> None:
        self.made: list[tuple[TopicTexts, ...]] = []
        self.begun, self.release = threading.Event(), threading.Event()
        self._held = threading.Semaphore(0)

    def hold(self) -> None:
        self._held.release()

    def __call__(self, texts: Sequence[TopicTexts], *rest: Any) -> Fitted:
        self.made.append(tuple(texts))
        if self._held.acquire(blocking=False):
            self.begun.set()
            assert self.release.wait(WAIT_S)
        return fit(texts, *rest)


class Watched:
    """A pipeline whose topics and labels a test can change."""

    def __init__(self, root: Path) -> None:
        self.labelled: dict[str, Labelled] = {}
        self.topics = Topics((REFUNDS, DEPLOYS))
        self.root = root
        self.scorer = CalibratedScorer(
            vectors=FakeVectors(),
            store=FitStore(workspace_files(root)),
            labelled=lambda: dict(self.labelled),
        )
        self.pipeline = pipeline_of(self.topics, WatcherSettings(), scorer=self.scorer)

    def score(self, name: str = "refund", text: str = MESSAGE) -> float:
        row = self.pipeline.process(text).row(name)
        assert row is not None
        return row.score


@pytest.fixture
def fitting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fitting]:
    held = Fitting()
    monkeypatch.setattr("engine.activation.scorer.fit.fit", held)
    yield held
    held.release.set()


@pytest.fixture
def watched(tmp_path: Path, fitting: Fitting) -> Watched:
    found = Watched(tmp_path)
    found.pipeline.process("hello")
    return found


def start_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def join_threads(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()


@contextmanager
def learning(watched: Watched, fitting: Fitting) -> Iterator[list[bool]]:
    """A label is being learned; what that returned is known at the end."""
    watched.labelled["refund"] = Labelled(noise=(MESSAGE,))
    fitting.hold()
    learned: list[bool] = []
    running = start_thread(lambda: learned.append(watched.pipeline.relearn()))
    assert fitting.begun.wait(WAIT_S)
    yield learned
    fitting.release.set()
    join_threads(running)


def test_a_message_is_processed_while_labels_are_learned(watched: Watched, fitting: Fitting) -> None:
    before, made, second = watched.score(), len(fitting.made), list[bool]()
    with learning(watched, fitting) as learned:
        again = start_thread(lambda: second.append(watched.pipeline.relearn()))
        traces: list[Trace] = []
        join_threads(start_thread(lambda: traces.append(watched.pipeline.process(MESSAGE))))
        row = traces[0].row("refund")
        assert row is not None and row.score == before, "scored with the previous fit"
    join_threads(again)
    assert (learned, second) == ([True], [False])
    assert len(fitting.made) == made + 1, "a second caller waits for the running fit"
    assert watched.score() < before


def test_scores_and_reasons_of_a_message_come_from_one_fit(watched: Watched, fitting: Fitting) -> None:
    scorer = watched.scorer
    before = scorer.score(MESSAGE, {})
    explained = scorer.explain(MESSAGE, {}, ["refund"])
    watched.labelled["refund"] = Labelled(noise=(MESSAGE,))
    assert watched.pipeline.relearn()
    assert scorer.explain(MESSAGE, {}, ["refund"]) == explained
    assert scorer.score(MESSAGE, {}) != before
    assert scorer.explain(MESSAGE, {}, ["refund"]) != explained


def test_a_label_given_during_a_fit_is_in_the_next_fit(watched: Watched, fitting: Fitting) -> None:
    learned: list[bool] = []
    with learning(watched, fitting):
        watched.labelled["deploy"] = Labelled(useful=("push it out",))
        second = start_thread(lambda: learned.append(watched.pipeline.relearn()))
    join_threads(second)
    assert learned == [True]
    by_name = {texts.name: texts for texts in fitting.made[-1]}
    assert by_name["deploy"].useful == ("push it out",)
    assert by_name["refund"].noise == (MESSAGE,)
    assert not watched.pipeline.relearn()
    assert watched.score("deploy", "push it out") > 0.3


def test_topics_changed_during_a_fit_are_kept(watched: Watched, fitting: Fitting) -> None:
    """The message after a topic change is scored with the new topics, and the old fit is discarded."""
    with learning(watched, fitting):
        watched.topics.topics = (REFUNDS, HOLIDAYS)
        traces: list[Trace] = []
        join_threads(start_thread(lambda: traces.append(watched.pipeline.process("july off"))))
        assert {row.topic for row in traces[0].rows} == {"refund", "holiday"}
        row = traces[0].row("holiday")
        assert row is not None and row.score > 0.03
        kept = (watched.root / FIT_PATH).read_bytes()
    assert (watched.root / FIT_PATH).read_bytes() == kept, "an outdated fit is not stored"
    assert set(watched.scorer.score("july off", {})) == {"refund", "holiday"}
    assert watched.score("holiday", "july off") == row.score
    assert not watched.pipeline.relearn(), "the label was included with the topics"


def test_a_label_given_during_a_topic_change_is_not_lost(watched: Watched, fitting: Fitting) -> None:
    """Without a pipeline, labels can be learned while topics are being fitted, and messages scored."""
    fitting.hold()
    updating = start_thread(lambda: watched.scorer.update((REFUNDS, HOLIDAYS)))
    assert fitting.begun.wait(WAIT_S)
    for found in (watched.scorer.score("july", {}), watched.scorer.explain("july", {}, ["refund", "deploy"])):
        assert set(found) == {"refund", "deploy"}, "of the previous fit"
    watched.labelled["refund"] = Labelled(noise=(MESSAGE,))
    assert watched.scorer.relearn()
    fitting.release.set()
    join_threads(updating)
    assert set(watched.scorer.score(MESSAGE, {})) == {"refund", "holiday"}
    assert not watched.scorer.relearn()
    assert fitting.made[-1][0].noise == (MESSAGE,)
