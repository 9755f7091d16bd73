"""After a kill at any moment and a retry, nothing is lost and nothing is duplicated (C1, C2, C3)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash_sweep import ENVIRONMENT, ROOT, reached_by

POINTS = {
    "capture": ("append:write", "create:link", "replace:rename"),
    "import": ("create:link", "replace:folder-fsync"),
    "long import": ("temp:write", "replace:rename"),
}
"""Where each is disturbed; ``make sweep`` disturbs it everywhere."""


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("case", POINTS)
def test_every_fault_point_leaves_a_complete_conversation(
    memory_folder: Path, case: str, every: bool
) -> None:
    step, points = (1, ()) if every else (400, POINTS[case])
    where = f"transcripts.conversation_crash_case:{case}"
    assert reached_by(where, memory_folder, step, points).keys() >= set(POINTS[case])


def run(*arguments: str, fault: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **ENVIRONMENT}
    if fault:
        environment["AUTOPOIESIS_FAULT"] = fault
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110
    )


SCRIPT = """
import sys
from datetime import UTC, datetime
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture

files = Files(Workspace.open(sys.argv[1]))
capture = ConversationCapture(files, clock=lambda: datetime(2026, 2, 16, tzinfo=UTC))
capture.start("s")
capture.message("s", "user", "one", key="1")
capture.message("s", "agent", "two", key="2")
capture.end("s")
"""


def test_a_killed_program_can_be_started_again(tmp_path: Path) -> None:
    (tmp_path / "memory-config.yaml").write_bytes(b"")
    for fault in ("append:fsync:kill:2", "replace:folder-fsync:kill"):
        assert run("-c", SCRIPT, str(tmp_path), fault=fault).returncode == -signal.SIGKILL
    (path,) = tmp_path.glob("raw/conversations/*/*/*/0*-s-session.md")
    assert path.read_text().count("## 00:00 — ") == 2
    assert "ended: " in path.read_text()
    assert run("-c", SCRIPT, str(tmp_path)).returncode == 1, "messages after the end were not rejected"


def test_many_processes_can_capture_at_once(memory_folder: Path) -> None:
    (memory_folder / "memory-config.yaml").write_bytes(b"")
    script = """
import sys
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture

capture = ConversationCapture(Files(Workspace.open(sys.argv[1])))
name = sys.argv[2]
capture.start("shared")
capture.start(name)
for number in range(60):
    capture.message("shared", "user", f"{name} {number}\\n## 18:47 — user")
    capture.message(name, "agent", f"{number}")
    if not number % 20:
        capture.tool_call("shared", "sh", f"{name} {number}")
"""
    environment = {**os.environ, **ENVIRONMENT}
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(memory_folder), name], cwd=ROOT, env=environment)
        for name in ("left", "right")
    ]
    assert [process.wait(timeout=100) for process in processes] == [0, 0]

    from engine.store.files import Files
    from engine.store.paths import Workspace
    from engine.transcripts.places import list_transcripts
    from tests.transcripts.logs import read_transcript

    workspace = Workspace.open(memory_folder)
    found = {
        info.session_id: read_transcript(Files(workspace), info.path) for info in list_transcripts(workspace)
    }
    assert set(found) == {"left", "right", "shared"}
    shared = found["shared"].turns
    for name in ("left", "right"):
        assert [turn.text for turn in found[name].turns] == [str(number) for number in range(60)]
        mine = [turn.text.split("\n")[0] for turn in shared if turn.text.startswith(name)]
        assert mine == [f"{name} {number}" for number in range(60)]
        calls = [call.summary for turn in shared for call in turn.tools if call.summary.startswith(name)]
        assert calls == [f"{name} {number}" for number in (0, 20, 40)]
