"""Where ``git.auto_push`` is on, a commit is sent while the workspace is followed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from engine.events import EngineEvent, ErrorReported
from engine.live import push_worker
from engine.live.push_worker import PushWorker
from tests.sync.machines import Machine, git


def test_a_commit_is_sent_and_what_is_not_taken_is_told_once(
    machines: tuple[Machine, Machine, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, laptop, bare = machines
    monkeypatch.setattr(push_worker, "GATHER_S", 0.0)
    told: list[EngineEvent] = []
    done = Event()
    worker = PushWorker(desk.engine, told.append)
    send = desk.engine.sync.push

    def push() -> int:
        try:
            return send()
        finally:
            done.set()

    monkeypatch.setattr(desk.engine.sync, "push", push)

    def commit(machine: Machine) -> None:
        machine.add("knowledge/facts.md", f"- Of {machine.root.name}.\n")
        machine.repository.commit(["knowledge/facts.md"], "memory: new")

    def sent() -> None:
        done.clear()
        commit(desk)
        worker.committed()
        assert done.wait(20)

    commit(desk)
    worker.committed()
    assert worker._thread.ident is None, "off until it is asked for"
    desk.engine.config = replace(desk.engine.config, git=replace(desk.engine.config.git, auto_push=True))
    sent()
    assert git(bare, "rev-parse", "main") == desk.repository.revision() and not told
    commit(laptop)
    laptop.sync()
    there = git(bare, "rev-parse", "main")
    sent()
    sent()
    worker.stop()
    assert git(bare, "rev-parse", "main") == there
    assert [type(each) for each in told] == [ErrorReported] and "run: autopoiesis sync" in told[0].text  # type: ignore[union-attr]
