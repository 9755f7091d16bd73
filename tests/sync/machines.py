"""Two machines of one person, with a bare repository between them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.engine import Engine
from engine.store.repository import Repository
from engine.sync.model import Report, Side

START = datetime(2026, 6, 12, 8, 0, tzinfo=UTC)

CONFIG = b"git:\n  remote: origin\n"
IGNORED = b"scratch/\nmemory.db*\n.tmp-*\n"
SEED = {
    "memory-config.yaml": CONFIG,
    ".gitignore": IGNORED,
    "knowledge/facts.md": b"# Facts\n\n- The gauge stands at Nordersiel. [from: first, 2026-06-01]\n",
    "knowledge/tasks.md": b"# Tasks\n\n## Open\n\n- Water the plants.\n- Call the Hafenamt.\n\n## Done\n",
    "topics/travel.md": b"---\ntriggers: []\n---\n# Travel\n\nOne.\n\nTwo.\n\nThree.\n",
}


def git(root: Path, *arguments: str) -> str:
    """Runs git and returns its output."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


class Machine:
    """A clone of the memory with its engine."""

    def __init__(self, root: Path, clock: ScriptedClock) -> None:
        self.root = root
        self.clock = clock
        self.engine = Engine.open(root, clock=clock)

    @property
    def repository(self) -> Repository:
        return self.engine.repository

    def sync(
        self, *, take: Iterable[tuple[Side, str]] = (), rewound: bool = False, dry_run: bool = False
    ) -> Report:
        return self.engine.sync.run(take=take, rewound=rewound, dry_run=dry_run)

    def write(self, path: str, text: str | bytes) -> None:
        """Writes a file, as an editor does."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())

    def add(self, path: str, text: str) -> None:
        """Appends text to a file."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("a") as file:
            file.write(text)

    def edit(self, path: str, old: str, new: str) -> None:
        """Replaces the first occurrence of a text in a file."""
        text = self.text(path)
        assert old in text, (path, old, text)
        self.write(path, text.replace(old, new, 1))

    def text(self, path: str) -> str:
        """Returns the text of a file; empty if it does not exist."""
        place = self.root / path
        return place.read_text() if place.is_file() else ""

    def files(self) -> dict[str, bytes]:
        """Returns all files of the work tree except machine-local ones."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
            and not path.name.startswith(".tmp-")
            and not path.relative_to(self.root).parts[0].startswith((".git", "scratch", "memory.db"))
        }

    def status(self) -> str:
        """Returns the output of ``git status``."""
        return git(self.root, "status", "--porcelain", "--untracked-files=all")


class ScriptedClock:
    """A scripted clock that also sets git's dates."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def tick(self, minutes: float = 1) -> None:
        """Advances the clock."""
        self.now += timedelta(minutes=minutes)
        for role in ("AUTHOR", "COMMITTER"):
            os.environ[f"GIT_{role}_DATE"] = self.now.isoformat()


def pair(folder: Path, seed: dict[str, bytes] = SEED) -> tuple[Machine, Machine, Path]:
    """Creates two machines in sync and the bare repository between them."""
    bare, first, second = folder / "between.git", folder / "desk", folder / "laptop"
    clock = ScriptedClock()
    first.mkdir(parents=True)
    git(folder, "init", "-q", "--bare", "--template=", "--initial-branch=main", str(bare))
    git(first, "init", "-q", "--template=", "--initial-branch=main")
    git(first, "remote", "add", "origin", str(bare))
    for path, data in seed.items():
        (first / path).parent.mkdir(parents=True, exist_ok=True)
        (first / path).write_bytes(data)
    desk = Machine(first, clock)
    desk.sync()
    git(folder, "clone", "-q", "--template=", str(bare), str(second))
    return desk, Machine(second, clock), bare


def copied(folder: Path, target: Path) -> tuple[Machine, Machine, Path]:
    """Copies a pair of machines to another folder."""
    shutil.copytree(folder, target, symlinks=True)
    bare = target / "between.git"
    machines = []
    for name in ("desk", "laptop"):
        git(target / name, "remote", "set-url", "origin", str(bare))
        machines.append(Machine(target / name, ScriptedClock()))
    return machines[0], machines[1], bare
