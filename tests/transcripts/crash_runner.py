"""Runs a scenario again and again, killed at another fault point each time and finished by a second process.

Run as a program of its own: it forks, which a test runner with threads must not.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import ahocorasick
import filelock

from engine.errors import WriteFailed
from engine.store import faults, spool
from engine.store.files import Files
from engine.store.paths import TEMP_PREFIX, Workspace
from engine.transcripts.capture import ConversationCapture
from engine.transcripts.format import parse
from engine.transcripts.importers.run import import_file

AT = datetime(2026, 2, 16, 18, 45, tzinfo=UTC)
MOST_HITS = 60
LOADED = (filelock, ahocorasick)  # Loaded once here, and not in each of hundreds of children.

Step = Callable[[], object]


def capture_steps(root: Path) -> list[Step]:
    capture = ConversationCapture(Files(Workspace.open(root)), clock=lambda: AT)
    return [
        lambda: capture.start("s", title="Crash"),
        lambda: capture.message("s", "user", "first\n## 18:47 — user\n```", key="1"),
        lambda: capture.tool_call("s", "sh", "ls", "3 files", key="2"),
        lambda: capture.tool_call("s", "sh", "ls", "3 files", key="3"),
        lambda: capture.message("s", "agent", "without a key"),
        lambda: capture.message("s", "user", "last", key="5"),
        lambda: capture.end("s", tokens_in=3, tags=["x"]),
    ]


def import_steps(root: Path) -> list[Step]:
    log = root.parent / f"{root.name}.jsonl"
    log.write_bytes(b"")
    workspace = Workspace.open(root)
    files = Files(workspace)

    def line(number: int, role: str, content: object) -> bytes:
        record = {
            "type": role,
            "uuid": f"u{number}",
            "sessionId": "s",
            "timestamp": f"2026-02-16T18:{number:02}:00.000Z",
            "message": {"role": role, "content": content},
        }
        return json.dumps(record).encode() + b"\n"

    lines = [
        line(1, "user", "go"),
        line(
            2,
            "assistant",
            [
                {"type": "text", "text": "looking"},
                {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}},
            ],
        ),
        line(3, "user", [{"type": "tool_result", "tool_use_id": "t", "content": "a"}]),
        line(4, "user", "thanks"),
    ]

    def step(count: int) -> Step:
        def run() -> None:
            log.write_bytes(b"".join(lines[:count]))
            import_file("claude-code", log, workspace, files, clock=AT.timestamp)

        return run

    return [step(count) for count in (1, 2, 3, 4)]


def long_import_steps(root: Path) -> list[Step]:
    """A log whose turns find no room in memory, of which there is little here, and then more of it."""
    spool._BLOCK = 16 * 1024
    log = root.parent / f"{root.name}.jsonl"
    workspace = Workspace.open(root)
    files = Files(workspace)

    def line(number: int) -> bytes:
        role = "assistant" if number % 2 else "user"
        text = f"{number} " + "long " * 1_200
        return (
            f'{{"type": "{role}", "uuid": "u{number}", "sessionId": "s", '
            f'"timestamp": "2026-02-16T18:{number:02}:00.000Z", '
            f'"message": {{"role": "{role}", "content": [{{"type": "text", "text": "{text}"}}]}}}}\n'
        ).encode()

    def step(count: int) -> Step:
        def run() -> None:
            log.write_bytes(b"".join(map(line, range(count))))
            import_file("claude-code", log, workspace, files, clock=AT.timestamp)

        return run

    return [step(count) for count in (3, 4)]


SCENARIOS: dict[str, Callable[[Path], list[Step]]] = {
    "capture": capture_steps,
    "import": import_steps,
    "long import": long_import_steps,
}


def in_child(root: Path, scenario: str, first: int, fault: str) -> int | None:
    """Runs the steps from ``first`` on in a process of its own.

    Returns:
        The step in which it was killed; ``None`` when it came to the end.
    """
    progress = root.parent / "progress"
    child = os.fork()
    if not child:
        if fault:
            faults.arm_from(fault)
        steps = SCENARIOS[scenario](root)
        for number in range(first, len(steps)):
            progress.write_text(str(number))
            try:
                steps[number]()
            except WriteFailed:
                steps[number]()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return int(progress.read_text())
    assert status == 0, f"{fault}: exit status {status}"
    return None


def fresh(folder: Path) -> Path:
    root = folder / "w"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    (root / "memory-config.yaml").write_bytes(b"")
    return root


def content(root: Path) -> dict[str, bytes]:
    found = sorted((root / "raw").rglob("*.md"))
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in found
        if not path.name.startswith(TEMP_PREFIX)
    }


class Sweep:
    """Trips fault points that a scenario reaches.

    Args:
        folder: Where the workspaces are made.
        scenario: Its name.
        step: A point is tripped at its first hit, and at every so many-th after it.
        points: The points; all where none is named.
    """

    def __init__(self, folder: Path, scenario: str, step: int, points: Sequence[str]) -> None:
        self.folder = folder
        self.step = step
        self.points = sorted(points or faults.FAULT_POINTS)
        self.scenario = scenario
        root = fresh(folder)
        assert in_child(root, scenario, 0, "") is None
        self.wanted = content(root)
        assert len(self.wanted) == 1
        self.turns = {path: parse(data, path).turns for path, data in self.wanted.items()}

    def kills(self) -> dict[str, int]:
        """How often each fault point was reached; the process was killed each time."""
        reached: dict[str, int] = {}
        for point in self.points:
            for hit in range(1, MOST_HITS, self.step):
                root = fresh(self.folder)
                step = in_child(root, self.scenario, 0, f"{point}:kill:{hit}")
                self.check_beginning(root)
                if step is None:
                    break
                reached[point] = hit
                # Killed once more in the same place, then left alone.
                again = in_child(root, self.scenario, step, f"{point}:kill")
                self.check_beginning(root)
                if again is not None:
                    assert in_child(root, self.scenario, again, "") is None
                assert content(root) == self.wanted, (point, hit)
        return reached

    def errors(self, reached: dict[str, int]) -> None:
        """The system reports an error instead; the caller tries again."""
        for point, hits in reached.items():
            kind = "EIO" if "fsync" in point else "ENOSPC"
            for hit in range(1, hits + 1, self.step):
                root = fresh(self.folder)
                assert in_child(root, self.scenario, 0, f"{point}:{kind}:{hit}") is None
                assert content(root) == self.wanted, (point, hit, kind)

    def check_beginning(self, root: Path) -> None:
        """Whatever there is can be read, and is a beginning of the whole."""
        for path, data in content(root).items():
            turns = parse(data, path).turns
            whole = self.turns[path]
            assert turns[:-1] == whole[: len(turns)][:-1]
            assert len(turns) <= len(whole)


if __name__ == "__main__":
    sweep = Sweep(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    hits = sweep.kills()
    sweep.errors(hits)
    print(json.dumps(hits))
