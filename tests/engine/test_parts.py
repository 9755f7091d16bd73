"""Parts are created once, by whichever thread asks first, and again after being dropped."""

from __future__ import annotations

import threading

from engine.engine import Engine


def test_many_threads_get_the_same_part(engine: Engine) -> None:
    start = threading.Barrier(8)
    found: list[object] = []

    def ask() -> None:
        start.wait()
        found.append(engine.pipeline)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len({id(part) for part in found}) == 1


def test_a_dropped_part_is_created_again(engine: Engine) -> None:
    first = engine.pipeline
    assert engine.has("pipeline") and not engine.has("index")
    engine.drop("pipeline", "index")
    assert not engine.has("pipeline")
    assert engine.pipeline is not first


def test_the_local_gate_learns_once_there_are_enough_labels(engine: Engine) -> None:
    """Twenty labels that mark a topic as noise, where ten are enough, change the gate's answer about it."""
    engine.configuration.change("gate.local_min_labels", 10)
    before = engine.pipeline
    useful = [
        "Can you review the PR that just came in?",
        "Please review this pull request.",
        "Look over PR 431",
    ]
    for number in range(24):
        text = (
            f"{useful[number % 3]} ({number})" if number % 2 else f"The PR department called, number {number}"
        )
        engine.trace(text, record=True)
    decisions = [d for d in engine.decision_log.last(10_000) if d.topic == "github-pr-review"]
    assert len(decisions) >= 20
    for decision in decisions:
        engine.decision_log.label(decision.id, "department" not in decision.message)
    assert engine.labels.learn()
    assert engine.pipeline is not before
    assert "fitted to" in engine.status().model
    assert not engine.labels.learn(), "the same labels are not learned twice"
