"""Conversations to extract knowledge from, and a fake provider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from engine.errors import CostLimit
from engine.knowledge.harvest.reading import SourceText, read_source
from engine.settings.model import HarvestSettings
from engine.store.files import Files
from engine.store.paths import Workspace

Limits = partial(HarvestSettings, deadline_s=5.0)
"""Limits of time and length for a reply."""

EMPTY: dict[str, list[Any]] = {
    "facts": [],
    "decisions": [],
    "tasks_done": [],
    "tasks_open": [],
    "questions": [],
    "playbooks": [],
    "files": [],
}


def reply(**categories: object) -> str:
    """A reply with some items; ``facts="…"`` is short for one fact with that text."""
    full: dict[str, object] = dict(EMPTY)
    for category, rows in categories.items():
        if isinstance(rows, str):
            rows = [{"statement": rows}]
        elif isinstance(rows, tuple):
            rows = [{"statement": row} for row in rows]
        full[category] = rows
    return json.dumps(full)


def workspace(root: Path) -> Files:
    """An empty workspace."""
    root.mkdir(exist_ok=True)
    (root / "memory-config.yaml").touch()
    return Files(Workspace.open(root))


def source_of(root: Path, text: str | bytes, name: str = "talk.md") -> SourceText:
    """A conversation in a workspace."""
    files = workspace(root)
    path = root / "conversations" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    return read_source(files, f"conversations/{name}")


def talk(*turns: tuple[str, str]) -> str:
    """A transcript file of turns, each with speaker and text."""
    return "\n".join(
        f"## {10 + number // 60 % 14:02}:{number % 60:02} — {role}\n{said}\n"
        for number, (role, said) in enumerate(turns)
    )


def claude_code(*turns: tuple[str, str]) -> str:
    """The same as a Claude Code session log; a turn of ``tool`` is the result of a tool."""
    lines: list[dict[str, Any]] = []
    for number, (role, said) in enumerate(turns):
        call = f"toolu_{number}"
        common = {"sessionId": "s-1", "uuid": f"u-{number}", "timestamp": f"2026-06-12T10:{number:02}:00Z"}
        if role == "tool":
            asked = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "/srv/README.md"}}
            given = {"type": "tool_result", "tool_use_id": call, "content": said}
            lines.append(
                {**common, "uuid": f"c-{number}", "type": "assistant", "message": {"content": [asked]}}
            )
            lines.append({**common, "type": "user", "message": {"content": [given]}})
        else:
            kind = "user" if role == "user" else "assistant"
            lines.append({**common, "type": kind, "message": {"role": kind, "content": said}})
    return "".join(json.dumps(line) + "\n" for line in lines)


def records(*turns: tuple[str, str]) -> str:
    """The same as JSON lines with a role and a content."""
    return "".join(json.dumps({"role": role, "content": said}) + "\n" for role, said in turns)


def long_talk(size: int) -> str:
    """A transcript of at least so many bytes, about a thousand per turn."""
    turns: list[tuple[str, str]] = []
    total = 0
    while total < size:
        number = len(turns)
        said = f"Gauge {number} was read. " + "level " * 160
        turns.append(("user" if number % 2 == 0 else "agent", said))
        total += len(said) + 20
    return talk(*turns)


class Accounts:
    """An account whose budget is spent after so many calls; remembers what was recorded."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.put_down: list[tuple[str, str]] = []

    def allow(self) -> None:
        """As ``Spending.allow``."""
        if len(self.put_down) >= self.left:
            raise CostLimit("the budget of the day is spent", where="costs.daily_usd", hint="raise it")

    def spent(self, completed: Any, topics: Sequence[str], discussion: str) -> None:
        """As ``Spending.spent``."""
        self.put_down.append((completed.model, discussion))
