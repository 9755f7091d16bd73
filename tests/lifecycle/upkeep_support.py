"""A small workspace with its own clock, condenser and retention."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.conversations.conversations import Conversations
from engine.costs.costs import Costs
from engine.knowledge.knowledge import Knowledge
from engine.lifecycle.condensing.condenser import Condenser
from engine.lifecycle.recaps.recaps import Recaps
from engine.lifecycle.retention.retention import Retention
from engine.providers.chat import ChatReply, ChatRequest, Usage
from engine.settings.model import CondensingSettings, Config, DaySettings, GitSettings, LifecycleSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository
from tests.discussions.scripted import Scripted

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
MEMORY = "knowledge/memory/MEMORY.md"


class Writer(Scripted):
    """Replies to each prompt with a function of it; ``cut`` marks the replies as truncated."""

    def __init__(self, answer: Callable[[str], str], *, cut: bool = False) -> None:
        super().__init__()
        self.answer, self.cut = answer, cut

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        self.asked.append(request)
        return ChatReply(self.answer(request.rest), Usage(), self.model, cut=self.cut)


class Desk:
    """A workspace with the engine's parts for condensing and pruning."""

    def __init__(
        self, root: Path, *, writer: Scripted | None = None, git: bool = True, **limits: Any
    ) -> None:
        self.root, self.now, self.problems = root, NOW, list[str]()
        root.mkdir(exist_ok=True)
        (root / "memory-config.yaml").touch()
        workspace = Workspace.open(root)
        self.files, self.repository = Files(workspace), Repository(workspace)
        if git and not (root / ".git").exists():
            self.repository.init()
            (root / ".gitignore").write_text("scratch/\n")
            self.repository.commit([".gitignore", "memory-config.yaml"], "first")
        provider = CondensingSettings(provider="anthropic" if writer else "none", deadline_s=60.0)
        self.config = Config(
            condensing=provider,
            lifecycle=replace(LifecycleSettings(), **limits),
            days=DaySettings(time_zone="UTC"),
            git=GitSettings(auto_commit=git),
        )
        self.knowledge = Knowledge(
            self.files, self.repository, lambda: self.config, lambda: self.costs, lambda: self.now,
            self.problems.append,
        )  # fmt: skip
        self.costs = Costs(self.files, lambda: self.config.costs, lambda: self.now, self.problems.append)
        self.uses: dict[str, int] = {}
        self.retention = Retention(self.knowledge, lambda: self.uses)
        self.recaps = Recaps(
            self.files, self.files, lambda: self.repository, lambda: self.config, lambda: self.now,
            self.problems.append,
        )  # fmt: skip
        self.condenser = Condenser(
            self.knowledge, Conversations(workspace, self.files), self.retention, lambda _settings: writer
        )  # fmt: skip

    def put(self, texts: Mapping[str, str], *, commit: bool = True) -> None:
        """Writes files and commits them."""
        for path, text in texts.items():
            place = self.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        if commit and self.config.git.auto_commit:
            self.repository.commit(list(texts), "put there")

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def session(self, day: str, name: str, *turns: tuple[str, str], commit: bool = True) -> str:
        """Writes a transcript and returns its path; each turn is a role and a text."""
        path = f"raw/conversations/{day.replace('-', '/')}/1000-ses_{name.replace('-', '')}-{name}.md"
        body = "".join(f"\n## 10:{at:02} — {role}\n{text}\n" for at, (role, text) in enumerate(turns))
        head = f"---\nsession_id: ses_{name.replace('-', '')}\nstarted: {day}T10:00:00Z\n---\n"
        self.put({path: f"{head}\n# {name}\n{body}"}, commit=commit)
        return path

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, check=True, text=True)
        return done.stdout

    def dirty(self) -> str:
        """Returns the uncommitted changes except logs."""
        return self.git("status", "--porcelain", "--", ".", ":!logs")

    def markdown(self) -> Iterator[str]:
        """Yields every line of every knowledge file, including archived ones."""
        for folder in ("knowledge", "archive"):
            for path in sorted((self.root / folder).rglob("*.md")):
                yield from path.read_text(encoding="utf-8").splitlines()


def memory(
    entries: int, *, first: int = 1, section: str = "Lessons Learned", title: str = "# Core Memory"
) -> str:
    """Returns MEMORY.md with distinct dated entries, one a day from the start of 2025."""
    lines = [lesson(number) for number in range(first, first + entries)]
    return "\n".join((f"---\ntype: memory\nline_count: 7\n---\n\n{title}\n\n## {section}", *lines, ""))


def lesson(number: int) -> str:
    """Returns a unique entry."""
    day = datetime.fromordinal(datetime(2025, 1, 1).toordinal() + number).date()  # noqa: DTZ001 — a day
    one, other = WORDS[number % 20], WORDS[(number * 7 + 3) % 20]
    return f"- {day}: {one} {number} broke the {other} of harbour {number * 13}"


WORDS = (
    "gauge", "modem", "tablet", "replica", "volume", "chart", "alarm", "tunnel", "index", "backup", "printer",
    "ledger", "sensor", "antenna", "battery", "gateway", "logger", "display", "pump", "crane",
)  # fmt: skip
