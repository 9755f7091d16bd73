"""Many hooks at once, and no program has the workspace open: one loads the engine, the others wait for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.agents import wire
from engine.agents.hooks import Hooks
from engine.agents.listener import Listener
from engine.agents.log import HookLog
from engine.engine import Engine
from engine.store import monthly
from tests.agents.agent import Agent
from tests.transcripts.logs import SESSION
from tests.waiting import wait_until

REVIEW = "Can you review the PR that just came in?"
HOOK = """
import sys
from engine.agents import wire

wire.SECONDS = float(sys.argv.pop())
from engine.agents import client, standalone

load = standalone.answer_standalone

def noted(*given):
    with open(sys.argv[3] + ".loaded", "a") as stream:
        stream.write("loaded\\n")
    return load(*given)

standalone.answer_standalone = noted
client.main()
"""


@pytest.fixture(autouse=True)
def _isolated_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def started(root: Path, event: dict[str, object], seconds: float = 100) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", HOOK, "claude-code", "-C", str(root), str(seconds)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(event).encode())
    process.stdin.close()
    return process


def prompt(session: str) -> dict[str, object]:
    return {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": REVIEW}


def output(process: subprocess.Popen[bytes]) -> str:
    with process:
        assert process.stdout is not None
        return process.stdout.read().decode()


def loaded(root: Path) -> int:
    """The number of hooks that loaded the engine."""
    return Path(f"{root}.loaded").read_text().count("loaded")


def starting(root: Path) -> str:
    wire.make_socket_folder()
    return f"{wire.socket_path(str(root))}{wire.STARTING}"


def test_of_many_hooks_one_loads_the_engine_and_all_are_told(sample: Path) -> None:
    hooks = [started(sample, prompt(f"crowd-{number}")) for number in range(6)]
    assert all("topic:github-pr-review" in output(hook) for hook in hooks)
    assert loaded(sample) == 1
    wait_until(lambda: not os.path.exists(starting(sample)))


def test_without_a_process_that_lingers_each_hook_loads_the_engine(sample: Path) -> None:
    with Engine.open(sample) as engine:
        engine.configuration.change("hooks.linger_minutes", "0")
    hooks = [started(sample, prompt(f"crowd-{number}")) for number in range(2)]
    assert all("topic:github-pr-review" in output(hook) for hook in hooks)
    assert loaded(sample) == 2


def test_a_hook_waits_for_one_that_loads_until_that_is_killed(sample: Path) -> None:
    take = "import sys, time; from engine.agents import wire; lock = wire.take_lock(sys.argv[1])"
    command = [sys.executable, "-uc", f"{take}\nprint('taken')\ntime.sleep(600)", starting(sample)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        hook = started(sample, prompt(SESSION))
        with pytest.raises(subprocess.TimeoutExpired):
            hook.wait(1.5)
        other.kill()
    assert "topic:github-pr-review" in output(hook)


def test_a_hook_that_was_stopped_while_it_loads_is_not_waited_for(sample: Path) -> None:
    path = starting(sample)
    lock = wire.take_lock(path)
    assert lock is not None
    os.utime(path, (0, 0))
    assert "topic:github-pr-review" in output(started(sample, prompt(SESSION)))
    lock.close()


def test_an_event_that_nobody_could_take_in_time_is_taken_later(sample: Path, tmp_path: Path) -> None:
    lock = wire.take_lock(starting(sample))
    assert lock is not None

    def hook(_name: str, payload: bytes) -> str:
        return output(started(sample, json.loads(payload), seconds=0.5))

    assert Agent(hook, tmp_path / "claude").prompt("What is new?", "Nothing.") == ""
    assert not Path(f"{sample}.loaded").exists()
    lock.close()

    def is_captured() -> bool:
        return any("Nothing." in each.read_text() for each in sample.glob(f"raw/**/*{SESSION}*.md"))

    wait_until(is_captured)


def test_a_hook_that_is_late_leaves_the_engine_loaded_for_the_others(sample: Path) -> None:
    assert output(started(sample, prompt(SESSION), seconds=0.2)) == ""
    assert "topic:github-pr-review" in output(started(sample, prompt("another")))
    assert loaded(sample) == 1


def test_more_requests_than_are_answered_at_once_wait_for_their_turn(sample: Path) -> None:
    with Engine.open(sample) as engine:
        listener = Listener(engine)
        listener.start()
        assert listener.listening.wait(60)
        hooks = [started(sample, prompt(f"crowd-{number}")) for number in range(9)]
        assert all("topic:github-pr-review" in output(hook) for hook in hooks)
        listener.stop()
    assert not Path(f"{sample}.loaded").exists()


def test_what_other_sessions_were_told_is_not_parsed(
    engine: Engine, hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        Agent(hooks.answer, tmp_path / str(number), session_id=f"session-{number}").prompt(REVIEW)
    parsed: list[bytes] = []

    def record_of(line: bytes) -> monthly.Record | None:
        parsed.append(line)
        return real(line)

    real: Callable[[bytes], monthly.Record | None] = monthly.record_of
    monkeypatch.setattr(monthly, "record_of", record_of)
    assert HookLog(engine.files, engine.clock).known("session-1").since
    assert engine.injections.seen("session-1", "")
    assert parsed and all(b"session-1" in line for line in parsed)
