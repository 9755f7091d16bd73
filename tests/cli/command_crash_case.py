"""Commands that write and commit, killed and failed at their fault points by ``tests.crash_sweep``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from engine.activation.decisions import DecisionLog
from engine.activation.tuning import tuning
from engine.context import tokens
from engine.conversations import imports
from engine.engine import Engine
from engine.history import undo
from engine.knowledge import digest, plan, similarity
from engine.knowledge import review as queue
from engine.knowledge.item import Item, Origin, item_id
from engine.knowledge.ledger import LedgerEntry
from engine.knowledge.review import PendingItem
from engine.settings import editing as configuration
from engine.settings.trust import VARIABLE
from engine.store import change, commits
from engine.workspace import initialise
from tests.crash_sweep import Case
from tests.store.write_steps import strays
from tui.cli import cli, import_sessions, ledger
from tui.cli import config as config_commands
from tui.cli import history as history_commands
from tui.cli import tune as tune_commands
from tui.cli.base import run

LOADED = (
    configuration, imports, initialise, tuning, DecisionLog, tokens, digest, similarity, plan,
    queue, change, commits, config_commands, import_sessions, ledger, undo, history_commands,
    tune_commands,
)  # fmt: skip
"""Imported once here instead of in each of hundreds of child processes."""

AT = datetime(2026, 6, 12, 18, 45, tzinfo=UTC)
COMMITTED = (".", ":!scratch")
"""Paths without uncommitted changes in the end."""
SHA256 = "a" * 64
TOPIC = "code-review"
FACTS = (
    Item("facts", "The gauge at Nordersiel drops to minus 0.4 m at spring tide.", voice="agent"),
    Item(
        "decisions", "Alarms hold for 15 min, because 41 mails in a night silence the phone.", voice="agent"
    ),
    Item("notes", "The gauge was read twice.", "knowledge/journal/2026-06-12.md"),
    Item("tasks_done", "Write the advisory for the Hafenamt.", voice="agent"),
)
IDS = [item_id(item, "talk") for item in FACTS]

Arguments = tuple[str, ...]

TUNE = ("tune", TOPIC, "--gate", "0.21", "--activate", "0.57", "--apply")
AGREE, REVOKE = ("trust", "--yes"), ("trust", "--revoke")
SET_ACTING = ("config", "set", "capture.redact", "false")
SET_MARKED = ("config", "set", "cache.anthropic_ttl", "1h")
ACCEPT = ("review", "accept", *IDS[:3])
UNDO = ("history", "undo", "HEAD^{/^memory: accepted}", "--apply")


def write_log(path: Path) -> None:
    """Write a Claude Code log with two exchanges."""
    with path.open("w") as log:
        for number in range(4):
            role = "assistant" if number % 2 else "user"
            content: object = (
                [{"type": "text", "text": f"answer {number}"}] if number % 2 else f"question {number}"
            )
            record = {
                "type": role, "uuid": f"u{number}", "sessionId": "5e5510af-0000-4000-8000-000000000001",
                "timestamp": f"2026-02-16T18:{number:02}:00.000Z",
                "message": {"role": role, "content": content},
            }  # fmt: skip
            log.write(json.dumps(record) + "\n")


class Commands(Case):
    """Commands run one after the other, and run again after a kill or an error.

    Args:
        commands: Arguments after ``autopoiesis -C DIR``; ``LOG`` is replaced by the path of a session log.
        before: Commands run to prepare the workspace.
        folder: Contains the memory, the user's settings and the log. Trust is stored by path, so the path is
            always the same.
    """

    hits, tries = 60, 1

    def __init__(self, commands: tuple[Arguments, ...], before: tuple[Arguments, ...], folder: Path) -> None:
        super().__init__(folder)
        self.commands, self.before, self.memory = commands, before, self.root / "memory"
        os.environ["XDG_CONFIG_HOME"] = str(self.root / "settings")
        os.environ.pop(VARIABLE, None)

    def prepare(self) -> None:
        """Create a workspace with items pending review."""
        settings = os.environ["XDG_CONFIG_HOME"]
        os.environ["XDG_CONFIG_HOME"] = str(self.pristine / "settings")
        initialise.initialise(self.pristine / "memory")
        with Engine.open(self.pristine / "memory") as engine:
            engine.knowledge.ledger.record(
                SHA256, LedgerEntry("conversations/talk.md", "harvested", AT.isoformat())
            )
            origin = Origin("talk", "2026-06-12")
            engine.knowledge.review.queue.put(
                PendingItem(
                    name, AT.isoformat(), item, "comes from tool output", origin, "conversations/talk.md",
                    SHA256,
                )
                for name, item in zip(IDS, FACTS, strict=True)
            )  # fmt: skip
            paths = ["knowledge/ledger.json", *engine.knowledge.review.queue.paths]
            assert engine.repository.commit(paths, "memory: what waits")
        write_log(self.pristine / "log.jsonl")
        os.environ["XDG_CONFIG_HOME"] = settings
        if self.before:
            self.reset()
            assert self.run(self.before)
            shutil.rmtree(self.pristine)
            self.root.rename(self.pristine)

    def run(self, commands: tuple[Arguments, ...]) -> bool:
        """Run commands; return whether each exited with 0, or with 1 after a disk error."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        for arguments in commands:
            given = [str(self.root / "log.jsonl") if word == "LOG" else word for word in arguments]
            sys.argv = ["autopoiesis", "-C", str(self.memory), *given]
            if run(cli) not in (0, 1):
                return False
        return True

    def work(self) -> bool:
        return self.run(self.commands)

    def recover(self) -> None:
        assert self.in_child()

    def content(self) -> dict[str, object]:
        """The final contents of the workspace and what of it is committed, without times."""
        listed = [
            path for path in sorted(self.memory.rglob("*")) if path.is_file() and ".tmp-" not in path.name
        ]
        names = {path.relative_to(self.memory).as_posix(): path for path in listed}
        contents = {
            name: path.read_bytes()
            for name, path in names.items()
            if name.startswith(("knowledge/", "topics/", "raw/", "memory-config"))
        }
        logs = [
            json.loads(line)
            for name in names
            if name.startswith("logs/review")
            for line in names[name].open()
        ]
        status = self.git("status", "--porcelain", "--untracked-files=all", "--", *COMMITTED)
        return {
            **{name: _timeless(data) for name, data in contents.items()},
            "trust": self.trusted(),
            "verdicts": Counter((each["id"], each["verdict"]) for each in logs if "verdict" in each),
            "uncommitted": [line for line in status.splitlines() if ".tmp-" not in line],
            "committed": sorted(self.git("ls-tree", "-r", "--name-only", "HEAD").split("\n")),
            "strays": [name for name in strays(self.memory / ".git") if "index" in name],
            "locked": (self.memory / ".git/index.lock").exists(),
        }

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.memory, capture_output=True, check=True)
        return done.stdout.decode()

    def trusted(self) -> dict[str, str]:
        """The digest last trusted for each workspace, from a file that is complete at every moment."""
        path = self.root / "settings/autopoiesis/trust.json"
        found: dict[str, dict[str, list[str]]] = json.loads(path.read_bytes())["workspaces"]
        assert all(len(set(each["trusted"])) == len(each["trusted"]) for each in found.values()), found
        return {name: each["trusted"][-1] for name, each in found.items()}

    def check_whole(self, wanted: dict[str, object]) -> None:
        assert wanted["uncommitted"] == [], wanted["uncommitted"]
        self.reset()
        assert self.content() != wanted, "the commands changed nothing"

    def check_after_kill(self, wanted: dict[str, object]) -> None:
        """No line of knowledge is duplicated, and the trust of another workspace is kept."""
        for name, data in wanted.items():
            path = self.memory / name
            if name.startswith("knowledge/") and name.endswith(".md") and path.exists():
                assert isinstance(data, bytes)
                lines = [line for line in path.read_bytes().split(b"\n") if line.startswith(b"- ")]
                assert len(lines) == len(set(lines)), (name, lines)
        other = os.path.realpath(self.pristine / "memory")
        assert self.trusted()[other] == wanted["trust"][other], "the other workspace is no longer trusted"  # type: ignore[index]


def _timeless(data: bytes) -> bytes:
    return b"\n".join(line for line in data.split(b"\n") if b"imported_at" not in line)


CASES = {
    name: partial(Commands, commands, before)
    for name, (commands, before) in {
        "review": ((ACCEPT, ("review", "reject", IDS[3])), ()),
        "tune": ((TUNE,), ()),
        "tune undo": ((("tune", "--undo"),), (TUNE,)),
        "undo": ((UNDO,), (ACCEPT,)),
        "config": ((("config", "set", "cache.anthropic_ttl", "1h"),), ()),
        "import": ((("import", "claude-code", "LOG"),), ()),
        "trust": ((AGREE, SET_MARKED, AGREE), (SET_ACTING, REVOKE)),
        "trust revoked": ((REVOKE, SET_MARKED, AGREE), (SET_ACTING,)),
    }.items()
}
