"""A workspace, a clock, and an injection log with compiled prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.context.compiled import Compiled, Section
from engine.injections.injections import References
from engine.injections.log import Injection, InjectionLog
from engine.store.files import Files
from engine.store.paths import Workspace

JUNE = datetime(2026, 6, 12, 9, 30, tzinfo=UTC)


class Clock:
    """A clock that tests can set."""

    def __init__(self) -> None:
        self.now = JUNE

    def __call__(self) -> datetime:
        return self.now


def prompt(*paths: str, priority: int = 3) -> Compiled:
    """Returns a compiled prompt with lines 3 to 9 of each file and a message."""
    sections = [
        Section(f"knowledge:{path}", 10, priority, "knowledge", path, "3-9", 40, 0.51234, "", "text")
        for path in paths
    ]
    message = Section("message", 12, 0, "message", "", "", 4, None, "", "What is new?")
    return Compiled("", 500, 8192, 256, (*sections, message), (), (), 0, (), (), 0)


@dataclass
class Log:
    """An injection log and the reference counts derived from it."""

    files: Files
    clock: Clock
    log: InjectionLog

    @property
    def root(self) -> Path:
        return self.files.workspace.root

    def use(self, *paths: str, useful: Sequence[bool | None] = (), finished: bool = True) -> Injection:
        """Records a prompt and, if given, which of its files were useful in the reply."""
        injection = self.log.record(prompt(*paths), "What is new?")
        if not useful:
            return injection
        return self.log.note(injection, "conversations/a.md#0", useful, finished=finished)

    def counts(self) -> dict[str, int]:
        """Returns the counts that a newly started process sees."""
        return dict(References(self.files, self.log.months).counts())

    def month(self, name: str = "2026-06") -> Path:
        return self.root / f"logs/injections-{name}.jsonl"


@pytest.fixture
def log(tmp_path: Path) -> Log:
    (tmp_path / "memory-config.yaml").write_text("")
    files, clock = Files(Workspace.open(tmp_path)), Clock()
    return Log(files, clock, InjectionLog(files, clock))
