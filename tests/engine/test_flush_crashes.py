"""After a kill at any step of a flush, nothing is lost or duplicated (C1, C2, C3)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from tests.crash_sweep import ENVIRONMENT, ROOT, reached_by
from tests.engine.flush_support import NOTES, SESSION, Desk, Provider, reply

POINTS = {
    "lock:acquire", "temp:create", "temp:write", "temp:fsync", "replace:rename", "replace:folder-fsync",
    "append:open", "append:write", "append:fsync", "create:link", "remove:unlink", "remove:folder-fsync",
}  # fmt: skip
SWEEPS = [
    pytest.param(400, ("append:fsync", "remove:unlink"), id="some"),
    pytest.param(1, (), marks=pytest.mark.thorough, id="all"),
]
"""Disturbs every ``step``-th hit of these fault points; an empty tuple means all points."""


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(("step", "points"), SWEEPS)
def test_a_flush_recovers_from_a_crash_at_every_fault_point(
    tmp_path: Path, step: int, points: tuple[str, ...]
) -> None:
    reached = reached_by("engine.flush_crash_case", tmp_path, step, points)
    assert reached.keys() >= (set(points) or POINTS)


def test_many_processes_can_flush_one_conversation(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Provider(reply(*NOTES)))
    desk.project()
    desk.talk()
    script = (
        "import sys; from pathlib import Path; from tests.engine.flush_support import *\n"
        "desk = Desk(Path(sys.argv[1]), Provider(reply(*NOTES)))\n"
        "for _ in range(5): desk.flush()\n"
    )
    environment = {**os.environ, **ENVIRONMENT}
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, env=environment)
        for _ in range(3)
    ]
    assert [process.wait(timeout=100) for process in processes] == [0] * 3
    texts = [path.read_text() for path in (tmp_path / "knowledge").rglob("*.md")]
    assert sum(text.count(f"(session {SESSION}") for text in texts) == 3, "three notes, each exactly once"
    records = desk.log.records(desk.conversation.path)
    assert [record.status for record in records].count("flushed") == 1


def test_a_concurrent_edit_by_a_person_is_kept(tmp_path: Path) -> None:
    """An editor replaces MEMORY.md during the request: the note is added to the new content (L4)."""
    provider = Provider(reply(NOTES[1]))
    desk = Desk(tmp_path, provider)
    desk.talk()
    path = tmp_path / "knowledge/memory/MEMORY.md"
    path.parent.mkdir(parents=True)
    path.write_text("# Core Memory\n\n- old\n")

    def save() -> None:
        path.with_suffix(".swp").write_text("# Core Memory\n\n- new\n")
        os.replace(path.with_suffix(".swp"), path)

    provider.on_chat = save
    assert desk.flush() == ["flushed"]
    text = path.read_text()
    assert "- new\n" in text and NOTES[1]["text"] in text and "- old" not in text


def test_flushing_a_read_only_workspace_raises_read_only(tmp_path: Path) -> None:
    from engine.errors import ReadOnly

    desk = Desk(tmp_path, Provider(reply(*NOTES)))
    desk.talk()
    conversation = desk.conversation
    parts = desk.flusher.plan(conversation, 200).parts
    desk.files.read_only = True
    with pytest.raises(ReadOnly):
        list(desk.flusher.run(conversation, parts))
    assert Files(Workspace.open(tmp_path)).read(conversation.path)
