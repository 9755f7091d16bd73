"""Captures and imports that ``tests.crash_sweep`` kills and fails at their fault points."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from engine.errors import WriteFailed
from engine.store import spool
from engine.store.files import Files
from engine.store.paths import TEMP_PREFIX, Workspace
from engine.transcripts.capture import ConversationCapture
from engine.transcripts.format import parse
from engine.transcripts.importers.run import import_file
from tests.crash_sweep import Case

AT = datetime(2026, 2, 16, 18, 45, tzinfo=UTC)

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
    """Import a log too long for the reduced memory limit, and then more of it."""
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


class Conversation(Case):
    """A conversation written step by step; after a crash it continues with the unfinished step."""

    hits, retried = 60, (WriteFailed,)

    def __init__(self, steps: Callable[[Path], list[Step]], folder: Path) -> None:
        super().__init__(folder)
        self.steps, self.step = steps, folder / "step"

    def prepare(self) -> None:
        self.pristine.mkdir()
        (self.pristine / "memory-config.yaml").write_bytes(b"")

    def reset(self) -> None:
        super().reset()
        self.step.write_text("0")

    def work(self) -> bool:
        steps = self.steps(self.root)
        for number in range(int(self.step.read_text()), len(steps)):
            self.step.write_text(str(number))
            steps[number]()
        return True

    def content(self) -> dict[str, object]:
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted((self.root / "raw").rglob("*.md"))
            if not path.name.startswith(TEMP_PREFIX)
        }

    def check_whole(self, wanted: dict[str, object]) -> None:
        assert len(wanted) == 1, wanted.keys()

    def check_after_kill(self, wanted: dict[str, object]) -> None:
        """Check that the transcript so far is readable and a prefix of the complete one."""
        for path, data in self.content().items():
            whole = wanted[path]
            assert isinstance(data, bytes) and isinstance(whole, bytes)
            turns, all_turns = parse(data, path).turns, parse(whole, path).turns
            assert turns[:-1] == all_turns[: len(turns)][:-1]
            assert len(turns) <= len(all_turns)


CASES = {
    "capture": partial(Conversation, capture_steps),
    "import": partial(Conversation, import_steps),
    "long import": partial(Conversation, long_import_steps),
}
