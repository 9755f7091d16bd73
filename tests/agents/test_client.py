"""The hook client that agents run, with and without a workbench that has the workspace open."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.agents import client, failures, wire
from engine.agents.listener import Listener, listening
from engine.agents.log import HookLog
from engine.conversations.conversations import Conversation
from engine.engine import Engine
from engine.errors import TranscriptError
from engine.store.user_folder import cache_folder
from tests.agents.agent import Agent
from tests.transcripts.logs import SESSION
from tests.waiting import wait_until

REVIEW = "Can you review the PR that just came in?"
PROMPT = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "prompt": REVIEW}).encode()
PATIENT = "from engine.agents import wire; wire.SECONDS = 100; from engine.agents.client import main; main()"
"""The program, with time enough on any machine."""
PROGRAM = [sys.executable, "-c", PATIENT]


def run(workspace: Path, agent: str, payload: bytes) -> str:
    done = subprocess.run(
        [*PROGRAM, agent, "-C", str(workspace)], input=payload, capture_output=True, timeout=60
    )
    assert done.returncode == 0 and done.stderr == b""
    return done.stdout.decode()


@pytest.fixture
def listener(sample: Path) -> Iterator[Listener]:
    with Engine.open(sample) as engine:
        made = Listener(engine)
        made.start()
        assert made.listening.wait(60)
        yield made
        made.stop()


def test_the_process_that_has_the_workspace_open_answers(
    listener: Listener, sample: Path, tmp_path: Path
) -> None:
    link = tmp_path / "another-name"
    link.symlink_to(sample)
    assert "topic:github-pr-review" in run(link, "claude-code", PROMPT)
    assert not logged_failures(), "no client had to fall back to working alone"


@pytest.fixture(autouse=True)
def _isolated_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def logged_failures() -> str:
    path = cache_folder() / failures.NAME
    return path.read_text() if path.exists() else ""


@pytest.fixture
def alone(sample: Path) -> Path:
    with Engine.open(sample) as engine:
        engine.configuration.change("hooks.linger_minutes", "0")
    return sample


def test_the_first_hook_leaves_a_process_running_until_a_workbench_takes_over(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.agents.listener._RETRY_S", 0.05)
    assert "topic:github-pr-review" in run(sample, "claude-code", PROMPT)
    address = wire.socket_path(str(sample))
    wait_until(lambda: is_answered(address))
    until = time.monotonic() + 60
    assert client._request(str(sample), "claude-code", PROMPT, until) == b"", "already injected"
    with Engine.open(sample) as engine:
        listener = Listener(engine)
        listener.start()
        assert listener.listening.wait(60)
        listener.stop()
    assert not logged_failures()


def free_address(root: Path) -> str:
    """The address of a workspace, without the socket that a killed program may have left there."""
    address = wire.socket_path(str(root))
    Path(wire.socket_folder()).mkdir(mode=0o700, exist_ok=True)
    for left in (address, f"{address}.new"):
        Path(left).unlink(missing_ok=True)
    return address


def is_answered(address: str) -> bool:
    """Whether a program listens there; a killed one may have left a socket at the same address."""
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        return connection.connect_ex(address) == 0


def test_a_socket_accepts_connections_as_soon_as_it_exists(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = free_address(sample)
    refused: list[bool] = []
    bind, listen = socket.socket.bind, socket.socket.listen

    def watched(call: Callable[..., None]) -> Callable[..., None]:
        def step(*given: object) -> None:
            call(*given)
            refused.append(os.path.exists(address) and not is_answered(address))

        return step

    monkeypatch.setattr(socket.socket, "bind", watched(bind))
    monkeypatch.setattr(socket.socket, "listen", watched(listen))
    with Engine.open(sample) as engine, listening(engine):
        wait_until(lambda: is_answered(address))
    assert refused == [False, False]


def test_a_socket_left_by_a_killed_program_is_replaced(sample: Path) -> None:
    address = free_address(sample)
    for left in (address, f"{address}.new"):
        with closing(socket.socket(socket.AF_UNIX)) as killed:
            killed.bind(left)
    with Engine.open(sample) as engine, listening(engine):
        wait_until(lambda: is_answered(address))
    assert not os.path.exists(address) and not os.path.exists(f"{address}.new")


def test_without_a_listener_the_hook_does_the_work_itself(alone: Path, tmp_path: Path) -> None:
    agent = Agent(lambda name, payload: run(alone, name, payload), tmp_path / "claude")
    assert "topic:github-pr-review" in agent.prompt(REVIEW, "Two remarks.")
    # The hook returns at once; the turn is captured in the background.
    wait_until(lambda: (found := conversation(alone)) and len(found.turns) == 2)


def conversation(root: Path) -> Conversation | None:
    with Engine.open(root) as engine:
        try:
            return engine.conversations.of_session(SESSION)
        except TranscriptError:
            return None


def test_the_client_exits_cleanly_on_any_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty", "claude-code", b"") == "" and not logged_failures()
    assert run(tmp_path / "empty", "claude-code", b"{") == "" and "not JSON" in logged_failures()
    assert run(tmp_path / "empty", "claude-code", PROMPT) == "" and "autopoiesis init" in logged_failures()


def test_the_client_does_not_wait_for_end_of_input(listener: Listener, sample: Path) -> None:
    arguments = [*PROGRAM, "claude-code", "-C", str(sample)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(PROMPT + b"\n")
        process.stdin.flush()
        assert select.select([process.stdout], [], [], 60)[0], "the client waits for end of input"
        assert b"github-pr-review" in process.stdout.read()
        assert process.wait() == 0


def test_an_event_that_arrives_in_parts_is_read_to_its_end(listener: Listener, sample: Path) -> None:
    event = json.dumps(json.loads(PROMPT) | {"prompt": f"{REVIEW} {{x}}, and the one before"}).encode()
    head, brace, tail = event.partition(b"}")
    arguments = [*PROGRAM, "claude-code", "-C", str(sample)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(head + brace)
        process.stdin.flush()
        assert not select.select([process.stdout], [], [], 0.5)[0], "the client takes a part for the event"
        process.stdin.write(tail)
        process.stdin.flush()
        assert b"github-pr-review" in process.stdout.read()


def test_a_listener_that_never_answers_times_out(sample: Path) -> None:
    address = free_address(sample)
    with closing(socket.socket(socket.AF_UNIX)) as silent:
        silent.bind(address)
        silent.listen()
        with pytest.raises(TimeoutError):
            client._request(str(sample), "claude-code", PROMPT, time.monotonic())
    os.unlink(address)


def test_a_socket_folder_accessible_to_others_is_not_used(
    listener: Listener, sample: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "s"
    folder.mkdir(mode=0o755)
    assert not wire.is_private(str(folder)) and not wire.is_private(str(tmp_path / "none"))
    folder.chmod(0o700)
    assert wire.is_private(str(folder))
    (tmp_path / "link").symlink_to(folder)
    assert not wire.is_private(str(tmp_path / "link"))
    monkeypatch.setattr(client, "is_private", lambda _folder: False)
    assert client._request(str(sample), "claude-code", PROMPT, time.monotonic() + 5) is None


def test_one_process_listens_and_another_takes_over_when_it_stops(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.agents.listener._RETRY_S", 0.01)
    with Engine.open(sample) as one, Engine.open(sample) as other:
        first, second = Listener(one), Listener(other)
        first.start()
        assert first.listening.wait(60)
        second.start()
        assert not second.listening.wait(0.1)
        first.stop()
        assert second.listening.wait(60)
        second.stop()
    assert not os.path.exists(wire.socket_path(str(sample)))


@pytest.mark.parametrize("lingers", [True, False])
def test_hooks_of_a_workspace_that_was_moved_are_left_to_others(lingers: bool, sample: Path) -> None:
    moved = sample.with_name("moved")
    with Engine.open(sample) as engine:
        listener = Listener(engine, lingers=lingers)
        listener.start()
        assert listener.listening.wait(20)
        sample.rename(moved)
        with contextlib.suppress(ConnectionError):
            assert client._request(str(moved), "claude-code", PROMPT, time.monotonic() + 5) is None
        assert listener.wait_to_leave(20 if lingers else 0) is lingers
        wait_until(lambda: not os.path.exists(wire.socket_path(str(moved))))
        moved.rename(sample)
        listener.stop()


def test_listening_is_retried_after_an_error(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.agents.listener._RETRY_S", 0.01)
    failures = [OSError("too many open files")] * 3

    def accept(listening: socket.socket) -> tuple[socket.socket, object]:
        if failures:
            raise failures.pop()
        return real(listening)

    real = socket.socket.accept
    monkeypatch.setattr(socket.socket, "accept", accept)
    reported: list[str] = []
    with Engine.open(sample) as engine:
        monkeypatch.setattr(engine, "report_error", reported.append)
        with listening(engine):
            wait_until(lambda: not failures and is_answered(wire.socket_path(str(sample))))
    assert reported == ["cannot listen for agents: too many open files"]


def test_simultaneous_requests_are_all_answered(listener: Listener, sample: Path) -> None:
    answers: list[bytes | None] = []

    def ask() -> None:
        until = time.monotonic() + 60
        answers.append(client._request(str(sample), "claude-code", PROMPT, until))

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 12 and all(answer is not None for answer in answers)


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_five_hundred_prompts_in_ten_sessions(sample: Path, tmp_path: Path) -> None:
    asked = [
        REVIEW,
        "Why did we choose SVG for the chart?",
        "ok, do it",
        "How do I pause a source?",
        "continue",
    ]
    waited: list[float] = []
    sessions: dict[str, Agent] = {}

    def hook(name: str, payload: bytes) -> str:
        started = time.monotonic()
        answer = run(sample, name, payload)
        waited.append(time.monotonic() - started)
        return answer

    with Engine.open(sample) as engine:
        engine.start()
        with listening(engine):
            prefixes = set()
            for number in range(10):
                session = f"0f0e0d0c-1111-4222-8333-4444555566{number:02}"
                kind = "codex" if number % 2 else "claude-code"
                agent = sessions[session] = Agent(hook, tmp_path / kind, session_id=session, name=kind)
                prefixes.add(
                    re.sub(r"<!-- journal:last sessions -->.*?\n\n", "", agent.start(), flags=re.DOTALL)
                )
                for turn in range(50):
                    agent.prompt(f"{asked[turn % 5]} ({turn})", f"Answer {turn}.")
                agent.end()
        engine.stop()
    assert len(prefixes) == 1, "starts are byte-identical but for the sessions that ended since"
    with Engine.open(sample) as engine:
        for session, agent in sessions.items():
            assert [turn.text for turn in engine.conversations.of_session(session).turns] == agent.messages
        runs = list(HookLog(engine.files, engine.clock).backwards())
        assert len(runs) == 10 * (1 + 50 * 2 + 1) and not any(each.failed for each in runs)
        assert engine.repository.changed("raw/conversations") == []
    waited.sort()
    print(f"{len(waited)} hooks: p50 {waited[len(waited) // 2]:.3f} s, longest {waited[-1]:.3f} s")
    assert waited[-1] < wire.SECONDS
