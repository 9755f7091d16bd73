"""Hooks answer in time while other programs write the index, or do not answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from engine.agents import wire
from engine.agents.hooks import Hooks
from engine.agents.log import HookRun
from engine.engine import Engine
from engine.search import schema
from engine.search.index import SearchIndex
from engine.search.reports import IndexReport
from tests.agents.agent import Agent

REVIEW = "Can you review the PR that just came in?"
QUESTION = f"{REVIEW} And who polishes the quay lantern?"
FACT = "The quay lantern is polished by Marisol every spring."
PROMPT = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "", "prompt": REVIEW}).encode()

INDEXING = """
index = engine.index._storage.exclusive()
index.__enter__()
"""
LOCKING = """
import apsw
connection = apsw.Connection(str(engine.workspace.database))
connection.execute("BEGIN EXCLUSIVE")
"""
LISTENING = """
from engine.agents.listener import Listener
listener = Listener(engine)
listener.start()
listener.listening.wait()
"""


@contextmanager
def another_program(root: Path, work: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has the workspace open and has done some work."""
    program = "import sys\nfrom engine.engine import Engine\nengine = Engine.open(sys.argv[1])\n"
    wait = "print('ready', flush=True)\nsys.stdin.readline()\n"
    with subprocess.Popen(
        [sys.executable, "-c", program + work + wait, str(root)],
        cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def last_run(hooks: Hooks) -> HookRun:
    return next(run for run in hooks.log.backwards() if run.moment == "prompt")


@pytest.mark.parametrize(
    ("work", "why"),
    [(INDEXING, "another program is indexing"), (LOCKING, "another program is writing to it")],
)
def test_a_prompt_is_told_what_is_committed_while_another_program_writes_the_index(
    work: str, why: str, engine: Engine, hooks: Hooks, agent: Agent
) -> None:
    engine.files.replace("knowledge/reference/lantern.md", f"# Lantern\n\n{FACT}\n".encode())
    engine.refresh_index()
    agent.start()
    with another_program(engine.workspace.root, work):
        told = agent.prompt(QUESTION)
        run = last_run(hooks)
    assert "topic:github-pr-review" in told and FACT in told
    assert run.said == f"the latest changes were not searched: {why}" and not run.failed


@pytest.mark.parametrize("is_missing", [False, True])
def test_a_prompt_is_told_topics_while_another_program_rebuilds_the_index(
    is_missing: bool, engine: Engine, hooks: Hooks, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float | None] = []
    refresh = SearchIndex.refresh

    def noted(index: SearchIndex, *args: Any, wait_s: float | None = None) -> IndexReport:
        waits.append(wait_s)
        return refresh(index, *args, wait_s=wait_s)

    agent.start()
    monkeypatch.setattr(SearchIndex, "refresh", noted)
    if is_missing:
        engine.workspace.database.unlink()
    else:
        connection = apsw.Connection(str(engine.workspace.database))
        schema.set_meta(connection, "complete", "")
        connection.close()
    with another_program(engine.workspace.root, INDEXING):
        told = agent.prompt(QUESTION)
        run = last_run(hooks)
    assert "topic:github-pr-review" in told
    why = "there is no search index" if is_missing else "the search index is being built"
    assert run.said == f"search failed, nothing was retrieved: {why}"
    assert waits == [0], "there is nothing to wait for: the other program takes as long as it takes"


def test_a_prompt_is_told_topics_if_a_search_takes_too_long(
    engine: Engine, hooks: Hooks, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.start()
    ended = threading.Event()

    def search(*_args: object, **_options: object) -> list[object]:
        ended.wait()
        return []

    monkeypatch.setattr(SearchIndex, "search", search)
    monkeypatch.setattr("engine.agents.hooks._SEARCH_PART", 0.01)
    try:
        assert "topic:github-pr-review" in agent.prompt(QUESTION)
        assert last_run(hooks).said == "search failed, nothing was retrieved: it takes too long"
    finally:
        ended.set()


def test_a_hook_does_the_work_itself_if_the_program_that_listens_was_stopped(sample: Path) -> None:
    program = (
        "from engine.agents import wire; wire.SECONDS = 100; from engine.agents import client;"
        "client._HERE_PART = 0.02; client.main()"
    )
    with another_program(sample, LISTENING) as listener:
        os.kill(listener.pid, signal.SIGSTOP)
        done = subprocess.run(
            [sys.executable, "-c", program, "claude-code", "-C", str(sample)],
            input=PROMPT, capture_output=True, timeout=250,
        )  # fmt: skip
    assert b"topic:github-pr-review" in done.stdout and done.returncode == 0
    os.unlink(wire.socket_path(str(sample)))


def test_the_time_of_a_hook_counts_from_the_start_of_its_process() -> None:
    program = "from engine.agents import client; print(client._age())"
    done = subprocess.run(
        ["sh", "-c", 'sleep 0.5; exec "$0" -c "$1"', sys.executable, program],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert 0.5 < float(done.stdout) < 60


def test_an_answer_that_comes_too_late_is_not_recorded_as_told(engine: Engine, hooks: Hooks) -> None:
    assert hooks.answer("claude-code", PROMPT, time.monotonic()) == ""
    assert last_run(hooks).said == "too late: the agent has stopped waiting"
    assert not list(engine.injections.log.backwards())
