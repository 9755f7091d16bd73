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

Limits = partial(HarvestSettings, deadline_s=60.0)
"""Harvest settings with a short deadline."""

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
    """Returns a model's reply; ``facts="…"`` is short for one fact with that text."""
    full: dict[str, object] = dict(EMPTY)
    for category, rows in categories.items():
        if isinstance(rows, str):
            rows = [{"statement": rows}]
        elif isinstance(rows, tuple):
            rows = [{"statement": row} for row in rows]
        full[category] = rows
    return json.dumps(full)


def workspace(root: Path) -> Files:
    """Creates an empty workspace."""
    root.mkdir(exist_ok=True)
    (root / "memory-config.yaml").touch()
    return Files(Workspace.open(root))


def source_of(root: Path, text: str | bytes, name: str = "talk.md") -> SourceText:
    """Creates a workspace with one conversation and reads it."""
    files = workspace(root)
    path = root / "conversations" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    return read_source(files, f"conversations/{name}")


def talk(*turns: tuple[str, str]) -> str:
    """Returns a transcript of turns, each a speaker and a text."""
    return "\n".join(
        f"## {10 + number // 60 % 14:02}:{number % 60:02} — {role}\n{text}\n"
        for number, (role, text) in enumerate(turns)
    )


def claude_code(*turns: tuple[str, str]) -> str:
    """Returns the turns as a Claude Code session log; a turn of ``tool`` is the result of a tool call."""
    lines: list[dict[str, Any]] = []
    for number, (role, text) in enumerate(turns):
        call = f"toolu_{number}"
        common = {"sessionId": "s-1", "uuid": f"u-{number}", "timestamp": f"2026-06-12T10:{number:02}:00Z"}
        if role == "tool":
            asked = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "/srv/README.md"}}
            given = {"type": "tool_result", "tool_use_id": call, "content": text}
            lines.append(
                {**common, "uuid": f"c-{number}", "type": "assistant", "message": {"content": [asked]}}
            )
            lines.append({**common, "type": "user", "message": {"content": [given]}})
        else:
            kind = "user" if role == "user" else "assistant"
            lines.append({**common, "type": kind, "message": {"role": kind, "content": text}})
    return "".join(json.dumps(line) + "\n" for line in lines)


def records(*turns: tuple[str, str]) -> str:
    """Returns the turns as JSON lines with role and content."""
    return "".join(json.dumps({"role": role, "content": text}) + "\n" for role, text in turns)


def long_talk(size: int) -> str:
    """Returns a transcript of at least ``size`` bytes, about a thousand per turn."""
    turns: list[tuple[str, str]] = []
    total = 0
    while total < size:
        number = len(turns)
        text = f"Gauge {number} was read. " + "level " * 160
        turns.append(("user" if number % 2 == 0 else "agent", text))
        total += len(text) + 20
    return talk(*turns)


class Accounts:
    """An account whose budget is spent after ``left`` calls; records the charges."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.charges: list[tuple[str, str]] = []

    def allow(self) -> None:
        """Works like ``Spending.allow``."""
        if len(self.charges) >= self.left:
            raise CostLimit("the budget of the day is spent", where="costs.daily_usd", hint="raise it")

    def spent(self, completed: Any, topics: Sequence[str], discussion: str) -> None:
        """Works like ``Spending.spent``."""
        self.charges.append((completed.model, discussion))
