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
