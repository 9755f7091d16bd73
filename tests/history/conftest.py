"""A small memory with a git history at fixed times."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.history.history import History
from tests.conftest import GIT_IDENTITY
from tests.store.history import commit, git

NOW = datetime(2026, 6, 12, 9, 30, tzinfo=UTC)
SESSION = "raw/conversations/2026/06/02/0800-ses_1-port.md"
HOSTILE = 'knowledge/-rf\n:(exclude)a "b" \x1b[31m.md'


@pytest.fixture(scope="session")
def _memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("memory")
    write(root, "memory-config.yaml", "days:\n  time_zone: UTC\n")
    write(root, ".gitignore", "scratch/\nmemory.db*\n")
    write(root, "knowledge/facts.md", "# Facts\n\n- The house is red.\n")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT_IDENTITY.items():
            patch.setenv(name, value)
        git(root, "init", "-q", "-b", "main")
        commit(root, "maintenance: a new memory", "2026-06-01T08:00:00Z")
        write(
            root,
            SESSION,
            "---\ntype: transcript\nsession_id: ses_1\nended: 2026-06-02T09:00:00Z\n---\n# Port\n",
        )
        commit(root, f"conversation: port\n\nSession: {SESSION}", "2026-06-02T09:00:00Z")
        port_fact = "- The broker listens on Port 1883. [from: 0800-ses_1-port, 2026-06-02]\n"
        write(
            root, "knowledge/facts.md", f"# Facts\n\n- The house is red.\n{port_fact}- Kvalnes has a modem.\n"
        )
        commit(root, f"memory: what was learned\n\nSession: {SESSION}", "2026-06-02T10:00:00Z")
        write(root, HOSTILE, "odd\n")
        commit(root, "[red]\x1b[2J made by hand", "2026-06-03T10:00:00Z")
        git(root, "checkout", "-q", "-b", "side")
        write(root, "knowledge/people/odile.md", "# Odile\n\nwrites on Fridays\n")
        commit(root, "memory: Odile", "2026-06-04T10:00:00Z")
        git(root, "checkout", "-q", "main")
        write(root, "topics/mail.md", "# Mail\n")
        commit(root, "topics: mail", "2026-06-04T11:00:00Z")
        git(root, "merge", "-q", "--no-ff", "-m", "merged", "side", at="2026-06-05T10:00:00Z")
        (root / "archive").mkdir()
        git(root, "mv", "knowledge/people/odile.md", "archive/odile.md")
        facts = (root / "knowledge/facts.md").read_text()
        write(
            root, "knowledge/facts.md", facts.replace("- Kvalnes has a modem.\n", "- Kvalnes has no modem.\n")
        )
        commit(root, "maintenance: archived", "2026-06-10T10:00:00Z")
    return root


def write(root: Path, path: str, text: str) -> None:
    """Writes a file, as a person would."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.fixture
def root(_memory: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(_memory, tmp_path / "memory"))


@pytest.fixture
def engine(root: Path) -> Iterator[Engine]:
    with Engine.open(root, clock=lambda: NOW) as opened:
        yield opened


@pytest.fixture
def history(engine: Engine) -> History:
    return engine.history


Revision = Callable[[str], str]


@pytest.fixture
def revision(root: Path) -> Revision:
    """Returns the commit whose message contains a text."""
    return lambda text: git(root, "log", "--all", "--format=%H", f"--grep={text}", "-1")
