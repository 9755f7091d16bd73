"""The plugin for opencode, which has no hooks: run here by a host that calls it as opencode does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.agents.contracts import OPENCODE
from engine.agents.hooks import Hooks
from engine.agents.install import Programs, Where
from engine.agents.listener import Listener
from engine.conversations.conversations import Conversation
from engine.engine import Engine
from engine.provenance.tools import brings_outside
from tests.agents.agent import INJECTED
from tests.agents.test_client import PATIENT
from tests.agents.test_install import install
from tests.cases import each_case

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node") or shutil.which("bun")
SESSION = "ses_4f2aB9"
REVIEW = "Can you review the PR that just came in?"
HOST = Path(__file__).with_name("opencode_host.mjs")
needs_javascript = pytest.mark.skipif(NODE is None, reason="no JavaScript runtime")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def conversation(engine: Engine) -> Conversation:
    return engine.conversations.of_session(SESSION.lower())


def run_in_host(
    folder: Path,
    program: str,
    generation: str,
    workspace: Path,
    *,
    ms: int = 6_000,
    created: str = "",
    quits: bool = False,
) -> dict[str, Any]:
    """Run a session whose plugin calls ``program`` with a timeout of ``ms``; return opencode's state.

    With ``quits``, it is closed as soon as it has compacted.
    """
    programs = folder / 'bin "; process.exit(1) '
    programs.mkdir(parents=True)
    if program:
        (programs / "autopoiesis-hook").write_text(f"#!/bin/sh\n{program}\n")
        (programs / "autopoiesis-hook").chmod(0o755)
    (change,) = install(OPENCODE, Where(folder, {}), Programs(programs, workspace))
    plugin = change.file.path
    code = plugin.read_text()
    for limit, longer in (
        ("HOOK_MS = 6_000", f"HOOK_MS = {ms}"),
        ("WAITED_MS = 8_000", "WAITED_MS = 90_000"),
    ):
        assert limit in code
        code = code.replace(limit, longer)
    plugin.write_text(code)
    command = [str(NODE), str(HOST), str(plugin), generation, created, "quits" if quits else ""]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@needs_javascript
@pytest.mark.parametrize("generation", ["1", "2"])
def test_a_session_of_opencode(generation: str, engine: Engine, tmp_path: Path) -> None:
    listener = Listener(engine)
    listener.start()
    assert listener.listening.wait(60)
    program = f"exec {sys.executable} -c '{PATIENT}' \"$@\""
    try:
        found = run_in_host(tmp_path, program, generation, engine.workspace.root, ms=60_000)
    finally:
        listener.stop()
    assert found["child"] == 1, "nothing is injected into a sub-agent"
    (injected,) = [each for each in found["stored"] if each["text"] != REVIEW]
    assert injected["text"].startswith(INJECTED) and "topic:github-pr-review" in injected["text"]
    assert (
        (injected["synthetic"], injected["id"]) == (True, "prt_10")
        if generation == "1"
        else not injected["resume"]
    )
    first, second, again = (each if generation == "1" else each["text"] for each in found["system"])
    assert first == second and first.startswith(INJECTED) and again.startswith(INJECTED)
    runs = list(Hooks(engine).log.backwards())
    moments = ["prompt", "session_start", "session_start", "stop", "pre_compact", "session_end"]
    assert sorted(run.moment for run in runs) == sorted(moments) and not any(run.failed for run in runs)
    assert {run.source for run in runs if run.moment == "session_start"} == {"startup", "compact"}
    kept = conversation(engine)
    more = ["/lint now", 'say "hi" there', '"quoted"'] if generation == "1" else []
    assert [turn.text for turn in kept.turns] == [REVIEW, "I look.\n\nTwo remarks.", *more]
    assert [turn.text for turn in kept.turns if turn.kind == "command"] == more[:1]
    data = engine.files.read(kept.path).decode()
    outside = [brings_outside(call) for turn in kept.turns for call in turn.tools]
    assert outside == ([False, True, True, False] if generation == "1" else [False, True])
    assert found.get("titled", 1) == 1, "a title is not asked for with the memory"
    assert INJECTED not in data and "a.py → 2 lines" in data and "channel: opencode" in data
    assert not engine.repository.changed(kept.path), "committed at the end"
    assert not [*(tmp_path / "cache").rglob("*.json")], "the session was cached only temporarily"


@needs_javascript
@pytest.mark.parametrize("generation", ["1", "2"])
def test_a_session_started_by_another_process_is_resumed(generation: str, tmp_path: Path) -> None:
    said = tmp_path / "said"
    # Several run at once, so each line is written in a single call.
    program = f"line=$(cat); printf '%s\\n' \"$line\" >> {said}"
    run_in_host(tmp_path, program, generation, tmp_path, ms=60_000, created="1771264800000", quits=True)
    events = [json.loads(line) for line in said.read_text().splitlines()]
    starts = [each["source"] for each in events if each["hook_event_name"] == "SessionStart"]
    assert starts == ["resume", "compact"]


def test_a_resumed_session_gets_only_the_permanent_context_again(engine: Engine) -> None:
    hooks = Hooks(engine)

    def fire(event: str, **more: str) -> str:
        payload = {"hook_event_name": event, "session_id": SESSION, "cwd": "/home/robin/tidemark", **more}
        return hooks.answer("opencode", json.dumps(payload).encode())

    for source in ("startup", "resume", "resume"):
        assert "Marit Oksanen" in fire("SessionStart", source=source)
        is_injected = "topic:github-pr-review" in fire("UserPromptSubmit", prompt=REVIEW)
        assert is_injected is (source == "startup")
        fire("Stop")
    fire("SessionStart", source="startup")
    assert "topic:github-pr-review" in fire("UserPromptSubmit", prompt=REVIEW)


PROGRAMS = {"is gone": "", "prints garbage": "echo '{'", "hangs": "exec sleep 60", "fails": "exec false"}


@needs_javascript
@each_case(("program", "generation"), [(each, str(1 + at % 2)) for at, each in enumerate(PROGRAMS)])
def test_opencode_continues_when_the_hook_program_fails(
    program: str, generation: str, tmp_path: Path
) -> None:
    found = run_in_host(tmp_path / program, PROGRAMS[program], generation, tmp_path, ms=20)
    assert found["system"] == [] and all(each["text"] == REVIEW for each in found["stored"])


def test_each_turn_is_captured_once_without_injected_text(engine: Engine) -> None:
    hooks, messages = Hooks(engine), []

    def fire(event: str, **more: object) -> None:
        payload = {"hook_event_name": event, "session_id": SESSION, "cwd": "/home/robin/tidemark", **more}
        assert hooks.answer("opencode", json.dumps(payload).encode()) == ""

    block = f"{INJECTED}\nsaid the memory\n{{/autopoiesis}}"
    for number, answer in enumerate(["Fixed.", "Fixed again."]):
        at = 1771264800000 + number * 60_000
        asked = {"role": "user", "content": [{"type": "text", "text": f"fix {number}\n\n{block}"}]}
        said = {"role": "assistant", "content": [{"type": "text", "text": answer}]}
        messages += [{**asked, "timestamp": at}, {**said, "timestamp": at + 1}]
        fire("Stop", session={"agent": "opencode", "session_id": SESSION, "messages": messages})
    # After a compaction opencode 2 sends only the later messages.
    fire("Stop", session={"agent": "opencode", "messages": messages[2:]})
    assert [turn.text for turn in conversation(engine).turns] == ["fix 0", "Fixed.", "fix 1", "Fixed again."]
    fire("SessionEnd")
    assert not engine.repository.changed(conversation(engine).path)


def test_a_reply_that_grows_between_captures_is_captured_once(engine: Engine) -> None:
    """As when opencode compacts while it works: it goes on without a new message of the person's."""
    hooks = Hooks(engine)
    messages: list[dict[str, Any]] = []

    def say(role: str, *content: dict[str, Any], event: str = "PreCompact") -> None:
        at = 1771264800000 + len(messages)
        messages.append({"role": role, "timestamp": at, "content": content})
        session = {"agent": "opencode", "session_id": SESSION, "messages": messages}
        payload = {"hook_event_name": event, "session_id": SESSION, "cwd": "/x", "session": session}
        assert hooks.answer("opencode", json.dumps(payload).encode()) == ""

    say("user", {"type": "text", "text": "fix it"})
    say("assistant", {"type": "tool_use", "name": "read", "input": {"file_path": "a.py"}, "output": "x"})
    for text in ("I look.", "Two remarks.", "I look.", "Fixed."):
        say("assistant", {"type": "text", "text": text})
    say("user", {"type": "text", "text": "and the other"})
    say("assistant", {"type": "text", "text": "Fixed too."}, event="Stop")
    turns = conversation(engine).turns
    texts = [turn.text for turn in turns if turn.text]
    assert texts == ["fix it", "I look.", "Two remarks.", "I look.", "Fixed.", "and the other", "Fixed too."]
    assert {turn.time for turn in turns} == {"18:00"} and sum(len(turn.tools) for turn in turns) == 1
