"""opencode, which has no hooks but plugins: ours is run here by a host that calls it as opencode does."""

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
from tests.agents.test_install import put
from tests.cases import each_case

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node") or shutil.which("bun")
SESSION = "ses_4f2aB9"
REVIEW = "Can you review the PR that just came in?"
HOST = Path(__file__).with_name("opencode_host.mjs")
needs_javascript = pytest.mark.skipif(NODE is None, reason="no JavaScript here")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def conversation(engine: Engine) -> Conversation:
    return engine.conversations.of_session(SESSION.lower())


def hosted(
    folder: Path, program: str, generation: str, workspace: Path, *, ms: int = 6_000, created: str = ""
) -> dict[str, Any]:
    """What opencode has after a session with the plugin, which runs a program and waits so long for it."""
    programs = folder / 'bin "; process.exit(1) '
    programs.mkdir(parents=True)
    if program:
        (programs / "autopoiesis-hook").write_text(f"#!/bin/sh\n{program}\n")
        (programs / "autopoiesis-hook").chmod(0o755)
    (change,) = put(OPENCODE, Where(folder, {}), Programs(programs, workspace))
    plugin = change.file.path
    assert "HOOK_MS = 6_000" in plugin.read_text()
    plugin.write_text(plugin.read_text().replace("HOOK_MS = 6_000", f"HOOK_MS = {ms}"))
    command = [str(NODE), str(HOST), str(plugin), generation, created]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@needs_javascript
@pytest.mark.parametrize("generation", ["1", "2"])
def test_a_session_of_opencode(generation: str, engine: Engine, tmp_path: Path) -> None:
    listener = Listener(engine)
    listener.start()
    assert listener.listening.wait(20)
    program = f"exec {sys.executable} -c 'from engine.agents.client import main; main()' \"$@\""
    try:
        found = hosted(tmp_path, program, generation, engine.workspace.root, ms=60_000)
    finally:
        listener.stop()
    assert found["child"] == 1, "a sub-agent is told nothing"
    (told,) = [each for each in found["stored"] if each["text"] != REVIEW]
    assert told["text"].startswith(INJECTED) and "topic:github-pr-review" in told["text"]
    assert (told["synthetic"], told["id"]) == (True, "prt_10") if generation == "1" else not told["resume"]
    first, second, again = (each if generation == "1" else each["text"] for each in found["system"])
    assert first == second and first.startswith(INJECTED) and again.startswith(INJECTED)
    runs = list(Hooks(engine).log.backwards())
    moments = ["prompt", "session_start", "session_start", "stop", "pre_compact", "session_end"]
    assert sorted(run.moment for run in runs) == sorted(moments) and not any(run.failed for run in runs)
    assert {run.source for run in runs if run.moment == "session_start"} == {"startup", "compact"}
    kept = conversation(engine)
    assert [turn.text for turn in kept.turns] == [REVIEW, "I look.\n\nTwo remarks."]
    data = engine.files.read(kept.path).decode()
    assert [brings_outside(call) for turn in kept.turns for call in turn.tools] == [False, True]
    assert INJECTED not in data and "a.py → 2 lines" in data and "channel: opencode" in data
    assert not engine.repository.changed(kept.path), "committed at the end"
    assert not [*(tmp_path / "cache").rglob("*.json")], "the session lay there only meanwhile"


@needs_javascript
@pytest.mark.parametrize("generation", ["1", "2"])
def test_a_session_of_another_process_goes_on(generation: str, tmp_path: Path) -> None:
    said = tmp_path / "said"
    # Several run at once: a line is written as one.
    program = f"line=$(cat); printf '%s\\n' \"$line\" >> {said}"
    hosted(tmp_path, program, generation, tmp_path, ms=60_000, created="1771264800000")
    events = [json.loads(line) for line in said.read_text().splitlines()]
    starts = [each["source"] for each in events if each["hook_event_name"] == "SessionStart"]
    assert starts == ["resume", "compact"]


def test_a_session_that_goes_on_is_told_only_what_holds_throughout(engine: Engine) -> None:
    hooks = Hooks(engine)

    def fires(event: str, **more: str) -> str:
        payload = {"hook_event_name": event, "session_id": SESSION, "cwd": "/home/robin/tidemark", **more}
        return hooks.answer("opencode", json.dumps(payload).encode())

    for source in ("startup", "resume", "resume"):
        assert "Marit Oksanen" in fires("SessionStart", source=source)
        is_told = "topic:github-pr-review" in fires("UserPromptSubmit", prompt=REVIEW)
        assert is_told is (source == "startup")
        fires("Stop")
    fires("SessionStart", source="startup")
    assert "topic:github-pr-review" in fires("UserPromptSubmit", prompt=REVIEW)


PROGRAMS = {"is gone": "", "says nonsense": "echo '{'", "hangs": "exec sleep 60", "fails": "exec false"}


@needs_javascript
@each_case(("program", "generation"), [(each, str(1 + at % 2)) for at, each in enumerate(PROGRAMS)])
def test_opencode_goes_on_whatever_the_program_does(program: str, generation: str, tmp_path: Path) -> None:
    found = hosted(tmp_path / program, PROGRAMS[program], generation, tmp_path, ms=20)
    assert found["system"] == [] and all(each["text"] == REVIEW for each in found["stored"])


def test_each_turn_is_captured_once_and_nothing_that_was_injected(engine: Engine) -> None:
    hooks, messages = Hooks(engine), []

    def fires(event: str, **more: object) -> None:
        payload = {"hook_event_name": event, "session_id": SESSION, "cwd": "/home/robin/tidemark", **more}
        assert hooks.answer("opencode", json.dumps(payload).encode()) == ""

    block = f"{INJECTED}\nsaid the memory\n{{/autopoiesis}}"
    for number, answer in enumerate(["Fixed.", "Fixed again."]):
        at = 1771264800000 + number * 60_000
        asked = {"role": "user", "content": [{"type": "text", "text": f"fix {number}\n\n{block}"}]}
        said = {"role": "assistant", "content": [{"type": "text", "text": answer}]}
        messages += [{**asked, "timestamp": at}, {**said, "timestamp": at + 1}]
        fires("Stop", session={"agent": "opencode", "session_id": SESSION, "messages": messages})
    # After a compaction opencode 2 gives what came since.
    fires("Stop", session={"agent": "opencode", "messages": messages[2:]})
    assert [turn.text for turn in conversation(engine).turns] == ["fix 0", "Fixed.", "fix 1", "Fixed again."]
    fires("SessionEnd")
    assert not engine.repository.changed(conversation(engine).path)
