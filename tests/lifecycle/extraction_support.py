"""A workspace with sessions to extract knowledge from, and fake providers for it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.costs.costs import Costs
from engine.knowledge.harvest.inquiry import Asker
from engine.knowledge.review import ReviewQueue
from engine.lifecycle.extraction.extractor import Extractor, extractors_named
from engine.lifecycle.extraction.reading import SYSTEM
from engine.lifecycle.extraction.run import Report, Runner
from engine.lifecycle.recaps.recaps import Recaps
from engine.settings.model import EXTRACTORS, Config, ExtractionSettings
from engine.store.change import commit_change
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository
from tests.engine.flush_support import Provider
from tests.knowledge.extract_support import talk

NOW = datetime(2026, 6, 20, 12, 0, tzinfo=UTC)
NAME = "0912-ses_tide0001-tide-tables"
SESSION = f"raw/conversations/2026/06/12/{NAME}.md"
FROM = f"[from: {NAME}, 2026-06-12]"


def header(session: str = "ses_tide0001", **more: str) -> str:
    """Returns the header of an ended session."""
    fields = {
        "session_id": session,
        "started": "2026-06-12T09:12:00Z",
        "ended": "2026-06-12T10:00:00Z",
    } | more
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def session(*turns: tuple[str, str], **more: str) -> str:
    """Returns the transcript of a session; each turn is a role and a text."""
    return f"---\n{header(**more)}---\n\n# Tide tables\n\n{talk(*turns)}"


class Space:
    """A workspace to extract from.

    Args:
        root: Its folder; created if missing.
        git: Whether to create a repository.
    """

    def __init__(self, root: Path, *, git: bool = True) -> None:
        root.mkdir(parents=True, exist_ok=True)
        (root / "memory-config.yaml").touch()
        self.root = root
        self.files = Files(Workspace.open(root))
        self.repository = Repository(self.files.workspace)
        if git:
            self.repository.init()
        self.now = NOW
        self.problems: list[str] = []
        self.config = Config()

    def put(self, text: str, path: str = SESSION) -> str:
        """Writes a session and returns its path."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return path

    def runner(
        self,
        provider: Provider | None = None,
        *,
        extractors: Sequence[Extractor] | None = None,
        target: Space | None = None,
        since: str = "",
        settings: ExtractionSettings | None = None,
    ) -> Runner:
        """Returns a runner, by default with all shipped extractors."""
        into = target or self
        asker = None
        if provider is not None:
            costs = Costs(self.files, lambda: self.config.costs, self.clock, self.problems.append)
            limits = settings or ExtractionSettings(deadline_s=60.0)
            spending = costs.account("extract", provider)
            asker = Asker(provider, limits, SYSTEM, "extraction.max_tokens", spending)
        return Runner(
            self.files,
            into.files,
            extractors or extractors_named(EXTRACTORS),
            lambda paths, message: commit_change(lambda: into.repository, paths, message, wanted=True),
            self.clock,
            self.problems.append,
            self.recaps(into),
            asker,
            "UTC",
            since,
        )

    def recaps(self, target: Space | None = None) -> Recaps:
        """Returns what writes recaps."""
        into = target or self
        return Recaps(
            self.files, into.files, lambda: into.repository, lambda: self.config, self.clock,
            self.problems.append,
        )  # fmt: skip

    def run(self, provider: Provider | None = None, **more: object) -> Report:
        """Extracts everything that is due."""
        self.now += timedelta(minutes=5)
        return self.runner(provider, **more).run()  # type: ignore[arg-type]

    def clock(self) -> datetime:
        """Returns the current time."""
        return self.now

    def text(self, name: str) -> str:
        """Returns the text of a knowledge file; empty if it does not exist."""
        path = self.root / "knowledge" / name
        return path.read_text() if path.exists() else ""

    def waiting(self) -> list[tuple[str, str, str]]:
        """Returns the target, text and reason of each item waiting for review."""
        queue = ReviewQueue(self.files, self.clock)
        return [(each.item.path or each.item.category, each.item.text, each.why) for each in queue.waiting()]

    def content(self) -> dict[str, bytes]:
        """Returns every file outside .git and scratch."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not path.relative_to(self.root).as_posix().startswith((".git/", "scratch/"))
        }

    def git(self, *words: str) -> str:
        """Runs git and returns its output."""
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, check=True, text=True)
        return done.stdout


def rows(**lists: object) -> str:
    """Returns a model's reply."""
    return json.dumps(lists)


def by_task(**replies: str | Callable[[str], str]) -> Provider:
    """Returns a provider with a reply per extractor; extractors without one get an empty list."""

    def answer(prompt: str) -> str:
        task = prompt.rpartition("</conversation>")[2]
        name = next(each for each in EXTRACTORS if f'{{"{each}": [' in task)
        reply = replies.get(name, rows(**{name: []}))
        return reply if isinstance(reply, str) else reply(prompt)

    return Provider(by=answer)


def space_in(folder: Path) -> Space:
    """Creates a workspace in a folder that may contain others."""
    return Space(Path(tempfile.mkdtemp(dir=folder)))
