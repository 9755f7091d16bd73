"""With ``git.auto_push`` on, commits are pushed while the workspace is open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from engine.events import EngineEvent, ErrorReported
from engine.live import push_worker
from engine.live.push_worker import PushWorker
from tests.sync.machines import Machine, git


def test_a_commit_is_pushed_and_a_rejected_push_is_reported_once(
    machines: tuple[Machine, Machine, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, laptop, bare = machines
    monkeypatch.setattr(push_worker, "GATHER_S", 0.0)
    events: list[EngineEvent] = []
    done = Event()
    worker = PushWorker(desk.engine, events.append)
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

    def commit_and_push() -> None:
        done.clear()
        commit(desk)
        worker.committed()
        assert done.wait(20)

    commit(desk)
    worker.committed()
    assert worker._thread.ident is None, "off by default"
    desk.engine.config = replace(desk.engine.config, git=replace(desk.engine.config.git, auto_push=True))
    commit_and_push()
    assert git(bare, "rev-parse", "main") == desk.repository.revision() and not events
    commit(laptop)
    laptop.sync()
    there = git(bare, "rev-parse", "main")
    commit_and_push()
    commit_and_push()
    worker.stop()
    assert git(bare, "rev-parse", "main") == there
    assert [type(each) for each in events] == [ErrorReported] and "run: autopoiesis sync" in events[0].text  # type: ignore[union-attr]
